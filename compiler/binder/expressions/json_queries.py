"""Warns of JSON_QUERY over paths that may lead to several values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.references import parts_of
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.functions.json_documents import has_wildcard, path_steps

if TYPE_CHECKING:
    from collections.abc import Iterator


def queries_of_several(script: syntax.Script) -> Iterator[Diagnostic]:
    """Yield a warning for each JSON_QUERY without a wrapper whose path has wildcards, in textual order.

    With a wrapper it is another function.
    """
    found = {
        part.arguments[1].span
        for part in parts_of(script)
        if isinstance(part, syntax.FunctionCall)
        and part.name.parts[-1].name.upper() == "JSON_QUERY"
        and len(part.arguments) > 1
        and _leads_to_many(part.arguments[1])
    }
    for span in sorted(found, key=lambda each: each.start):
        yield Diagnostic(
            "W306",
            "JSON_QUERY is NULL where the path leads to several values",
            Label(span),
            helps=(
                "write WITH WRAPPER for an array of the values: JSON_QUERY(j, path WITH WRAPPER)",
            ),
        )


def _leads_to_many(path: syntax.Expression | syntax.Star) -> bool:
    return isinstance(path, syntax.StringLiteral) and has_wildcard(path_steps(path.value) or ())
