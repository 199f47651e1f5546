"""Frames of running aggregates: `ROWS 9 PRECEDING`, `ORDER BY at RANGE INTERVAL '1' MINUTE PRECEDING`.

With ORDER BY, rows are first ordered by event time: they are put into sessions without a gap for each
partition, which the watermark releases. From there on, they are processed in the total order, as without
ORDER BY.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import refusal
from fsql.compiler.binder.windows.window import WINDOW_US_MAX, constant_interval_us, is_of_months
from fsql.compiler.bound.over import FOLLOWING_MAX
from fsql.compiler.logical import FrameEnd
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable


ROWS_MAX: Final = 1_000_000
"""The maximum number of rows of a frame before its own: they are kept for each partition."""
_WITHOUT_ORDER: Final = (
    "write ROWS 9 PRECEDING, ROWS UNBOUNDED PRECEDING, or ROWS BETWEEN UNBOUNDED PRECEDING AND 1"
    " PRECEDING"
)
_WITH_ORDER: Final = (
    "write ROWS 9 PRECEDING, ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING, RANGE INTERVAL '1' MINUTE"
    " PRECEDING, or either with UNBOUNDED PRECEDING"
)


@dataclass(frozen=True, slots=True)
class FrameBounds:
    """The bounds of a frame: see `logical.OverCall`; `by_time` if it is RANGE."""

    end: FrameEnd
    preceding: int | None = None
    by_time: bool = False
    end_preceding: int = 0


def is_whole(window: syntax.WindowSpecification) -> bool:
    """Return whether the frame of each row is its whole partition."""
    frame = window.frame
    if frame is None:
        return not window.order_by
    end = frame.end
    first = frame.start.side == "PRECEDING" and frame.start.offset is None
    first = first and frame.excluded in {None, "NO OTHERS"}
    return first and end is not None and end.side == "FOLLOWING" and end.offset is None


def ascends(window: syntax.WindowSpecification) -> bool:
    """Return whether rows are ordered by one expression, ascending, or not at all."""
    return len(window.order_by) <= 1 and not any(item.descending for item in window.order_by)


def read_frame(window: syntax.WindowSpecification, zone: str) -> FrameBounds | None:
    """Return the bounds of the frame in the order of event time; `zone` is that of the script.

    They are None for frames that are only computed in any order: GROUPS, EXCLUDE, and frames to the end.

    Raises:
        Refusal: E2xx to E4xx.
    """
    frame = window.frame
    if is_whole(window):
        return FrameBounds(FrameEnd.CURRENT_ROW)
    if frame is None:
        return FrameBounds(FrameEnd.CURRENT_ROW, by_time=True)
    help_text = _WITH_ORDER if window.order_by else _WITHOUT_ORDER
    if frame.unit != "ROWS" and not window.order_by:
        raise refusal(
            "E404",
            f"{frame.unit} requires ORDER BY",
            frame.span,
            help=f"write OVER (… ORDER BY at {frame.unit} …), with an event-time column",
        )
    to_end = frame.end is not None and frame.end.side == "FOLLOWING" and frame.end.offset is None
    if to_end or frame.unit == "GROUPS" or frame.excluded not in {None, "NO OTHERS"}:
        return None
    if frame.unit == "ROWS":
        return _rows(frame, help_text)
    return _range(frame, zone, help_text)


def _range(frame: syntax.Frame, zone: str, help_text: str) -> FrameBounds | None:
    """Return the bounds of a RANGE frame; None if they are no times of a fixed length.

    Raises:
        Refusal: E307, E404.
    """
    offsets = [bound.offset for bound in (frame.start, frame.end) if bound and bound.offset]
    if any(
        is_of_months(each, zone) or constant_interval_us(each, zone) is None for each in offsets
    ):
        return None
    preceding, end_preceding = _both_bounds(
        frame, lambda bound: _with_side(bound, _preceding(bound, zone)), help_text
    )
    return FrameBounds(FrameEnd.CURRENT_ROW, preceding, by_time=True, end_preceding=end_preceding)


def _with_side(bound: syntax.FrameBound, distance: int | None) -> int | None:
    """Return a distance from a row, negative for FOLLOWING."""
    return -distance if distance is not None and bound.side == "FOLLOWING" else distance


def _both_bounds(
    frame: syntax.Frame,
    read: Callable[[syntax.FrameBound], int | None],
    help_text: str,
) -> tuple[int | None, int]:
    """Return how long before its row a frame begins, None if with the partition, and ends.

    Raises:
        Refusal: E301, E404.
    """
    start, end = frame.start, frame.end or syntax.FrameBound(frame.span, "CURRENT ROW", None)
    preceding, end_preceding = read(start), read(end)
    backwards = start.side == "FOLLOWING" and start.offset is None
    if backwards or end_preceding is None or (preceding is not None and preceding < end_preceding):
        raise refusal("E404", "the frame ends before it begins", frame.span, help=help_text)
    return preceding, end_preceding


def _rows(frame: syntax.Frame, help_text: str) -> FrameBounds:
    """Return the bounds of a ROWS frame.

    Raises:
        Refusal: E301, E307, E404.
    """
    preceding, end_preceding = _both_bounds(frame, _rows_before, help_text)
    if preceding is None and end_preceding == 1:
        return FrameBounds(FrameEnd.ONE_PRECEDING)
    return FrameBounds(FrameEnd.CURRENT_ROW, preceding, end_preceding=end_preceding)


def _rows_before(bound: syntax.FrameBound) -> int | None:
    """Return how many rows before its row a bound is, negative for FOLLOWING; None if unbounded."""
    rows = _preceding(bound, None)
    if bound.side == "FOLLOWING" and rows is not None and rows > FOLLOWING_MAX:
        raise refusal(
            "E307",
            f"a frame must end at most {FOLLOWING_MAX:,} rows after its row",
            bound.span,
            help="write ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING",
        )
    return _with_side(bound, rows)


def _preceding(start: syntax.FrameBound, zone: str | None) -> int | None:
    """Return how long before its row a frame begins; None if it begins with the partition.

    The value is a duration in a script with the zone, or a number of rows if `zone` is None; it is that by
    which a bound with FOLLOWING is after its row.
    """
    if start.side == "CURRENT ROW":
        return 0
    if start.offset is None:
        return None
    if zone is not None:
        duration_us = constant_interval_us(start.offset, zone)
        if duration_us is None or not 0 <= duration_us <= WINDOW_US_MAX:
            raise refusal(
                "E307",
                "the bounds of a RANGE frame must be constant INTERVALs of up to 100 years",
                start.span,
                help="write RANGE INTERVAL '1' MINUTE PRECEDING",
            )
        return duration_us
    rows = whole_number(start.offset)
    if rows is None:
        raise refusal(
            "E307",
            f"the bounds of a ROWS frame must be numbers of rows up to {ROWS_MAX:,}",
            start.span,
            help="write ROWS 9 PRECEDING",
        )
    return rows


def whole_number(written: syntax.Expression) -> int | None:
    """Return the number of rows that a literal stands for; None if it is not a number up to `ROWS_MAX`."""
    text = written.text if isinstance(written, syntax.NumberLiteral) else ""
    if not text.isdigit() or len(text) > len(str(ROWS_MAX)) or int(text) > ROWS_MAX:
        return None
    return int(text)
