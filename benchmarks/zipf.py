"""Keys by Zipf's law with any exponent, and the hash bins that they fall into.

The key of rank r has the weight r to the power of -exponent.  Which name a rank has is a shuffle that the
seed decides, so another seed gives other bins to the frequent keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.owner_map import BIN_SHIFT, BINS
from fsql.runtime.hashing import hash_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from fsql.compiler.owner_map import OwnerMap
    from fsql.runtime.arrays import Ints


KEYS: Final = 10_000
ITEMS: Final = 50
_ROWS_AT_ONCE: Final = 500_000
_FIRST_MS: Final = 1_767_225_600_000
"""The first row has this time: 2026-01-01."""
_NOTES: Final = "key,item,at\n"


@dataclass(frozen=True)
class ZipfKeys:
    """Rows with keys, always the same ones.

    Where `crowded` is above 0, so many of the most frequent keys are in one half of the bins of the values in
    `other_keys` and the key, which are of one worker if each of two has as many bins: the first half, or the
    second one if `in_second_half`.
    """

    exponent: float
    rows: int
    seed: int = 0
    crowded: int = 0
    other_keys: tuple[pa.Scalar[Any], ...] = ()
    in_second_half: bool = False

    @cached_property
    def numbers(self) -> Ints:
        """The number of the key of each row."""
        random = np.random.default_rng(11)
        weights = np.cumsum(np.arange(1, KEYS + 1) ** -self.exponent)
        ranks = np.searchsorted(weights, random.random(self.rows) * weights[-1])
        return self._by_rank()[ranks]

    @cached_property
    def items(self) -> Ints:
        """The item of each row: all are as frequent."""
        return np.random.default_rng(5).integers(0, ITEMS, self.rows)

    def _by_rank(self) -> Ints:
        """Return the number of the key of each rank."""
        shuffled = np.random.default_rng(self.seed).permutation(KEYS)
        bins = _bins_of([_names(), *(pa.repeat(each, KEYS) for each in self.other_keys)])
        is_there = (bins[shuffled] >= BINS // 2) == self.in_second_half
        first = shuffled[is_there][: self.crowded]
        return np.concatenate([first, shuffled[~np.isin(shuffled, first)]])

    def bins(self) -> Ints:
        """Return how many rows are in each hash bin where rows are exchanged by `other_keys` and the key."""
        keys = [_names(), *(pa.repeat(each, KEYS) for each in self.other_keys)]
        return _rows_by_bin(_bins_of(keys), np.bincount(self.numbers, minlength=KEYS))

    def bins_with_items(self) -> Ints:
        """Return how many rows fall into each hash bin where rows are exchanged by key and item."""
        names = _names().take(pa.array(np.arange(KEYS).repeat(ITEMS)))
        items = pa.array(np.tile(np.arange(ITEMS), KEYS))
        pairs = np.bincount(self.numbers * ITEMS + self.items, minlength=KEYS * ITEMS)
        return _rows_by_bin(_bins_of([names, items]), pairs)

    def write(self, directory: Path, files: int) -> None:
        """Write `key,item,at` for each row, dealt out to some files, with a header.

        Rows of a file are a millisecond apart.
        """
        names, millis = np.array(_names().to_pylist()), _FIRST_MS + np.arange(self.rows) // files
        for number in range(files):
            own = names[self.numbers[number::files]]
            rest = self.items[number::files], millis[number::files]
            with (directory / f"events-{number}.csv").open("w", encoding="ascii") as file:
                file.write(_NOTES)
                for first in range(0, len(own), _ROWS_AT_ONCE):
                    some = slice(first, first + _ROWS_AT_ONCE)
                    _write_rows(file, own[some], *(each[some] for each in rest))

    def write_keys(self, path: Path) -> None:
        """Write a row for each key, all at the time of the first row."""
        names = np.array(_names().to_pylist())
        with path.open("w", encoding="ascii") as file:
            file.write(_NOTES)
            _write_rows(file, names, np.arange(KEYS) % ITEMS, np.full(KEYS, _FIRST_MS))


@dataclass(frozen=True)
class MovingKeys(ZipfKeys):
    """Rows of which other keys are frequent in each part: those in the other half of the bins."""

    parts: int = 1

    @cached_property
    def numbers(self) -> Ints:
        """The number of the key of each row."""
        return np.concatenate([part.numbers for part in self.of_parts])

    @cached_property
    def of_parts(self) -> list[ZipfKeys]:
        """The rows of each part."""
        bounds = [self.rows * number // self.parts for number in range(self.parts + 1)]
        return [
            ZipfKeys(
                *(self.exponent, end - first, self.seed + number, self.crowded, self.other_keys),
                in_second_half=number % 2 == 1,
            )
            for number, (first, end) in enumerate(pairwise(bounds))
        ]


def _write_rows(file: Any, names: Any, items: Ints, millis: Ints) -> None:  # noqa: ANN401
    times = np.datetime_as_string(millis.astype("datetime64[ms]")).tolist()
    rows = zip(names.tolist(), items.tolist(), times, strict=True)
    file.writelines(f"{key},{item},{at.replace('T', ' ')}\n" for key, item, at in rows)


def _names() -> pa.Array:
    return pa.array([f"k{number:05d}" for number in range(KEYS)])


def _bins_of(values: Sequence[pa.Array]) -> Ints:
    """Return the bin of the hash of each row."""
    return (hash_rows(values, len(values[0])) >> BIN_SHIFT).astype(np.int64)


def _rows_by_bin(bins: Ints, rows: Ints) -> Ints:
    return np.bincount(bins, rows, minlength=BINS).astype(np.int64)


def busiest_over_mean(owners: OwnerMap, bins: NDArray[Any]) -> float:
    """Return the rows of the worker that has most by the mean of all workers."""
    loads = np.bincount(np.array(owners.owners), bins, minlength=owners.workers)
    return float(loads.max() / loads.mean())
