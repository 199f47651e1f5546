"""Charts over time as SVG documents: a frame with a time axis, spans and marks; callers pass the curves.

A document only depends on its arguments.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

WIDTH: Final = 900
HEIGHT: Final = 360
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 54, 46
LINE: Final = 14
"""The height of a line of text."""
_STYLE: Final = """
  text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2933; }
  .title { font-weight: bold; }
  .grid { stroke: #e1e6eb; }
  .axis { stroke: #7b8794; }
  .curve { fill: none; stroke: #2563a8; stroke-width: 1.4; stroke-linejoin: round; }
  .greatest { fill: none; stroke: #9dbfe0; stroke-width: 1.2; stroke-linejoin: round; }
  .mark { stroke: #c2410c; stroke-dasharray: 5 3; }
  .marked { fill: #c2410c; }
  .span { fill: #f1f5f9; }
"""
_STEPS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)


@dataclass(frozen=True, slots=True)
class Mark:
    """An event at a moment, in seconds from the left end."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """A shaded time span, in seconds from the left end, with its label."""

    begin: float
    end: float
    text: str


def document(title: str, parts: Iterable[str], *, height: int = HEIGHT) -> str:
    """Return an SVG document with a title above its parts."""
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        text_at(LEFT, 16, title, "title"),
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def text_at(x: float, y: float, text: str, name: str = "", anchor: str = "") -> str:
    """Return a text at a position, with a style and an anchor."""
    style = f'class="{name}" ' if name else ""
    end = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text {style}x="{x:g}" y="{y:g}"{end}>{escape(text, quote=False)}</text>'


class TimeAxis:
    """The horizontal axis: its length is `seconds`; it places marks and spans."""

    def __init__(self, seconds: float) -> None:
        self._seconds = max(seconds, 1e-9)

    def x(self, seconds: float) -> float:
        """Return the x coordinate of a moment."""
        return LEFT + seconds / self._seconds * (WIDTH - LEFT - RIGHT)

    def axis(self, note: str) -> Iterator[str]:
        """Yield the axis, with a note below it."""
        right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
        step = next((each for each in _STEPS if self._seconds / each <= 12), 1000)
        for number in range(int(self._seconds / step) + 1):
            x = self.x(number * step)
            yield f'<line class="axis" x1="{x:.1f}" y1="{floor}" x2="{x:.1f}" y2="{floor + 5}"/>'
            yield f'<text x="{x:.1f}" y="{floor + 19}" text-anchor="middle">{number * step}</text>'
        yield f'<line class="axis" x1="{LEFT}" y1="{floor}" x2="{right}" y2="{floor}"/>'
        yield text_at((LEFT + right) / 2, HEIGHT - 8, note, anchor="middle")

    def marks(self, marks: Sequence[Mark]) -> Iterator[str]:
        """Yield a line for each mark, with its text above the frame."""
        for number, mark in enumerate(marks):
            x, y = self.x(mark.at), TOP - 6 - LINE * (number % 2)
            yield (
                f'<line class="mark" x1="{x:.1f}" y1="{y + 2}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>'
            )
            yield text_at(round(x, 1), y, mark.text, "marked", "middle")

    def spans(self, spans: Sequence[Span]) -> Iterator[str]:
        """Yield a shaded part for each span, with its text at the bottom of the frame."""
        height = HEIGHT - TOP - BOTTOM
        for span in spans:
            x, end = self.x(span.begin), self.x(span.end)
            yield f'<rect class="span" x="{x:.1f}" y="{TOP}" width="{end - x:.1f}" height="{height}"/>'
            middle, y = (x + end) / 2, HEIGHT - BOTTOM - 8
            yield text_at(round(middle, 1), y, span.text, anchor="middle")


def grid_line(y: float, name: str) -> Iterator[str]:
    """Yield a horizontal line of a grid, with its label to the left."""
    yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
    yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{name}</text>'


def polyline(points: Iterable[tuple[float, float]], name: str, color: str = "") -> str:
    """Return a curve through points, with a style, and a color if it differs from that of the style."""
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    style = f' style="stroke: {color}"' if color else ""
    return f'<polyline class="{name}"{style} points="{text}"/>'
