"""Monitors the event times of a split, for warnings; no released row depends on it.

Seconds since 1970 that are read as milliseconds become times from 1970 to 1973.  The first row with such a
time is reported, and rows with such times are ignored below.

A single row that is dated far ahead makes the rows after it late.  Such a row is the first row of the split,
or one whose time is at least a year after that of the row before it; it is reported when the time of a later
row is at least a year before its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from fsql.runtime.arrays import Ints


FAR_US: Final = 365 * 86_400_000_000
_IN_SECONDS: Final = range(10**12, 10**14)
"""The values, in microseconds, of seconds of the years 2001 to 5138 that are read as milliseconds."""


class InSeconds(NamedTuple):
    """A row whose event time seems to be seconds since 1970: its split and number, and its time as read."""

    split: int
    row: int
    time: int


class FarAhead(NamedTuple):
    """A row that is dated far ahead: its split and number, its time, and that of a later row."""

    split: int
    row: int
    time: int
    later_time: int


class MostBehind(NamedTuple):
    """How far a row is behind one before it, at most: split, number and time of that one, and its own time.

    If rows are late, the row that is named is the one that moved the watermark most.
    """

    behind_us: int
    split: int
    row: int
    time: int
    later_time: int


class EventTimes:
    """The event times of the rows of one split that have been read so far."""

    def __init__(self, split: int) -> None:
        self.in_seconds: InSeconds | None = None
        self.far_ahead: FarAhead | None = None
        self.most_behind: MostBehind | None = None
        self._latest: tuple[int, int] | None = None
        """The number and the time of the row with the greatest time."""
        self._split = split
        self._greatest: int | None = None
        self._newest_jump = (0, 0)
        """The number and the time of the last row that was at least a year after the one before it."""

    def add(self, times: Ints, rows: Ints) -> None:
        """Record the event times of the next rows, at least one, with the numbers of the rows."""
        self._find_most_behind(times, rows)
        if self.far_ahead is not None and self.in_seconds is not None:
            return
        if times.min() < _IN_SECONDS.stop:
            other = (times < _IN_SECONDS.start) | (times >= _IN_SECONDS.stop)
            if self.in_seconds is None and not other.all():
                first = int(other.argmin())
                self.in_seconds = InSeconds(self._split, int(rows[first]), int(times[first]))
            times, rows = times[other], rows[other]
        if len(times) and self.far_ahead is None:
            self._find_far_ahead(times, rows)

    def _find_most_behind(self, times: Ints, rows: Ints) -> None:
        row, latest = self._latest or (int(rows[0]), int(times[0]))
        greatest = np.maximum.accumulate(np.maximum(times, latest))
        behind = greatest - times
        most = int(behind.argmax())
        if behind[most] > (0 if self.most_behind is None else self.most_behind.behind_us):
            reached = int(greatest[most])
            if reached > latest:
                row = int(rows[np.searchsorted(greatest, reached)])
            self.most_behind = MostBehind(
                int(behind[most]), self._split, row, reached, int(times[most])
            )
        if greatest[-1] > latest:
            row, latest = int(rows[np.searchsorted(greatest, greatest[-1])]), int(greatest[-1])
        elif self._latest is not None:
            row = self._latest[0]
        self._latest = row, latest

    def _find_far_ahead(self, times: Ints, rows: Ints) -> None:
        if self._greatest is None:
            self._greatest = int(times[0])
            self._newest_jump = int(rows[0]), self._greatest
        greatest = max(self._greatest, int(times.max()))
        if greatest - self._greatest >= FAR_US or self._newest_jump[1] - int(times.min()) >= FAR_US:
            self._check_each(times, rows, self._greatest)
        self._greatest = greatest

    def _check_each(self, times: Ints, rows: Ints, greatest: int) -> None:
        for row, time in zip(rows.tolist(), times.tolist(), strict=True):
            if self._newest_jump[1] - time >= FAR_US:
                self.far_ahead = FarAhead(self._split, *self._newest_jump, time)
                return
            if time - greatest >= FAR_US:
                self._newest_jump = row, time
            greatest = max(greatest, time)
