"""A curve of latency over time as an SVG picture, with moments at which something happened."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Floats = np.ndarray[Any, np.dtype[np.float64]]

_WIDTH: Final = 900
_HEIGHT: Final = 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 54, 46
_LINE: Final = 14
"""The height of a line of text."""
_POINTS: Final = 400
"""How many points a curve of many documents has."""
_POINTS_MAX: Final = 4000
"""So many documents are drawn one by one."""
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
    """What happened at a moment, in seconds from the first document."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """A time to be shaded, in seconds from the first document, with what it stands for."""

    begin: float
    end: float
    text: str


def latency_svg(
    title: str, due: Floats, late_ms: Floats, marks: Sequence[Mark], spans: Sequence[Span] = ()
) -> str:
    """Return an SVG document; times are in seconds from the first document, latencies in decades.

    Where there are more documents than points, it shows the median of each point, and the greatest value.
    """
    picture = _Axes(float(due[-1]), max(float(late_ms.max()), 10.0), min(float(late_ms.min()), 1.0))
    curves = [("curve", due, late_ms)]
    if len(due) > _POINTS_MAX:
        column = np.floor(due / due[-1] * (_POINTS - 1)).astype(np.int64)
        columns, firsts = np.unique(column, return_index=True)
        parts = np.split(late_ms, firsts[1:])
        greatest = np.array([part.max() for part in parts])
        median = np.array([np.median(part) for part in parts])
        at = columns / (_POINTS - 1) * due[-1]
        curves = [("greatest", at, greatest), ("curve", at, median)]
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text class="title" x="{_LEFT}" y="16">{title}</text>',
        *_spans(picture, spans),
        *picture.grid(),
        *_marks(picture, marks),
        *(picture.polyline(*curve) for curve in curves),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


class _Axes:
    """Where a moment and a latency are in the picture."""

    def __init__(self, seconds: float, most_ms: float, least_ms: float) -> None:
        self._seconds = max(seconds, 1e-9)
        self._least = math.floor(math.log10(max(least_ms, 0.01)))
        self._most = math.ceil(math.log10(most_ms))

    def x(self, seconds: float) -> float:
        """Return the place of a moment."""
        return _LEFT + seconds / self._seconds * (_WIDTH - _LEFT - _RIGHT)

    def y(self, ms: float) -> float:
        """Return the place of a latency."""
        part = (math.log10(max(ms, 10.0**self._least)) - self._least) / (self._most - self._least)
        return _HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM)

    def polyline(self, name: str, at: Floats, late_ms: Floats) -> str:
        """Return a curve, with the name of its style."""
        points = " ".join(
            f"{self.x(seconds):.1f},{self.y(late):.1f}"
            for seconds, late in zip(at.tolist(), late_ms.tolist(), strict=True)
        )
        return f'<polyline class="{name}" points="{points}"/>'

    def grid(self) -> Iterator[str]:
        """Yield the lines of the grid, with what they stand for."""
        right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        for power in range(self._least, self._most + 1):
            y = self.y(10.0**power)
            yield f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
            name = f"{10.0**power:g} ms" if power < 3 else f"{10 ** (power - 3):,} s"
            yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{name}</text>'
        step = next((each for each in _STEPS if self._seconds / each <= 12), 1000)
        for number in range(int(self._seconds / step) + 1):
            x = self.x(number * step)
            yield f'<line class="axis" x1="{x:.1f}" y1="{floor}" x2="{x:.1f}" y2="{floor + 5}"/>'
            yield f'<text x="{x:.1f}" y="{floor + 19}" text-anchor="middle">{number * step}</text>'
        yield f'<line class="axis" x1="{_LEFT}" y1="{floor}" x2="{right}" y2="{floor}"/>'
        middle = (_LEFT + right) / 2
        note = "seconds at which a document was due"
        yield f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{note}</text>'


def _marks(axes: _Axes, marks: Sequence[Mark]) -> Iterator[str]:
    for number, mark in enumerate(marks):
        x, y = axes.x(mark.at), _TOP - 6 - _LINE * (number % 2)
        yield f'<line class="mark" x1="{x:.1f}" y1="{y + 2}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}"/>'
        yield f'<text class="marked" x="{x:.1f}" y="{y}" text-anchor="middle">{mark.text}</text>'


def _spans(axes: _Axes, spans: Sequence[Span]) -> Iterator[str]:
    height = _HEIGHT - _TOP - _BOTTOM
    for span in spans:
        x, end = axes.x(span.begin), axes.x(span.end)
        yield f'<rect class="span" x="{x:.1f}" y="{_TOP}" width="{end - x:.1f}" height="{height}"/>'
        middle, y = (x + end) / 2, _HEIGHT - _BOTTOM - 8
        yield f'<text x="{middle:.1f}" y="{y}" text-anchor="middle">{span.text}</text>'
