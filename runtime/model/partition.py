"""Hash ranges: which worker owns which hashes of keys.

A balancing function hashes a key to 32 bits; each worker owns a half-open range of hashes.  The ranges
of all workers cover the space without a gap.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import xxhash

if TYPE_CHECKING:
    from collections.abc import Hashable

HASH_BITS: Final = 32


def covering(workers: int) -> tuple[int, ...]:
    """Return the bounds of equal ranges: worker i owns `[bounds[i], bounds[i + 1])`."""
    return tuple((worker << HASH_BITS) // workers for worker in range(workers + 1))


def owner(bounds: tuple[int, ...], key_hash: int) -> int:
    """Return the worker that owns a hash."""
    return bisect_right(bounds, key_hash) - 1


def wide_hash(key: Hashable) -> int:
    """Return 64 bits that are the same for equal keys, on every worker and in every run."""
    return xxhash.xxh3_64_intdigest(repr(key).encode("utf-8", "surrogatepass"))


def balancing_hash(key: Hashable) -> int:
    """Return the 32 bits by which a key is routed."""
    return wide_hash(key) >> 64 - HASH_BITS
