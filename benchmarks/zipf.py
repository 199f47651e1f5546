"""Keys by Zipf's law with any exponent, and the hash bins that they fall into.

The key of rank r has the weight r to the power of -exponent.  Which name a rank has is a shuffle that the
seed decides, so another seed gives other bins to the frequent keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.owner_map import BIN_SHIFT, BINS
from fsql.runtime.hashing import hash_rows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from fsql.compiler.owner_map import OwnerMap

KEYS: Final = 10_000
_ITEMS: Final = 50
_ROWS_AT_ONCE: Final = 500_000


@dataclass(frozen=True, slots=True)
class ZipfKeys:
    """Rows with keys, always the same ones."""

    exponent: float
    rows: int
    seed: int = 0

    def numbers(self) -> NDArray[np.int64]:
        """Return the number of the key of each row."""
        random = np.random.default_rng(11)
        weights = np.cumsum(np.arange(1, KEYS + 1) ** -self.exponent)
        ranks = np.searchsorted(weights, random.random(self.rows) * weights[-1])
        return np.random.default_rng(self.seed).permutation(KEYS)[ranks]

    def bins(self) -> NDArray[np.int64]:
        """Return how many rows fall into each hash bin, as an exchange counts them."""
        hashes = hash_rows([pa.array(_names())], KEYS)
        rows = np.bincount(self.numbers(), minlength=KEYS)
        return np.bincount(hashes >> BIN_SHIFT, rows, minlength=BINS).astype(np.int64)

    def write(self, directory: Path, files: int) -> None:
        """Write `key,item` for each row, dealt out to some files, with a header."""
        names, numbers = np.array(_names()), self.numbers()
        items = np.random.default_rng(5).integers(0, _ITEMS, self.rows)
        for number in range(files):
            own, theirs = numbers[number::files], items[number::files]
            with (directory / f"events-{number}.csv").open("w", encoding="ascii") as file:
                file.write("key,item\n")
                for first in range(0, len(own), _ROWS_AT_ONCE):
                    some = slice(first, first + _ROWS_AT_ONCE)
                    rows = zip(names[own[some]].tolist(), theirs[some].tolist(), strict=True)
                    file.writelines(f"{key},{item}\n" for key, item in rows)


def _names() -> list[str]:
    return [f"k{number:05d}" for number in range(KEYS)]


def busiest_over_mean(owners: OwnerMap, bins: NDArray[Any]) -> float:
    """Return the rows of the worker that has most by the mean of all workers."""
    loads = np.bincount(np.array(owners.owners), bins, minlength=owners.workers)
    return float(loads.max() / loads.mean())
