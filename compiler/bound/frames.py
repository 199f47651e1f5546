"""Frames of OVER, bound: from which row to which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from typing import Literal as Literal_

from fsql.compiler.diagnostics.refusal import refusal
from fsql.compiler.expression import Cast, Expression, Literal
from fsql.compiler.functions.calls import make_call
from fsql.compiler.functions.evaluate import constant_value
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
    from fsql.compiler.logical import OrderKey
    from fsql.compiler.text.source import Span

    FrameUnit = Literal_["ROWS", "RANGE", "GROUPS"]
    FrameExclusion = Literal_["CURRENT ROW", "GROUP", "TIES", "NO OTHERS"]


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


FOLLOWING_MAX: Final = 1_000
"""The maximum number of rows of a frame after its own: each partition is padded with that many."""
