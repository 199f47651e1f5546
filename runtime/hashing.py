"""The balancing hash: rows to 32-bit hashes of their keys, the same on every worker and in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import xxhash

from fsql.runtime.order import fixed_width, integers, key_values, of_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_NULL = np.uint64(0x9AE16A3B2F90404F)


def mix(value: int) -> int:
    """Return a 64-bit value in which every bit depends on every bit of `value` (SplitMix64)."""
    value = (value + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return value ^ value >> 31


def _mix_column(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)


def hash_rows(keys: Sequence[pa.Array], count: int) -> NDArray[np.uint32]:
    """Return the hash of each row's key, in `[0, 2**32)`; equal keys have equal hashes."""
    total = np.zeros(count, np.uint64)
    for key in keys:
        total = _mix_column(total ^ _hash_column(key))
    return (total >> np.uint64(32)).astype(np.uint32)


def _hash_column(array: pa.Array) -> NDArray[np.uint64]:
    if fixed_width(array.type):
        values, valid = integers(array)
        hashes = _mix_column(values.view(np.uint64))
        return hashes if valid is None else np.where(valid, hashes, _NULL)
    if pa.types.is_null(array.type):
        return np.full(len(array), _NULL)
    if of_lists(array.type):
        digests = [_digest(value) for value in key_values(array).to_pylist()]
        return np.array(digests, np.uint64)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    digests = [_digest(value) for value in array.dictionary.to_pylist()]
    table = np.array([*digests, int(_NULL)], np.uint64)
    indices = array.indices
    if indices.null_count:
        indices = indices.fill_null(len(digests))
    return table[indices.to_numpy(zero_copy_only=False)]


def _digest(value: object) -> int:
    if value is None:
        return int(_NULL)
    text = value if isinstance(value, str) else repr(value)
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
