"""Rows that wait until min time has passed them.

Contract.  `take_below(bound)` removes and returns all rows with roots below `bound`.  Its cost is
proportional to the number of returned rows, and each row is sorted once: batches are in a heap by their least
roots, and a batch of which only a part is taken is sorted the first time, and then only cut.

    waiting   [10 30 20] [40 50]        take_below(15):  [10]       a batch is cut: sort it
              [20 30]    [40 50]        take_below(25):  [20]       binary search in what is sorted
              [30]       [40 50]        take_below(60):  [30] [40 50]

Small batches are merged, so that single rows do not occupy a batch each.
"""

from __future__ import annotations

import heapq
from typing import Final

import numpy as np

from fsql.compiler.records import dataclass
from fsql.runtime.batch import END, Batch, Root
from fsql.runtime.few_rows import exceeds_bytes
from fsql.runtime.order import below, concat, lexicographic_order

SMALL_ROWS: Final = 256
SMALL_BYTES: Final = 1 << 18
"""Batches of fewer rows, and of no more bytes in any column, are merged."""
SMALL_BATCHES: Final = 64
"""This many small batches are merged into one."""


@dataclass(slots=True, eq=False)
class _Run:
    """The rows of `batch` from row `start` on; they are in the order of their roots if `in_order`.

    `number` is greater than those of all earlier runs.
    """

    number: int
    batch: Batch
    start: int = 0
    in_order: bool = False

    def take_rest(self) -> Batch:
        """Remove and return all rows."""
        start, self.start = self.start, len(self.batch)
        return self.batch if start == 0 else self.batch.take(np.arange(start, self.start))

    def least(self) -> Root:
        return self.batch.root(self.start) if self.in_order else self.batch.span().least

    def sort(self) -> None:
        """Sort the rows by their roots."""
        if self.in_order:
            return
        order = lexicographic_order([self.batch.time, self.batch.origin])
        self.batch = self.batch if order is None else self.batch.take(order)
        self.in_order = True

    def position_after(self, count: int, start: Root) -> Root:
        """Return the root of row `count` from `start` on, but above that of the first row; END if too few."""
        self.sort()
        first = max(self.start, _count_below(self.batch, start))
        if first + count >= len(self.batch):
            return END
        time, origin = self.batch.root(first)
        return max(self.batch.root(first + count), Root(time, origin + 1))

    def count_between(self, start: Root, end: Root) -> int:
        """Return the number of rows from `start` on and below `end`; the rows have to be in order."""
        return _count_below(self.batch, end) - max(self.start, _count_below(self.batch, start))

    def take_below(self, bound: Root) -> Batch:
        """Remove and return the rows below `bound`."""
        if self.batch.span().greatest < bound:
            return self.take_rest()
        self.sort()
        end = _count_below(self.batch, bound)
        taken = self.batch.take(np.arange(self.start, end))
        self.start = end
        size = len(self.batch)
        if end < size < 2 * end:
            # Release the memory of the taken rows; the cost is amortized over them.
            self.batch, self.start = self.batch.take(np.arange(end, size)), 0
        return taken


class WaitingRows:
    """Unordered batches of rows, from which those below a bound are taken."""

    __slots__ = ("_least_small", "_numbers", "_runs", "_small", "rows")

    def __init__(self) -> None:
        self.rows = 0
        """The number of waiting rows."""
        self._runs: list[tuple[Root, int, _Run]] = []
        self._numbers = 0
        self._small: list[Batch] = []
        self._least_small = END

    def append(self, batch: Batch) -> None:
        """Add a batch of at least one row."""
        self.rows += len(batch)
        if len(batch) >= SMALL_ROWS or exceeds_bytes(batch.columns, SMALL_BYTES):
            self._push(batch)
            return
        self._small.append(batch)
        self._least_small = min(self._least_small, batch.span().least)
        if len(self._small) == SMALL_BATCHES:
            self._merge_small()

    def least(self) -> Root | None:
        """Return the least root of the waiting rows, None if there are none."""
        if not self.rows:
            return None
        return min(self._runs[0][0], self._least_small) if self._runs else self._least_small

    def from_root(self, least: Root) -> list[tuple[Batch, int]]:
        """Return the batches with rows at or above `least`, each with its first waiting row."""
        waiting = [(run.batch, run.start) for _, _, run in self._runs]
        waiting += [(batch, 0) for batch in self._small]
        return [(batch, start) for batch, start in waiting if batch.span().greatest >= least]

    def take_below(self, bound: Root) -> list[Batch]:
        """Remove and return the rows with roots less than `bound`, by batches as they came."""
        cut: list[_Run] = []
        while self._runs and self._runs[0][0] < bound:
            cut.append(heapq.heappop(self._runs)[2])
        cut.sort(key=_number)
        taken = []
        for run in cut:
            taken.append(run.take_below(bound))
            if run.start < len(run.batch):
                heapq.heappush(self._runs, (run.least(), run.number, run))
        if self._least_small < bound:
            taken += self._take_small(bound)
        self.rows -= sum(map(len, taken))
        return taken

    def position_after(self, count: int, start: Root) -> Root:
        """Return a position after at least half of `count` rows from `start` on; END if there are fewer.

        If all batches have rows everywhere, about `count` rows are below it.  If one batch comes after the
        other, a part of each is only a part of the first one; so it grows until there are enough rows.
        """
        self._merge_small()
        runs = [run for _, _, run in self._runs]
        each = max(1, count // max(1, len(runs)))
        while True:
            position = min([run.position_after(each, start) for run in runs], default=END)
            below_it = sum(run.count_between(start, position) for run in runs)
            if position == END or 2 * below_it >= count:
                return position
            each *= 2

    def _merge_small(self) -> None:
        if self._small:
            self._push(concat(self._small))
            self._small, self._least_small = [], END

    def _push(self, batch: Batch) -> None:
        self._numbers += 1
        heapq.heappush(self._runs, (batch.span().least, self._numbers, _Run(self._numbers, batch)))

    def _take_small(self, bound: Root) -> list[Batch]:
        taken, kept = [], []
        for batch in self._small:
            least, greatest = batch.span()
            if greatest < bound:
                taken.append(batch)
            elif least < bound:
                under = below(batch, bound)
                taken.append(batch.take(np.flatnonzero(under)))
                kept.append(batch.take(np.flatnonzero(~under)))
            else:
                kept.append(batch)
        self._small = kept
        self._least_small = min([batch.span().least for batch in kept], default=END)
        return taken


def _number(run: _Run) -> int:
    return run.number


def _count_below(batch: Batch, bound: Root) -> int:
    """Return how many rows of a sorted batch are below `bound`."""
    first, end = (int(np.searchsorted(batch.time, bound.time, side)) for side in ("left", "right"))
    return first + int(np.searchsorted(batch.origin[first:end], bound.origin, "left"))
