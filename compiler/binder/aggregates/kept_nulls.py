"""Makes aggregates that ignore NULLs keep them: each value is wrapped in a row of one field.

ARRAY_AGG(x) FILTER (WHERE p)     →  TRANSFORM(ARRAY_AGG(CASE WHEN p THEN ROW(x) END) IGNORE NULLS, e -> e.f1)
LAST_VALUE(x) RESPECT NULLS       →  LAST_VALUE(ROW(x)).f1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import AggregateFunction

if TYPE_CHECKING:
    from fsql.compiler import syntax


def keeps_nulls(
    written: syntax.FunctionCall, function: AggregateFunction, *, ignores: bool
) -> bool:
    """Return whether an aggregate has to keep NULLs and leave out other rows.

    ARRAY_AGG keeps NULLs unless it `ignores` them, but a FILTER turns the values of the rows left out into
    NULLs.
    """
    if function is AggregateFunction.ARRAY_AGG:
        return written.filter is not None and not ignores
    values = function in {AggregateFunction.FIRST_VALUE, AggregateFunction.LAST_VALUE}
    return values and written.respect_nulls
