"""The time to live of state: how long groups and rows of joins are kept after the row that touched them.

The time is that of the rows' root positions, so the result defines which state is dropped.

A group lives as long as each of its rows arrives at most the time to live after the preceding one.  A later
row begins a new group with the same keys.  The time of the first row of its group distinguishes them:

    SELECT k, COUNT(*) … GROUP BY k
        →  AssignRowTime  →  Over: MAX(row_time) of the rows of k before this one
           →  row_time if the row before it is too old, else NULL  →  Over: MAX of that = group_start
           →  Aggregate by k and group_start  →  without group_start

A join of rows with a time to live is a join with a time range over the times of the rows of both sides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.refusal import not_implemented
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Case,
    ColumnRef,
    Expression,
    Literal,
)
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import (
    Aggregate,
    AssignRowTime,
    FrameEnd,
    Join,
    Over,
    OverCall,
    TimeRange,
    append_only,
)
from fsql.compiler.planner.rows import column_refs, project
from fsql.compiler.sqltypes import BOOLEAN, INTERVAL, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.bound.lifetimes import Lifetime, SideLifetimes
    from fsql.compiler.logical import Plan


_INSIDE: Final = (
    "end it before this query, by RESET or without the hint: its state has the rows that exist, and ends with"
    " them; a part of rows never retracted can be a view between SET and RESET"
)


def aggregate_while_alive(whole: Aggregate, lifetime: Lifetime) -> Plan:
    """Return the aggregate whose groups end when no row arrives for a time; it has the same columns.

    Raises:
        Refusal: E301, if rows can be retracted.
    """
    if not append_only(whole.input):
        raise not_implemented(
            "a time to live of groups whose rows can be retracted", lifetime.span, help=_INSIDE
        )
    plan, keys = _with_computed(whole.input, whole.keys)
    rows, start = _with_group_start(plan, keys, lifetime.idle_us)
    groups = Aggregate(
        rows,
        (*keys, start),
        (*whole.key_names, "group_start"),
        whole.aggregates,
        whole.aggregate_names,
        lifetime.idle_us,
    )
    kept = column_refs(groups)
    del kept[len(keys)]
    return project(groups, kept, (*whole.key_names, *whole.aggregate_names))


def _with_computed(plan: Plan, keys: Sequence[Expression]) -> tuple[Plan, tuple[ColumnRef, ...]]:
    """Return the rows with the keys that are not columns, and all keys as columns."""
    made = [key for key in dict.fromkeys(keys) if not isinstance(key, ColumnRef)]
    width = len(plan.schema)
    names = [*(c.name for c in plan.schema), *(f"key_{i}" for i in range(len(made)))]
    rows = project(plan, [*column_refs(plan), *made], names)
    return rows, tuple(
        key
        if isinstance(key, ColumnRef)
        else ColumnRef(key.type, key.nullable, width + made.index(key))
        for key in keys
    )


def _with_group_start(
    plan: Plan, keys: tuple[Expression, ...], idle_us: int
) -> tuple[Plan, Expression]:
    """Return the rows with the time of the first row of their group, and that column."""
    timed = AssignRowTime(plan)
    names = [column.name for column in timed.schema]
    *own, time = column_refs(timed)

    def greatest(of: Expression, end: FrameEnd) -> OverCall:
        return OverCall(AggregateCall(AggregateFunction.MAX, of, TIMESTAMP, nullable=True), end)

    before = greatest(time, FrameEnd.ONE_PRECEDING)
    with_before = Over(timed, keys, (before,), ("row_time_before",), idle_us)
    gap = call("subtract", time, column_refs(with_before)[-1])
    longest = Literal(INTERVAL, nullable=False, value=idle_us)
    begins = call(
        "coalesce", call("gt", gap, longest), Literal(BOOLEAN, nullable=False, value=True)
    )
    nothing = Literal(TIMESTAMP, nullable=True, value=None)
    start = Case(TIMESTAMP, nullable=True, branches=((begins, time),), otherwise=nothing)
    started = project(with_before, [*own, start], [*names[:-1], "start"])
    last = greatest(column_refs(started)[-1], FrameEnd.CURRENT_ROW)
    rows = Over(started, keys, (last,), ("group_start",), idle_us)
    return rows, column_refs(rows)[-1]


def join_while_alive(whole: Join, lifetimes: SideLifetimes) -> Join:
    """Return the pairs of an inner join without a time range whose earlier row is still kept.

    The rows of both sides have one more column, their time.

    Raises:
        Refusal: E301, if rows can be retracted.
    """
    if not (append_only(whole.left) and append_only(whole.right)):
        raise not_implemented(
            "a time to live in a join of rows that can be retracted", lifetimes.span, help=_INSIDE
        )
    bounds = TimeRange(
        len(whole.left.schema),
        len(whole.right.schema),
        -lifetimes.right_us,
        lifetimes.left_us,
    )
    left, right = AssignRowTime(whole.left), AssignRowTime(whole.right)
    return replace(whole, left=left, right=right, time_range=bounds)


def without_times(plan: Plan, *widths: int) -> Plan:
    """Return rows of sides that have `widths` columns and their time, without these times."""
    kept: list[int] = []
    first = 0
    for width in widths:
        kept += range(first, first + width)
        first += width + 1
    columns = column_refs(plan)
    names = [column.name for column in plan.schema]
    return project(plan, [columns[i] for i in kept], [names[i] for i in kept])
