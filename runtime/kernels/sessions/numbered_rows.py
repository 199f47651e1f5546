"""Rows by number: sessions refer to their rows by it, and take them out when they close.

The rows are in chunks that are merged as they grow, so each row is moved a logarithmic number of times, and
taking rows costs a step for each of few chunks.  When most rows were forgotten, the others are numbered anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.runtime.order import concat

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.runtime.batch import Batch

    Ints = NDArray[np.int64]

_FORGOTTEN_MAX: Final = 1 << 12
"""So many forgotten rows are always kept."""


class NumberedRows:
    """Rows with consecutive numbers; `live` of them are not forgotten."""

    def __init__(self) -> None:
        self.live = 0
        self._chunks: list[Batch] = []
        self._starts: list[int] = []
        self._end = 0

    def add(self, batch: Batch) -> Ints:
        """Add rows, at least one; return their numbers."""
        start, chunk = self._end, batch
        self._end += len(batch)
        self.live += len(batch)
        numbers = np.arange(start, self._end)
        merging = [chunk]
        size = len(chunk)
        while self._chunks and len(self._chunks[-1]) < 2 * size:
            merging.insert(0, self._chunks.pop())
            start = self._starts.pop()
            size += len(merging[0])
        self._chunks.append(concat(merging))
        self._starts.append(start)
        return numbers

    def take(self, numbers: Ints) -> Batch:
        """Return the rows with these numbers, at least one, in their order."""
        chunk = np.searchsorted(self._starts, numbers, "right") - 1
        used = np.unique(chunk).tolist()
        if len(used) == 1:
            return self._chunks[used[0]].take(numbers - self._starts[used[0]])
        places = [np.flatnonzero(chunk == one) for one in used]
        parts = [
            self._chunks[one].take(numbers[place] - self._starts[one])
            for one, place in zip(used, places, strict=True)
        ]
        order = np.empty(len(numbers), np.int64)
        order[np.concatenate(places)] = np.arange(len(numbers))
        return concat(parts).take(order)

    def forget(self, count: int) -> None:
        """Record that nobody refers to so many of the rows any more."""
        self.live -= count

    @property
    def mostly_forgotten(self) -> bool:
        """Return whether the rows should be numbered anew."""
        held = sum(map(len, self._chunks))
        return held > _FORGOTTEN_MAX + 2 * self.live

    def renumber(self, kept: Ints) -> Ints:
        """Keep these rows only, all that anybody refers to; return their new numbers."""
        batch = self.take(kept) if len(kept) else None
        self._chunks, self._starts = [], []
        self.live = 0
        return np.empty(0, np.int64) if batch is None else self.add(batch)
