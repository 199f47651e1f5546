"""The aggregate functions: their argument types, and the type and nullability of their results.

`fsql.compiler.expression.AggregateCall` says what they mean; nothing here computes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.sqltypes import BIGINT, DOUBLE, Kind, SqlType, array_of

if TYPE_CHECKING:
    from collections.abc import Mapping

AGGREGATES: Final[Mapping[str, AggregateFunction]] = {
    function.value: function for function in AggregateFunction
}
"""The aggregate functions by their names in SQL."""


TAKES: Final[Mapping[AggregateFunction, str]] = {
    AggregateFunction.COUNT: "any type, or *",
    AggregateFunction.SUM: "INT, BIGINT or DOUBLE",
    AggregateFunction.MIN: "any type but ARRAY",
    AggregateFunction.MAX: "any type but ARRAY",
    AggregateFunction.AVG: "INT, BIGINT or DOUBLE",
    AggregateFunction.ARRAY_AGG: "any type",
}
"""What each aggregate takes, for messages."""


def aggregate_result(function: AggregateFunction, argument: SqlType | None) -> SqlType | None:
    """Return the type of the aggregate over values of `argument` (None: `*`); None if it takes none.

    >>> from fsql.compiler.sqltypes import INT, STRING
    >>> str(aggregate_result(AggregateFunction.SUM, INT))
    'BIGINT'
    >>> aggregate_result(AggregateFunction.AVG, STRING) is None
    True
    """
    match function:
        case AggregateFunction.COUNT:
            return BIGINT
        case _ if argument is None or argument.kind is Kind.NULL:
            return None
        case AggregateFunction.ARRAY_AGG:
            return array_of(argument)
        case AggregateFunction.MIN | AggregateFunction.MAX:
            return None if argument.kind is Kind.ARRAY else argument
        case AggregateFunction.SUM | AggregateFunction.AVG:
            return _sum_or_average(function, argument)


def _sum_or_average(function: AggregateFunction, argument: SqlType) -> SqlType | None:
    if not argument.numeric:
        return None
    whole = function is AggregateFunction.SUM and argument.kind is not Kind.DOUBLE
    return BIGINT if whole else DOUBLE


def aggregate_nullable(
    function: AggregateFunction, *, argument_nullable: bool, grouped: bool
) -> bool:
    """Return whether the aggregate may be NULL.

    Where there is a group there is a row; so with `grouped` only rows whose argument is NULL make the
    result NULL.  Without, the group may be empty.
    """
    match function:
        case AggregateFunction.COUNT:
            return False
        case AggregateFunction.ARRAY_AGG:
            return not grouped
        case _:
            return argument_nullable or not grouped
