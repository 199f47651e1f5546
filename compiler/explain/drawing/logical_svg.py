"""The logical plan as an SVG picture: tables are dark, operators with state are coloured."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fsql.compiler.explain.drawing.layout import Box, lay_out
from fsql.compiler.explain.drawing.logical_boxes import NO_STATE, logical_boxes
from fsql.compiler.explain.drawing.picture import (
    MARGIN,
    box_height,
    box_lines,
    box_width,
    curve,
    draw_box,
    markup_text,
    px,
)
from fsql.compiler.explain.scans import no_scan_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.explain.drawing.layout import Point
    from fsql.compiler.explain.drawing.logical_boxes import LogicalBox
    from fsql.compiler.explain.scans import ScanLines
    from fsql.compiler.logical import Job, Plan

_STYLE: Final = """
  .plan text { font: 11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2933; }
  .plan .name { font-weight: bold; }
  .plan .paper { fill: #ffffff; }
  .plan .box { fill: #ffffff; stroke: #7b8794; }
  .plan .end .box { fill: #243b53; stroke: #243b53; }
  .plan .end text { fill: #ffffff; }
  .plan .state .box { fill: #fff8e6; stroke: #cb8a14; }
  .plan .line { fill: none; stroke: #52606d; stroke-width: 1.2; marker-end: url(#plan-tip); }
  .plan .tip { fill: #52606d; }
  .plan .gap { stroke: #ffffff; stroke-width: 4; }
  @media (prefers-color-scheme: dark) {
    .plan text { fill: #e4e7eb; }
    .plan .paper { fill: #14191f; }
    .plan .box { fill: #1f2933; stroke: #7b8794; }
    .plan .end .box { fill: #bcccdc; stroke: #bcccdc; }
    .plan .end text { fill: #102a43; }
    .plan .state .box { fill: #3d3015; stroke: #cb8a14; }
    .plan .line { stroke: #9aa5b1; }
    .plan .tip { fill: #9aa5b1; }
    .plan .gap { stroke: #14191f; }
  }
"""
_COUNT_RIGHT: Final = 6.0
_COUNT_DOWN: Final = 13.0
_TIP: Final = (
    '<marker id="plan-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker>'
)


def logical_svg(
    job: Job,
    *,
    scan_lines: ScanLines = no_scan_lines,
    rows: Mapping[Plan, int] = MappingProxyType({}),
) -> str:
    """Return the text of an SVG document; `rows` are those that operators have returned in a run."""
    return draw_boxes(logical_boxes(job, scan_lines, rows))


def draw_boxes(boxes: Sequence[LogicalBox]) -> str:
    """Return the picture of the boxes of a plan, as an SVG document."""
    texts = [box_lines(f"{number} {box.name}", box.does) for number, box in enumerate(boxes)]
    sizes = [
        Box(box_width(lines), box_height(lines), box.inputs)
        for box, lines in zip(boxes, texts, strict=True)
    ]
    layout = lay_out(sizes)
    width, height = px(layout.width + 2 * MARGIN), px(layout.height + 2 * MARGIN)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    name = 'class="plan" role="img" aria-labelledby="plan-title plan-text"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {name} {size}>',
        '<title id="plan-title">Logical plan</title>',
        f'<desc id="plan-text">{markup_text(_plan_description(boxes))}</desc>',
        f"<style>{_STYLE}</style>",
        f"<defs>{_TIP}</defs>",
        '<rect class="paper" width="100%" height="100%"/>',
        f'<g transform="translate({px(MARGIN)} {px(MARGIN)})">',
        *(f'<path class="line" d="{curve(points)}"/>' for points in layout.lines.values()),
    ]
    for box, text, measure, top in zip(boxes, texts, sizes, layout.tops, strict=True):
        full = f"{box.name} {box.does}\nchanges: {box.changes}; state: {box.state}"
        lines += draw_box(_kind(box), full, text, top, measure.width)
        if box.rows is not None:
            lines += _row_count(box.rows, (top[0], top[1] + measure.height))
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def _row_count(rows: int, bottom: Point) -> list[str]:
    """Return the number of rows that leave a box whose lower edge has its middle at `bottom`.

    The first text makes a gap in lines; not every program knows `paint-order`.
    """
    corner = f'x="{px(bottom[0] + _COUNT_RIGHT)}" y="{px(bottom[1] + _COUNT_DOWN)}"'
    return [f'<text class="{kind}" {corner}>{rows:,}</text>' for kind in ("gap", "rows")]


def _plan_description(boxes: Sequence[LogicalBox]) -> str:
    """Return the plan in words: the operation of each box, and its inputs."""
    return "\n".join(
        f"{number}: {box.name} {box.does}"
        + (f"; reads {', '.join(map(str, box.inputs))}" if box.inputs else "")
        + ("" if box.rows is None else f"; {box.rows:,} rows")
        for number, box in enumerate(boxes)
    )


def _kind(box: LogicalBox) -> str:
    if box.is_end:
        return "end"
    return "map" if box.state == NO_STATE else "state"
