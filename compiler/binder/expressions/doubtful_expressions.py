"""Warnings of expressions that are legal and rarely meant: by their text alone, before it is bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.row_time import calls_row_time
from fsql.compiler.binder.references import parts_of
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.functions.json_documents import has_wildcard, path_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.text.source import Span

_HELPS: Final = {"=": "write IS NULL", "<>": "write IS NOT NULL"}
_OTHERWISE: Final = "write IS NULL or IS NOT NULL"


def doubtful_expressions(script: syntax.Script) -> Iterator[Diagnostic]:
    """Yield the warnings of one kind after those of another, each kind in the order of the text."""
    yield from _null_comparisons(script)
    for span in _in_order({each.span for each in _time_filters(script)}):
        yield Diagnostic(
            "W304",
            "the current time is that of the row: the result keeps the row as it grows old",
            Label(span),
            helps=("for the rows of the last hour, use a HOP window, or OVER with RANGE",),
        )
    for span in _in_order({each.span for each in _paths_to_several(script)}):
        yield Diagnostic(
            "W306",
            "JSON_QUERY is NULL where the path leads to several values",
            Label(span),
            helps=(
                "write WITH WRAPPER for an array of the values: JSON_QUERY(j, path WITH WRAPPER)",
            ),
        )


def _in_order(spans: set[Span]) -> list[Span]:
    return sorted(spans, key=lambda each: each.start)


def _null_comparisons(script: syntax.Script) -> Iterator[Diagnostic]:
    """Yield a warning for each comparison with the word NULL."""
    found = [part for part in parts_of(script) if isinstance(part, syntax.Comparison)]
    for comparison in sorted(found, key=lambda each: each.span.start):
        if any(
            isinstance(each, syntax.NullLiteral) for each in (comparison.left, comparison.right)
        ):
            yield Diagnostic(
                "W303",
                "comparison with NULL is always NULL, and so never TRUE",
                Label(comparison.span),
                helps=(_HELPS.get(comparison.operator, _OTHERWISE),),
            )


def _time_filters(script: syntax.Script) -> Iterator[syntax.Syntax]:
    """Yield the comparisons of a column with the current time in WHERE."""
    for select in parts_of(script):
        if not isinstance(select, syntax.Select) or select.where is None:
            continue
        for part in parts_of(select.where):
            if (
                isinstance(part, syntax.Comparison | syntax.Between)
                and calls_row_time(part)
                and any(isinstance(each, syntax.ColumnReference) for each in parts_of(part))
            ):
                yield part


def _paths_to_several(script: syntax.Script) -> Iterator[syntax.Syntax]:
    """Yield the paths with wildcards of JSON_QUERY without a wrapper; with one, it is another function."""
    for call in parts_of(script):
        if (
            isinstance(call, syntax.FunctionCall)
            and call.name.parts[-1].name.upper() == "JSON_QUERY"
            and len(call.arguments) > 1
        ):
            path = call.arguments[1]
            if isinstance(path, syntax.StringLiteral) and has_wildcard(
                path_steps(path.value) or ()
            ):
                yield path
