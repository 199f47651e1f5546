"""Calls with OVER, bound: running aggregates and ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple
from typing import Literal as OneOf

from fsql.compiler.diagnostics.refusal import refusal
from fsql.compiler.expression import Cast, ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import make_call
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.logical import OrderKey, Plan, RankFunction, append_only
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import (
    BIGINT,
    DOUBLE,
    FLOATING,
    INTEGER_RANGES,
    TIMESTAMP,
    Kind,
    decimal_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.logical import OverCall
    from fsql.compiler.text.source import Span

    FrameUnit = OneOf["ROWS", "RANGE", "GROUPS"]
    FrameExclusion = OneOf["CURRENT ROW", "GROUP", "TIES", "NO OTHERS"]


FOLLOWING_MAX: Final = 1_000
"""The maximum number of rows of a frame after its own: each partition is padded with that many."""
_WIDE: Final = decimal_type(20, 0)
"""The type of integers from which a number is subtracted, so that the difference is in range."""


@dataclass(frozen=True, slots=True)
class FrameEdge:
    """One end of a frame: its row and its peers, or so far before or, if it is `following`, after them."""

    offset: Expression | None = None
    following: bool = False


@dataclass(frozen=True, slots=True)
class OrderedFrame:
    """A frame between two edges; None for the first or the last row of the partition."""

    unit: FrameUnit
    start: FrameEdge | None
    end: FrameEdge | None
    excluded: FrameExclusion | None = None

    @property
    def has_row(self) -> bool:
        """Return whether the row itself is in its frame."""
        after = self.start is not None and self.start.following
        before = self.end is not None and self.end.offset is not None and not self.end.following
        return not after and not before and self.excluded in {None, "TIES"}

    @property
    def measures(self) -> bool:
        """Return whether an end is at a distance from the value of the row."""
        edges = (self.start, self.end)
        return self.unit == "RANGE" and any(
            edge is not None and edge.offset is not None for edge in edges
        )

    @property
    def rows_between(self) -> tuple[int, int] | None:
        """Return how many rows before its row a ROWS frame begins and ends; None for other frames."""
        if self.unit != "ROWS" or self.excluded or self.start is None or self.end is None:
            return None
        return _rows_before(self.start), _rows_before(self.end)


RUNNING: Final = OrderedFrame("RANGE", None, FrameEdge())
"""The frame of OVER (ORDER BY x)."""


_ONE: Final = Literal(BIGINT, nullable=False, value=1)
ALL_BEFORE: Final = OrderedFrame("ROWS", None, FrameEdge(_ONE))


ALL_AFTER: Final = OrderedFrame("ROWS", FrameEdge(_ONE, following=True), None)


def _rows_before(edge: FrameEdge) -> int:
    rows = 0 if edge.offset is None else constant_value(edge.offset)
    assert isinstance(rows, int)
    return -rows if edge.following else rows


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


def comparable_key(
    frame: OrderedFrame, order: tuple[OrderKey, ...], span: Span | None = None
) -> Expression:
    """Return the expression of ORDER BY from which the offsets of a RANGE frame are counted.

    Raises:
        Refusal: E206, E404.
    """
    if len(order) != 1:
        assert span is not None, "frames are checked where they are written"
        raise refusal(
            "E404",
            "a RANGE frame with a number has several expressions in ORDER BY",
            span,
            help="order by one expression, or write ROWS or GROUPS",
        )
    key = order[0].expression
    offsets = [edge.offset for edge in (frame.start, frame.end) if edge and edge.offset]
    if any(each.type.kind in FLOATING for each in (key, *offsets)):
        key = Cast(DOUBLE, key.nullable, key)
    elif key.type.kind in INTEGER_RANGES:
        key = Cast(_WIDE, key.nullable, key)
    elif key.type.kind is Kind.DATE:
        key = Cast(TIMESTAMP, key.nullable, key)
    for offset in offsets:
        if key.type.kind is Kind.TIME or make_call("subtract", key, offset) is None:
            assert span is not None, "frames are checked where they are written"
            raise refusal(
                "E206",
                f"a RANGE frame of {offset.type} is in the order of {order[0].expression.type}",
                span,
                help="order by a number with RANGE 10 PRECEDING, and by a TIMESTAMP or DATE with an INTERVAL",
            )
    return key
