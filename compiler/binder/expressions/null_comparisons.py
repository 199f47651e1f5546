"""Warns of comparisons with NULL, whose result is NULL for every operand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.references import parts_of
from fsql.compiler.diagnostics import Diagnostic, Label

if TYPE_CHECKING:
    from collections.abc import Iterator

_HELPS: Final = {"=": "write IS NULL", "<>": "write IS NOT NULL"}
_OTHERWISE: Final = "write IS NULL or IS NOT NULL"


def null_comparisons(script: syntax.Script) -> Iterator[Diagnostic]:
    """Yield a warning for each comparison with the word NULL, in the order of the text."""
    found = [part for part in parts_of(script) if isinstance(part, syntax.Comparison)]
    for comparison in sorted(found, key=lambda each: each.span.start):
        sides = comparison.left, comparison.right
        null = next((side for side in sides if isinstance(side, syntax.NullLiteral)), None)
        if null is not None:
            yield Diagnostic(
                "W303",
                "comparison with NULL is always NULL, and so never TRUE",
                Label(comparison.span),
                helps=(_HELPS.get(comparison.operator, _OTHERWISE),),
            )
