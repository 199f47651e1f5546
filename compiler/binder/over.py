"""Running aggregates: `COUNT(*) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING)`.

Rows are processed in the total order, so there is no ORDER BY.  A frame begins with the first row of the
partition and ends with the row itself, or with the row before it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.aggregate import make_distinct_names
from fsql.compiler.binder.aggregate_calls import JOINED, make_aggregate
from fsql.compiler.binder.expression import ExpressionBinder
from fsql.compiler.binder.pending import RunningValue, replace_pending
from fsql.compiler.binder.rank import RankCall, bind_order, check_rank_call, rank
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.scope import listing, matches
from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef, Expression
from fsql.compiler.functions.ranks import RANK_FUNCTIONS
from fsql.compiler.logical import FrameEnd, Over, OverCall, Plan, RankFunction
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.compiler.binder.source_spans import SourceSpans
    from fsql.compiler.syntax import Emit
    from fsql.compiler.text.source import Span

_FRAMES = "ROWS UNBOUNDED PRECEDING, or ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"


@dataclass
class RunningCollector:
    """Collects the running aggregates and the ranks of a SELECT, each with its partition, each once.

    Over `append_only` input, ROW_NUMBER without ORDER BY is the running COUNT(*).
    """

    windows: tuple[syntax.NamedWindow, ...]
    source_spans: SourceSpans
    append_only: bool
    calls: dict[tuple[tuple[Expression, ...], OverCall], int] = field(default_factory=dict)
    ranks: dict[RankCall, tuple[int, Span]] = field(default_factory=dict)
    spans: dict[Expression, Span] = field(default_factory=dict)
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
        frame_end = _frame_end(window, written.span)
        if name in JOINED:
            raise not_implemented(f"{name} in OVER", written.span)
        aggregate = make_aggregate(inner, written, empty=frame_end is FrameEnd.ONE_PRECEDING)
        if aggregate.others or aggregate.distinct:
            raise not_implemented(f"{name} in OVER", written.span)
        self.first_span = self.first_span or written.span
        return self._running(partition, OverCall(aggregate, frame_end))

    def _running(self, partition: tuple[Expression, ...], call: OverCall) -> Expression:
        index = self.calls.setdefault((partition, call), self._next)
        return RunningValue(call.aggregate.type, call.aggregate.nullable, index)

    def _rank(self, call: RankCall, span: Span) -> Expression:
        if self.append_only and not call.order:
            count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
            self.source_spans.add(count, span)
            self.first_span = self.first_span or span
            return self._running(call.partition, OverCall(count, FrameEnd.CURRENT_ROW))
        index, _ = self.ranks.setdefault(call, (self._next, span))
        return RunningValue(BIGINT, nullable=False, index=index)

    @property
    def _next(self) -> int:
        return len(self.calls) + len(self.ranks)

    def expressions(self) -> Iterator[Expression]:
        """Yield the arguments and partition keys of the running aggregates."""
        for partition, call in self.calls:
            yield from partition
            yield from call.aggregate.arguments
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


def _unknown_window(name: syntax.Identifier, windows: tuple[syntax.NamedWindow, ...]) -> Refusal:
    known = listing([window.name.name for window in windows])
    return refusal(
        "E219",
        f'window "{name.name}" does not exist',
        name.span,
        note=f"the WINDOW clause has {known}" if known else None,
    )


def _frame_end(window: syntax.WindowSpecification, span: Span) -> FrameEnd:
    """Return the end of the frame; refuse the frames of the SQL standard that are not implemented."""
    if window.order_by:
        raise not_implemented(
            "ORDER BY in OVER",
            window.order_by[0].span,
            help="remove ORDER BY; rows are processed in the order of the stream",
        )
    frame = window.frame
    if frame is None:
        raise not_implemented("OVER without a frame", span, help=f"write {_FRAMES}")
    start_unbounded = frame.start.side == "PRECEDING" and frame.start.offset is None
    if frame.unit == "ROWS" and start_unbounded:
        match frame.end:
            case None | syntax.FrameBound(side="CURRENT ROW"):
                return FrameEnd.CURRENT_ROW
            case syntax.FrameBound(side="PRECEDING", offset=syntax.NumberLiteral(text="1")):
                return FrameEnd.ONE_PRECEDING
            case _:
                pass
    raise not_implemented("this window frame", frame.span, help=f"write {_FRAMES}")


def run(
    plan: Plan,
    collector: RunningCollector,
    carry: Callable[[Expression], Expression],
    emit: Emit | None,
) -> tuple[Plan, Callable[[Expression], Expression]]:
    """Return `plan` with running aggregates and ranks, and the function that resolves placeholders.

    `carry` rewrites an expression of the SELECT over the columns of `plan`.  There is an operator for each
    partition, in the order of the text, and then one for each rank; ROW_NUMBERs come before the others.
    `emit` says when ranks by window are released.
    """
    by_partition: dict[tuple[Expression, ...], dict[int, OverCall]] = {}
    for (partition, call), index in collector.calls.items():
        carried = tuple(carry(key) for key in partition)
        by_partition.setdefault(carried, {})[index] = _carried(call, carry, collector.source_spans)
    columns: dict[int, int] = {}
    for partition, calls in by_partition.items():
        width = len(plan.schema)
        columns |= {index: width + place for place, index in enumerate(calls)}
        names = make_distinct_names(
            [call.aggregate.function.value.lower() for call in calls.values()]
        )
        plan = Over(plan, partition, tuple(calls.values()), names)
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


def _carried(
    call: OverCall, carry: Callable[[Expression], Expression], source_spans: SourceSpans
) -> OverCall:
    aggregate = call.aggregate
    argument = None if aggregate.argument is None else carry(aggregate.argument)
    carried = dataclasses.replace(aggregate, argument=argument)
    source_spans.copy(aggregate, carried)
    return OverCall(carried, call.frame_end)
