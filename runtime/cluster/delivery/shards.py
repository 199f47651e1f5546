"""Shards: parts of the rows of one INSERT, each of which is an output with its own sink.

The shard of a row depends on the row alone: on its key, or on its root position.  So every shard has the
same rows in every run, whichever worker writes it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.records import dataclass
from fsql.runtime.dataflow.sharded_rows import shard_numbers
from fsql.runtime.ports import Release

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RowSharder:
    """Splits the rows of one INSERT into shards, by the hash of `columns`, or of root positions if None."""

    def __init__(self, shards: int, columns: tuple[int, ...] | None) -> None:
        self.shards = shards
        self._columns = columns
        self._release: Release | None = None
        self._parts: list[Release | None] = []

    def part(self, release: Release, shard: int) -> Release | None:
        """Return the rows of a shard, None if there are none."""
        if release is not self._release:
            self._release, self._parts = release, self._split(release)
        part = self._parts[shard]
        if shard == self.shards - 1:
            self._release, self._parts = None, []
        return part

    def _split(self, release: Release) -> list[Release | None]:
        columns = release.columns
        if release.encoded:
            numbers = columns[1].to_numpy()  # from the worker that has encoded the row
        else:
            numbers = shard_numbers(
                self.shards, self._columns, columns, release.time, release.origin
            )
        order = np.argsort(numbers, kind="stable")
        bounds = np.searchsorted(numbers[order], np.arange(self.shards + 1))
        return [
            _rows(release, order[start:end]) if end > start else None
            for start, end in pairwise(bounds)
        ]


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard, by its number; all shards of an INSERT share the `sharder`."""

    number: int
    sharder: RowSharder


def _rows(release: Release, rows: NDArray[np.int64]) -> Release:
    columns = release.columns[:1] if release.encoded else release.columns
    if len(rows) < len(release.time):
        indexes = pa.array(rows)
        columns = [column.take(indexes) for column in columns]
    return Release(
        columns,
        None if release.operations is None else release.operations[rows],
        release.time[rows],
        release.origin[rows],
        release.encoded,
    )
