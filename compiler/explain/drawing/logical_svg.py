"""The logical plan as an SVG picture: tables are dark, operators with state have a colour of their own.

Text that does not fit is cut; the full text is shown when the pointer is on the box.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from fsql.compiler.explain.drawing.layout import Box, lay_out
from fsql.compiler.explain.drawing.logical_boxes import NO_STATE, logical_boxes, markup_text
from fsql.compiler.explain.drawing.paths import curve, px
from fsql.compiler.explain.scans import no_scan_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.explain.drawing.layout import Point
    from fsql.compiler.explain.drawing.logical_boxes import LogicalBox
    from fsql.compiler.explain.scans import ScanLines
    from fsql.compiler.logical import Job

_MARGIN: Final = 24.0
_LINE_HEIGHT: Final = 15.0
_CHARACTER_WIDTH: Final = 6.7
_PADDING: Final = 10.0
_COLUMNS_MAX: Final = 34
_LINES_MAX: Final = 4

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
  @media (prefers-color-scheme: dark) {
    .plan text { fill: #e4e7eb; }
    .plan .paper { fill: #14191f; }
    .plan .box { fill: #1f2933; stroke: #7b8794; }
    .plan .end .box { fill: #bcccdc; stroke: #bcccdc; }
    .plan .end text { fill: #102a43; }
    .plan .state .box { fill: #3d3015; stroke: #cb8a14; }
    .plan .line { stroke: #9aa5b1; }
    .plan .tip { fill: #9aa5b1; }
  }
"""
_TIP: Final = (
    '<marker id="plan-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker>'
)


def logical_svg(job: Job, *, scan_lines: ScanLines = no_scan_lines) -> str:
    """Return the text of an SVG document."""
    return draw_boxes(logical_boxes(job, scan_lines))


def draw_boxes(boxes: Sequence[LogicalBox]) -> str:
    """Return the picture of the boxes of a plan, as an SVG document."""
    texts = [_lines(number, box) for number, box in enumerate(boxes)]
    sizes = [
        Box(
            max(map(len, lines)) * _CHARACTER_WIDTH + 2 * _PADDING,
            len(lines) * _LINE_HEIGHT + _PADDING,
            box.inputs,
        )
        for box, lines in zip(boxes, texts, strict=True)
    ]
    layout = lay_out(sizes)
    width, height = px(layout.width + 2 * _MARGIN), px(layout.height + 2 * _MARGIN)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    name = 'class="plan" role="img" aria-labelledby="plan-title plan-text"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {name} {size}>',
        '<title id="plan-title">Logical plan</title>',
        f'<desc id="plan-text">{markup_text(_described(boxes))}</desc>',
        f"<style>{_STYLE}</style>",
        f"<defs>{_TIP}</defs>",
        '<rect class="paper" width="100%" height="100%"/>',
        f'<g transform="translate({px(_MARGIN)} {px(_MARGIN)})">',
        *(f'<path class="line" d="{curve(points)}"/>' for points in layout.lines.values()),
    ]
    for box, text, measure, top in zip(boxes, texts, sizes, layout.tops, strict=True):
        lines += _drawn(box, text, measure, top)
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def _described(boxes: Sequence[LogicalBox]) -> str:
    """Return the plan in words: what each box does, and which it reads."""
    return "\n".join(
        f"{number}: {box.name} {box.does}"
        + (f"; reads {', '.join(map(str, box.inputs))}" if box.inputs else "")
        for number, box in enumerate(boxes)
    )


def _lines(number: int, box: LogicalBox) -> list[str]:
    return [
        f"{number} {box.name}",
        *textwrap.wrap(box.does, _COLUMNS_MAX, max_lines=_LINES_MAX, placeholder=" …"),
    ]


def _drawn(box: LogicalBox, text: Sequence[str], size: Box, top: Point) -> Iterator[str]:
    left, y = top[0] - size.width / 2, top[1]
    kind = "end" if box.is_end else "map" if box.state == NO_STATE else "state"
    full = f"{box.name} {box.does}\nchanges: {box.changes}; state: {box.state}"
    measures = f'width="{px(size.width)}" height="{px(size.height)}"'
    yield f'<g class="{kind}">'
    yield f"<title>{markup_text(full)}</title>"
    yield f'<rect class="box" x="{px(left)}" y="{px(y)}" {measures} rx="4"/>'
    for row, line in enumerate(text):
        corner = f'x="{px(left + _PADDING)}" y="{px(y + _LINE_HEIGHT * (row + 1))}"'
        yield f'<text class="{"what" if row else "name"}" {corner}>{markup_text(line)}</text>'
    yield "</g>"
