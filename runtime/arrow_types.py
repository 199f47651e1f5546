"""SQL types in Arrow: the Arrow type of each SQL type, and the conversion of values.

`fsql.compiler.sqltypes` has the table.  Two properties of columns, not of their values:

* A column of STRING, ARRAY or ROW may be a `DictionaryArray` with int32 indices; its dictionary has no NULL
  (NULL is a null index), but it may have a value twice, and values that no row uses.  So equal indices
  mean equal values; the converse does not hold.
* The content of buffers under a null is unspecified.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.floats import shortest_double
from fsql.compiler.functions.octets import base64_of, from_bytes, parse_base64, to_bytes
from fsql.compiler.sqltypes import DECIMALS, FLOATING, Kind, SqlType
from fsql.runtime.decimals import column_of_values, integers_of
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.few_rows import FEW_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Value

_ARROW: Final = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.TINYINT: pa.int32(),
    Kind.SMALLINT: pa.int32(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.UTINYINT: pa.int32(),
    Kind.USMALLINT: pa.int32(),
    Kind.UINT: pa.int64(),
    Kind.UBIGINT: pa.decimal128(20, 0),
    Kind.FLOAT: pa.float64(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BYTES: pa.string(),
    Kind.DATE: pa.int32(),
    Kind.TIME: pa.int64(),
    Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Kind.INTERVAL: pa.duration("us"),
    Kind.MONTHS: pa.int64(),
    Kind.NULL: pa.null(),
}
_OUTSIDE: Final = {
    Kind.TINYINT: pa.int8(),
    Kind.SMALLINT: pa.int16(),
    Kind.UTINYINT: pa.uint8(),
    Kind.USMALLINT: pa.uint16(),
    Kind.UINT: pa.uint32(),
    Kind.UBIGINT: pa.uint64(),
    Kind.FLOAT: pa.float32(),
    Kind.BYTES: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time64("us"),
}
"""The Arrow types in other programs for kinds whose columns have another type here."""
_INTEGER_INSIDE: Final = {Kind.TIMESTAMP, Kind.INTERVAL}
"""Kinds whose Python value is an int, although Arrow would return another type."""


def arrow_type(sql_type: SqlType) -> pa.DataType:
    """Return the Arrow type of columns of `sql_type`."""
    if sql_type.element is not None:
        return pa.list_(arrow_type(sql_type.element))
    if sql_type.fields:
        return pa.struct(
            [(f"f{i}", arrow_type(each)) for i, each in enumerate(sql_type.field_types)]
        )
    if sql_type.kind is Kind.DECIMAL:
        return pa.decimal128(sql_type.precision, sql_type.scale)
    return _ARROW[sql_type.kind]


def outside_type(sql_type: SqlType) -> pa.DataType:
    """Return the Arrow type of `sql_type` in other programs, such as date32 for DATE."""
    return named_type(sql_type, lambda each: _OUTSIDE.get(each.kind) or arrow_type(each))


def named_type(sql_type: SqlType, leaf: Callable[[SqlType], pa.DataType]) -> pa.DataType:
    """Return a type in which the fields of rows have their names; `leaf` gives those without parts."""
    if sql_type.kind is Kind.MAP:
        return pa.map_(named_type(sql_type.key, leaf), named_type(sql_type.value, leaf))
    if sql_type.element is not None:
        return pa.list_(named_type(sql_type.element, leaf))
    if sql_type.fields:
        return pa.struct([(name, named_type(each, leaf)) for name, each in sql_type.fields])
    return leaf(sql_type)


def to_outside(array: pa.Array, sql_type: SqlType) -> pa.Array:
    """Return a column without a dictionary, converted to its type in other programs."""
    if not sql_type.contains(Kind.BYTES, Kind.MAP, Kind.ROW):
        return array.cast(outside_type(sql_type))
    if sql_type.kind is Kind.BYTES:
        values = [None if value is None else to_bytes(value) for value in array.to_pylist()]
        return pa.array(values, pa.binary())
    mask = array.is_null() if array.null_count else None
    if sql_type.fields:
        children = [*map(to_outside, array.flatten(), sql_type.field_types)]
        fields = list(outside_type(sql_type))
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    assert sql_type.element is not None
    lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
    if sql_type.kind is Kind.MAP:
        entries = array.flatten().flatten()
        keys, values = map(to_outside, entries, (sql_type.key, sql_type.value))
        return map_array(offsets, keys, values, mask)
    elements = to_outside(array.flatten(), sql_type.element)
    return pa.ListArray.from_arrays(offsets, elements, mask=mask)


def map_array(
    offsets: pa.Int32Array, keys: pa.Array, values: pa.Array, mask: pa.BooleanArray | None
) -> pa.MapArray:
    """Return the Arrow maps whose entries are between `offsets`; NULL where the mask is true."""
    if mask is not None:
        starts = pc.if_else(mask, pa.scalar(None, pa.int32()), offsets[:-1])
        offsets = pa.concat_arrays([starts, offsets[-1:]])
    return pa.MapArray.from_arrays(offsets, keys, values)


def octets_of_binary(array: pa.Array) -> pa.Array:
    """Return a column of bytes from outside as a column of BYTES."""
    values = [None if value is None else from_bytes(value) for value in array.to_pylist()]
    return pa.array(values, pa.string())


def base64_texts(array: pa.Array) -> pa.Array:
    """Return a column of BYTES without a dictionary as texts in Base64."""
    values = [None if value is None else base64_of(value) for value in array.to_pylist()]
    return pa.array(values, pa.string())


def octets_of_base64(texts: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return texts in Base64 as a column of BYTES, and which of them cannot be read."""
    values: list[str | None] = []
    unread = np.zeros(len(texts), np.bool_)
    for index, text in enumerate(texts.to_pylist()):
        try:
            values.append(None if text is None else parse_base64(text))
        except RowFailure:
            values.append(None)
            unread[index] = True
    return pa.array(values, pa.string()), unread


@np.errstate(over="ignore")
def nearest_floats(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of FLOAT nearest to doubles."""
    return values.astype(np.float32).astype(np.float64)


def shortest_doubles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each FLOAT the double with the fewest digits of which it is the nearest FLOAT."""
    if len(values) <= FEW_ROWS:
        return np.array([*map(shortest_double, values.tolist())], np.float64)
    shortest = pa.array(values.astype(np.float32)).cast(pa.string()).cast(pa.float64())
    return np.where(np.isfinite(values), shortest.to_numpy(), values)


def shortest_of_column(array: pa.Array) -> pa.Array:
    """Return for a column of FLOAT the doubles that are written for its values."""
    null = array.is_null().to_numpy(zero_copy_only=False)
    values = shortest_doubles(array.fill_null(0.0).to_numpy())
    return pa.array(values, mask=null if null.any() else None)


def time_texts(times_us: NDArray[np.int64], digits: int | None = None) -> pa.StringArray:
    """Return times of day as `hh:mm:ss` with `digits` of fraction, or 3 or 6 where there is one."""
    texts = pa.array(times_us).view(pa.time64("us")).cast(pa.string())
    if digits is not None:
        length = len("hh:mm:ss.") + digits if digits else len("hh:mm:ss")
        return pc.utf8_slice_codeunits(texts, 0, length)
    texts = pc.replace_substring_regex(texts, r"\.000000$", "")
    return pc.replace_substring_regex(texts, r"(\.\d{3})000$", r"\1")


def date_texts(days: NDArray[np.int32]) -> pa.StringArray:
    """Return dates within the years 1 to 9999 as `YYYY-MM-DD`."""
    return pa.array(days, pa.int32()).view(pa.date32()).cast(pa.string())


def to_arrow(values: Sequence[Value], sql_type: SqlType) -> pa.Array:
    """Return a column of `values`, Python values of `sql_type`; every NaN becomes the canonical one."""
    if sql_type.kind in FLOATING:
        values = [math.nan if value is not None and value != value else value for value in values]  # noqa: PLR0124 - only NaN differs from itself
    if sql_type.kind in DECIMALS:
        return column_of_values(values, arrow_type(sql_type))
    if sql_type.contains(*DECIMALS):
        return _parts_to_arrow(values, sql_type)
    return pa.array(values, arrow_type(sql_type))


def _parts_to_arrow(values: Sequence[Any], sql_type: SqlType) -> pa.Array:
    """Return a column of arrays or rows whose parts are made by `to_arrow`."""
    null = np.fromiter((value is None for value in values), np.bool_, len(values))
    mask = null if null.any() else None
    if sql_type.element is None:
        nothing = (None,) * len(sql_type.fields)
        columns = zip(*(nothing if value is None else value for value in values), strict=True)
        given = list(columns) or [()] * len(nothing)
        children = [*map(to_arrow, given, sql_type.field_types)]
        return struct_of(children, sql_type, mask)
    elements = to_arrow([each for value in values for each in value or ()], sql_type.element)
    ends = np.cumsum([0, *(len(value or ()) for value in values)]).astype(np.int32)
    mask = None if mask is None else pa.array(mask)
    return pa.ListArray.from_arrays(pa.array(ends), elements, mask=mask)


def from_arrow(array: pa.Array, sql_type: SqlType) -> list[Value]:
    """Return the values of a column as Python values of `sql_type`."""
    if isinstance(array, pa.DictionaryArray):
        words = from_arrow(array.dictionary, sql_type)
        return [None if index is None else words[index] for index in array.indices.to_pylist()]
    if sql_type.element is not None:
        elements = from_arrow(array.flatten(), sql_type.element)
        lengths = array.value_lengths().to_pylist()
        ends = np.cumsum([length or 0 for length in lengths]).tolist()
        return [
            None if length is None else tuple(elements[end - length : end])
            for length, end in zip(lengths, ends, strict=True)
        ]
    if sql_type.fields:
        return _rows_from_arrow(array, sql_type)
    if sql_type.kind in DECIMALS:
        integers: list[Value] = integers_of(array).tolist()
        if not array.null_count:
            return integers
        valid = array.is_valid().to_pylist()
        return [value if there else None for value, there in zip(integers, valid, strict=True)]
    if sql_type.kind in _INTEGER_INSIDE:
        array = array.view(pa.int64())
    values: list[Value] = array.to_pylist()
    return values


def _rows_from_arrow(array: pa.StructArray, sql_type: SqlType) -> list[Value]:
    fields = map(from_arrow, array.flatten(), sql_type.field_types)
    rows: list[Value] = [*zip(*fields, strict=True)]
    if array.null_count:
        valid = array.is_valid().to_pylist()
        return [row if there else None for row, there in zip(rows, valid, strict=True)]
    return rows


def struct_of(
    children: Sequence[pa.Array], sql_type: SqlType, missing: NDArray[np.bool_] | None = None
) -> pa.StructArray:
    """Return the column of rows of `sql_type` whose fields are `children`; NULL where `missing`."""
    fields = list(arrow_type(sql_type))
    mask = None if missing is None else pa.array(missing)
    return pa.StructArray.from_arrays([*map(decode_dictionary, children)], fields=fields, mask=mask)


_REMEMBERED: Final[deque[tuple[pa.Array, list[Any]]]] = deque(maxlen=8)
"""Arrays and their values; an array in this list stays alive, so no other object gets its identity."""


_REMEMBERED_MAX: Final = 1024
"""Code that handles more rows than this does not use Python values."""


def remember_values(array: pa.Array, values: list[Any]) -> None:
    """Cache the result of `array.to_pylist()`, for a caller that soon needs it for the same array object."""
    if len(values) <= _REMEMBERED_MAX:
        _REMEMBERED.append((array, values))


def values_of(array: pa.Array) -> list[Any]:
    """Return `array.to_pylist()`; nobody may change the list.

    The values of a document's words are cached when their slots are looked up, and used again when they are
    written: for 200 words this saves 0.1 ms.
    """
    known = remembered_values(array)
    return array.to_pylist() if known is None else known


def remembered_values(array: pa.Array) -> list[Any] | None:
    """Return the result of `values_of`, if it is cached."""
    # A copy, since another thread may add an entry at the same time.
    for known, values in tuple(_REMEMBERED):
        if known is array:
            return values
    return None


def string_buffers(text: pa.StringArray) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the offsets (one more than there are strings) and the data they point into."""
    _, offsets, data = text.buffers()
    bounds = (
        np.frombuffer(offsets, np.int32)[text.offset : text.offset + len(text) + 1]
        if len(text)
        else np.zeros(1, np.int32)
    )
    return bounds, np.frombuffer(data or b"", np.uint8)
