"""Decodes flat records a column at a time, where many have the same layout.

Values that are accepted here are those of the exact decoder, as `strict` and `values` define them.
Uncertain records are left to be decoded one by one: those with escapes or nested values, values of an
unexpected form, or numbers at the limits of a type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.sqltypes import DATE_MAX, DATE_MIN, INTEGER_RANGES, Kind
from fsql.formats.json.digits import timestamps, whole_numbers
from fsql.formats.json.layouts import LineBlock, fits_block, layout_of
from fsql.formats.json.value_columns import days_or_times, decimals, floats
from fsql.formats.timestamps import read_texts
from fsql.runtime.arrow_types import arrow_type, octets_of_base64
from fsql.runtime.decimals import column_of, read_unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.schema import Column, Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.formats.json.layouts import Layout, Slices
    from fsql.formats.json.time_units import TimeUnits, Unit
    from fsql.formats.lines import Lines
    from fsql.runtime.arrays import Bools, Ints


Read: TypeAlias = "tuple[pa.Array, Bools]"
"""A column, and which of its values are certain; the others are arbitrary."""

Readers: TypeAlias = "Mapping[Kind, Callable[[Slices, SqlType], Read]]"
"""How the values of a column are read, by its kind."""

_LAYOUTS_MAX: Final = 8
"""The maximum number of layouts searched for in some lines; each costs a pass over the remaining lines."""
_MODELS_MAX: Final = 64
"""The maximum number of records tried as a layout; those with escapes or nested values have none."""
_NUMBER: Final = r"\A-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\z"
_MINUS, _LETTER_N = b"-n"
_KINDS_OF_19_DIGITS: Final = (Kind.BIGINT, Kind.INTERVAL)


class Part(NamedTuple):
    """Rows of one layout: the indexes of their lines, ascending, their columns, and their unknown fields."""

    lines: Ints
    arrays: list[pa.Array]
    unknown_fields: int


class BulkDecoder:
    """Decodes the records of a table that have common layouts."""

    def __init__(self, columns: Schema, rows_min: int, units: TimeUnits) -> None:
        """Take the columns of the table; fewer than `rows_min` records are left to be decoded one by one."""
        self._of_bare = {
            **_OF_BARE,
            Kind.TIMESTAMP: lambda slices, sql_type: _numbers(
                slices, sql_type, units.timestamp_limits, units.timestamp
            ),
            Kind.TIME: lambda slices, sql_type: _numbers(
                slices, sql_type, units.time_limits, units.time
            ),
        }
        self.rows_min = rows_min
        self._columns = columns
        self._is_flat = all(column.type.kind in _FLAT for column in columns)

    def decode(self, lines: Lines, bytes_max: int) -> list[Part]:
        """Return the rows of the lines that can be decoded in bulk, which may be none.

        A line of more than `bytes_max` octets is not decoded here.
        """
        if not self._is_flat or len(lines) < self.rows_min or not fits_block(lines):
            return []
        block = LineBlock(lines)
        if not block.is_utf8():
            return []
        parts = []
        left = np.flatnonzero(lines.ends - lines.starts <= bytes_max)
        layouts = 0
        for _ in range(_MODELS_MAX):
            if len(left) < self.rows_min or layouts == _LAYOUTS_MAX:
                break
            layout = layout_of(lines.content(left[0]))
            if layout is None:
                left = left[1:]
                continue
            layouts += 1
            found, slices = block.locate(layout, left)
            part = self._read(layout, found, slices)
            if len(part.lines):
                parts.append(part)
            if len(found) == len(left):
                break
            left = np.setdiff1d(left, found, assume_unique=True)
        return parts

    def _read(self, layout: Layout, lines: Ints, slices: list[Slices]) -> Part:
        """Return the rows of lines that have a layout, without uncertain rows."""
        of_key = dict(zip(layout.keys, zip(slices, layout.quoted, strict=True), strict=True))
        arrays = []
        certain = np.ones(len(lines), np.bool_)
        for column in self._columns:
            found = of_key.pop(column.name, None)
            array, read = (
                _missing(len(lines), column)
                if found is None
                else _read(*found, column, self._of_bare)
            )
            arrays.append(array)
            certain &= read
        for values, quoted in of_key.values():
            if not quoted:
                certain &= _is_scalar(values)
        if not certain.all():
            lines = lines[certain]
            arrays = [array.filter(pa.array(certain)) for array in arrays]
        return Part(lines, arrays, len(of_key) * len(lines))


def _missing(count: int, column: Column) -> Read:
    """Return the column of a field that no record has."""
    return pa.nulls(count, arrow_type(column.type)), np.full(count, column.nullable)


def _uncertain(count: int, column: Column) -> Read:
    """Return a column of which no value is certain."""
    return pa.nulls(count, arrow_type(column.type)), np.zeros(count, np.bool_)


def _read(slices: Slices, quoted: bool, column: Column, of_bare: Readers) -> Read:  # noqa: FBT001 - a field of a layout
    """Return the column of the values of a field."""
    kind = column.type.kind
    if quoted:
        if kind not in _OF_TEXT:
            return _uncertain(len(slices.starts), column)
        return _OF_TEXT[kind](slices, column.type)
    if not (slices.firsts() == _LETTER_N).any():
        return _bare_column(slices, column, of_bare)
    null = slices.equal(b"null")
    array, read = _bare_column(slices.filter(~null), column, of_bare)
    certain = np.full(len(null), column.nullable)
    certain[~null] = read
    return array.take(pa.array(np.cumsum(~null) - 1, mask=null)), certain


def _bare_column(slices: Slices, column: Column, of_bare: Readers) -> Read:
    """Return the column of values without quotes, none of which is `null`."""
    kind = column.type.kind
    if not len(slices.starts) or kind not in of_bare:
        return _uncertain(len(slices.starts), column)
    return of_bare[kind](slices, column.type)


def _is_scalar(slices: Slices) -> Bools:
    """Return which values without quotes are numbers or words of JSON."""
    number = _flags(pc.match_substring_regex(slices.texts(), _NUMBER))
    return number | slices.equal(b"null") | slices.equal(b"true") | slices.equal(b"false")


def _text(slices: Slices, _sql_type: SqlType) -> Read:
    return slices.texts(), np.ones(len(slices.starts), np.bool_)


def _octets(slices: Slices, _sql_type: SqlType) -> Read:
    array, unread = octets_of_base64(slices.texts())
    return array, ~unread


def _day_or_time(slices: Slices, sql_type: SqlType) -> Read:
    array, unread = days_or_times(slices.texts(), sql_type)
    return array, ~unread


def _timestamp(slices: Slices, sql_type: SqlType) -> Read:
    micros, read = timestamps(slices)
    if not read.all():
        left = np.flatnonzero(~read)
        micros[left], read[left] = read_texts(slices.filter(left).texts())
    return pa.array(micros).view(arrow_type(sql_type)), read


def _decimal(slices: Slices, sql_type: SqlType) -> Read:
    array, unread = decimals(slices.texts(), sql_type)
    return array, ~unread


def _bare_decimal(slices: Slices, sql_type: SqlType) -> Read:
    texts = slices.texts()
    array, unread = decimals(texts, sql_type)
    return array, ~unread & _flags(pc.match_substring_regex(texts, _NUMBER))


def _whole(slices: Slices, sql_type: SqlType) -> Read:
    numbers, read = whole_numbers(slices)
    if sql_type.kind in _KINDS_OF_19_DIGITS:
        return pa.array(numbers).view(arrow_type(sql_type)), read
    low, high = INTEGER_RANGES[sql_type.kind]
    read &= (low <= numbers) & (numbers <= high)
    if not read.all():
        numbers = np.where(read, numbers, 0)
    return pa.array(numbers).cast(arrow_type(sql_type)), read


def _unsigned(slices: Slices, sql_type: SqlType) -> Read:
    numbers, read = read_unsigned(slices.texts())
    return column_of(numbers, arrow_type(sql_type)), read


def _numbers(
    slices: Slices, sql_type: SqlType, limits: tuple[int, int], unit: Unit | None = None
) -> Read:
    """Return days or times from numbers; those in a unit become microseconds."""
    numbers, read = whole_numbers(slices)
    low, high = limits
    read &= (numbers >= low) & (numbers <= high)
    numbers = np.where(read, numbers, 0)
    values = numbers.astype(np.int32) if unit is None else unit.micros_of(numbers)
    return pa.array(values).view(arrow_type(sql_type)), read


def _double(slices: Slices, _sql_type: SqlType) -> Read:
    """Return the doubles; a zero with a sign is left to the exact decoder."""
    texts = slices.texts()
    certain = _flags(pc.match_substring_regex(texts, _NUMBER))
    if not certain.all():
        texts = pc.if_else(pa.array(certain), texts, "0")
    array = pc.cast(texts, pa.float64())
    numbers = array.to_numpy()
    certain &= np.isfinite(numbers) & ((numbers != 0) | (slices.firsts() != _MINUS))
    return array, certain


def _float(slices: Slices, sql_type: SqlType) -> Read:
    doubles, certain = _double(slices, sql_type)
    array, unread = floats(doubles)
    return array, certain & ~unread


def _flag(slices: Slices, _sql_type: SqlType) -> Read:
    true = slices.equal(b"true")
    return pa.array(true), true | slices.equal(b"false")


def _flags(flags: pa.BooleanArray) -> Bools:
    found: Bools = flags.to_numpy(zero_copy_only=False)
    return found


_OF_TEXT: Final[Readers] = {
    Kind.STRING: _text,
    Kind.BYTES: _octets,
    Kind.DATE: _day_or_time,
    Kind.TIME: _day_or_time,
    Kind.TIMESTAMP: _timestamp,
    Kind.DECIMAL: _decimal,
}
_OF_BARE: Final[Readers] = {
    **dict.fromkeys((*INTEGER_RANGES, Kind.INTERVAL), _whole),
    Kind.UBIGINT: _unsigned,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _double,
    Kind.DECIMAL: _bare_decimal,
    Kind.DATE: lambda slices, sql_type: _numbers(slices, sql_type, (DATE_MIN, DATE_MAX)),
    Kind.BOOLEAN: _flag,
}
_FLAT: Final = frozenset(_OF_TEXT) | frozenset(_OF_BARE) | {Kind.TIMESTAMP, Kind.TIME}
"""The kinds of columns whose values are not nested."""
