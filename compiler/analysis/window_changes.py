"""An analysis of updating plans: until when rows of a window are added and removed.

With EMIT CHANGES the rows of a window change until it closes, because rows after that are late.  Operators
that only pass changes on emit theirs at the same positions.  So a join of such rows on equal bounds receives
no more changes of a window once it has closed on both sides, and no longer needs its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.analysis.delays import closing_delay_us
from fsql.compiler.analysis.properties import Bound, window_columns
from fsql.compiler.expression import ColumnRef
from fsql.compiler.functions.time_zones import zone_of
from fsql.compiler.logical import (
    Aggregate,
    AssignWindows,
    CountLateRows,
    Filter,
    Join,
    Plan,
    Project,
    Union,
    WindowAggregate,
    append_only,
    grain_us,
    operators,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.expression import Expression

    Delays = Mapping[int, int]

_NONE: Final[Delays] = {}


class EqualBounds(NamedTuple):
    """The key of a join that has bounds of windows on both sides, and the delay of their closing."""

    key: int
    delay_us: int


def equal_bounds(join: Join) -> EqualBounds | None:
    """Return the key of a join by which windows that have closed on both sides are known.

    Joins of append-only inputs have a time range instead.
    """
    if join.time_range is not None or append_only(join):
        return None
    below = _delays_of_plans(join)
    found = _equal_bounds(join, below[join.left], below[join.right])
    return min(found, key=lambda equal: equal.delay_us, default=None)


def _delays_of_plans(plan: Plan) -> dict[Plan, Delays]:
    found: dict[Plan, Delays] = {}
    for node in operators(plan):
        found[node] = _delays(node, [found[below] for below in node.inputs])
    return found


def _delays(plan: Plan, below: Sequence[Delays]) -> Delays:
    match plan:
        case WindowAggregate():
            return _window_delays(plan)
        case Filter() | CountLateRows():
            return below[0]
        case Project(expressions=values) | Aggregate(keys=values):
            return {
                index: below[0][value.index]
                for index, value in enumerate(values)
                if isinstance(value, ColumnRef) and value.index in below[0]
            }
        case Union():
            return _branch_delays(below)
        case Join():
            return _join_delays(plan, *below)
        case _:
            return _NONE


def _window_delays(plan: WindowAggregate) -> Delays:
    """Return the delays of the keys that are bounds of the windows that close."""
    bounds = window_columns(plan.input)
    end = bounds[plan.window_end]
    if end is None or end.bound is not Bound.END:
        return _NONE
    delay = closing_delay_us(plan)
    found: dict[int, int] = {}
    for index, key in enumerate(plan.keys):
        column = bounds[key.index] if isinstance(key, ColumnRef) else None
        if column is None or column.windows is not end.windows:
            continue
        before_us = {Bound.END: 0, Bound.TIME: 1}.get(column.bound)
        if before_us is None and isinstance(column.windows, AssignWindows):
            before_us = column.windows.size_us + zone_of(column.windows.zone).spread
        if before_us is not None:
            found[index] = delay + _round_up(before_us, grain_us(plan))
    return found


def _branch_delays(below: Sequence[Delays]) -> Delays:
    return {
        index: max(delays[index] for delays in below)
        for index in below[0]
        if all(index in delays for delays in below)
    }


def _join_delays(plan: Join, left: Delays, right: Delays) -> Delays:
    """A pair changes when either of its rows does, so only the equal bounds limit the time of changes.

    The bounds of a side that may be padded with NULLs do not.  With `once`, no pair changes.
    """
    found: dict[int, int] = {}
    if plan.once:
        return found
    for equal in _equal_bounds(plan, left, right):
        if not plan.kind.keeps_right:
            found[_column(plan.left_keys[equal.key])] = equal.delay_us
        if plan.kind.makes_pairs and not plan.kind.keeps_left:
            index = len(plan.left.schema) + _column(plan.right_keys[equal.key])
            found[index] = equal.delay_us
    return found


def _equal_bounds(join: Join, left: Delays, right: Delays) -> list[EqualBounds]:
    found: list[EqualBounds] = []
    for index, keys in enumerate(zip(join.left_keys, join.right_keys, strict=True)):
        one, other = keys
        if isinstance(one, ColumnRef) and isinstance(other, ColumnRef):
            delays = left.get(one.index), right.get(other.index)
            if delays[0] is not None and delays[1] is not None:
                found.append(EqualBounds(index, max(delays[0], delays[1])))
    return found


def _column(key: Expression) -> int:
    assert isinstance(key, ColumnRef)
    return key.index


def _round_up(time_us: int, grain: int) -> int:
    return -(-time_us // grain) * grain
