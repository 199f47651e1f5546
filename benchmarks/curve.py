"""A curve of latency over time as an SVG picture, with moments at which something happened."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.console.chart import BOTTOM, HEIGHT, TOP, TimeAxis, document, grid_line, polyline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.console.chart import Mark, Span

    Floats = np.ndarray[Any, np.dtype[np.float64]]

_POINTS: Final = 400
"""How many points a curve of many documents has."""
_POINTS_MAX: Final = 4000
"""The number of documents that are drawn one by one."""


def latency_svg(
    title: str, due: Floats, late_ms: Floats, marks: Sequence[Mark], spans: Sequence[Span] = ()
) -> str:
    """Return an SVG document; times are in seconds from the first document, latencies in decades.

    Where there are more documents than points, it shows the median of each point, and the greatest value.
    """
    times = TimeAxis(float(due[-1]))
    decades = _Decades(max(float(late_ms.max()), 10.0), min(float(late_ms.min()), 1.0))
    curves = [("curve", due, late_ms)]
    if len(due) > _POINTS_MAX:
        column = np.floor(due / due[-1] * (_POINTS - 1)).astype(np.int64)
        columns, firsts = np.unique(column, return_index=True)
        parts = np.split(late_ms, firsts[1:])
        greatest = np.array([part.max() for part in parts])
        median = np.array([np.median(part) for part in parts])
        at = columns / (_POINTS - 1) * due[-1]
        curves = [("greatest", at, greatest), ("curve", at, median)]
    drawn = (
        polyline(zip(map(times.x, at.tolist()), map(decades.y, ms.tolist()), strict=True), name)
        for name, at, ms in curves
    )
    note = "seconds at which a document was due"
    parts_drawn = [*times.spans(spans), *decades.grid(), *times.axis(note), *times.marks(marks)]
    return document(title, [*parts_drawn, *drawn])


class _Decades:
    """Where a latency is in the picture."""

    def __init__(self, most_ms: float, least_ms: float) -> None:
        self._least = math.floor(math.log10(max(least_ms, 0.01)))
        self._most = math.ceil(math.log10(most_ms))

    def y(self, ms: float) -> float:
        """Return the vertical position of a latency."""
        part = (math.log10(max(ms, 10.0**self._least)) - self._least) / (self._most - self._least)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    def grid(self) -> Iterator[str]:
        """Yield the lines of the grid, with what they stand for."""
        for power in range(self._least, self._most + 1):
            name = f"{10.0**power:g} ms" if power < 3 else f"{10 ** (power - 3):,} s"
            yield from grid_line(self.y(10.0**power), name)
