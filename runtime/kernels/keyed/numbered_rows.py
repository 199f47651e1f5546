"""Rows by number: a kernel refers to rows, which are in columns, by their numbers.

The rows are in chunks that are merged as they grow, so each row is moved a logarithmic number of times, and
the cost of reading rows grows with the number of chunks, which is small.  When most rows are forgotten, the
others are renumbered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.runtime.few_rows import exceeds_bytes
from fsql.runtime.order import concat, stable_order, starts_of_runs

if TYPE_CHECKING:
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch


_FORGOTTEN_MAX: Final = 1 << 12
"""Up to this many forgotten rows are always kept."""
_CHUNK_MIN: Final = 1 << 10
"""Copying this many rows for each added row costs less than reading rows from several chunks."""
_MERGED_BYTES_MAX: Final = 1 << 29
"""Chunks with a column beyond this are not merged: the offsets of Arrow's strings have 32 bits."""


class NumberedRows:
    """Rows with consecutive numbers; `live` of them are not forgotten."""

    def __init__(self) -> None:
        self.live = 0
        self._chunks: list[Batch] = []
        self._starts: list[int] = []
        self.end = 0
        """Greater than every number."""

    def add(self, batch: Batch) -> Ints:
        """Add rows, at least one; return their numbers."""
        start, chunk = self.end, batch
        self.end += len(batch)
        self.live += len(batch)
        numbers = np.arange(start, self.end)
        merging = [chunk]
        size = len(chunk)
        while self._chunks and len(self._chunks[-1]) < max(2 * size, _CHUNK_MIN):
            if exceeds_bytes([*self._chunks[-1].columns, *merging[0].columns], _MERGED_BYTES_MAX):
                break
            merging.insert(0, self._chunks.pop())
            start = self._starts.pop()
            size += len(merging[0])
        self._chunks.append(concat(merging))
        self._starts.append(start)
        return numbers

    def take(self, numbers: Ints) -> Batch:
        """Return the rows with these numbers, at least one, in this order; ascending numbers cost less.

        Numbers may occur several times: each row is copied once from its chunk, and then as often as needed.
        """
        chunk = np.searchsorted(self._starts, numbers, "right") - 1
        used = np.unique(chunk).tolist()
        if len(used) == 1:
            return self._chunks[used[0]].take(numbers - self._starts[used[0]])
        if (numbers[:-1] < numbers[1:]).all():
            return self._take_ascending(numbers, used)
        order = stable_order(numbers)
        ordered = numbers[order]
        firsts = starts_of_runs(ordered)
        index = np.empty(len(numbers), np.int64)
        index[order] = np.arange(len(firsts)).repeat(np.diff(np.append(firsts, len(order))))
        return self._take_ascending(ordered[firsts], used).take(index)

    def _take_ascending(self, numbers: Ints, chunks: list[int]) -> Batch:
        """Return rows of several chunks; the numbers ascend strictly."""
        bounds = np.searchsorted(numbers, [self._starts[one] for one in chunks[1:]])
        parts = np.split(numbers, bounds)
        return concat(
            [
                self._chunks[one].take(own - self._starts[one])
                for one, own in zip(chunks, parts, strict=True)
            ]
        )

    def forget(self, count: int) -> None:
        """Record that this many more rows are no longer referred to."""
        self.live -= count

    @property
    def mostly_forgotten(self) -> bool:
        """Return whether the rows should be renumbered."""
        return self.held > _FORGOTTEN_MAX + 2 * self.live

    @property
    def held(self) -> int:
        """Return the number of rows, including forgotten ones."""
        return sum(map(len, self._chunks))

    def renumber(self, kept: Ints) -> Ints:
        """Keep only these rows, which ascend and include all rows in use; return their new numbers."""
        chunks, starts = self._chunks, self._starts
        self._chunks, self._starts = [], []
        self.live = self.end = 0
        for chunk, start in zip(chunks, starts, strict=True):
            first, last = np.searchsorted(kept, [start, start + len(chunk)]).tolist()
            if first < last:
                self.add(chunk.take(kept[first:last] - start))
        return np.arange(len(kept))
