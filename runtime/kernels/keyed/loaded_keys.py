"""Keys of a loaded state: they remain in columns until a row refers to them.

Creating Python objects for millions of keys takes several times as long as the rest of loading, and ten
times the memory of the columns, and most keys of a large state are not needed soon.  Such keys are said to
*sleep*; using a key *wakes* it.

    hash   3  5  5  9        sorted; key i has slot i
    key    a  b  c  d
    find c: its hash is 5; the first key with this hash is b, the second is c: slot 2

Contract.  A key that was woken or removed is never found again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.hashing import hash_rows
from fsql.runtime.kernels.keyed.key_objects import keys_of_rows
from fsql.runtime.order import identity_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.arrays import Bools, Ints


NOT_FOUND: Final = -1
_NO_HASH: Final = -1


class LoadedKeys:
    """Keys in columns, each once, in the order of their hashes.

    Cost of `find`: a binary search for each key, and an object for each that is found.
    """

    def __init__(self, keys: Sequence[pa.Array], hashes: Ints) -> None:
        self._keys = keys
        self._hashes = np.append(hashes, _NO_HASH)
        self._asleep = np.ones(len(hashes), np.bool_)
        self.count = len(hashes)
        """The number of sleeping keys."""

    def find(self, keys: Sequence[pa.Array], objects: Sequence[object]) -> Ints:
        """Return the slot of each sleeping key, `NOT_FOUND` for others; keys are both columns and objects."""
        hashes = hash_rows([decode_dictionary(key) for key in keys], len(objects)).astype(np.int64)
        found = np.full(len(objects), NOT_FOUND)
        wanted = np.argsort(hashes)  # A search in order makes better use of the cache.
        indexes = np.searchsorted(self._hashes[:-1], hashes[wanted])
        while len(wanted):
            may_be = self._hashes[indexes] == hashes[wanted]
            wanted, indexes = wanted[may_be], indexes[may_be]
            others = keys_of_rows(self.columns(indexes))
            pairs = zip(wanted.tolist(), others, strict=True)
            same = np.fromiter((objects[row] == other for row, other in pairs), np.bool_)
            found[wanted[same]] = indexes[same]
            wanted, indexes = wanted[~same], indexes[~same] + 1
        found[~self._asleep[found]] = NOT_FOUND
        return found

    def columns(self, slots: Ints) -> list[pa.Array]:
        """Return the key columns of slots."""
        indexes = pa.array(slots)
        return [key.take(indexes) for key in self._keys]

    def slots(self) -> Ints:
        """Return the slots of the keys that sleep."""
        return np.flatnonzero(self._asleep)

    def sleeping(self, slots: Ints) -> Bools:
        """Return for each slot whether its key sleeps."""
        within = slots < len(self._asleep)
        within[within] = self._asleep[slots[within]]
        return within

    def wake(self, slots: Ints) -> None:
        """Remove keys, each given once, from the sleeping keys."""
        self._asleep[slots] = False
        self.count -= len(slots)


def starts_of_keys(keys: Sequence[pa.Array], hashes: Ints) -> Ints:
    """Return the first row of each key among rows with equal keys adjacent.

    Keys are compared only if they share a hash.
    """
    begins = np.ones(len(hashes), np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=begins[1:])
    sharing = np.flatnonzero(~begins)
    rows = np.union1d(sharing, sharing - 1)
    indexes = np.searchsorted(rows, sharing)
    for key in keys if len(rows) else ():
        codes = identity_codes(key.take(pa.array(rows)))
        begins[sharing] |= codes[indexes] != codes[indexes - 1]
    return np.flatnonzero(begins)
