"""Open sessions without a gap: the rows that wait for the watermark to pass their times.

Each session consists of the rows of one time, so a row is late if it is earlier than the watermark, whatever
other rows exist.  Rows are in columns, in chunks that are sorted by the time at which they close.  Chunks are
merged as they grow, so each row is moved a logarithmic number of times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.kernels.sessions.open_rows import ClosedRows, close_times, rows_behind_watermark

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.graph import SessionClosing
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.sessions.open_rows import SessionRows


class OpenTimes:
    """`open_rows.OpenRows` for sessions that each consist of the rows of one time."""

    def __init__(self, closing: SessionClosing) -> None:
        self._closing = closing
        self._chunks: list[ClosedRows] = []
        """Rows that will close, sorted by `close`; none is empty."""

    def insert(
        self, rows: SessionRows, in_total_order: Callable[[SessionRows], SessionRows]
    ) -> SessionRows:
        """Add rows, except those that are late, which are returned in the total order."""
        late = rows_behind_watermark(rows, self._closing)
        self.add(rows.take(~late) if late.any() else rows)
        return in_total_order(rows.take(late)) if late.any() else rows.take(late)

    def add(self, rows: SessionRows) -> None:
        """Add rows of which none is earlier than the watermark."""
        if not len(rows.slot):
            return
        close = close_times(rows.end, self._closing)
        parts = [ClosedRows(close, rows.slot, rows.start, rows.end, rows.number)]
        size = len(close)
        while self._chunks and len(self._chunks[-1].close) < 2 * size:
            parts.append(self._chunks.pop())
            size += len(parts[-1].close)
        merged = ClosedRows(*map(np.concatenate, zip(*parts, strict=True)))
        self._chunks.append(_take(merged, np.argsort(merged.close, kind="stable")))

    def least(self) -> Root | None:
        """Return the punctuation at which the first rows close, if there are rows."""
        if not self._chunks:
            return None
        return Root(min(int(chunk.close[0]) for chunk in self._chunks), PUNCTUATION)

    def pop_below(self, bound: Root) -> ClosedRows | None:
        """Remove and return the rows that close below `bound`."""
        # A punctuation at the time of the bound is below it if its origin is.
        end = bound.time + (bound.origin > PUNCTUATION)
        closed, kept = [], []
        for chunk in self._chunks:
            count = int(np.searchsorted(chunk.close, end))
            if count:
                closed.append(_take(chunk, slice(None, count)))
            if count < len(chunk.close):
                kept.append(_take(chunk, slice(count, None)))
        self._chunks = kept
        return ClosedRows(*map(np.concatenate, zip(*closed, strict=True))) if closed else None

    def drop(self, slots: Ints) -> int:
        """Drop the rows of some slots; return their number."""
        kept = [_take(chunk, ~np.isin(chunk.slot, slots)) for chunk in self._chunks]
        count = sum(len(chunk.close) for chunk in self._chunks)
        self._chunks = [chunk for chunk in kept if len(chunk.close)]
        return count - sum(len(chunk.close) for chunk in self._chunks)

    def numbers_of(self, slots: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of the rows of ascending slots, slot by slot, and how many each has."""
        if not self._chunks:
            return np.empty(0, np.int64), np.zeros(len(slots), np.int64)
        slot = np.concatenate([chunk.slot for chunk in self._chunks])
        number = np.concatenate(self.numbers())
        wanted = np.flatnonzero(np.isin(slot, slots))
        wanted = wanted[np.argsort(slot[wanted], kind="stable")]
        slot = slot[wanted]
        sizes = np.searchsorted(slot, slots, "right") - np.searchsorted(slot, slots)
        return number[wanted], sizes

    def numbers(self) -> list[Ints]:
        """Return the numbers of all rows, in parts."""
        return [chunk.number for chunk in self._chunks]

    def renumber(self, new: Callable[[Ints], Ints]) -> None:
        """Replace the numbers of all rows."""
        self._chunks = [chunk._replace(number=new(chunk.number)) for chunk in self._chunks]


def _take(rows: ClosedRows, chosen: Ints | Bools | slice) -> ClosedRows:
    return ClosedRows(*(column[chosen] for column in rows))
