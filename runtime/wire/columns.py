"""Columns as buffers: the buffers of Arrow, cut to the rows of the column.

The types are those of `fsql.runtime.arrow_types`, and each has a code: one letter, with `[` before it
for a list and `{` for a dictionary; a row is its fields in brackets.  In addition to the buffers, a column is
described by integers:

| code  | type                                  | buffers               | numbers                      |
|-------|---------------------------------------|-----------------------|------------------------------|
| `b`   | BOOLEAN                               | nulls, bits           | nulls                        |
| `ildtv` | INT, BIGINT, DOUBLE, TIMESTAMP, INTERVAL | nulls, values      | nulls                        |
| `Dpppp` | DECIMAL, two digits of precision and two of scale | nulls, values | nulls  |
| `s`   | STRING                                | nulls, offsets, bytes | nulls, bytes                 |
| `y`   | bytes, such as encoded rows           | nulls, 64-bit offsets, bytes | nulls, bytes          |
| `n`   | NULL                                  |                       |                              |
| `[x`  | ARRAY of x                            | nulls, offsets, x's   | nulls, elements, x's         |
| `(xy)` | ROW of x and y                       | nulls, x's, y's       | nulls, x's, y's              |
| `{x`  | x, in a dictionary with int32 indices | nulls, indices, x's   | nulls, words, x's            |

A buffer of nulls exists only if there are nulls.  If a dictionary is longer than its column, only the words
that the column uses are sent; a column of few strings is sent without its dictionary.
"""

from __future__ import annotations

import re
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fsql.compiler.sqltypes import DECIMAL_DIGITS_MAX
from fsql.runtime.few_rows import FEW_ROWS_IN_C
from fsql.runtime.wire.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.wire.parts import PartsReader, PartsWriter

_TYPES: Final = {
    "b": pa.bool_(),
    "h": pa.int16(),
    "i": pa.int32(),
    "l": pa.int64(),
    "d": pa.float64(),
    "t": pa.timestamp("us", tz="UTC"),
    "v": pa.duration("us"),
    "s": pa.string(),
    "y": pa.large_binary(),
    "n": pa.null(),
}
_CODES: Final = {kind.id: code for code, kind in _TYPES.items()}
_WITH_UNIT: Final = "tv"
_WIDTHS: Final = {"h": 2, "i": 4, "l": 8, "d": 8, "t": 8, "v": 8, "D": 16}
_DECIMAL: Final = re.compile(r"D([0-9]{2})([0-9]{2})")
_DEPTH_MAX: Final = 32
_LENGTH_MAX: Final = 2**31 - 1
_OFFSET: Final = Struct("<i")
_LARGE_OFFSET: Final = Struct("<q")
_INDEX: Final = pa.int32()
_PLAIN_BYTES_MAX: Final = 1 << 22
"""Strings that would take more bytes than this without their dictionary are sent with it."""


def type_code(kind: pa.DataType) -> str:
    """Return the code of an Arrow type, which must be one of `fsql.runtime.arrow_types` or of error codes."""
    if pa.types.is_decimal(kind):
        return f"D{kind.precision:02d}{kind.scale:02d}"
    code = _CODES.get(kind.id)
    if code is not None:
        assert code not in _WITH_UNIT or kind == _TYPES[code], f"{kind} is not the type of a column"
        return code
    if pa.types.is_dictionary(kind):
        assert kind.index_type == _INDEX, f"{kind} is not the type of a column"
        return "{" + type_code(kind.value_type)
    if pa.types.is_struct(kind):
        return f"({''.join(type_code(field.type) for field in kind)})"
    assert pa.types.is_list(kind), f"{kind} is not the type of a column"
    return "[" + type_code(kind.value_type)


@lru_cache(256)
def _type(code: str) -> pa.DataType:
    kind, end = _type_at(code, 0, 0)
    if end != len(code):
        raise MalformedError(f'there is no type "{code}"')
    return kind


def _type_at(code: str, start: int, depth: int) -> tuple[pa.DataType, int]:
    """Return the type whose code begins at `start`, and where its code ends."""
    if depth == _DEPTH_MAX:
        raise MalformedError(f"a type is more than {_DEPTH_MAX} deep")
    shape = code[start : start + 1]
    if shape in ("[", "{"):
        inner, end = _type_at(code, start + 1, depth + 1)
        return pa.list_(inner) if shape == "[" else pa.dictionary(_INDEX, inner), end
    if shape == "(":
        fields: list[pa.DataType] = []
        at = start + 1
        while code[at : at + 1] != ")":
            field, at = _type_at(code, at, depth + 1)
            fields.append(field)
        return pa.struct([(f"f{index}", field) for index, field in enumerate(fields)]), at + 1
    decimal = _DECIMAL.match(code, start)
    if decimal is not None:
        return _decimal(decimal), decimal.end()
    kind = _TYPES.get(shape)
    if kind is None:
        raise MalformedError(f'there is no type "{code}"')
    return kind, start + 1


def _decimal(code: re.Match[str]) -> pa.DataType:
    precision, scale = int(code[1]), int(code[2])
    if not scale <= precision in range(1, DECIMAL_DIGITS_MAX + 1):
        raise MalformedError(f'there is no type "{code[0]}"')
    return pa.decimal128(precision, scale)


def as_sent(column: pa.Array) -> pa.Array:
    """Return a column in the form in which it is sent.

    A dictionary saves work where values repeat.  In a few rows they rarely do, and the receiver, which
    processes so few rows one by one, would have to check and merge a second column.
    """
    rows = len(column)
    if rows > FEW_ROWS_IN_C or not isinstance(column, pa.DictionaryArray):
        return column
    words = column.dictionary
    if 2 * len(words) < rows or not pa.types.is_string(words.type):
        return column
    if rows * words.get_total_buffer_size() > _PLAIN_BYTES_MAX:
        return column
    return words.take(column.indices)


def put_column(array: pa.Array, code: str, writer: PartsWriter, numbers: list[int]) -> None:
    """Write the buffers and numbers of a column."""
    kind = code[0]
    if kind == "n":
        return
    if kind == "{":
        _put_dictionary(array, code, writer, numbers)
        return
    count, offset, buffers = len(array), array.offset, array.buffers()
    nulls = array.null_count
    numbers.append(nulls)
    if nulls:
        _put_bits(buffers[0], offset, count, writer)
    if kind == "(":
        for index in range(array.type.num_fields):
            field = array.field(index)
            put_column(field, type_code(field.type), writer, numbers)
    elif kind == "b":
        _put_bits(buffers[1], offset, count, writer)
    elif (width := _WIDTHS.get(kind)) is not None:
        _put_bytes(buffers[1], offset * width, count * width, writer)
    else:
        first, last = _put_offsets(buffers[1], offset, count, writer, large=kind == "y")
        numbers.append(last - first)
        if kind in "sy":
            _put_bytes(buffers[2], first, last - first, writer)
        else:
            put_column(array.values.slice(first, last - first), code[1:], writer, numbers)


def _put_dictionary(
    array: pa.DictionaryArray, code: str, writer: PartsWriter, numbers: list[int]
) -> None:
    indices, dictionary = array.indices, array.dictionary
    if len(dictionary) > len(indices):
        used = compute.unique(indices).drop_null()
        indices = compute.index_in(indices, used)
        dictionary = dictionary.take(used)
    put_column(indices, "i", writer, numbers)
    numbers.append(len(dictionary))
    put_column(dictionary, code[1:], writer, numbers)


def _put_bytes(buffer: pa.Buffer, begin: int, size: int, writer: PartsWriter) -> None:
    if size:
        writer.put(buffer if size == buffer.size else buffer.slice(begin, size), size)


def _put_bits(buffer: pa.Buffer, begin: int, count: int, writer: PartsWriter) -> None:
    if begin % 8 == 0:
        _put_bytes(buffer, begin // 8, (count + 7) // 8, writer)
        return
    octets = np.frombuffer(buffer, np.uint8)
    bits = np.unpackbits(octets, axis=None, count=begin + count, bitorder="little")
    packed = np.packbits(bits[begin:], bitorder="little")
    writer.put(packed.data, packed.nbytes)


def _put_offsets(
    buffer: pa.Buffer, begin: int, count: int, writer: PartsWriter, *, large: bool = False
) -> tuple[int, int]:
    """Write offsets, shifted to begin at 0; return their first and last values before the shift."""
    form, width = (_LARGE_OFFSET, 8) if large else (_OFFSET, 4)
    if count == 0:
        writer.put(bytes(width), width)
        return 0, 0
    [first] = form.unpack_from(buffer, width * begin)
    [last] = form.unpack_from(buffer, width * (begin + count))
    if first == 0:
        _put_bytes(buffer, width * begin, width * (count + 1), writer)
    else:
        offsets = np.frombuffer(buffer, form.format)[begin : begin + count + 1] - first
        writer.put(offsets.data, offsets.nbytes)
    return first, last


def take_column(code: str, count: int, reader: PartsReader, numbers: Iterator[int]) -> pa.Array:
    """Read the next column of `count` rows, and check that it is valid in every respect.

    Raises:
        MalformedError: if it is not.
    """
    try:
        array = _take(_type(code), code, count, reader, numbers)
        array.validate(full=True)
    except (pa.ArrowException, StopIteration) as error:
        raise MalformedError(f"a column is not valid: {error}") from None
    return array


def _take(
    kind: pa.DataType, code: str, count: int, reader: PartsReader, numbers: Iterator[int]
) -> pa.Array:
    if not 0 <= count <= _LENGTH_MAX:
        raise MalformedError(f"a column has {count} rows")
    shape = code[0]
    if shape == "n":
        return pa.nulls(count)
    if shape == "{":
        indices = _take(_INDEX, "i", count, reader, numbers)
        dictionary = _take(kind.value_type, code[1:], next(numbers), reader, numbers)
        if dictionary.null_count:
            raise MalformedError("a dictionary holds NULL")
        return pa.DictionaryArray.from_arrays(indices, dictionary)
    nulls = next(numbers)
    if not 0 <= nulls <= count:
        raise MalformedError(f"{nulls} of {count} rows are NULL")
    valid = reader.take((count + 7) // 8) if nulls else None
    if shape == "(":
        children = [
            _take(field.type, type_code(field.type), count, reader, numbers) for field in kind
        ]
        return pa.Array.from_buffers(kind, count, [valid], nulls, 0, children)
    if shape == "b":
        buffers = [valid, reader.take((count + 7) // 8)]
    elif (width := _WIDTHS.get(shape)) is not None:
        buffers = [valid, reader.take(count * width)]
    else:
        buffers = [valid, reader.take((8 if shape == "y" else 4) * (count + 1))]
        inside = next(numbers)
        if shape == "[":
            child = _take(kind.value_type, code[1:], inside, reader, numbers)
            return pa.Array.from_buffers(kind, count, buffers, nulls, 0, [child])
        buffers.append(reader.take(inside))
    return pa.Array.from_buffers(kind, count, buffers, nulls)
