"""An analysis: the difference between event-time columns and the time of their row's root position.

The **delay** of an event-time column is the maximum by which it can be behind the time of its row's root,
provided that no input row is later than its table's delay.  Windows over the column close this long after
their end, so that they include all rows that are not late.  Most operators keep the delays of their input.  A
pair of a join with a time range may be emitted long after the earlier of its rows, so its delay is greater:

    join on right_time in [left_time + low, left_time + high]        l, r: the delays of the two columns
    left_time     l, if the left row is the later one; otherwise left_time >= right_time - high: r + high
    right_time    r, if the right row is the later one; otherwise right_time >= left_time + low: l - low
    others        their delay plus the maximum by which their row's root may precede that of the other side

The greatest of both times of a pair is that of its later row or after it, so its delay is max(l, r).

A column can also be **ahead** of its root: the end of an open window, by the window's size.  What is added
to a delay is rounded up to the grain of the watermark.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.functions.time_zones import zone_of
from fsql.compiler.logical import (
    AssignEnd,
    AssignExpiry,
    AssignRowTime,
    AssignSessions,
    AssignWindows,
    CountLateRows,
    Filter,
    Join,
    LateralAggregate,
    Over,
    Plan,
    Project,
    Rank,
    Scan,
    TimeRange,
    Union,
    Unnest,
    WindowAggregate,
    behind_us,
    declared_event_time,
    grain_us,
    latest_of,
    operators,
    passed_time,
    tables,
)
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence


DELAY_US_MAX: Final = 400_000_000_000_000_000
"""Greater than the difference of any two timestamps."""
END_DELAY_US: Final = 2 * DELAY_US_MAX
"""The delay of the end of the input: no row has a position so long after the greatest timestamp."""


@dataclass(frozen=True, slots=True)
class Distance:
    """The maximum by which a column can be behind and ahead of the time of its row's root.

    `window` is the operator that assigns the window of which the column is the end; in a union, that of each
    branch.  `pair` is set for the two columns of a time range.
    """

    behind_us: int
    ahead_us: int = 0
    window: object = None
    pair: Pair | None = None

    def at_least(self, behind_us: int) -> Distance:
        """Return the distance with `behind_us` raised to at least this value, which ends a pair."""
        return replace(self, behind_us=min(max(self.behind_us, behind_us), DELAY_US_MAX), pair=None)


@dataclass(frozen=True, slots=True)
class Pair:
    """A side of a join with a time range, and how far its time is behind where its row is the later one."""

    join: object
    is_left: bool
    behind_us: int


Distances = tuple[Distance | None, ...]
"""The distance of each column of a plan, None if it is not event time."""


def delay_us(plan: Plan, column: int) -> int:
    """Return the delay of an event-time column of `plan`."""
    distance = distances(plan)[column]
    assert distance is not None, "windows and time ranges are over event time"
    return distance.behind_us


def closing_delay_us(plan: WindowAggregate | Rank) -> int:
    """Return how long after their ends the windows of `plan` close."""
    if isinstance(plan, WindowAggregate) and plan.shown_us is not None:
        return plan.shown_us
    assert plan.window_end is not None
    return delay_us(plan.input, plan.window_end)


def join_delay_us(join: Join) -> int:
    """Return the delay of the watermark that decides which pairs of a join with a time range are too late."""
    if join.time_range is None:
        return 0
    return max(
        delay_us(join.left, join.time_range.left_time),
        delay_us(join.right, join.time_range.right_time),
    )


def distances(plan: Plan) -> Distances:
    """Return the distance of each column of `plan`."""
    found: dict[Plan, Distances] = {}
    for node in operators(plan):
        found[node] = _distances(node, [found[below] for below in node.inputs])
    return found[plan]


def _distances(plan: Plan, below: Sequence[Distances]) -> Distances:
    made: Distances = ()
    match plan:
        case Scan(table=table):
            delay = Distance(table.delay_us)
            made = tuple(delay if column.time_attribute else None for column in table.columns)
            made += (None,) * len(table.replaced_columns)
            # The time of the root position itself.
            made += (Distance(0),) * table.row_time
        case Filter() | Unnest() | LateralAggregate() | Over() | CountLateRows():
            made = below[0]
        case Project(expressions=expressions):
            made = tuple(_distance_of_expression(plan, each, below[0]) for each in expressions)
        case AssignWindows() | AssignExpiry() | AssignSessions():
            made = _assigned_distances(plan, below[0])
        case AssignRowTime() | AssignEnd():
            made = (*below[0], Distance(0 if isinstance(plan, AssignRowTime) else END_DELAY_US))
        case WindowAggregate() | Rank():
            made = _aggregate_distances(plan, below[0])
        case Union():
            made = tuple(_branch_distance(column) for column in zip(*below, strict=True))
        case Join(time_range=None):
            made = (below[0] + below[1])[: len(plan.schema)]
        case Join(time_range=TimeRange() as bounds):
            made = _pair_distances(plan, bounds, *below)
        case _:
            pass
    # Columns that an operator appends or computes are not event time.
    return made + (None,) * (len(plan.schema) - len(made))


def _distance_of_expression(
    plan: Project, expression: Expression, below: Distances
) -> Distance | None:
    latest = latest_of(expression)
    if len(latest) > 1:
        return _latest_distance([_distance_of_expression(plan, each, below) for each in latest])
    passed = passed_time(expression)
    if passed is not None:
        time, before_us = below[passed.index], _round_up(behind_us(expression), grain_us(plan))
        return time and (time.at_least(time.behind_us + before_us) if before_us else time)
    if expression is declared_event_time(plan.input):
        (table,) = tables(plan.input)
        return Distance(table.delay_us)
    return None


def _latest_distance(times: Sequence[Distance | None]) -> Distance | None:
    """Return the distance of the greatest of several times.

    It is behind by no more than any of them; that of a pair, by no more than the time of its later row.
    """
    known = [time for time in times if time is not None]
    if len(known) < len(times):
        return None
    behinds = [time.behind_us for time in known]
    pairs = [time.pair for time in known if time.pair is not None]
    behinds += [
        max(pair.behind_us, other.behind_us)
        for pair, other in combinations(pairs, 2)
        if pair.join is other.join and pair.is_left != other.is_left
    ]
    return Distance(min(behinds), max(time.ahead_us for time in known))


def _assigned_distances(
    plan: AssignWindows | AssignExpiry | AssignSessions, below: Distances
) -> Distances:
    match plan:
        case AssignWindows():
            return below + _window_distances(plan, below)
        case AssignExpiry():
            return _expiry_distances(plan, below)
        case AssignSessions():
            return _session_distances(plan, below)


def _window_distances(plan: AssignWindows, below: Distances) -> Distances:
    """`window_start` is not event time; the others are behind their row's time by up to the size.

    Windows of local times are longer by the time by which the clock is set back.
    """
    time = below[plan.time_column]
    if time is None:
        return None, None, None
    size_us = _round_up(plan.size_us + zone_of(plan.zone).spread, grain_us(plan))
    bound = Distance(time.behind_us, time.ahead_us + size_us, plan)
    return None, bound, bound


def _expiry_distances(plan: AssignExpiry, below: Distances) -> Distances:
    """The time is that of rows when they expire: after the wait, up to the grain later."""
    wait_us = _round_up(plan.wait_us, plan.grain_us) + plan.grain_us
    time = Distance(min(plan.delay_us + wait_us, DELAY_US_MAX))
    kept = (time if index == plan.time_column else None for index in range(len(below)))
    return *kept, Distance(plan.delay_us)


def _session_distances(plan: AssignSessions, below: Distances) -> Distances:
    """The rows of a session are emitted when the watermark is beyond its end, up to the grain later."""
    time = below[plan.time_column]
    assert time is not None, "sessions are over event time"
    end = Distance(min(time.behind_us + grain_us(plan), DELAY_US_MAX))
    return (*(None for _ in below), None, end, end)


def _aggregate_distances(plan: WindowAggregate | Rank, below: Distances) -> Distances:
    if isinstance(plan, WindowAggregate):
        return tuple(_key_distance(plan, key, below) for key in plan.keys)
    ends = None if plan.window_end is None else below[plan.window_end]
    return tuple(
        None
        if column is None or ends is None or not below_schema.time_attribute
        else Distance(max(ends.behind_us, column.behind_us))
        for column, below_schema in zip(below, plan.schema, strict=False)
    )


def _key_distance(plan: WindowAggregate, key: Expression, below: Distances) -> Distance | None:
    """The row is emitted when the window closes, so its distance is that from the window's end.

    A time that is not a bound of the window is that of a row in it, whose root may precede the end by as much
    as the end was ahead of the root.
    """
    ends = below[plan.window_end]
    time = below[key.index] if isinstance(key, ColumnRef) else None
    if ends is None or time is None:
        return None
    if ends.window is None or time.window == ends.window:
        return Distance(max(ends.behind_us, time.behind_us))
    return Distance(0).at_least(ends.behind_us + ends.ahead_us + time.behind_us)


def _branch_distance(columns: Sequence[Distance | None]) -> Distance | None:
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return None
    windows = tuple(each.window for each in known)
    return Distance(
        max(each.behind_us for each in known),
        max(each.ahead_us for each in known),
        None if None in windows else windows,
    )


def _pair_distances(plan: Join, bounds: TimeRange, left: Distances, right: Distances) -> Distances:
    grain = grain_us(plan)
    left_time, right_time = left[bounds.left_time], right[bounds.right_time]
    assert left_time is not None
    assert right_time is not None
    high_us, minus_low_us = _round_up(bounds.high_us, grain), _round_up(-bounds.low_us, grain)
    lefts, rights = (
        [None if each is None else each.at_least(each.behind_us + wait_us) for each in side]
        for side, wait_us in (
            (left, right_time.behind_us + high_us + left_time.ahead_us),
            (right, left_time.behind_us + minus_low_us + right_time.ahead_us),
        )
    )
    # The range bounds these two columns directly, not only through their rows' roots.
    lefts[bounds.left_time] = replace(
        left_time.at_least(right_time.behind_us + high_us),
        pair=Pair(plan, is_left=True, behind_us=left_time.behind_us),
    )
    rights[bounds.right_time] = replace(
        right_time.at_least(left_time.behind_us + minus_low_us),
        pair=Pair(plan, is_left=False, behind_us=right_time.behind_us),
    )
    return (*lefts, *rights)


def _round_up(time_us: int, grain: int) -> int:
    return -(-time_us // grain) * grain
