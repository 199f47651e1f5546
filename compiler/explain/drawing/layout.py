"""A drawing of boxes and lines: the position of each box, and the points on each line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.explain.drawing.layers import Edge, arrange_layers
from fsql.compiler.explain.drawing.spread import spread
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROW_GAP: Final = 38.0
"""Between two layers, in pixels."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """The boxes to draw; `inputs` are earlier boxes; boxes of one `column` are aligned vertically."""

    width: float
    height: float
    inputs: tuple[int, ...]
    column: int | None = None


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """The middle of the upper edge of each box, and the points on the line of each edge (from, to)."""

    tops: tuple[Point, ...]
    lines: Mapping[Edge, tuple[Point, ...]]
    width: float
    height: float


def lay_out(boxes: Sequence[Box]) -> GraphLayout:
    """Return a drawing of `boxes`, from top to bottom."""
    layers = arrange_layers(
        [box.width for box in boxes],
        [box.inputs for box in boxes],
        [box.column for box in boxes],
    )
    middles = spread(layers)
    halves = [node.width / 2 for node in layers.nodes]
    left = min((x - half for x, half in zip(middles, halves, strict=True)), default=0.0)
    right = max((x + half for x, half in zip(middles, halves, strict=True)), default=0.0)
    heights = [
        max((boxes[i].height for i in row if i < len(boxes)), default=0.0) for row in layers.rows
    ]
    upper = [sum(heights[:row]) + ROW_GAP * row for row in range(len(heights))]
    tops = tuple((middles[i] - left, upper[layers.nodes[i].layer]) for i in range(len(boxes)))
    lines = {
        (source, target): (
            (tops[source][0], tops[source][1] + boxes[source].height),
            *(
                (middles[bend] - left, upper[row] + y)
                for bend in bends
                for row in (layers.nodes[bend].layer,)
                for y in (0.0, heights[row])
            ),
            tops[target],
        )
        for (source, target), bends in layers.bends.items()
    }
    return GraphLayout(tops, lines, right - left, sum(heights) + ROW_GAP * max(0, len(heights) - 1))
