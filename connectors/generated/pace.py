"""When generated rows fall due: at a rate, and at another rate during a peak."""

from __future__ import annotations

import math
from typing import Protocol, Self, runtime_checkable

from fsql.compiler.records import dataclass


@dataclass(frozen=True, slots=True)
class Peak:
    """A period with another rate; `start` is in seconds after row 0 falls due."""

    rate: int
    start: float
    seconds: float


@runtime_checkable
class PacedSplit(Protocol):
    """A split of generated rows, which may fall due over time: that does not change which rows there are."""

    @property
    def rows(self) -> int | None:
        """Return the number of rows, None if the stream is endless."""

    def without_pace(self) -> Self:
        """Return the same rows, all of them due immediately."""

    def replayed(self, rows: int) -> Self:
        """Return the same rows, of which the first `rows` were due before, and are immediately."""


class Pace:
    """Row i is due `due(i)` seconds after row 0."""

    def __init__(self, rate: int, peak: Peak | None = None) -> None:
        """Take the rate in rows per second, and the peak, if there is one."""
        self._pieces = [(0.0, 0, rate)]
        """Time, number of the first row, and rate of each part, in order."""
        if peak is not None:
            first = math.ceil(peak.start * rate)
            end = first + math.ceil(peak.seconds * peak.rate)
            self._pieces.append((peak.start, first, peak.rate))
            self._pieces.append((peak.start + peak.seconds, end, rate))

    def due(self, row: int) -> float:
        """Return when a row falls due, in seconds after row 0."""
        start, first, rate = next(piece for piece in reversed(self._pieces) if piece[1] <= row)
        return start + (row - first) / rate

    def rows_due(self, seconds: float) -> int:
        """Return how many rows have fallen due after a number of seconds, which may be less than 0."""
        later = (piece for piece in reversed(self._pieces) if piece[0] <= seconds)
        start, first, rate = next(later, self._pieces[0])
        return first + math.floor((seconds - start) * rate) + 1
