"""Windows of OVER."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import cast as typed

from fsql.compiler import syntax

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span


def window_specification(
    span: Span,
    base: syntax.Identifier | None,
    partition_by: tuple[syntax.Expression, ...],
    order_by: tuple[syntax.OrderItem, ...] | None,
    frame: syntax.Frame | None,
) -> syntax.WindowSpecification:
    """Return `(PARTITION BY a ORDER BY b ROWS …)`."""
    return syntax.WindowSpecification(span, base, partition_by, order_by or (), frame)


def partition_by(_span: Span, *expressions: syntax.Expression) -> tuple[syntax.Expression, ...]:
    """Return `PARTITION BY a, b`, nothing if it is missing."""
    return expressions


def frame(
    span: Span, unit: Token, start: syntax.FrameBound, *rest: syntax.FrameBound | str | None
) -> syntax.Frame:
    """Return `ROWS BETWEEN start AND end`, or `ROWS start`."""
    *bounds, excluded = rest
    end = typed("syntax.FrameBound", bounds[0]) if bounds else None
    exclusion = typed("syntax.FrameExclusion", excluded) if excluded else None
    return syntax.Frame(span, typed("syntax.FrameUnit", unit.kind), start, end, exclusion)


def exclusion(_span: Span, kept: Token) -> str:
    """Return which rows of a frame are left out: `EXCLUDE CURRENT ROW`."""
    return {"ROW": "CURRENT ROW", "OTHERS": "NO OTHERS"}.get(kept.kind, kept.kind)


def frame_bound(
    span: Span, offset_or_side: syntax.Expression | Token, side: Token | None = None
) -> syntax.FrameBound:
    """Return `UNBOUNDED PRECEDING`, `CURRENT ROW` or `2 FOLLOWING`."""
    if side is not None:
        offset = typed("syntax.Expression", offset_or_side)
        return syntax.FrameBound(span, typed("syntax.FrameSide", side.kind), offset)
    kind = typed("Token", offset_or_side).kind
    side_name = "CURRENT ROW" if kind == "ROW" else kind
    return syntax.FrameBound(span, typed("syntax.FrameSide", side_name), None)
