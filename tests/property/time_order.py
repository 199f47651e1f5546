"""Random running aggregates whose rows are in the order of event time, as the binder makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import FrameEnd, OverCall
from fsql.tests.property.values import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.schema import Schema


def event_times(plan: logical.Plan) -> list[int]:
    """Return the event-time columns of a plan that are never NULL."""
    return [i for i, c in enumerate(plan.schema) if c.time_attribute and not c.nullable]


def in_order_of_time(
    below: logical.Plan, partition: tuple[Expression, ...], time: int
) -> logical.Plan:
    """Return the rows of `below` in the order of an event time, which stays one."""
    ordered = logical.AssignSessions(below, partition, time, time, time)
    made = [
        ColumnRef(column.type, column.nullable, index)
        for index, column in enumerate(ordered.schema[: len(below.schema)])
    ]
    made[time] = ColumnRef(made[time].type, nullable=False, index=len(below.schema) + 1)
    return logical.Project(ordered, tuple(made), tuple(c.name for c in below.schema))


def drawn_over(
    random: Random,
    below: logical.Plan,
    keys: tuple[Expression, ...],
    calls: Callable[[Schema, bool], tuple[AggregateCall, ...]],
    named: Callable[[tuple[OverCall, ...]], tuple[str, ...]],
) -> logical.Plan:
    """Return running aggregates in the total order, or with one frame in the order of a time.

    `calls` makes some, which can be retracted if asked to; `named` names them.
    """
    times = event_times(below)
    if not times or random.random() < 0.6:
        running = calls(below.schema, False)  # noqa: FBT003 - as `calls` takes it
        made = tuple(OverCall(call, random.choice(list(FrameEnd))) for call in running)
        return logical.Over(below, keys, made, named(made))
    time = random.choice(times)
    rows = in_order_of_time(below, keys, time)
    by_time = random.random() < 0.6
    preceding = random.choice((None, 0, 1, 2, 5))
    if by_time and preceding is not None:
        preceding *= SECOND
    column = ColumnRef(rows.schema[time].type, nullable=False, index=time) if by_time else None
    made = tuple(
        OverCall(call, FrameEnd.CURRENT_ROW, preceding, column)
        for call in calls(rows.schema, preceding is not None)
    )
    return logical.Over(rows, keys, made, named(made))
