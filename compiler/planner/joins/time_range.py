"""The time range of a join: conditions that bound the time between its two sides.

`a.at BETWEEN b.at - INTERVAL '1' HOUR AND b.at` is equivalent to `b.at - a.at` in [0, 1 hour].  A condition
is a bound if each side is a sum of event-time columns and constant intervals, and their difference has one
column of each input.  An equality bounds the time from both directions.  The start of a window is its end
minus its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler.expression import Call, ColumnRef, Expression
from fsql.compiler.functions.evaluate import constant, evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.logical import TimeRange
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import INTERVAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fsql.compiler.schema import Schema


@dataclass(frozen=True, slots=True)
class _Sum:
    """`offset_us` plus each column multiplied by its count in `counts`."""

    counts: Mapping[int, int]
    offset_us: int

    def plus(self, other: _Sum, sign: int) -> _Sum:
        counts = dict(self.counts)
        for column, count in other.counts.items():
            counts[column] = counts.get(column, 0) + sign * count
        kept = {column: count for column, count in counts.items() if count != 0}
        return _Sum(kept, self.offset_us + sign * other.offset_us)


@dataclass(frozen=True, slots=True)
class TimeBound:
    """A bound on `right - left` by a condition: at least `low_us`, or at most `high_us`."""

    condition: Expression
    left: int
    right: int
    low_us: int | None = None
    high_us: int | None = None


@dataclass(frozen=True, slots=True)
class FoundRange:
    """A time range, or half of one (`time_range` is None), and the conditions that imply it."""

    time_range: TimeRange | None
    conditions: tuple[Expression, ...]


_APART_US_MAX: Final = 400_000_000_000_000_000
"""Greater than the difference of any two timestamps."""

# `left <operator> right` bounds factor * (left - right) from above: the factor, and the bound.
_UPPER: Final[Mapping[str, tuple[int, int]]] = {
    "le": (1, 0),
    "lt": (1, -1),
    "ge": (-1, 0),
    "gt": (-1, -1),
}

WindowStarts: TypeAlias = "Mapping[int, tuple[int, int]]"
"""The starts of windows among columns: for each, the column that has the window's end, and the size."""


@dataclass(frozen=True, slots=True)
class Times:
    """The columns of both sides, first the `left_width` of the left side, and starts of windows."""

    schema: Schema
    left_width: int
    starts: WindowStarts


def find_time_range(conditions: Iterable[Expression], times: Times) -> FoundRange | None:
    """Return the time range that the conditions over both sides imply; None if none bounds time.

    If several pairs of columns are bounded, the first with both bounds is used; equalities, which are keys as
    well, are considered last.
    """
    bounds = [bound for condition in conditions if (bound := _bound(condition, times)) is not None]
    bounds.sort(key=lambda bound: bound.low_us is not None and bound.high_us is not None)
    for pair in dict.fromkeys((bound.left, bound.right) for bound in bounds):
        of_pair = [bound for bound in bounds if (bound.left, bound.right) == pair]
        lows = [bound.low_us for bound in of_pair if bound.low_us is not None]
        highs = [bound.high_us for bound in of_pair if bound.high_us is not None]
        if lows and highs:
            low_us, high_us = _clamp(max(lows)), _clamp(min(highs))
            made = TimeRange(pair[0], pair[1] - times.left_width, low_us, high_us)
            return FoundRange(made, tuple(bound.condition for bound in of_pair))
    return FoundRange(None, tuple(bound.condition for bound in bounds)) if bounds else None


def _clamp(difference_us: int) -> int:
    """Return an equivalent bound for timestamps to which timestamps can be added without overflow."""
    return max(-_APART_US_MAX, min(difference_us, _APART_US_MAX))


def _bound(condition: Expression, times: Times) -> TimeBound | None:
    """Return the bound that a condition implies; None if there is none."""
    if not isinstance(condition, Call) or condition.function not in {"eq", *_UPPER}:
        return None
    one, other = (_sum(argument, times) for argument in condition.arguments)
    if one is None or other is None:
        return None
    # Now `difference <= slack`, or `difference = 0`.
    sign, slack_us = _UPPER.get(condition.function, (1, 0))
    difference = _Sum({}, 0).plus(one, sign).plus(other, -sign)
    equal = condition.function == "eq"
    match sorted(difference.counts.items()):
        case [(left, -1), (right, 1)] if left < times.left_width <= right:
            high_us = slack_us - difference.offset_us
            return TimeBound(condition, left, right, high_us if equal else None, high_us)
        case [(left, 1), (right, -1)] if left < times.left_width <= right:
            low_us = difference.offset_us - slack_us
            return TimeBound(condition, left, right, low_us, low_us if equal else None)
        case _:
            return None


def _sum(expression: Expression, times: Times) -> _Sum | None:
    """Return the expression as a sum; None if it has other operations."""
    match expression:
        case ColumnRef(index=index) if times.schema[index].time_attribute:
            return _Sum({index: 1}, 0)
        case ColumnRef(index=index) if index in times.starts:
            end, size_us = times.starts[index]
            return _Sum({end: 1}, -size_us)
        case _ if expression.type == INTERVAL and constant(expression):
            return _constant(expression)
        case Call(function="add" | "subtract", arguments=arguments):
            return _combine(expression.function, arguments, times)
        case _:
            return None


def _combine(function: str, arguments: Sequence[Expression], times: Times) -> _Sum | None:
    one, other = (_sum(argument, times) for argument in arguments)
    if one is None or other is None:
        return None
    return one.plus(other, 1 if function == "add" else -1)


def _constant(expression: Expression) -> _Sum | None:
    try:
        value = evaluate(expression, ())
    except RowFailure:
        return None
    return _Sum({}, value) if isinstance(value, int) else None
