"""The common parts of the SVG pictures of plans: boxes with text, curves, coordinates and escapes.

Text that does not fit is cut; the full text is the tooltip of the box.
"""

from __future__ import annotations

import re
import textwrap
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.explain.drawing.layout import Point

MARGIN: Final = 24.0
PADDING: Final = 10.0
_LINE_HEIGHT: Final = 15.0
_CHARACTER_WIDTH: Final = 6.7
_COLUMNS_MAX: Final = 34
_LINES_MAX: Final = 4
_NOT_IN_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def box_lines(name: str, does: str) -> list[str]:
    """Return the lines in a box: its name, then its description, wrapped."""
    return [name, *textwrap.wrap(does, _COLUMNS_MAX, max_lines=_LINES_MAX, placeholder=" …")]


def box_width(lines: Sequence[str]) -> float:
    """Return the width of a box with these lines, in pixels."""
    return max(map(len, lines)) * _CHARACTER_WIDTH + 2 * PADDING


def box_height(lines: Sequence[str]) -> float:
    """Return the height of a box with these lines, in pixels."""
    return len(lines) * _LINE_HEIGHT + PADDING


def draw_box(
    kind: str, full_text: str, lines: Sequence[str], top: Point, width: float
) -> Iterator[str]:
    """Yield the elements of a box of a CSS class `kind`, whose upper edge has its middle at `top`."""
    left, y = top[0] - width / 2, top[1]
    size = f'width="{px(width)}" height="{px(box_height(lines))}"'
    yield f'<g class="{kind}">'
    yield f"<title>{markup_text(full_text)}</title>"
    yield f'<rect class="box" x="{px(left)}" y="{px(y)}" {size} rx="4"/>'
    for row, line in enumerate(lines):
        corner = f'x="{px(left + PADDING)}" y="{px(y + _LINE_HEIGHT * (row + 1))}"'
        yield f'<text class="{"what" if row else "name"}" {corner}>{markup_text(line)}</text>'
    yield "</g>"


def curve(points: Sequence[Point]) -> str:
    """Return a path through the points that is vertical at each of them."""
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


def markup_text(text: str) -> str:
    """Return text with escapes for use between tags; characters that XML does not allow become U+FFFD."""
    return escape(_NOT_IN_XML.sub("\ufffd", text), quote=False)


def px(value: float) -> str:
    """Return a coordinate in tenths of a pixel, so that the rounding of machines is not visible."""
    return f"{value:.1f}".removesuffix(".0")
