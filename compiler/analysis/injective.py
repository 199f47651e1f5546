"""An analysis: of which column an expression is an injective function, and so distinguishes rows as it does.

The expression may be the column, a cast to a type that has its values, the milliseconds of a time that has
no smaller part, or GROUPING, with another value for each grouping set.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.time_units import unit_us
from fsql.compiler.expression import Call, Case, Cast, ColumnRef, Expression, Literal
from fsql.compiler.logical import (
    Aggregate,
    CountLateRows,
    Filter,
    Over,
    Plan,
    Project,
    Rank,
    Unnest,
    WindowAggregate,
)
from fsql.compiler.sqltypes import CLOCK_TIMES, FLOATING, INTEGER_RANGES, Kind, SqlType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def injective_source(expression: Expression, below: Plan | None = None) -> int | None:
    """Return the column of which the expression is an injective function."""
    inner, target = expression, expression.type
    if isinstance(expression, Cast):
        inner = expression.argument
    if isinstance(inner, Call) and inner is expression and below is not None:
        return _milliseconds_of(inner, below)
    if isinstance(inner, Case) and below is not None:
        kept = inner is expression or _injective(inner.type, target)
        return _numbered_column(inner, below) if kept else None
    if not isinstance(inner, ColumnRef):
        return None
    if below is not None and inner.type.has_fraction | target.has_fraction:
        same = replace(target, fraction=None) == replace(inner.type, fraction=None)
        if same and unit_us(below, inner.index) % target.unit_us == 0:
            return inner.index
    return inner.index if inner is expression or _injective(inner.type, target) else None


def _milliseconds_of(call: Call, below: Plan) -> int | None:
    """Return the column of times that EPOCH_MILLIS keeps apart, such as a bound of windows."""
    if call.function != "epoch_millis":
        return None
    (time,) = call.arguments
    if not isinstance(time, ColumnRef) or unit_us(below, time.index) % _MILLISECOND_US:
        return None
    return time.index


def _numbered_column(case: Case, below: Plan) -> int | None:
    """Return the column for each of whose numbers the CASE has another one."""
    results: dict[object, object] = {}
    columns: set[Expression] = set()
    for condition, result in case.branches:
        if not (isinstance(condition, Call) and condition.function == "eq"):
            return None
        column, value = condition.arguments
        if not (isinstance(value, Literal) and isinstance(result, Literal)):
            return None
        if column.type != value.type:
            return None
        columns.add(column)
        results.setdefault(value.value, result.value)
    (column, *others) = columns
    if others or not isinstance(column, ColumnRef) or not isinstance(case.otherwise, Literal):
        return None
    numbers = _numbers(below, column.index)
    given = {results.get(number, case.otherwise.value) for number in numbers}
    return column.index if numbers and len(given) == len(numbers) else None


def _numbers(plan: Plan, index: int) -> frozenset[object]:
    """Return the numbers that a column can have; empty if they are not known."""
    match plan:
        case Project(expressions=values) | Aggregate(keys=values) | WindowAggregate(keys=values):
            value = values[index] if index < len(values) else None
            return _numbers(plan.input, value.index) if isinstance(value, ColumnRef) else _UNKNOWN
        case Unnest(input=rows, array=Literal(value=tuple() as numbers)):
            own = index == len(rows.schema) and None not in numbers
            return frozenset(numbers) if own else _numbers_below(plan, index)
        case Filter() | Over() | Rank() | Unnest() | CountLateRows():
            return _numbers_below(plan, index)
        case _:
            return _UNKNOWN


def _numbers_below(
    plan: Filter | Over | Rank | Unnest | CountLateRows, index: int
) -> frozenset[object]:
    return _numbers(plan.input, index) if index < len(plan.input.schema) else _UNKNOWN


_MILLISECOND_US: Final = 1_000
_UNKNOWN: Final[frozenset[object]] = frozenset()

_KEPT_APART: Final[Mapping[Kind, Sequence[Kind]]] = {
    Kind.DATE: (Kind.TIMESTAMP,),
    **dict.fromkeys((Kind.TINYINT, Kind.SMALLINT, Kind.UTINYINT, Kind.USMALLINT), FLOATING),
    **dict.fromkeys((Kind.INT, Kind.UINT, Kind.FLOAT), (Kind.DOUBLE,)),
}
"""The kinds that have a distinct value for each value of another kind."""

_WITH_OWN_TEXTS: Final = frozenset(
    {*INTEGER_RANGES, Kind.DECIMAL, Kind.BOOLEAN, Kind.DATE, Kind.TIME, Kind.TIMESTAMP}
)
"""The kinds whose different values have different texts; floating-point zeros are equal, and have two."""


def _injective(source: SqlType, target: SqlType) -> bool:
    """Return whether a cast gives different values for different ones; of a ROW, field by field.

    A number that does not fit fails its row, so two numbers never become equal.
    """
    if source == target or source.kind is Kind.NULL:
        return True
    if source.fields and target.fields:
        return all(map(_injective, source.field_types, target.field_types))
    if target.kind is Kind.STRING:
        return source.kind in _WITH_OWN_TEXTS
    if source.zone or target.zone or (source.kind is target.kind and source.kind in CLOCK_TIMES):
        return _injective_times(source, target)
    if source.kind is target.kind is Kind.DECIMAL:
        return target.scale >= source.scale
    whole = source.kind in INTEGER_RANGES and target.kind in {*INTEGER_RANGES, Kind.DECIMAL}
    return whole or target.kind in _KEPT_APART.get(source.kind, ())


def _injective_times(source: SqlType, target: SqlType) -> bool:
    """Return whether a cast between types, with times gives different times for different ones."""
    if source.kind is target.kind and source.kind in CLOCK_TIMES:
        apart = {source.zone, target.zone} <= {"", "UTC"} or source.zone == target.zone
        return apart and source.unit_us % target.unit_us == 0
    # Where clocks change, two instants have one local time, and two local times are one instant.
    return {source.zone, target.zone} <= {"", "UTC"} and source.kind in {Kind.DATE, target.kind}
