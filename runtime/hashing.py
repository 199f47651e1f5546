"""The balancing hash: rows to 32-bit hashes of their keys, the same on every worker and in every run."""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import string_buffers
from fsql.runtime.dictionaries import decode_dictionary, repeat_often
from fsql.runtime.nested_types import is_nested
from fsql.runtime.order import fixed_width, integers, key_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_NULL = np.uint64(0x9AE16A3B2F90404F)
_FACTOR_BITS = 10


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


_FACTORS = _mix_column(np.arange(1 << _FACTOR_BITS, dtype=np.uint64)) | np.uint64(1)
"""An odd factor for each offset in a text; they are mixed again each time that all have been used."""

_SHORT: Final = 64
_FACTORS_OF_SHORT: Final = _FACTORS[:_SHORT].tolist()
"""A single text up to this length is hashed faster by Python than by NumPy: 3 µs, not 35."""


def hash_rows(keys: Sequence[pa.Array], count: int) -> NDArray[np.uint32]:
    """Return the hash of each row's key, in `[0, 2**32)`; equal keys have equal hashes."""
    if count == 1:
        alone = 0
        for key in keys:
            alone = mix(alone ^ _hash_only(key))
        return np.array([alone >> 32], np.uint32)
    total = np.zeros(count, np.uint64)
    for key in keys:
        total = _mix_column(total ^ _hash_column(key))
    return (total >> np.uint64(32)).astype(np.uint32)


def _hash_only(array: pa.Array) -> int:
    """Return the result of `_hash_column` for a column of one row."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind):
        text = array[0].as_py()
        octets = b"" if text is None else text.encode()
        if text is not None and len(octets) <= _SHORT:
            return mix(sum(map(mul, octets, _FACTORS_OF_SHORT)) + len(octets))
    elif pa.types.is_integer(kind) and array.null_count == 0:
        return mix(array[0].as_py())
    return int(_hash_column(array)[0])


def _hash_column(array: pa.Array) -> NDArray[np.uint64]:  # noqa: PLR0911 - one a kind
    if fixed_width(array.type):
        values, valid = integers(array)
        hashes = _mix_column(values.view(np.uint64))
        return hashes if valid is None else np.where(valid, hashes, _NULL)
    if pa.types.is_decimal(array.type):
        return _hash_decimals(array)
    if pa.types.is_null(array.type):
        return np.full(len(array), _NULL)
    if is_nested(array.type):
        array = decode_dictionary(array)
        if pa.types.is_struct(array.type):
            return _hash_structs(array)
        values = key_values(array).to_pylist()
        texts = pa.array([None if value is None else repr(value) for value in values], pa.string())
        return _hash_texts(texts)
    if pa.types.is_dictionary(array.type):
        table = np.append(_hash_column(array.dictionary), _NULL)
        indices = array.indices
        if indices.null_count:
            indices = indices.fill_null(len(table) - 1)
        return table[indices.to_numpy(zero_copy_only=False)]
    return _hash_column(array.dictionary_encode()) if repeat_often(array) else _hash_texts(array)


def _hash_structs(rows: pa.StructArray) -> NDArray[np.uint64]:
    """Return the hash of each row, mixed from those of its fields."""
    total = np.zeros(len(rows), np.uint64)
    for child in rows.flatten():
        total = _mix_column(total ^ _hash_column(child))
    if rows.null_count:
        total = np.where(rows.is_valid().to_numpy(zero_copy_only=False), total, _NULL)
    return total


def _hash_decimals(array: pa.Array) -> NDArray[np.uint64]:
    """Return the hash of each value: of both halves of its 128 bits."""
    begin = 2 * array.offset
    words = np.frombuffer(array.buffers()[1], np.uint64)[begin : begin + 2 * len(array)]
    hashes = _mix_column(words[::2] ^ _mix_column(words[1::2]))
    if array.null_count:
        hashes = np.where(array.is_valid().to_numpy(zero_copy_only=False), hashes, _NULL)
    return hashes


def _hash_texts(texts: pa.StringArray) -> NDArray[np.uint64]:
    """Return the multilinear hash of each text: the sum of its bytes, each times the factor of its offset."""
    offsets, data = string_buffers(texts)
    starts, ends = offsets[:-1], offsets[1:]
    first = int(offsets[0])
    octets = data[first : int(offsets[-1])].astype(np.uint64)
    lengths = ends - starts
    indexes = np.arange(len(octets)) - np.repeat(starts - first, lengths)
    factors = _FACTORS[indexes & len(_FACTORS) - 1]
    if len(indexes) > len(_FACTORS):
        # Only for these bytes: other texts of the batch must not affect the hash of a text.
        far = np.flatnonzero(indexes >> _FACTOR_BITS)
        lap = (indexes[far] >> _FACTOR_BITS).view(np.uint64)
        factors[far] = _mix_column(factors[far] + lap) | np.uint64(1)
    sums = np.append(np.uint64(0), np.cumsum(octets * factors))
    hashes = _mix_column(sums[ends - first] - sums[starts - first] + lengths.astype(np.uint64))
    if texts.null_count:
        hashes = np.where(texts.is_valid().to_numpy(zero_copy_only=False), hashes, _NULL)
    return hashes
