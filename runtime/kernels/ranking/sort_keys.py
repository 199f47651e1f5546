"""Values as bytes that have the same order as the values.

A value is encoded as a byte for the order of NULL, and its own bytes: a fixed-width value is an integer of
the same order (`order.integers`), big-endian; a text is its UTF-8, in which a zero byte is escaped, and ends
with two zero bytes; an array is its elements, each after a 1, and ends with a 0; a ROW is its fields.
Descending values are complemented.  No encoding is a prefix of another one, so the bytes of several columns
can be concatenated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.decimals import integers_of
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.nested_types import has_doubles
from fsql.runtime.order import fixed_width, integers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from fsql.compiler.logical import OrderKey
    from fsql.runtime.arrays import Ints, Octets


_NULL_FIRST, _VALUE, _NULL_LAST = 0, 1, 2
_COMPLEMENT: Final = bytes(255 - octet for octet in range(256))
_SIGN: Final = np.uint64(1 << 63)
_WIDE: Final = 24
"""The bytes of an exact number that is too wide for 64 bits."""


def integer_bytes(columns: Sequence[Ints]) -> list[bytes]:
    """Return for each row the bytes of integers, without NULL."""
    return _rows([_big_endian(column) for column in columns], len(columns[0]))


def codes_of_bytes(texts: Sequence[bytes], count: int) -> list[Ints]:
    """Return the first `count` integers of each row of `integer_bytes`."""
    octets = b"".join(text[: 8 * count] for text in texts)
    words = np.frombuffer(octets, ">u8").reshape(len(texts), count).astype(np.uint64)
    return [(words[:, index] ^ _SIGN).view(np.int64) for index in range(count)]


def sort_bytes(
    columns: Sequence[pa.Array], descending: Sequence[bool], nulls_first: Sequence[bool]
) -> list[bytes]:
    """Return the sort key of each row."""
    parts = [
        _column(decode_dictionary(column), down=down, first=first)
        for column, down, first in zip(columns, descending, nulls_first, strict=True)
    ]
    return _join(parts, len(columns[0]))


def row_bytes(columns: Sequence[pa.Array], count: int) -> list[bytes]:
    """Return for each of `count` rows a sort key of all columns; only identical rows have equal keys.

    The values are followed by the signs of zeros, which distinguish values that compare equal.
    """
    arrays = [decode_dictionary(column) for column in columns]
    parts = [_column(array, down=False, first=False) for array in arrays]
    signs = [_zero_signs(array) for array in arrays]
    return _join([*parts, *(each for each in signs if each is not None)], count)


def _join(parts: Sequence[Octets | list[bytes]], count: int) -> list[bytes]:
    """Return the bytes of each row, concatenated from all parts."""
    lists: list[list[bytes]] = []
    fixed: list[Octets] = []
    for part in parts:
        if isinstance(part, list):
            if fixed:
                lists.append(_rows(fixed, count))
                fixed = []
            lists.append(part)
        else:
            fixed.append(part)
    if fixed:
        lists.append(_rows(fixed, count))
    if not lists:
        return [b""] * count
    return lists[0] if len(lists) == 1 else list(map(b"".join, zip(*lists, strict=True)))


def _rows(parts: Sequence[Octets], count: int) -> list[bytes]:
    octets = np.ascontiguousarray(np.concatenate(parts, axis=1))
    rows: list[bytes] = octets.view(f"V{octets.shape[1]}").reshape(count).tolist()
    return rows


def _big_endian(values: Ints) -> Octets:
    words = (values.view(np.uint64) ^ _SIGN).astype(">u8")
    return words.view(np.uint8).reshape(len(values), 8)


def _column(array: pa.Array, *, down: bool, first: bool) -> Octets | list[bytes]:
    null = _NULL_FIRST if first else _NULL_LAST
    kind = array.type
    if pa.types.is_null(kind):
        return np.full((len(array), 1), null, np.uint8)
    if not pa.types.is_decimal(kind) and fixed_width(kind):
        keys, valid = integers(array)
        octets = np.empty((len(array), 9), np.uint8)
        octets[:, 0] = _VALUE
        octets[:, 1:] = _big_endian(np.ascontiguousarray(keys))
        if down:
            octets[:, 1:] ^= 255
        if valid is not None:
            octets[~valid, 0] = null
            octets[~valid, 1:] = 0
        return octets
    null_text, value = bytes([null]), bytes([_VALUE])
    texts = _texts(array)
    if down:
        texts = [text and text.translate(_COMPLEMENT) for text in texts]
    return [null_text if text is None else value + text for text in texts]


def _texts(array: pa.Array) -> list[bytes | None]:
    """Return the bytes of values that are not of fixed width; none of them is empty."""
    kind = array.type
    if pa.types.is_list(kind):
        return _texts_of_lists(array)
    if pa.types.is_struct(kind):
        fields = [
            _column(decode_dictionary(field), down=False, first=False) for field in array.flatten()
        ]
        valid = array.is_valid().to_pylist()
        rows = zip(_join(fields, len(array)), valid, strict=True)
        return [row if there else None for row, there in rows]
    if pa.types.is_decimal(kind):
        return [None if value is None else _decimal(value) for value in array.to_pylist()]
    texts = array.to_pylist() if pa.types.is_binary(kind) else array.cast(pa.binary()).to_pylist()
    return [None if text is None else text.replace(b"\0", b"\0\xff") + b"\0\0" for text in texts]


def _decimal(value: Decimal) -> bytes:
    """Return the digits of a value, of which all in a column have the same scale, as an integer."""
    sign, digits, _ = value.as_tuple()
    unscaled = int("".join(map(str, digits)))
    middle = 1 << (8 * _WIDE - 1)
    return (middle + (-unscaled if sign else unscaled)).to_bytes(_WIDE, "big")


def _texts_of_lists(array: pa.Array) -> list[bytes | None]:
    flat = array.flatten()
    elements = _join([_column(decode_dictionary(flat), down=False, first=False)], len(flat))
    found: list[bytes | None] = []
    end = 0
    for length in array.value_lengths().to_pylist():
        if length is None:
            found.append(None)
            continue
        start, end = end, end + length
        found.append(b"".join(b"\1" + element for element in elements[start:end]) + b"\0")
    return found


def _zero_signs(array: pa.Array) -> Octets | list[bytes] | None:
    """Return a 0 for each -0.0 and a 1 for every other value; None for types without such zeros."""
    kind = array.type
    if pa.types.is_floating(kind):
        values = array.fill_null(1.0).to_numpy(zero_copy_only=False)
        return (~((values == 0) & np.signbit(values))).astype(np.uint8).reshape(-1, 1)
    if not has_doubles(kind):
        return None
    if pa.types.is_struct(kind):
        signs = [_zero_signs(decode_dictionary(field)) for field in array.flatten()]
        return _join([each for each in signs if each is not None], len(array))
    if (
        pa.types.is_list(kind)
        and (inside := _zero_signs(decode_dictionary(array.flatten()))) is not None
    ):
        each = _join([inside], len(array.flatten()))
        ends = np.cumsum([length or 0 for length in array.value_lengths().to_pylist()]).tolist()
        starts = [0, *ends[:-1]]
        return [b"".join(each[start:end]) for start, end in zip(starts, ends, strict=True)]
    return None


# Columns of ORDER BY as integers of 64 bits that order rows, the same in every batch.


CODES_OF_KEY: Final = 2
"""The number of integers that `sort_codes` returns for each row."""
_DIGITS_MAX: Final = 18
"""Decimals with this many digits fit 64 bits."""


def has_sort_codes(key: OrderKey) -> bool:
    """Return whether rows can be ordered by integers; rows with texts cannot."""
    kind = key.expression.type
    if kind.kind is Kind.DECIMAL:
        return kind.precision <= _DIGITS_MAX
    return fixed_width(arrow_type(kind))


def sort_codes(column: pa.Array, key: OrderKey) -> list[Ints]:
    """Return integers that order the rows by `key`, the most significant one first."""
    if pa.types.is_decimal(column.type):
        codes = integers_of(column)
    else:
        codes, _ = integers(column)
    if key.descending:
        codes = ~codes
    indexes = np.zeros(len(column), np.int64)
    if column.null_count:
        null = column.is_null().to_numpy(zero_copy_only=False)
        indexes[null] = -1 if key.nulls_first else 1
        codes = np.where(null, 0, codes)
    return [indexes, codes]
