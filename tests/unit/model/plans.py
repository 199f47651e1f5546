"""Short ways to write logical plans by hand, as the binder would make them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Call,
    ColumnRef,
    Expression,
    Literal,
)
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DOUBLE, TIMESTAMP, SqlType, array_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECOND = 1_000_000


def table(
    name: str,
    columns: Mapping[str, SqlType],
    ordinal: int = 0,
    *,
    event_time: str | None = None,
    delay_us: int = 0,
    time: logical.TimeKind | None = None,
    options: Mapping[str, str] | None = None,
) -> logical.Table:
    """Return a table; `event_time` names its event-time column, which is then NOT NULL."""
    schema = tuple(
        Column(column, kind, nullable=column != event_time, time_attribute=column == event_time)
        for column, kind in columns.items()
    )
    at = (
        None
        if event_time is None
        else ColumnRef(TIMESTAMP, nullable=False, index=[*columns].index(event_time))
    )
    if time is None:
        time = logical.TimeKind.OFFSET if at is None else logical.TimeKind.EVENT
    return logical.Table(name, ordinal, schema, tuple((options or {}).items()), time, at, delay_us)


def scan(of: logical.Table, scan_number: int = 0) -> logical.Scan:
    return logical.Scan(of, scan_number)


def col(plan: logical.Plan, name: str) -> ColumnRef:
    """Return a reference to the column `name` of `plan`."""
    index = [column.name for column in plan.schema].index(name)
    return ColumnRef(plan.schema[index].type, plan.schema[index].nullable, index)


def column(kind: SqlType, index: int) -> ColumnRef:
    """Return a reference to a column that has no name of its own, or shares it."""
    return ColumnRef(kind, nullable=True, index=index)


def lit(value: int, kind: SqlType = BIGINT) -> Literal:
    return Literal(kind, nullable=False, value=value)


def call(function: str, kind: SqlType, *arguments: Expression) -> Call:
    return Call(kind, any(argument.nullable for argument in arguments), function, arguments)


def gt(left: Expression, right: Expression) -> Call:
    return call("gt", BOOLEAN, left, right)


def count() -> AggregateCall:
    return AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)


def agg(name: str, argument: Expression) -> AggregateCall:
    """Return the aggregate `name` of `argument` with the type that SQL gives it."""
    function = AggregateFunction(name)
    match function:
        case AggregateFunction.COUNT:
            return AggregateCall(function, argument, BIGINT, nullable=False)
        case AggregateFunction.AVG:
            return AggregateCall(function, argument, DOUBLE, nullable=True)
        case AggregateFunction.ARRAY_AGG:
            return AggregateCall(function, argument, array_of(argument.type), nullable=True)
        case AggregateFunction.SUM if argument.type != DOUBLE:
            return AggregateCall(function, argument, BIGINT, nullable=True)
        case _:
            return AggregateCall(function, argument, argument.type, nullable=True)


def project(plan: logical.Plan, **expressions: Expression) -> logical.Project:
    return logical.Project(plan, tuple(expressions.values()), tuple(expressions))


def group(
    plan: logical.Plan, keys: Sequence[str], **aggregates: AggregateCall
) -> logical.Aggregate:
    """Return GROUP BY `keys` (names) of `plan`."""
    return logical.Aggregate(
        plan,
        tuple(col(plan, key) for key in keys),
        tuple(keys),
        tuple(aggregates.values()),
        tuple(aggregates),
    )


def hop(
    plan: logical.Plan, time: str, size_us: int, slide_us: int | None = None
) -> logical.AssignWindows:
    """Return the rows of `plan` in HOP windows, or TUMBLE windows where there is no slide."""
    return logical.AssignWindows(plan, col(plan, time).index, size_us, slide_us or size_us)


def window_group(
    plan: logical.Plan, keys: Sequence[str], *, final: bool = True, **aggregates: AggregateCall
) -> logical.WindowAggregate:
    """Return GROUP BY `keys`, which hold `window_end`, of the windowed `plan`."""
    assert "window_end" in keys
    return logical.WindowAggregate(
        plan,
        tuple(col(plan, key) for key in keys),
        tuple(keys),
        tuple(aggregates.values()),
        tuple(aggregates),
        col(plan, "window_end").index,
        final,
    )


def late_rows_counted(
    left: logical.Plan, right: logical.Plan, bounds: logical.TimeRange
) -> tuple[logical.Plan, logical.Plan]:
    """Return the sides of a join with a time range, with their late rows counted."""
    delay = max(delay_us(left, bounds.left_time), delay_us(right, bounds.right_time))
    grain = max(logical.grain_us(left), logical.grain_us(right))
    width = bounds.high_us - bounds.low_us
    waits = max(width, bounds.high_us), max(width, -bounds.low_us)
    return (
        logical.CountLateRows(left, bounds.left_time, waits[0], delay, grain),
        logical.CountLateRows(right, bounds.right_time, waits[1], delay, grain),
    )


def join(
    left: logical.Plan,
    right: logical.Plan,
    on: Sequence[tuple[str, str]],
    time_range: logical.TimeRange | None = None,
) -> logical.Join:
    """Return the join of two plans on equal columns (left name, right name)."""
    return logical.Join(
        left,
        right,
        tuple(col(left, name) for name, _ in on),
        tuple(col(right, name) for _, name in on),
        time_range,
    )


def over(
    plan: logical.Plan,
    partition: Sequence[str],
    frame_end: logical.FrameEnd = logical.FrameEnd.CURRENT_ROW,
    **calls: AggregateCall,
) -> logical.Over:
    return logical.Over(
        plan,
        tuple(col(plan, name) for name in partition),
        tuple(logical.OverCall(call, frame_end) for call in calls.values()),
        tuple(calls),
    )


def insert(
    plan: logical.Plan,
    key: Sequence[str] | None = None,
    changes: logical.Changes | None = None,
    name: str = "out",
) -> logical.Insert:
    """Return `INSERT INTO name plan`: append where the plan is, else retract by `key`."""
    if changes is None:
        append = logical.append_only(plan)
        changes = logical.Changes.APPEND if append else logical.Changes.RETRACT
    indexes = None if key is None else tuple(col(plan, column).index for column in key)
    return logical.Insert(logical.SinkTable(name, plan.schema, (), changes, indexes), plan)


def job(*plans: logical.Plan | logical.Insert) -> logical.Job:
    """Return the job of several INSERTs; a bare plan is inserted without a key."""
    inserts = (
        plan if isinstance(plan, logical.Insert) else insert(plan, name=f"out{number}")
        for number, plan in enumerate(plans)
    )
    return logical.Job(tuple(inserts))
