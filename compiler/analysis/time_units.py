"""An analysis: units of which all times in a column are multiples.

They show that a cast to fewer digits of fraction keeps values distinct: for example, that of bounds of
windows of whole seconds to `TIMESTAMP(0)`.  If nothing is known, the unit is that of the type.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import Call, Cast, ColumnRef, Literal
from fsql.compiler.logical import (
    Aggregate,
    AssignSessions,
    AssignWindows,
    CountLateRows,
    Filter,
    Project,
    WindowAggregate,
)
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan

_SECOND_US: Final = 1_000_000
_OF_FUNCTIONS: Final[Mapping[str, int]] = {
    "timestamp_seconds": _SECOND_US,
    "timestamp_millis": 1_000,
}
_FINE_UNITS: Final[Mapping[str, int]] = {"microsecond": 1, "millisecond": 1_000}


def unit_us(plan: Plan, index: int) -> int:
    """Return a number of microseconds of which all times in a column of `plan` are multiples."""
    match plan:
        case Filter() | CountLateRows():
            return unit_us(plan.input, index)
        case Aggregate() | WindowAggregate() if index < len(plan.keys):
            return _expression_unit(plan.keys[index], plan.input)
        case Project():
            return _expression_unit(plan.expressions[index], plan.input)
        case AssignWindows() | AssignSessions():
            bound = index - len(plan.input.schema)
            return unit_us(plan.input, index) if bound < 0 else _bound_unit(plan, bound)
        case _:
            return plan.schema[index].type.unit_us


def _expression_unit(expression: Expression, below: Plan) -> int:
    """Return the unit of the values of an expression."""
    match expression:
        case ColumnRef(index=index):
            return unit_us(below, index)
        case Cast(argument=argument) if argument.type.kind is Kind.DATE:
            return _SECOND_US
        case Call(function="date_trunc", arguments=(Literal(value=str(unit)), *_)):
            return _FINE_UNITS.get(unit.lower().removesuffix("s"), _SECOND_US)
        case Call(function="add", arguments=(time, Literal(value=int(length)))) if (
            time.type.has_fraction and expression.arguments[1].type.kind is Kind.INTERVAL
        ):
            return gcd(_expression_unit(time, below), length)
        case Call(function=function):
            return _OF_FUNCTIONS.get(function, expression.type.unit_us)
        case _:
            return expression.type.unit_us


def _bound_unit(windows: AssignWindows | AssignSessions, bound: int) -> int:
    """Return the unit of `window_start` (0), `window_end` (1) or `window_time` (2)."""
    if bound == 2:
        return 1
    if isinstance(windows, AssignWindows):
        # Clocks are changed by whole seconds.
        return gcd(windows.size_us, windows.slide_us, windows.offset_us, _SECOND_US)
    return unit_us(windows.input, windows.end_column if bound else windows.time_column)
