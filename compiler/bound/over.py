"""Calls with OVER, bound: running aggregates and ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.bound.frames import ALL_BEFORE
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import OrderKey, Plan, RankFunction, append_only
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fsql.compiler.bound.frames import OrderedFrame
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import OverCall
    from fsql.compiler.text.source import Span


class Ordering(NamedTuple):
    """A partition, and any order of its rows."""

    partition: tuple[Expression, ...]
    keys: tuple[OrderKey, ...]

    def then(self, keys: tuple[OrderKey, ...]) -> Ordering:
        """Return the ordering in which equal rows are ordered by more keys."""
        return Ordering(self.partition, self.keys + keys)


@dataclass(frozen=True, slots=True)
class RankCall:
    """One ranking of a SELECT; `span` is where it was first written."""

    function: RankFunction
    partition: tuple[Expression, ...]
    order: tuple[OrderKey, ...]

    @property
    def ordering(self) -> Ordering:
        """Return the partition and the order."""
        return Ordering(self.partition, self.order)

    def expressions(self) -> Iterator[Expression]:
        """Yield the expressions by which rows are partitioned and ordered."""
        yield from self.partition
        yield from (key.expression for key in self.order)

    def rewrite(self, carry: Callable[[Expression], Expression]) -> RankCall:
        """Return the call with its expressions rewritten."""
        partition = tuple(carry(key) for key in self.partition)
        order = tuple(
            OrderKey(carry(key.expression), key.descending, key.nulls_first) for key in self.order
        )
        return RankCall(self.function, partition, order)


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A running aggregate of a SELECT.

    `order` is the expression by which rows ascend; None for the total order, for another order, given by
    `keys`, and for the aggregate of a `whole` partition.  `frame` is the frame in any order; without `timed`
    it is none of the frames of `call`, which are computed in the order of event time.
    """

    partition: tuple[Expression, ...]
    order: Expression | None
    call: OverCall
    keys: tuple[OrderKey, ...] = ()
    whole: bool = False
    frame: OrderedFrame | None = None
    timed: bool = True

    @property
    def ordered_frame(self) -> OrderedFrame:
        """Return the frame in any order; LAG that ignores NULLs has all rows before its row."""
        return self.frame or ALL_BEFORE

    def is_ranked(self, plan: Plan) -> bool:
        """Return whether the rows of its frame are found by their ranks among the rows of `plan`."""
        of_rows = self.frame is None or self.frame.rows_between is not None
        if self.whole or not of_rows or self.call.preceding is None:
            return False
        return not self._is_in_sequence(plan)

    def is_total(self, plan: Plan) -> bool:
        """Return whether its frame is found by the positions of rows, and other rows may change it."""
        if self.whole or self.is_ranked(plan):
            return False
        return not (self.timed and self._is_in_sequence(plan))

    def _is_in_sequence(self, plan: Plan) -> bool:
        """Return whether rows come in its order: the total order, or that of event time."""
        order = self.order
        by_time = isinstance(order, ColumnRef) and plan.schema[order.index].time_attribute
        return (by_time or not self.keys) and append_only(plan)

    def rewrite(
        self, carry: Callable[[Expression], Expression], source_spans: SourceSpans
    ) -> RunningCall:
        """Return the call with its expressions rewritten."""
        aggregate, time = self.call.aggregate, self.call.time
        argument = None if aggregate.argument is None else carry(aggregate.argument)
        others = tuple(map(carry, aggregate.others))
        carried = replace(aggregate, argument=argument, others=others)
        source_spans.copy(aggregate, carried)
        return replace(
            self,
            partition=tuple(carry(key) for key in self.partition),
            order=None if self.order is None else carry(self.order),
            call=replace(self.call, aggregate=carried, time=None if time is None else carry(time)),
            keys=tuple(replace(key, expression=carry(key.expression)) for key in self.keys),
        )


@dataclass(frozen=True, slots=True)
class BoundOver:
    """The calls with OVER of a SELECT, each once, with the numbers by which placeholders refer to them.

    `span` is that of the first call, `spans` are those of the parts of all, `order_spans` those of orders.
    """

    calls: tuple[tuple[int, RunningCall], ...]
    ranks: tuple[tuple[int, RankCall, Span], ...]
    span: Span
    spans: Mapping[Expression, Span]
    order_spans: Mapping[Expression, Span]

    def expressions(self) -> Iterator[Expression]:
        """Yield the arguments, partition keys and orders of the calls."""
        for _, running in self.calls:
            yield from running.partition
            yield from running.call.aggregate.arguments
            if running.order is not None:
                yield running.order
            yield from (key.expression for key in running.keys)
        for _, rank, _ in self.ranks:
            yield from rank.expressions()

    def of_windows(self) -> Iterator[tuple[Expression, ...]]:
        """Yield the partitions that may be windows, whose results are then final."""
        yield from (rank.partition for _, rank, _ in self.ranks)
        yield from (running.partition for _, running in self.calls if running.whole)

    def rewrite(
        self, over: Callable[[Expression], Expression], source_spans: SourceSpans
    ) -> BoundOver:
        """Return the calls with their expressions rewritten."""
        calls: list[tuple[int, RunningCall]] = []
        order_spans: dict[Expression, Span] = {}
        for number, running in self.calls:
            rewritten = running.rewrite(over, source_spans)
            calls.append((number, rewritten))
            if running.order is not None and rewritten.order is not None:
                order_spans.setdefault(rewritten.order, self.order_spans[running.order])
        ranks = tuple((number, rank.rewrite(over), span) for number, rank, span in self.ranks)
        return replace(self, calls=tuple(calls), ranks=ranks, order_spans=order_spans)
