"""A curve of latency over time as an SVG picture, with the moments at which a worker was killed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float64]]

_WIDTH: Final = 900
_HEIGHT: Final = 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 46, 46
_STYLE: Final = """
  text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2933; }
  .title { font-weight: bold; }
  .grid { stroke: #e1e6eb; }
  .axis { stroke: #7b8794; }
  .curve { fill: none; stroke: #2563a8; stroke-width: 1.4; stroke-linejoin: round; }
  .kill { stroke: #c2410c; stroke-dasharray: 5 3; }
  .killed { fill: #c2410c; }
"""
_STEPS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)


def latency_svg(title: str, due: Floats, late_ms: Floats, kills: Sequence[float]) -> str:
    """Return an SVG document; times are in seconds from the first document, latencies in decades."""
    picture = _Axes(float(due[-1]), max(float(late_ms.max()), 10.0), min(float(late_ms.min()), 1.0))
    points = " ".join(
        f"{picture.x(at):.1f},{picture.y(late):.1f}"
        for at, late in zip(due.tolist(), late_ms.tolist(), strict=True)
    )
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text class="title" x="{_LEFT}" y="20">{title}</text>',
        *picture.grid(),
        *_kills(picture, kills),
        f'<polyline class="curve" points="{points}"/>',
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


def _kills(axes: _Axes, kills: Sequence[float]) -> Iterator[str]:
    for kill in kills:
        x = axes.x(kill)
        yield f'<line class="kill" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}"/>'
        yield f'<text class="killed" x="{x:.1f}" y="{_TOP - 6}" text-anchor="middle">kill -9</text>'
