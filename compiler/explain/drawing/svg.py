"""The drifting-state graph as an SVG picture.

Sources and sinks are dark, cycles are in frames, with the back edge dashed at their right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import graph as g
from fsql.compiler.explain.dataflow import back_edges, vertex_name, vertex_parts
from fsql.compiler.explain.drawing.layout import Box, lay_out
from fsql.compiler.explain.drawing.picture import (
    MARGIN,
    PADDING,
    box_height,
    box_lines,
    box_width,
    curve,
    draw_box,
    markup_text,
    px,
)
from fsql.compiler.explain.parts import headline
from fsql.compiler.explain.scans import no_scan_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.explain.drawing.layout import Point
    from fsql.compiler.explain.scans import ScanLines

_CYCLE_MARGIN: Final = 22.0
"""The distance between the boxes of a cycle and the frame around them, in which the back edge is drawn."""

_STYLE: Final = """
  text { font: 11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2933; }
  .name { font-weight: bold; }
  .box { fill: #ffffff; stroke: #7b8794; }
  .end .box { fill: #243b53; stroke: #243b53; }
  .end text { fill: #ffffff; }
  .state .box { fill: #fff8e6; stroke: #cb8a14; }
  .route .box { fill: #eef2f6; }
  .cycle { fill: #fdf3d8; stroke: #e0b04c; stroke-dasharray: 2 3; }
  .cycle-name { fill: #8d5e0b; }
  .line { fill: none; stroke: #52606d; stroke-width: 1.2; marker-end: url(#tip); }
  .back { stroke: #cb8a14; stroke-dasharray: 5 3; }
"""
_TIP: Final = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#52606d"/></marker>'
)


def graph_svg(graph: g.Graph, *, scan_lines: ScanLines = no_scan_lines) -> str:
    """Return the text of an SVG document."""
    picture = _Picture(graph, scan_lines)
    layout = picture.layout
    width, height = px(layout.width + 2 * MARGIN), px(layout.height + 2 * MARGIN)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{_STYLE}</style>",
        f"<defs>{_TIP}</defs>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<g transform="translate({px(MARGIN)} {px(MARGIN)})">',
        *picture.frames(),
        *picture.edges(),
        *picture.vertices(),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


class _Picture:
    """A graph with the text in its boxes, and their positions."""

    def __init__(self, graph: g.Graph, scan_lines: ScanLines) -> None:
        self._graph = graph
        indices = range(len(graph.vertices))
        self._texts = [headline("", vertex_parts(graph, i, scan_lines)) for i in indices]
        self._lines = [
            box_lines(f"v{i} {vertex_name(graph.vertices[i])}", self._texts[i].strip())
            for i in indices
        ]
        self.layout = lay_out([self._box(index) for index in range(len(self._lines))])
        self._cycles = {
            cycle: [i for i, vertex in enumerate(graph.vertices) if vertex.cycle == cycle]
            for cycle in sorted({v.cycle for v in graph.vertices if v.cycle is not None})
        }

    def frames(self) -> Iterator[str]:
        """Yield a frame for each cycle, with its name."""
        for cycle, members in self._cycles.items():
            left, top, right, bottom = self._frame(members)
            corner = f'x="{px(left)}" y="{px(top)}"'
            size = f'width="{px(right - left)}" height="{px(bottom - top)}"'
            name = f"↻ {cycle} {markup_text(self._graph.vertices[members[0]].origin)}"
            yield f'<rect class="cycle" {corner} {size} rx="8"/>'
            yield (f'<text class="cycle-name" x="{px(left + 8)}" y="{px(top + 13)}">{name}</text>')

    def edges(self) -> Iterator[str]:
        """Yield the lines between boxes, first those that lead downwards."""
        for points in self.layout.lines.values():
            yield f'<path class="line" d="{curve(points)}"/>'
        for members in self._cycles.values():
            right = self._frame(members)[2] - _CYCLE_MARGIN / 3
            for target in members:
                for source in back_edges(self._graph, target):
                    (x, y), (end_x, end_y) = self._right_side(source), self._right_side(target)
                    path = f"M{px(x)} {px(y)} H{px(right)} V{px(end_y)} H{px(end_x)}"
                    yield f'<path class="line back" d="{path}"/>'

    def vertices(self) -> Iterator[str]:
        """Yield the boxes with their text."""
        for index, (vertex, lines) in enumerate(
            zip(self._graph.vertices, self._lines, strict=True)
        ):
            full = vertex_name(vertex) + self._texts[index]
            top, width = self.layout.tops[index], self._width(index)
            yield from draw_box(_kind(vertex.operation), full, lines, top, width)

    def _box(self, index: int) -> Box:
        vertex = self._graph.vertices[index]
        back = back_edges(self._graph, index)
        margin = 0.0 if vertex.cycle is None else 2 * _CYCLE_MARGIN
        inputs = tuple(each for each in vertex.inputs if each not in back)
        return Box(self._width(index) + margin, self._height(index), inputs, vertex.cycle)

    def _width(self, index: int) -> float:
        """Return the width of a box; the boxes of one cycle have equal widths."""
        cycle = self._graph.vertices[index].cycle
        alike = [
            lines
            for i, lines in enumerate(self._lines)
            if i == index or (cycle is not None and self._graph.vertices[i].cycle == cycle)
        ]
        return max(map(box_width, alike))

    def _height(self, index: int) -> float:
        return box_height(self._lines[index])

    def _right_side(self, index: int) -> Point:
        x, y = self.layout.tops[index]
        return x + self._width(index) / 2, y + self._height(index) / 2

    def _frame(self, members: Sequence[int]) -> tuple[float, float, float, float]:
        """Return the left, upper, right and lower edge of the frame around a cycle."""
        half = self._width(members[0]) / 2 + _CYCLE_MARGIN
        tops = [self.layout.tops[index] for index in members]
        bottom = max(tops[i][1] + self._height(index) for i, index in enumerate(members))
        return (
            min(x for x, _ in tops) - half,
            min(y for _, y in tops) - _CYCLE_MARGIN,
            max(x for x, _ in tops) + half,
            bottom + PADDING,
        )


def _kind(operation: g.Operation) -> str:
    match operation:
        case g.Source() | g.Sink() | g.LateSink():
            return "end"
        case g.Grouping() | g.Map(function=g.Combine()):
            return "state"
        case g.Broadcast() | g.Merge():
            return "route"
        case _:
            return "map"
