"""Running aggregates: `COUNT(*) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING)`, collected from a SELECT.

Rows are processed in the total order, or with ORDER BY in the order of event time.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.aggregates.aggregate_calls import complete_value, make_aggregate
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.over.frames import FrameBounds, ascends, is_whole, read_frame
from fsql.compiler.binder.over.ordered_frames import bind_frame
from fsql.compiler.binder.over.rank import bind_order, check_rank_call, refuse_frame
from fsql.compiler.binder.over.relative_ranks import bind_relative_rank, check_relative_rank
from fsql.compiler.binder.over.row_values import bind_lag, nth_value
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.scope import matches, names_text
from fsql.compiler.bound.aggregates import in_order, needs_total_order, value_in_order
from fsql.compiler.bound.over import ALL_AFTER, BoundOver, RankCall, RunningCall, comparable_key
from fsql.compiler.bound.pending import RunningValue
from fsql.compiler.expression import AggregateCall, AggregateFunction, Expression
from fsql.compiler.functions.ranks import RANK_FUNCTIONS, RELATIVE_RANKS
from fsql.compiler.logical import FrameEnd, OverCall, RankFunction
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder, Subqueries
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.logical import OrderKey
    from fsql.compiler.text.source import Span


@dataclass
class RunningCollector:
    """Collects the running aggregates and the ranks of a SELECT with their partitions, each once.

    Over `append_only` input, ROW_NUMBER without ORDER BY is the running COUNT(*).  The keys `within` are
    among those of every partition.  `subqueries` are those in arguments and windows.
    """

    windows: tuple[syntax.NamedWindow, ...]
    source_spans: SourceSpans
    append_only: bool
    subqueries: Subqueries
    within: tuple[Expression, ...] = ()
    calls: dict[RunningCall, int] = field(default_factory=dict)
    ranks: dict[RankCall, tuple[int, Span]] = field(default_factory=dict)
    spans: dict[Expression, Span] = field(default_factory=dict)
    order_spans: dict[Expression, Span] = field(default_factory=dict)
    first_span: Span | None = None

    def bind(self, binder: ClauseBinder, written: syntax.FunctionCall) -> Expression:
        """Return the placeholder for a running aggregate.

        Raises:
            Refusal: E2xx to E4xx.
        """
        window = self._window(written)
        inner = ExpressionBinder(
            *(binder.scope, "OVER", self.source_spans, binder.functions, binder.zone),
            aggregates=binder.aggregates,
            subqueries=self.subqueries,
            spans=self.spans,
        )
        own = tuple(inner.bind_and_check_size(key) for key in window.partition_by)
        partition = (*self.within, *(key for key in own if key not in self.within))
        name = written.name.parts[-1].name.upper()
        function = RANK_FUNCTIONS.get(name)
        if function is not None:
            check_rank_call(written, window)
            return self._rank(
                RankCall(function, partition, bind_order(inner, window.order_by)), written.span
            )
        self.first_span = self.first_span or written.span
        if name in RELATIVE_RANKS:
            return self._relative_rank(inner, written, window, partition)
        lags = name in {"LAG", "LEAD"}
        if lags:
            refuse_frame(name, window)
        whole = not lags and is_whole(window)
        order = None if whole else self._order(inner, window)
        keys = bind_order(inner, window.order_by)
        if lags:
            if name == "LEAD" and not keys:
                raise _without_order(name, written.span)
            return bind_lag(
                binder,
                inner,
                written,
                name,
                lambda call: self._bind_running(RunningCall(partition, order, call, keys)),
                lambda aggregate: self._bind_running(
                    RunningCall(
                        *(partition, order, OverCall(aggregate, FrameEnd.CURRENT_ROW), keys),
                        frame=ALL_AFTER,
                        timed=False,
                    )
                ),
            )
        return self._aggregate(inner, written, window, (partition, order, keys))

    def _relative_rank(
        self,
        inner: ClauseBinder,
        written: syntax.FunctionCall,
        window: syntax.WindowSpecification,
        partition: tuple[Expression, ...],
    ) -> Expression:
        name = written.name.parts[-1].name.upper()
        check_relative_rank(written, name, window)
        keys = bind_order(inner, window.order_by)
        opposite = tuple(
            replace(key, descending=not key.descending, nulls_first=not key.nulls_first)
            for key in keys
        )
        count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
        self.source_spans.add(count, written.span)
        total = OverCall(count, FrameEnd.CURRENT_ROW)
        return bind_relative_rank(
            written,
            name,
            lambda function: self._rank(RankCall(function, partition, keys), written.span),
            lambda: self._rank(RankCall(RankFunction.RANK, partition, opposite), written.span),
            self._bind_running(RunningCall(partition, None, total, whole=True)),
        )

    def _aggregate(
        self,
        inner: ClauseBinder,
        written: syntax.FunctionCall,
        window: syntax.WindowSpecification,
        rows: tuple[tuple[Expression, ...], Expression | None, tuple[OrderKey, ...]],
    ) -> Expression:
        """Return the placeholder for an aggregate of a frame; `rows` are the partition and its order.

        Raises:
            Refusal: E2xx to E4xx.
        """
        partition, order, keys = rows
        name, whole = written.name.parts[-1].name.upper(), is_whole(window)
        bounds = read_frame(window, inner.zone)
        frame = None if whole else bind_frame(inner, window)
        if window.frame is not None and frame is not None and frame.measures and keys:
            comparable_key(frame, keys, window.frame.span)
        excludes = window.frame is not None and window.frame.excluded not in {None, "NO OTHERS"}
        if (bounds is None or bounds.end_preceding < 0) and not keys:
            raise _without_order("EXCLUDE" if excludes else "FOLLOWING", written.span)
        if name == "NTH_VALUE":
            aggregate = nth_value(inner, written)
        else:
            aggregate = make_aggregate(
                inner,
                written,
                empty=frame is not None and not frame.has_row,
                append_only=bounds is not None and bounds.preceding is None and not whole,
            )
        own = aggregate
        if whole and keys:
            aggregate, keys = in_order(aggregate, keys), ()
        if whole and needs_total_order(aggregate):
            raise not_implemented(
                f"{name} of a frame without an order",
                written.span,
                help=f"write an order: {name}(… ORDER BY y) OVER (PARTITION BY k)",
            )
        timed = bounds is not None
        bounds = bounds or FrameBounds(FrameEnd.CURRENT_ROW)
        time = order if bounds.by_time else None
        call = OverCall(aggregate, bounds.end, bounds.preceding, time, bounds.end_preceding)
        value = self._bind_running(
            RunningCall(partition, order, call, keys, whole, frame, timed=timed)
        )
        if whole and aggregate is not own:
            value = value_in_order(value, own)
        return complete_value(inner, written, value)

    def _order(self, binder: ClauseBinder, window: syntax.WindowSpecification) -> Expression | None:
        """Return the expression by which rows ascend; None if there is none, or several."""
        if not window.order_by or not ascends(window):
            return None
        written = window.order_by[0].expression
        order = binder.bind_and_check_size(written)
        self.order_spans.setdefault(order, written.span)
        return order

    def aggregate_of(self, value: Expression) -> AggregateCall | None:
        """Return the aggregate that a placeholder stands for; None if it is none of these placeholders."""
        if not isinstance(value, RunningValue):
            return None
        calls = [running.call for running, index in self.calls.items() if index == value.index]
        return (
            calls[0].aggregate if calls else None
        )  # the placeholder of a rank is of this kind, too

    def _bind_running(self, running: RunningCall) -> Expression:
        index = self.calls.setdefault(running, self._next)
        aggregate = running.call.aggregate
        return RunningValue(aggregate.type, aggregate.nullable, index)

    def _rank(self, call: RankCall, span: Span) -> Expression:
        if self.append_only and not call.order:
            count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
            self.source_spans.add(count, span)
            self.first_span = self.first_span or span
            running = OverCall(count, FrameEnd.CURRENT_ROW)
            return self._bind_running(RunningCall(call.partition, None, running))
        index, _ = self.ranks.setdefault(call, (self._next, span))
        return RunningValue(BIGINT, nullable=False, index=index)

    @property
    def _next(self) -> int:
        return len(self.calls) + len(self.ranks)

    def bound(self) -> BoundOver | None:
        """Return the calls with OVER; None if there are none."""
        if not self.calls and not self.ranks:
            return None
        ranks = tuple((index, call, span) for call, (index, span) in self.ranks.items())
        spans = [span for _, call, span in ranks if call.function is RankFunction.ROW_NUMBER]
        return BoundOver(
            tuple((index, running) for running, index in self.calls.items()),
            ranks,
            self.first_span or (*spans, *(span for _, _, span in ranks))[0],
            self.spans,
            self.order_spans,
        )

    def _window(self, written: syntax.FunctionCall) -> syntax.WindowSpecification:
        over = written.over
        if isinstance(over, syntax.Identifier):
            return self._find(over, self.windows)
        assert isinstance(over, syntax.WindowSpecification)
        return self._complete(over, self.windows)

    def _find(
        self, name: syntax.Identifier, windows: Sequence[syntax.NamedWindow]
    ) -> syntax.WindowSpecification:
        for index, named in enumerate(windows):
            if matches(name, named.name.name):
                return self._complete(named.window, windows[:index])
        raise _unknown_window(name, windows)

    def _complete(
        self, written: syntax.WindowSpecification, windows: Sequence[syntax.NamedWindow]
    ) -> syntax.WindowSpecification:
        """Return the window together with what it takes from the one that it names, which is among `windows`.

        Raises:
            Refusal: E219, E404.
        """
        if written.base is None:
            return written
        base = self._find(written.base, windows)
        name = written.base
        if written.partition_by:
            message = f'a window that extends "{name.name}" cannot have PARTITION BY'
            raise refusal("E404", message, name.span)
        if written.order_by and base.order_by:
            message = (
                f'a window that extends "{name.name}" cannot have ORDER BY: "{name.name}" has it'
            )
            raise refusal("E404", message, name.span)
        if base.frame is not None:
            message = f'window "{name.name}" cannot be extended: it has a frame'
            raise refusal("E404", message, name.span, help=f"write OVER {name.name}")
        order = written.order_by or base.order_by
        return replace(written, base=None, partition_by=base.partition_by, order_by=order)


def _without_order(what: str, span: Span) -> Refusal:
    return refusal(
        "E404",
        f"{what} in OVER requires ORDER BY",
        span,
        help="write OVER (… ORDER BY at …), with an event-time column",
    )


def _unknown_window(name: syntax.Identifier, windows: Sequence[syntax.NamedWindow]) -> Refusal:
    known = names_text([window.name.name for window in windows])
    return refusal(
        "E219",
        f'window "{name.name}" does not exist',
        name.span,
        note=f"the WINDOW clause has {known}" if known else None,
    )
