"""Shards: the parts of the rows of one INSERT, each an output with a sink of its own.

The shard of a row depends on the row alone: on its key, or on its root position.  So every shard has the
same rows in every run, whoever releases and writes it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.hashing import hash_rows
from fsql.runtime.ports import Release

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HASH_BITS: Final = np.uint64(32)


class Dealing:
    """Deals the rows of one INSERT to shards, by the hash of `columns`, or of root positions if None."""

    def __init__(self, shards: int, columns: tuple[int, ...] | None) -> None:
        self.shards = shards
        self._columns = columns
        self._release: Release | None = None
        self._parts: list[Release | None] = []

    def part(self, release: Release, shard: int) -> Release | None:
        """Return the rows of a shard, None if there are none."""
        if release is not self._release:
            self._release, self._parts = release, self._deal(release)
        part = self._parts[shard]
        if shard == self.shards - 1:
            self._release, self._parts = None, []
        return part

    def _deal(self, release: Release) -> list[Release | None]:
        assert not release.encoded, "rows of sharded tables are encoded when they are written"
        numbers = self._numbers(release)
        order = np.argsort(numbers, kind="stable")
        bounds = np.searchsorted(numbers[order], np.arange(self.shards + 1))
        return [
            _rows(release, order[start:end]) if end > start else None
            for start, end in itertools.pairwise(bounds)
        ]

    def _numbers(self, release: Release) -> NDArray[np.uint8]:
        """Return the shard of each row: a range of hashes for each."""
        if self._columns is None:
            keys = [pa.array(release.time), pa.array(release.origin)]
        else:
            keys = [release.columns[index] for index in self._columns]
        hashes = hash_rows(keys, len(release.time)).astype(np.uint64)
        return (hashes * np.uint64(self.shards) >> _HASH_BITS).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard, by its number; all shards of an INSERT share the `dealing`."""

    number: int
    dealing: Dealing


def _rows(release: Release, rows: NDArray[np.int64]) -> Release:
    if len(rows) == len(release.time):
        return release
    indexes = pa.array(rows)
    return Release(
        [column.take(indexes) for column in release.columns],
        None if release.operations is None else release.operations[rows],
        release.time[rows],
        release.origin[rows],
    )
