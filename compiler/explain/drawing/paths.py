"""Lines and coordinates in the text of an SVG document."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.explain.drawing.layout import Point


def curve(points: Sequence[Point]) -> str:
    """Return a path through the points that leaves and enters each of them upright."""
    (x, y), *others = points
    path = [f"M{px(x)} {px(y)}"]
    for next_x, next_y in others:
        if next_x == x:
            path.append(f"L{px(next_x)} {px(next_y)}")
        else:
            middle = px((y + next_y) / 2)
            path.append(f"C{px(x)} {middle} {px(next_x)} {middle} {px(next_x)} {px(next_y)}")
        x, y = next_x, next_y
    return " ".join(path)


def px(value: float) -> str:
    """Return a coordinate in tenths of a pixel, so that no machine's rounding shows."""
    return f"{value:.1f}".removesuffix(".0")
