"""Warns of filters by the current time, which do not remove rows as they grow old."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.row_time import calls_row_time
from fsql.compiler.binder.references import parts_of
from fsql.compiler.diagnostics import Diagnostic, Label

if TYPE_CHECKING:
    from collections.abc import Iterator

_HELP: Final = "for the rows of the last hour, use a HOP window, or OVER with RANGE"


def time_filters(script: syntax.Script) -> Iterator[Diagnostic]:
    """Yield a warning for each comparison of a column with the current time in WHERE, in textual order."""
    found = {
        part.span
        for select in parts_of(script)
        if isinstance(select, syntax.Select) and select.where is not None
        for part in parts_of(select.where)
        if isinstance(part, syntax.Comparison | syntax.Between)
        and calls_row_time(part)
        and any(isinstance(each, syntax.ColumnReference) for each in parts_of(part))
    }
    for span in sorted(found, key=lambda each: each.start):
        yield Diagnostic(
            "W304",
            "the current time is that of the row: the result keeps the row as it grows old",
            Label(span),
            helps=(_HELP,),
        )
