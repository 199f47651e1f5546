"""The operators of OVER, which are added to the plan of a SELECT for running aggregates and ranks."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from fsql.compiler.bound.over import Ordering
from fsql.compiler.bound.pending import RunningValue, replace_pending
from fsql.compiler.expression import AggregateCall, ColumnRef, Expression
from fsql.compiler.logical import Over, OverCall, Plan, RankFunction, append_only
from fsql.compiler.planner.order import in_order_of_time
from fsql.compiler.planner.over.following import (
    InOrder,
    Sequenced,
    add_following_frames,
    take_following_calls,
)
from fsql.compiler.planner.over.following_ranges import add_following_ranges
from fsql.compiler.planner.over.rank import rank
from fsql.compiler.planner.over.running_totals import add_partition_frames, numbers_equal_rows
from fsql.compiler.planner.over.ties import Context, Step, number_ties
from fsql.compiler.planner.over.unordered_frames import (
    add_partition_aggregates,
    add_row_frames,
    keeps_all_rows,
)
from fsql.compiler.planner.rows import make_distinct_names
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.bound.over import BoundOver, RankCall, RunningCall
    from fsql.compiler.bound.select import Emission
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.planner.over.ties import Ties
    from fsql.compiler.text.source import Span


def _names(calls: Mapping[int, OverCall]) -> tuple[str, ...]:
    return make_distinct_names([call.aggregate.function.value.lower() for call in calls.values()])


@dataclass
class _Grouped:
    """Running aggregates with equal partition and order, by the way in which their frames are found."""

    in_sequence: dict[Sequenced, dict[int, OverCall]] = field(default_factory=dict)
    by_rank: dict[Ordering, dict[int, OverCall]] = field(default_factory=dict)
    totals: dict[Ordering, dict[int, RunningCall]] = field(default_factory=dict)
    whole: dict[tuple[Expression, ...], dict[int, AggregateCall]] = field(default_factory=dict)
    ranks: list[tuple[RankCall, int, Span]] = field(default_factory=list)
    order_spans: dict[Expression, Span] = field(default_factory=dict)

    def steps(self) -> list[Step]:
        """Return the operators after those in sequence, each once."""
        steps = [Step(ordering, numbers=True) for ordering in self.by_rank]
        for ordering, calls in self.totals.items():
            numbers = any(numbers_equal_rows(each.ordered_frame) for each in calls.values())
            steps.append(Step(ordering, numbers))
        steps += [Step(Ordering(partition, ()), numbers=False) for partition in self.whole]
        shared = {index for ordering in self.by_rank for index in self.shared_ranks(ordering)}
        steps += [
            Step(call.ordering, numbers=call.function is RankFunction.ROW_NUMBER)
            for call, index, _ in self.ranks
            if index not in shared
        ]
        return steps

    def shared_ranks(self, ordering: Ordering) -> list[int]:
        """Return the ROW_NUMBERs that are the ranks by which frames are found."""
        return [
            index
            for call, index, _ in self.ranks
            if call.function is RankFunction.ROW_NUMBER and call.ordering == ordering
        ]


def _group_calls(plan: Plan, over: BoundOver) -> _Grouped:
    """Return the running aggregates over `plan`, those in the total order first."""
    found = _Grouped(order_spans=dict(over.order_spans))
    for index, running in sorted(over.calls, key=lambda each: each[1].order is not None):
        partition, order = running.partition, running.order
        if running.whole:
            found.whole.setdefault(partition, {})[index] = running.call.aggregate
        elif running.is_ranked(plan):
            found.by_rank.setdefault(Ordering(partition, running.keys), {})[index] = running.call
        elif running.is_total(plan):
            found.totals.setdefault(Ordering(partition, running.keys), {})[index] = running
        else:
            found.in_sequence.setdefault((partition, order), {})[index] = running.call
    found.ranks = [
        (call, index, span)
        for index, call, span in sorted(
            over.ranks, key=lambda each: each[1].function is not RankFunction.ROW_NUMBER
        )
    ]
    return found


def add_running(
    plan: Plan,
    over: BoundOver,
    emit: Emission | None,
    report: Report,
    source_spans: SourceSpans,
) -> tuple[Plan, Callable[[Expression], Expression]]:
    """Return `plan` with running aggregates and ranks, and the function that resolves placeholders.

    There is an operator for each partition and order, first those in the total order, then the others, each
    in the order of the text; then one for each rank that no frames have, ROW_NUMBERs first.  `emit`
    determines when ranks by window are released.
    """
    grouped = _group_calls(plan, over)
    columns: dict[int, int] = {}
    first_span = over.span
    context = Context(emit, first_span, source_spans)
    plan, ties = number_ties(plan, grouped.in_sequence, grouped.steps(), context)
    plan = _in_sequence(plan, grouped, source_spans, columns)
    plan = _in_any_order(plan, grouped, ties, (emit, report, first_span), columns)
    for call, index, span in grouped.ranks:
        if index not in columns:
            columns[index] = len(plan.schema)
            numbers = call.function is RankFunction.ROW_NUMBER
            equal = ties.get(call.ordering, ()) if numbers else ()
            ordered = replace(call, order=call.order + equal)
            plan = rank(plan, ordered, call.function.value.lower(), emit, span)

    def resolve(expression: Expression) -> Expression:
        return replace_pending(
            expression,
            lambda part: (
                ColumnRef(part.type, part.nullable, columns[part.index])
                if isinstance(part, RunningValue)
                else None
            ),
            source_spans,
        )

    return plan, resolve


def _in_sequence(
    plan: Plan, grouped: _Grouped, spans: SourceSpans, columns: dict[int, int]
) -> Plan:
    """Return `plan` with the aggregates in the total order and in that of event time."""
    written = grouped.order_spans
    following = take_following_calls(grouped.in_sequence, written)
    for (partition, order), calls in grouped.in_sequence.items():
        if order is not None:
            plan = in_order_of_time(plan, partition, order, written[order], spans)
        columns |= _columns(plan, calls)
        plan = Over(plan, partition, tuple(calls.values()), _names(calls))
    if following is not None:
        (partition, order), calls = following
        assert order is not None
        plan = in_order_of_time(plan, partition, order, written[order], spans)
        assert isinstance(order, ColumnRef)
        columns |= _columns(plan, calls)
        made, names = tuple(calls.values()), _names(calls)
        ordered = InOrder(plan, partition, order.index, written[order])
        add = add_following_frames if made[0].time is None else add_following_ranges
        plan = add(ordered, made, names, spans)
    return plan


def _in_any_order(
    plan: Plan,
    grouped: _Grouped,
    ties: Ties,
    context: tuple[Emission | None, Report, Span],
    columns: dict[int, int],
) -> Plan:
    """Return `plan` with the aggregates in other orders and over whole partitions."""
    emit, report, span = context
    below = plan
    for ordering, calls in grouped.by_rank.items():
        shared = grouped.shared_ranks(ordering)
        columns |= dict.fromkeys(shared, len(plan.schema))
        width = len(plan.schema) + bool(shared)
        columns |= {index: width + number for number, index in enumerate(calls)}
        complete = ordering.then(ties.get(ordering, ()))
        plan = add_row_frames(plan, complete, [*calls.values()], span, keeps_rank=bool(shared))
    for ordering, totals in grouped.totals.items():
        columns |= _columns(plan, totals)
        equal = ties.get(ordering, ())
        plan = add_partition_frames(plan, ordering, equal, [*totals.values()], span)
    for partition, aggregates in grouped.whole.items():
        columns |= _columns(plan, aggregates)
        plan = add_partition_aggregates(plan, partition, [*aggregates.values()], emit, span)
    if plan is not below and not append_only(plan):
        orders = [keys for _, keys in (*grouped.by_rank, *grouped.totals)]
        report.warn(keeps_all_rows(below, orders, span, compares=bool(grouped.totals)))
    return plan


def _columns(plan: Plan, calls: Mapping[int, object]) -> dict[int, int]:
    """Return the columns of calls after those of `plan`."""
    return {index: len(plan.schema) + number for number, index in enumerate(calls)}
