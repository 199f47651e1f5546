"""ORDER BY, LIMIT and OFFSET: the first rows of a query, or all its rows in an order.

Without ORDER BY, the first rows are those that arrive first; for an append-only query they remain the first.
Without LIMIT, rows are ordered once the input has ended:

    rows, perhaps updated  →  AssignEnd: each with the end of the input
                           →  Rank: final when the window that ends there closes
                           →  TemporalSort: in the order of the ranks
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.refusal import refusal
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Call,
    ColumnRef,
    Expression,
    Literal,
)
from fsql.compiler.logical import (
    AssignEnd,
    AssignSessions,
    FrameEnd,
    OrderKey,
    Over,
    OverCall,
    Plan,
    Project,
    Rank,
    RankFunction,
    append_only,
)
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.sqltypes import BIGINT, BOOLEAN

if TYPE_CHECKING:
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.text.source import Span


_COUNT: Final = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)


def first_rows(
    plan: Plan,
    partition: tuple[Expression, ...],
    order: tuple[OrderKey, ...],
    bounds: tuple[int, int | None],
) -> Plan:
    """Return the rows of each partition whose numbers are within the bounds."""
    skipped, limit = bounds
    if limit == skipped:
        return filter_relation(plan, [Literal(BOOLEAN, nullable=False, value=False)])
    if not order and append_only(plan):
        return _first_of_all(plan, partition, skipped, limit)
    return Rank(plan, partition, order, RankFunction.ROW_NUMBER, None, skipped, limit)


def whole_in_order(
    plan: Plan, order: tuple[OrderKey, ...], span: Span, source_spans: SourceSpans
) -> Plan:
    """Return the rows of a plan whose input ends, once each, in an order.

    They are ranked within one window, which the end of the input closes.
    """
    ended = AssignEnd(plan)
    end = len(plan.schema)
    partition = (column_refs(ended)[end],)
    ranked: Plan = Rank(
        ended, partition, order, RankFunction.ROW_NUMBER, "place", window_end=end, final=True
    )
    ordered = AssignSessions(ranked, (), end, end, order_column=end + 1)
    for each in (ended, ranked, ordered):
        source_spans.add(each, span)
    return ordered


def _first_of_all(
    plan: Plan, partition: tuple[Expression, ...], skipped: int, limit: int | None
) -> Plan:
    """Return the rows of an append-only plan whose number in the total order is within the bounds."""
    number = ColumnRef(BIGINT, nullable=False, index=len(plan.schema))
    numbered = Over(plan, partition, (OverCall(_COUNT, FrameEnd.CURRENT_ROW),), ("row_number",))
    bounds = [("gt", skipped)] if skipped else []
    bounds += [] if limit is None else [("le", limit)]
    conditions = [
        Call(BOOLEAN, False, function, (number, Literal(BIGINT, nullable=False, value=bound)))  # noqa: FBT003 - as in all calls
        for function, bound in bounds
    ]
    return filter_relation(numbered, conditions) if conditions else plan


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
