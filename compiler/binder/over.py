"""Running aggregates: `COUNT(*) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING)`.

Rows are processed in the total order, or with ORDER BY in the order of event time.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.aggregate import make_distinct_names
from fsql.compiler.binder.aggregate_calls import COMPLETED, make_aggregate, needs_total_order
from fsql.compiler.binder.expression import ExpressionBinder
from fsql.compiler.binder.following import InOrder, over_following
from fsql.compiler.binder.frames import in_order_of_time, order_of, read_frame
from fsql.compiler.binder.pending import RunningValue, replace_pending
from fsql.compiler.binder.rank import RankCall, bind_order, check_rank_call, rank, refuse_frame
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.row_values import bind_lag, nth_value
from fsql.compiler.binder.scope import listing, matches
from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef, Expression
from fsql.compiler.functions.ranks import RANK_FUNCTIONS
from fsql.compiler.logical import FrameEnd, Over, OverCall, Plan, RankFunction
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fsql.compiler.binder.source_spans import SourceSpans
    from fsql.compiler.syntax import Emit
    from fsql.compiler.text.source import Span


_Sequence = tuple[tuple["Expression", ...], "Expression | None"]
"""A partition, and the order of its rows; None for the total order."""


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A running aggregate of a SELECT; `order` is None for the total order."""

    partition: tuple[Expression, ...]
    order: Expression | None
    call: OverCall

    def carried(
        self, carry: Callable[[Expression], Expression], source_spans: SourceSpans
    ) -> RunningCall:
        """Return the call with its expressions rewritten."""
        aggregate, time = self.call.aggregate, self.call.time
        argument = None if aggregate.argument is None else carry(aggregate.argument)
        carried = dataclasses.replace(aggregate, argument=argument)
        source_spans.copy(aggregate, carried)
        return RunningCall(
            tuple(carry(key) for key in self.partition),
            None if self.order is None else carry(self.order),
            dataclasses.replace(
                self.call, aggregate=carried, time=None if time is None else carry(time)
            ),
        )


@dataclass
class RunningCollector:
    """Collects the running aggregates and the ranks of a SELECT, each with its partition, each once.

    Over `append_only` input, ROW_NUMBER without ORDER BY is the running COUNT(*).
    """

    windows: tuple[syntax.NamedWindow, ...]
    source_spans: SourceSpans
    append_only: bool
    calls: dict[RunningCall, int] = field(default_factory=dict)
    ranks: dict[RankCall, tuple[int, Span]] = field(default_factory=dict)
    spans: dict[Expression, Span] = field(default_factory=dict)
    order_spans: dict[Expression, Span] = field(default_factory=dict)
    first_span: Span | None = None

    def bind(self, binder: ExpressionBinder, written: syntax.FunctionCall) -> Expression:
        """Return the placeholder for a running aggregate.

        Raises:
            Refusal: E2xx to E4xx.
        """
        window = self._window(written)
        inner = ExpressionBinder(
            binder.scope, "OVER", self.source_spans, binder.aggregates, spans=self.spans
        )
        partition = tuple(inner.bind_whole(key) for key in window.partition_by)
        name = written.name.parts[-1].name.upper()
        function = RANK_FUNCTIONS.get(name)
        if function is not None:
            check_rank_call(written, window)
            return self._rank(
                RankCall(function, partition, bind_order(inner, window.order_by)), written.span
            )
        order = self._order(inner, window)
        self.first_span = self.first_span or written.span
        if name in {"LAG", "LEAD"}:
            refuse_frame(name, window)
            if name == "LEAD" and order is None:
                raise _without_order(name, written.span)
            return bind_lag(
                binder,
                inner,
                written,
                name,
                lambda call: self._running(RunningCall(partition, order, call)),
            )
        frame = read_frame(window, written.span)
        if frame.end_preceding < 0 and order is None:
            raise _without_order("FOLLOWING", written.span)
        if name in COMPLETED:
            raise not_implemented(f"{name} in OVER", written.span)
        if name == "NTH_VALUE":
            aggregate = nth_value(inner, written)
        else:
            aggregate = make_aggregate(inner, written, empty=frame.may_be_empty)
        if aggregate.others or aggregate.distinct:
            raise not_implemented(f"{name} in OVER", written.span)
        collects = aggregate.function is AggregateFunction.ARRAY_AGG
        running = frame.preceding is None and not frame.end_preceding
        if not running and collects and needs_total_order(aggregate):
            raise not_implemented(
                f"{name} of a frame that does not begin with the partition", written.span
            )
        time = order if frame.by_time else None
        call = OverCall(aggregate, frame.end, frame.preceding, time, frame.end_preceding)
        return self._running(RunningCall(partition, order, call))

    def _order(
        self, binder: ExpressionBinder, window: syntax.WindowSpecification
    ) -> Expression | None:
        written = order_of(window)
        if written is None:
            return None
        order = binder.bind_whole(written)
        self.order_spans.setdefault(order, written.span)
        return order

    def _running(self, running: RunningCall) -> Expression:
        index = self.calls.setdefault(running, self._next)
        aggregate = running.call.aggregate
        return RunningValue(aggregate.type, aggregate.nullable, index)

    def _rank(self, call: RankCall, span: Span) -> Expression:
        if self.append_only and not call.order:
            count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
            self.source_spans.add(count, span)
            self.first_span = self.first_span or span
            running = OverCall(count, FrameEnd.CURRENT_ROW)
            return self._running(RunningCall(call.partition, None, running))
        index, _ = self.ranks.setdefault(call, (self._next, span))
        return RunningValue(BIGINT, nullable=False, index=index)

    @property
    def _next(self) -> int:
        return len(self.calls) + len(self.ranks)

    def expressions(self) -> Iterator[Expression]:
        """Yield the arguments, partition keys and orders of the running aggregates."""
        for running in self.calls:
            yield from running.partition
            yield from running.call.aggregate.arguments
            if running.order is not None:
                yield running.order
        for rank_call in self.ranks:
            yield from rank_call.expressions()

    def _window(self, written: syntax.FunctionCall) -> syntax.WindowSpecification:
        over = written.over
        if isinstance(over, syntax.Identifier):
            for named in self.windows:
                if matches(over, named.name.name):
                    over = named.window
                    break
            else:
                raise _unknown_window(over, self.windows)
        assert isinstance(over, syntax.WindowSpecification)
        if over.base is not None:
            raise not_implemented("window that extends another window", over.base.span)
        return over


def _without_order(what: str, span: Span) -> Refusal:
    return refusal(
        "E404",
        f"{what} in OVER requires ORDER BY",
        span,
        help="write OVER (… ORDER BY at …), with an event-time column",
    )


def _names(calls: Mapping[int, OverCall]) -> tuple[str, ...]:
    return make_distinct_names([call.aggregate.function.value.lower() for call in calls.values()])


def _take_following(
    operators: dict[_Sequence, dict[int, OverCall]], written: Mapping[Expression, Span]
) -> tuple[_Sequence, dict[int, OverCall]] | None:
    """Remove the calls with rows after each row, and others by rows that go with them, and return them.

    Raises:
        Refusal: E301 if they are not of one partition.
    """
    found = None
    for sequence, calls in list(operators.items()):
        if all(call.end_preceding >= 0 for call in calls.values()):
            continue
        order = sequence[1]
        assert order is not None
        if found is not None:
            raise not_implemented(
                "LEAD and FOLLOWING over several partitions in one SELECT",
                written[order],
                help="write one PARTITION BY for all of them",
            )
        by_rows = {index: call for index, call in calls.items() if call.time is None}
        found = (
            sequence,
            {
                index: dataclasses.replace(
                    call,
                    frame_end=FrameEnd.CURRENT_ROW,
                    end_preceding=call.end_preceding + (call.frame_end is FrameEnd.ONE_PRECEDING),
                )
                for index, call in by_rows.items()
            },
        )
        operators[sequence] = {i: call for i, call in calls.items() if i not in by_rows}
        if not operators[sequence]:
            del operators[sequence]
    return found


def _unknown_window(name: syntax.Identifier, windows: tuple[syntax.NamedWindow, ...]) -> Refusal:
    known = listing([window.name.name for window in windows])
    return refusal(
        "E219",
        f'window "{name.name}" does not exist',
        name.span,
        note=f"the WINDOW clause has {known}" if known else None,
    )


def run(
    plan: Plan,
    collector: RunningCollector,
    carry: Callable[[Expression], Expression],
    emit: Emit | None,
) -> tuple[Plan, Callable[[Expression], Expression]]:
    """Return `plan` with running aggregates and ranks, and the function that resolves placeholders.

    `carry` rewrites an expression of the SELECT over the columns of `plan`.  There is an operator for each
    partition and order, in the order of the text but those in the total order first, and then one for each
    rank; ROW_NUMBERs come before the others.
    `emit` says when ranks by window are released.
    """
    spans = collector.source_spans
    operators: dict[_Sequence, dict[int, OverCall]] = {}
    written: dict[Expression, Span] = {}
    for running, index in sorted(
        collector.calls.items(), key=lambda each: each[0].order is not None
    ):
        carried = running.carried(carry, spans)
        if running.order is not None and carried.order is not None:
            written.setdefault(carried.order, collector.order_spans[running.order])
        operators.setdefault((carried.partition, carried.order), {})[index] = carried.call
    following = _take_following(operators, written)
    columns: dict[int, int] = {}
    for (partition, order), calls in operators.items():
        if order is not None:
            plan = in_order_of_time(plan, partition, order, written[order], spans)
        columns |= {index: len(plan.schema) + place for place, index in enumerate(calls)}
        plan = Over(plan, partition, tuple(calls.values()), _names(calls))
    if following is not None:
        (partition, order), calls = following
        assert order is not None
        plan = in_order_of_time(plan, partition, order, written[order], spans)
        assert isinstance(order, ColumnRef)
        columns |= {index: len(plan.schema) + place for place, index in enumerate(calls)}
        made, names = tuple(calls.values()), _names(calls)
        ordered = InOrder(plan, partition, order.index, written[order])
        plan = over_following(ordered, made, names, spans)
    # Only ROW_NUMBER depends on how rows of equal order are ordered, and the first one sees their positions.
    for rank_call, (index, span) in sorted(
        collector.ranks.items(), key=lambda each: each[0].function is not RankFunction.ROW_NUMBER
    ):
        columns[index] = len(plan.schema)
        name = rank_call.function.value.lower()
        plan = rank(plan, rank_call.carried(carry), name, emit, span)

    def resolve(expression: Expression) -> Expression:
        return replace_pending(
            expression,
            lambda part: (
                ColumnRef(part.type, part.nullable, columns[part.index])
                if isinstance(part, RunningValue)
                else None
            ),
            collector.source_spans,
        )

    return plan, resolve
