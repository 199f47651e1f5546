"""Frames as they are written, for rows in any order: `GROUPS 2 PRECEDING`, `RANGE 10 PRECEDING EXCLUDE TIES`.

In the order of event time, a frame of ROWS or RANGE without EXCLUDE is one of `frames`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.over.frames import ROWS_MAX, whole_number
from fsql.compiler.binder.report import refusal
from fsql.compiler.bound.over import RUNNING, FrameEdge, OrderedFrame
from fsql.compiler.expression import Literal
from fsql.compiler.functions.calls import make_call
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.sqltypes import BIGINT, NUMERIC, Kind

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.binder.expressions.clause import ClauseBinder


def bind_frame(binder: ClauseBinder, window: syntax.WindowSpecification) -> OrderedFrame | None:
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
    binder: ClauseBinder, frame: syntax.Frame, bound: syntax.FrameBound
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
