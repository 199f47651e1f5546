"""Counts how far the rows that come to a fold are out of order, for the choice of its policy.

A SPECULATIVE fold applies rows again if earlier ones come later, which it counts.  An ORDERED one has
the same rows waiting that a speculative one would have in its log.  So it can count what would have been
applied again: when a batch comes at or below a row that waits and has the same key, all waiting rows of this
key.  That is somewhat more than a speculative fold applies again, which undoes a key from the application on
that has the first later row; but after repairs, that is often the first one.

It takes a hash of each of these keys, so it is estimated from some of the batches that come out of order: the
first ones, and later each time that their number has grown by one in `COUNTED_AGAIN`.  At most `BATCHES_MAX`
of the waiting batches, and `ROWS_MAX` rows of each, are searched.  No released row depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fsql.runtime.batch import START
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.hashing import hash_rows
from fsql.runtime.order import below

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.dataflow.backlog import Backlog

    Hashes = NDArray[np.uint32]

COUNTED_AGAIN: Final = 4
BATCHES_MAX: Final = 4
ROWS_MAX: Final = 256


class OrderCounts(NamedTuple):
    """What one fold has counted.

    `batches` are the batches of rows that came, and `disordered` those with a row at or below one that had
    come before, and was not final.  `advances` counts how often min time has passed rows: an ordered fold
    applies rows so often.  In a speculative fold it may be somewhat more, because rows that are final stay in
    the log behind others.  `would_redo` is an estimate of the rows that would have been applied again if rows
    had not waited.
    """

    batches: int
    disordered: int
    advances: int
    would_redo: int


class Disorder:
    """Counts for one fold; `advances` is to be increased each time that min time passes rows."""

    __slots__ = (
        *("_batches", "_counted", "_disordered", "_found", "_greatest", "_keys", "_would_redo"),
        "advances",
    )

    def __init__(self, keys: Callable[[Batch], Sequence[pa.Array]]) -> None:
        """Count from zero; `keys` returns the key columns of prepared rows."""
        self._keys = keys
        self._greatest = START
        self._start()

    def _start(self) -> None:
        self.advances = self._batches = self._disordered = self._would_redo = 0
        self._counted = self._found = 0
        """The number of the last disordered batch for which rows were searched, and how many were found."""

    def take(self) -> OrderCounts:
        """Return the counts since the last call."""
        would_redo = self._would_redo + self._found * (self._disordered - self._counted)
        counts = OrderCounts(self._batches, self._disordered, self.advances, would_redo)
        self._start()
        return counts

    def add(self, batch: Batch, waiting: Backlog | None) -> None:
        """Count a batch that has come; `waiting` are the rows that wait, None if none have to."""
        least, greatest = batch.span()
        self._batches += 1
        if least > self._greatest:
            self._greatest = greatest
            return
        self._greatest = max(self._greatest, greatest)
        self._disordered += 1
        since = self._disordered - self._counted
        if waiting is not None and since > self._counted // COUNTED_AGAIN:
            self._found = self._rows_to_redo(batch, least, waiting)
            self._would_redo += self._found * since
            self._counted = self._disordered

    def _rows_to_redo(self, batch: Batch, least: Root, waiting: Backlog) -> int:
        """Return about how many rows wait that have a key of the batch which also a later one has."""
        wanted = _hashes(batch.with_columns(self._keys(batch)))
        later, _ = self._sample(waiting, least)
        if not later:
            return 0
        again = np.intersect1d(np.concatenate(later), wanted)
        sample, total = self._sample(waiting, START)
        hashes = np.concatenate(sample)
        found = int(np.count_nonzero(np.isin(hashes, again)))
        return round(found * total / len(hashes))

    def _sample(self, waiting: Backlog, least: Root) -> tuple[list[Hashes], int]:
        """Return the hashes of some of the rows that wait at or above a root, and of how many they are."""
        batches = waiting.from_root(least)
        sample = []
        for rows, start in batches[:: -(-len(batches) // BATCHES_MAX) or 1]:
            indexes = np.arange(start, len(rows), -(-(len(rows) - start) // ROWS_MAX))
            part = rows.with_columns(self._keys(rows)).take(indexes)
            if rows.span().least < least:
                part = part.take(np.flatnonzero(~below(part, least)))
            sample.append(_hashes(part))
        return sample, sum(len(rows) - start for rows, start in batches)


def _hashes(keys: Batch) -> Hashes:
    return hash_rows([decode_dictionary(key) for key in keys.columns], len(keys))
