"""Frames as they are written, for rows in any order: `GROUPS 2 PRECEDING`, `RANGE 10 PRECEDING EXCLUDE TIES`.

In the order of event time, a frame of ROWS or RANGE without EXCLUDE is one of `frames`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.expressions.operators import make_call
from fsql.compiler.binder.over.frames import ROWS_MAX, whole_number
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Cast, Expression, Literal
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import (
    BIGINT,
    DOUBLE,
    FLOATING,
    INTEGER_RANGES,
    NUMERIC,
    TIMESTAMP,
    Kind,
    decimal_type,
)

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.binder.expressions.expression import ExpressionBinder
    from fsql.compiler.logical import OrderKey
    from fsql.compiler.text.source import Span

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

    unit: syntax.FrameUnit
    start: FrameEdge | None
    end: FrameEdge | None
    excluded: syntax.FrameExclusion | None = None

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


def bind_frame(binder: ExpressionBinder, window: syntax.WindowSpecification) -> OrderedFrame | None:
    """Return the frame of a window; None if there is neither a frame nor an order.

    Raises:
        Refusal: E2xx to E4xx.
    """
    written = window.frame
    if written is None:
        return RUNNING if window.order_by else None
    start = _bind_edge(binder, written, written.start)
    end = FrameEdge() if written.end is None else _bind_edge(binder, written, written.end)
    first_unbounded = start is None and written.start.side == "FOLLOWING"
    last_unbounded = end is None and written.end is not None and written.end.side == "PRECEDING"
    if first_unbounded or last_unbounded or _reversed(start, end):
        raise refusal(
            "E404",
            "the frame ends before it begins",
            written.span,
            help=f"write {written.unit} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        )
    excluded = None if written.excluded == "NO OTHERS" else written.excluded
    return OrderedFrame(written.unit, start, end, excluded)


def _bind_edge(
    binder: ExpressionBinder, frame: syntax.Frame, bound: syntax.FrameBound
) -> FrameEdge | None:
    if bound.offset is None:
        return FrameEdge() if bound.side == "CURRENT ROW" else None
    if frame.unit == "RANGE":
        offset = binder.bind_and_check_size(bound.offset)
        value = constant_value(offset)
        measured = offset.type.kind in {*NUMERIC, Kind.INTERVAL, Kind.MONTHS}
        if not measured or not isinstance(value, int | float) or not value >= 0:
            raise refusal(
                "E307",
                "the bounds of a RANGE frame must be constant numbers or INTERVALs, not negative",
                bound.span,
                help="write RANGE INTERVAL '1' MINUTE PRECEDING, or RANGE 10 PRECEDING",
            )
    else:
        value = whole_number(bound.offset)
        if value is None:
            counted = "rows" if frame.unit == "ROWS" else "groups"
            raise refusal(
                "E307",
                f"the bounds of a {frame.unit} frame must be numbers of {counted} up to {ROWS_MAX:,}",
                bound.span,
                help=f"write {frame.unit} 9 PRECEDING",
            )
        offset = Literal(BIGINT, nullable=False, value=value)
    if not value:
        return FrameEdge()
    return FrameEdge(offset, following=bound.side == "FOLLOWING")


def _reversed(start: FrameEdge | None, end: FrameEdge | None) -> bool:
    """Return whether a frame begins after its end."""
    if start is None or end is None:
        return False
    if start.offset is None or end.offset is None or start.following != end.following:
        ahead = [0 if edge.offset is None else 1 if edge.following else -1 for edge in (start, end)]
        return ahead[0] > ahead[1]
    nearer, farther = (end, start) if start.following else (start, end)
    assert nearer.offset is not None
    assert farther.offset is not None
    less = make_call("lt", nearer.offset, farther.offset)
    return less is not None and constant_value(less) is True


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
