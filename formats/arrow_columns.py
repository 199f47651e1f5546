"""Converts Arrow columns of a file to columns of a table, and checks types and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.sqltypes import (
    BIGINT_MAX,
    DATE_MAX,
    DATE_MIN,
    DAY_US,
    DECIMAL_DIGITS_MAX,
    INTEGER_RANGES,
    TEXTUAL,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
    SqlType,
)
from fsql.formats.malformed import (
    DUPLICATE_KEY,
    INVALID_TIMESTAMP,
    NOT_UTF8,
    NULL_NOT_ALLOWED,
    NUMBER_OUT_OF_RANGE,
    MalformedError,
)
from fsql.runtime.arrow_maps import map_parts, maps_by_key
from fsql.runtime.arrow_types import arrow_type, octets_of_binary, struct_of
from fsql.runtime.dictionaries import decode_dictionary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from fsql.compiler.schema import Column

_SMALL: Final = (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16())
_UNSIGNED: Final = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_SIGNED: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FITTING: Final = {
    Kind.BOOLEAN: (pa.bool_(),),
    Kind.TINYINT: _SMALL[:1],
    Kind.SMALLINT: (*_SMALL[:2], pa.uint8()),
    Kind.INT: _SMALL,
    Kind.BIGINT: (*_SMALL, pa.uint32(), pa.int64()),
    Kind.UTINYINT: _UNSIGNED[:1],
    Kind.USMALLINT: _UNSIGNED[:2],
    Kind.UINT: _UNSIGNED[:3],
    Kind.UBIGINT: _UNSIGNED,
    Kind.FLOAT: (*_UNSIGNED, *_SIGNED, pa.float16(), pa.float32()),
    Kind.DOUBLE: (*_UNSIGNED, *_SIGNED, pa.float16(), pa.float32(), pa.float64()),
    Kind.STRING: (pa.string(), pa.large_string(), pa.bool_(), *_UNSIGNED, *_SIGNED),
    Kind.BYTES: (pa.binary(), pa.large_binary()),
    Kind.INTERVAL: (pa.int64(), pa.duration("us")),
}
_DIGITS: Final = {
    pa.int8(): 3,
    pa.int16(): 5,
    pa.int32(): 10,
    pa.int64(): 19,
    pa.uint8(): 3,
    pa.uint16(): 5,
    pa.uint32(): 10,
    pa.uint64(): 20,
}

ROWS_PER_VALUE: Final = 16
"""The minimum number of rows of a column for each value of a dictionary that is kept.

A dictionary is hashed as a whole, even if a filter leaves few rows.
"""
_INTS: Final = (pa.int32(), pa.int64())
_NARROW: Final = {
    **dict.fromkeys((Kind.TINYINT, Kind.SMALLINT, Kind.UTINYINT, Kind.USMALLINT), _INTS[:1]),
    **dict.fromkeys((Kind.UINT, Kind.UBIGINT), _INTS),
}
"""The types that some formats do not have, with the integers of these formats that are read as them."""
_INTEGER_MAX: Final = {Kind.FLOAT: 1 << 24, Kind.DOUBLE: 1 << 53}
"""Up to this absolute value all integers are values of the type."""


def fits(  # noqa: C901, PLR0911 - one for each kind
    found: pa.DataType, declared: SqlType, *, narrow: bool = False
) -> bool:
    """Return whether a column of a file can be read as one of the declared type.

    With `narrow`, for formats that only have signed integers of 32 and 64 bits, these are read as narrower
    and as unsigned types, too, and decimals without a fraction as UBIGINT; values that do not fit are
    malformed.
    """
    if pa.types.is_null(found):
        return True
    if declared.kind is Kind.MAP:
        return (
            pa.types.is_map(found)
            and fits(found.key_type, declared.key, narrow=narrow)
            and fits(found.item_type, declared.value, narrow=narrow)
        )
    if declared.element is not None:
        is_list = pa.types.is_list(found) or pa.types.is_large_list(found)
        return is_list and fits(found.value_type, declared.element, narrow=narrow)
    if declared.fields:
        indexes = (
            [found.get_field_index(name) for name, _ in declared.fields]
            if pa.types.is_struct(found)
            else []
        )
        return any(index >= 0 for index in indexes) and all(
            index < 0 or fits(found.field(index).type, each, narrow=narrow)
            for index, each in zip(indexes, declared.field_types, strict=True)
        )
    if declared.kind is Kind.DECIMAL:
        return _decimal_fits(found, declared)
    if declared.kind is Kind.TIMESTAMP:
        return pa.types.is_timestamp(found) or pa.types.is_date(found)
    if declared.kind is Kind.DATE:
        return pa.types.is_date(found)
    if declared.kind is Kind.TIME:
        return pa.types.is_time(found)
    if pa.types.is_fixed_size_binary(found):
        return declared.kind is Kind.BYTES
    if declared.kind is Kind.STRING and (pa.types.is_decimal(found) or pa.types.is_date32(found)):
        return True
    if pa.types.is_dictionary(found):
        return declared.kind in TEXTUAL and fits(found.value_type, declared)
    if narrow and declared.kind in _NARROW:
        digits = declared.kind is Kind.UBIGINT and pa.types.is_decimal(found) and found.scale == 0
        return digits or found in _NARROW[declared.kind]
    return found in _FITTING[declared.kind]


def _decimal_fits(found: pa.DataType, declared: SqlType) -> bool:
    """Return whether all values of a numeric type are values of a DECIMAL type."""
    if pa.types.is_decimal(found):
        whole, scale = found.precision - found.scale, found.scale
    elif found in _DIGITS:
        whole, scale = _DIGITS[found], 0
    else:
        return False
    return whole <= declared.precision - declared.scale and scale <= declared.scale


def convert(  # noqa: C901, PLR0911 - one for each kind
    array: pa.Array, declared: SqlType
) -> pa.Array:
    """Return the column in the Arrow type of `declared`; values that cannot be converted are NULL."""
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), arrow_type(declared))
    if declared.kind is Kind.MAP:
        parts = map_parts(array)
        keys, values = convert(parts.keys, declared.key), convert(parts.values, declared.value)
        return maps_by_key(parts._replace(keys=keys, values=values), declared)
    if declared.element is not None:
        lists = array.cast(pa.list_(array.type.value_type))
        elements = convert(lists.flatten(), declared.element)
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
        offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
        return pa.ListArray.from_arrays(offsets, elements, mask=lists.is_null())
    if declared.fields:
        children = [convert(_field(array, n), each) for n, each in declared.fields]
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return struct_of(children, declared, missing)
    array = decode_dictionary(array)
    if declared.kind is Kind.TIMESTAMP:
        return _timestamps(array)
    if declared.kind is Kind.TIME:
        micros = array.cast(pa.time64("us"), safe=False).view(pa.int64())
        inside = pc.and_(pc.greater_equal(micros, 0), pc.less(micros, DAY_US))
        return pc.if_else(inside, micros, pa.scalar(None, pa.int64()))
    if declared.kind is Kind.DATE:
        days = array.cast(pa.date32()).view(pa.int32())
        inside = pc.and_(pc.greater_equal(days, DATE_MIN), pc.less_equal(days, DATE_MAX))
        return pc.if_else(inside, days, pa.scalar(None, pa.int32()))
    if declared.kind is Kind.BYTES:
        return octets_of_binary(array)
    if declared.kind is Kind.STRING:
        return _valid_text(array.cast(pa.string()))
    if declared.kind in _INTEGER_MAX and pa.types.is_integer(array.type):
        array = _exact_in(array, _INTEGER_MAX[declared.kind])
    if declared.kind in _NARROW and (array.type in _INTS or pa.types.is_decimal(array.type)):
        array = _inside_range(array, declared)
    return array.cast(arrow_type(declared))


def _field(array: pa.StructArray, name: str) -> pa.Array:
    """Return a field of rows; NULL if the file does not have it."""
    if array.type.get_field_index(name) < 0:
        return pa.nulls(len(array))
    return pc.struct_field(array, [name])


def _exact_in(array: pa.Array, greatest: int) -> pa.Array:
    """Return integers, with NULL for those whose absolute value exceeds `greatest`."""
    if array.type.bit_width <= greatest.bit_length() - 1:
        return array
    inside = pc.less_equal(array, pa.scalar(greatest, array.type))
    if pa.types.is_signed_integer(array.type):
        inside = pc.and_(inside, pc.greater_equal(array, pa.scalar(-greatest, array.type)))
    return pc.if_else(inside, array, pa.scalar(None, array.type))


def is_short(texts: pa.DictionaryArray) -> bool:
    """Return whether a column has a dictionary that is short enough to be kept."""
    return ROWS_PER_VALUE * len(texts.dictionary) <= len(texts)


def with_dictionary(texts: pa.Array, declared: SqlType) -> pa.DictionaryArray | None:
    """Return a column of valid texts with its dictionary if that is short; otherwise None.

    Each value of a dictionary is checked and hashed once, and not for each row.
    """
    if declared.kind is not Kind.STRING or not pa.types.is_dictionary(texts.type):
        return None
    values = texts.dictionary
    if values.null_count or not is_short(texts):
        return None
    values = _valid_text(values.cast(pa.string()))
    if values.null_count:
        return None
    return pa.DictionaryArray.from_arrays(texts.indices.cast(pa.int32()), values, safe=False)


def _inside_range(array: pa.Array, declared: SqlType) -> pa.Array:
    """Return integers, with NULL for those that the type does not have."""
    least, greatest = INTEGER_RANGES[declared.kind]
    decimal = pa.types.is_decimal(array.type)
    wide = array.cast(pa.decimal128(DECIMAL_DIGITS_MAX, 0) if decimal else pa.int64())
    inside = pc.greater_equal(wide, pa.scalar(least, wide.type))
    if decimal or greatest <= BIGINT_MAX:
        within = pc.less_equal(wide, pa.scalar(greatest, wide.type))
        inside = pc.and_(inside, within)
    return pc.if_else(inside, array, pa.scalar(None, array.type))


def faults(
    column: Column, given: pa.Array, converted: pa.Array
) -> Iterator[tuple[int, MalformedError]]:
    """Yield the rows that have no valid value for a column, with the reason."""
    for row in np.flatnonzero(_find_unconverted(given, converted, column.type)).tolist():
        if column.type.contains(Kind.MAP):
            reason = "a key of a map occurs twice, or a text or time in the column cannot be read"
            yield row, MalformedError(DUPLICATE_KEY, reason, column.name)
        elif column.type.contains(Kind.DATE, Kind.TIMESTAMP):
            reason = "the time is not of the years 1 to 9999"
            yield row, MalformedError(INVALID_TIMESTAMP, reason, column.name)
        elif column.type.contains(Kind.TIME):
            reason = "the time is not within a day"
            yield row, MalformedError(INVALID_TIMESTAMP, reason, column.name)
        elif column.type.contains(*_INTEGER_MAX):
            reason = f"an integer in the column has more digits than {column.type} keeps"
            yield row, MalformedError(NUMBER_OUT_OF_RANGE, reason, column.name)
        elif column.type.contains(*_NARROW):
            reason = f"a number in the column exceeds {column.type}"
            yield row, MalformedError(NUMBER_OUT_OF_RANGE, reason, column.name)
        else:
            yield row, MalformedError(NOT_UTF8, "the text is not UTF-8", column.name)
    if not column.nullable:
        for row in np.flatnonzero(given.is_null().to_numpy(zero_copy_only=False)).tolist():
            yield row, MalformedError(NULL_NOT_ALLOWED, "a value is required", column.name)


def without(column: pa.Array, rows: Iterable[int]) -> pa.Array:
    """Return a column in which the given rows are NULL."""
    missing = np.zeros(len(column), np.bool_)
    missing[list(rows)] = True
    return column.take(pa.array(np.arange(len(column)), mask=missing))


def _find_unconverted(given: pa.Array, converted: pa.Array, declared: SqlType) -> NDArray[np.bool_]:
    """Return which rows have a value, at any depth, that became NULL in the converted column."""
    if pa.types.is_null(given.type):
        return np.zeros(len(given), np.bool_)
    unconverted: NDArray[np.bool_] = (
        pc.and_(given.is_valid(), converted.is_null()).to_numpy(zero_copy_only=False).copy()
    )
    for index, (name, each) in enumerate(declared.fields):
        inside = _field(given, name), pc.struct_field(converted, [index])
        unconverted |= _find_unconverted(*inside, each)
    if declared.kind is Kind.MAP:
        # Such values can only be found before the entries are sorted.
        parts = map_parts(given)
        of_values = _find_unconverted(
            parts.values, convert(parts.values, declared.value), declared.value
        )
        unconverted[np.repeat(np.arange(len(given)), parts.lengths)[of_values]] = True
        return unconverted
    if declared.element is not None:
        of_elements = _find_unconverted(given.flatten(), converted.flatten(), declared.element)
        row = pc.list_parent_indices(converted).to_numpy()
        unconverted[row[of_elements]] = True
    return unconverted


def _timestamps(array: pa.Array) -> pa.Array:
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    unit = array.type.unit
    ticks = array.view(pa.int64())
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    values = ticks.fill_null(0).to_numpy()
    least, greatest = TIMESTAMP_MIN * per_second // 10**6, TIMESTAMP_MAX * per_second // 10**6
    bad = (values < least) | (values > greatest)
    values = np.where(bad, 0, values)
    micros = values // 1000 if unit == "ns" else values * (10**6 // per_second)
    mask = bad | ticks.is_null().to_numpy(zero_copy_only=False)
    return pa.array(micros, mask=mask).cast(arrow_type(SqlType(Kind.TIMESTAMP)))


def _valid_text(array: pa.StringArray) -> pa.StringArray:
    """Return the texts, with NULL for those that are not valid UTF-8, which a file does not guarantee."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        values = array.cast(pa.binary()).to_pylist()
        return pa.array([None if value is None else _text(value) for value in values], pa.string())
    return array


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
