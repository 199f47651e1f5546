"""Rows in the order of event time: sessions without a gap, which the watermark releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics.refusal import refusal
from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.logical import AssignSessions, Plan, Project, Rank, RankFunction
from fsql.compiler.planner.rows import column_refs

if TYPE_CHECKING:
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.logical import OrderKey
    from fsql.compiler.text.source import Span


def in_order_of_time(
    plan: Plan,
    partition: tuple[Expression, ...],
    time: Expression,
    span: Span,
    source_spans: SourceSpans,
    clause: str = "OVER",
    *,
    then: tuple[OrderKey, ...] = (),
) -> Plan:
    """Return the rows of `plan`, by partition in the order of the event time `time`, with the same columns.

    Rows of one time are in the order `then`, and in the total order where that is equal.  `clause` has the
    ORDER BY.

    Raises:
        Refusal: E304.
    """
    if not isinstance(time, ColumnRef) or not plan.schema[time.index].time_attribute:
        times = [column.name for column in plan.schema if column.time_attribute]
        raise refusal(
            "E304",
            f"ORDER BY in {clause} is not by event time",
            span,
            help=f"order by the event-time column: {times[0]}" if times else None,
            note=None if times else "no column of the input is event time",
        )
    # A watermark may pass several times at once: rows are in the order of their times even then.
    ordered: Plan = AssignSessions(plan, partition, time.index, time.index, order_column=time.index)
    source_spans.add(ordered, span)
    end = len(plan.schema) + 1
    if then:
        ordered = _numbered(ordered, partition, end, then)
        source_spans.add(ordered, span)
        width = len(ordered.schema)
        ordered = AssignSessions(ordered, partition, end, end, order_column=width - 1)
        source_spans.add(ordered, span)
        end = width + 1
    # Only the bounds of sessions are event time from here on.
    made: list[Expression] = [*column_refs(ordered)]
    made[time.index] = made[end]
    names = tuple(column.name for column in plan.schema)
    return Project(ordered, tuple(made[: len(names)]), names)


def _numbered(
    sessions: Plan, partition: tuple[Expression, ...], end: int, order: tuple[OrderKey, ...]
) -> Plan:
    """Return the rows of sessions of one time each, with their numbers within a session in an order."""
    by_session = (*partition, column_refs(sessions)[end])
    return Rank(
        sessions, by_session, order, RankFunction.ROW_NUMBER, "place", window_end=end, final=True
    )
