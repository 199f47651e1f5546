"""Rows between JSON and Arrow: the struct to which a record is decoded, and the columns of many structs.

msgspec creates the struct directly from the bytes, and checks the types and ranges of the table's columns.  A
field that the record lacks is UNSET, which only a nullable column accepts.  A ROW is a nested struct, whose
fields are named like those of the rows.
"""

from __future__ import annotations

import re
from operator import attrgetter, itemgetter
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import UNSET, UnsetType

from fsql.compiler.functions.dates import format_date
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.map_entries import by_key
from fsql.compiler.functions.times import format_time
from fsql.compiler.sqltypes import (
    BIGINT_MAX,
    BIGINT_MIN,
    DATE_MAX,
    DATE_MIN,
    INTEGER_RANGES,
    UBIGINT_MAX,
    Kind,
    SqlType,
)
from fsql.formats.json.keys import distinct, read_key
from fsql.formats.json.value_columns import days_or_times, decimals, floats
from fsql.formats.timestamps import timestamps
from fsql.runtime.arrow_types import arrow_type, octets_of_base64, struct_of, to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.formats.json.time_units import TimeUnits
    from fsql.formats.json.values import Decoded
    from fsql.runtime.arrays import Bools, Ints


_BIGINT: Final = Annotated[int, msgspec.Meta(ge=BIGINT_MIN, le=BIGINT_MAX)]
_TYPES: Final[dict[Kind, Any]] = {
    Kind.BOOLEAN: bool,
    **{
        kind: Annotated[int, msgspec.Meta(ge=low, le=high)]
        for kind, (low, high) in INTEGER_RANGES.items()
        if high <= BIGINT_MAX
    },
    Kind.FLOAT: float,
    Kind.DOUBLE: float,
    Kind.STRING: str,
    Kind.BYTES: str,
    Kind.DATE: str | Annotated[int, msgspec.Meta(ge=DATE_MIN, le=DATE_MAX)],
    Kind.UBIGINT: Annotated[int, msgspec.Meta(ge=0)],  # whose bounds have 63 bits
    Kind.INTERVAL: _BIGINT,
    Kind.DECIMAL: msgspec.Raw,
}
_NUMPY_TYPES: Final[dict[Kind, type[np.signedinteger]]] = {
    Kind.TINYINT: np.int32,
    Kind.SMALLINT: np.int32,
    Kind.INT: np.int32,
    Kind.BIGINT: np.int64,
    Kind.UTINYINT: np.int32,
    Kind.USMALLINT: np.int32,
    Kind.UINT: np.int64,
    Kind.INTERVAL: np.int64,
}
"""Kinds whose columns NumPy builds faster than Arrow; for DOUBLE it would convert NULL to NaN."""
_READ_BY_VALUE: Final = (
    *(Kind.UBIGINT, Kind.DECIMAL, Kind.FLOAT, Kind.BYTES, Kind.DATE, Kind.TIME, Kind.TIMESTAMP),
    Kind.ROW,
)
"""Kinds whose values are converted separately from the arrays that contain them."""
_NOT_CONVERTED: Final = (pa.ArrowInvalid, pa.ArrowTypeError, TypeError)
"""Raised when a column is built and a field is missing: UNSET is not a value of any type."""
ODD_NAME: Final = re.compile(r'["\\\x00-\x1f]')
"""Matches characters that msgspec does not allow in the name of a field."""


class Columns(NamedTuple):
    """Columns of rows; `lacking` counts the columns that each row lacks.

    `inner` counts the fields in the ROWs of a row, and the keys in its MAPs.  `unread` says which rows have a
    timestamp or a key that cannot be read, which is NULL in its column.
    """

    arrays: list[pa.Array]
    lacking: Ints
    inner: Ints
    unread: Bools


class RowType:
    """The struct type of a table's rows; its fields are called `c0`, `c1`, …."""

    def __init__(self, columns: Schema, units: TimeUnits) -> None:
        self._types = [column.type for column in columns]
        self._units = units
        self._required = [not column.nullable for column in columns]
        self._fields = _struct_fields(len(columns))
        self._getters = [attrgetter(field) for field in self._fields]
        structs = _Structs(units)
        self._makers = [structs.maker(column.type) for column in columns]
        parts = [(column.name, column.type, column.nullable) for column in columns]
        self._struct = structs.struct(parts)
        self.decode: Callable[[bytes], msgspec.Struct] = (
            _refuse if structs.odd else msgspec.json.Decoder(self._struct).decode
        )
        """Return the row of a record; raises one of `REFUSED`."""

    def row(self, values: Sequence[Decoded]) -> msgspec.Struct:
        """Return the row with these values, one for each column."""
        made = (make(value) for make, value in zip(self._makers, values, strict=True))
        return self._struct(**dict(zip(self._fields, made, strict=True)))

    def columns(self, rows: Sequence[msgspec.Struct]) -> Columns:
        """Return the columns of many rows."""
        arrays = []
        lacking = np.zeros(len(rows), np.int64)
        inner = np.zeros(len(rows), np.int64)
        unread = np.zeros(len(rows), np.bool_)
        for sql_type, get, required in zip(self._types, self._getters, self._required, strict=True):
            values = list(map(get, rows))
            array, missing, column_unread = _column(values, sql_type, inner, self._units)
            if required and array.null_count:
                absent = array.is_null().to_numpy(zero_copy_only=False)
                column_unread = absent if column_unread is None else column_unread | absent
            arrays.append(array)
            if missing is not None:
                lacking += missing
            if column_unread is not None:
                unread |= column_unread
        return Columns(arrays, lacking, inner, unread)


REFUSED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Raised by decoding for a record that it does not accept."""


def _refuse(_record: bytes) -> msgspec.Struct:
    """Refuse every record, so that the exact decoder reads all of them."""
    raise msgspec.DecodeError


def _struct_fields(count: int) -> list[str]:
    return [f"c{index}" for index in range(count)]


class _Structs:
    """Creates the struct types, one for each type of ROW; `odd` if a struct cannot have one of the names."""

    def __init__(self, units: TimeUnits) -> None:
        self.odd = False
        low, high = units.timestamp_limits
        first, last = units.time_limits
        self._types = _TYPES | {
            Kind.TIMESTAMP: str | Annotated[int, msgspec.Meta(ge=low, le=high)],
            Kind.TIME: str | Annotated[int, msgspec.Meta(ge=first, le=last)],
        }
        self._of_type: dict[SqlType, Any] = {}

    def struct(self, parts: Sequence[tuple[str, SqlType, bool]]) -> Any:  # noqa: ANN401 - a type
        """Return the struct type with these fields: name, type, and whether it may be NULL."""
        names = [name for name, _, _ in parts]
        fields = _struct_fields(len(parts))
        made: list[Any] = []
        for field, (_, sql_type, nullable) in zip(fields, parts, strict=True):
            kind = self.field_type(sql_type)
            if kind is not msgspec.Raw and nullable:
                kind = kind | None | UnsetType
            made.append((field, kind, UNSET) if nullable else (field, kind))
        odd = any(map(ODD_NAME.search, names))
        self.odd = self.odd or odd
        rename = None if odd else dict(zip(fields, names, strict=True))
        return msgspec.defstruct("Row", made, rename=rename, gc=False, kw_only=True)

    def field_type(self, sql_type: SqlType) -> Any:  # noqa: ANN401 - a type expression
        """Return the type that msgspec decodes a value to."""
        if sql_type.kind is Kind.MAP:
            value = self.field_type(sql_type.value)
            return GenericAlias(dict, (str, value if value is msgspec.Raw else value | None))
        if sql_type.element is not None:
            element = self.field_type(sql_type.element)
            # The text of a DECIMAL is read by `_decimals`, and so is its NULL.
            return GenericAlias(list, (element if element is msgspec.Raw else element | None,))
        if not sql_type.fields:
            return self._types[sql_type.kind]
        if sql_type not in self._of_type:
            parts = [(name, each, True) for name, each in sql_type.fields]
            self._of_type[sql_type] = self.struct(parts)
        return self._of_type[sql_type]

    def maker(self, sql_type: SqlType) -> Callable[[Any], Any]:
        """Return the function from a value of the exact decoder to the form that msgspec decodes."""
        if sql_type.kind is Kind.MAP:
            make_value = self.maker(sql_type.value)
            return lambda value: value and {key: make_value(each) for key, each in value.items()}
        if sql_type.element is not None:
            make = self.maker(sql_type.element)
            return lambda value: None if value is None else [*map(make, value)]
        if not sql_type.fields:
            return lambda value: value
        struct = self.field_type(sql_type)
        makers = {
            name: (field, self.maker(each))
            for field, (name, each) in zip(
                _struct_fields(len(sql_type.fields)), sql_type.fields, strict=True
            )
        }

        def make_struct(value: dict[str, Decoded] | None) -> Any:  # noqa: ANN401 - a struct
            if value is None:
                return None
            made = ((*makers[name], each) for name, each in value.items())
            return struct(**{field: make(each) for field, make, each in made})

        return make_struct


def _column(
    values: list[Any], sql_type: SqlType, inner: Ints, units: TimeUnits
) -> tuple[pa.Array, Bools | None, Bools | None]:
    """Return the column of values, which of them are missing, and which have an unreadable timestamp.

    `inner` is increased by the number of fields in the ROWs of each row.
    """
    try:
        array, unread = _array(values, sql_type, inner, units)
    except _NOT_CONVERTED:
        missing = np.fromiter((value is UNSET for value in values), np.bool_, len(values))
        values = [None if value is UNSET else value for value in values]
        array, unread = _array(values, sql_type, inner, units)
        return array, missing, unread
    return array, None, unread


def _array(  # noqa: C901, PLR0911 - one for each kind
    values: Sequence[Any], sql_type: SqlType, inner: Ints, units: TimeUnits
) -> tuple[pa.Array, Bools | None]:
    """Return the column of decoded values, and which of them have an unreadable timestamp, if any can.

    `inner` is as in `_column`; it is not changed where the values cannot be converted.
    """
    if sql_type.fields:
        return _structs(values, sql_type, inner, units)
    if sql_type.kind is Kind.MAP:
        return _maps(values, sql_type, inner, units)
    if sql_type.kind is Kind.DECIMAL:
        return _decimals(values, sql_type)
    if sql_type.kind is Kind.UBIGINT:
        return _unsigned(values, sql_type)
    if sql_type.kind is Kind.TIMESTAMP:
        micros, null, unread = timestamps(values, units.timestamp)
        return pa.array(micros, mask=null | unread).cast(arrow_type(sql_type)), unread
    if sql_type.kind is Kind.FLOAT:
        return floats(pa.array(values, pa.float64()))
    if sql_type.kind is Kind.BYTES:
        return octets_of_base64(pa.array(values, pa.string()))
    if sql_type.kind is Kind.DATE or sql_type.kind is Kind.TIME:
        return days_or_times(pa.array(_texts(values, sql_type, units), pa.string()), sql_type)
    if sql_type.element is not None and sql_type.contains(*_READ_BY_VALUE):
        return _arrays(values, sql_type.element, inner, units)
    numpy_type = _NUMPY_TYPES.get(sql_type.kind)
    if numpy_type is not None:
        try:
            numbers = np.fromiter(values, numpy_type, len(values))
        except TypeError:  # a NULL
            return pa.array(values, arrow_type(sql_type)), None
        return pa.array(numbers).view(arrow_type(sql_type)), None
    return pa.array(values, arrow_type(sql_type)), None


def _texts(values: Sequence[Any], sql_type: SqlType, units: TimeUnits) -> Sequence[Any]:
    """Return days or times, of which some may be numbers, as texts."""
    if not any(type(value) is int for value in values):
        return values
    if sql_type.kind is Kind.DATE:
        return [format_date(value) if type(value) is int else value for value in values]
    return [
        format_time(units.time.micros(value)) if type(value) is int else value for value in values
    ]


def _decimals(values: Sequence[Any], sql_type: SqlType) -> tuple[pa.Array, Bools]:
    """Return the column of numbers whose texts are given, with or without quotes."""
    texts = pa.array([None if v is None else bytes(v) for v in values], pa.binary()).cast(
        pa.string()
    )
    null = pc.fill_null(pc.equal(texts, "null"), fill_value=True)
    quoted = pc.fill_null(pc.starts_with(texts, '"'), fill_value=False)
    written = pc.if_else(quoted, pc.utf8_slice_codeunits(texts, 1, -1), texts)
    return decimals(pc.if_else(null, None, written), sql_type)


def _unsigned(values: Sequence[Any], sql_type: SqlType) -> tuple[pa.Array, Bools]:
    """Return the column of integers that are not negative; too great ones are unread."""
    if any(value is UNSET for value in values):
        raise TypeError
    unread = np.fromiter(
        (value is not None and value > UBIGINT_MAX for value in values), np.bool_, len(values)
    )
    kept = [None if bad else value for value, bad in zip(values, unread.tolist(), strict=True)]
    return to_arrow(kept, sql_type), unread


def _structs(
    values: Sequence[Any], sql_type: SqlType, inner: Ints, units: TimeUnits
) -> tuple[pa.Array, Bools | None]:
    """Return the column of rows, and which of them have an unreadable timestamp."""
    if any(value is UNSET for value in values):
        raise TypeError
    present_mask = np.fromiter((value is not None for value in values), np.bool_, len(values))
    present = np.flatnonzero(present_mask)
    rows = [value for value in values if value is not None]
    within = np.zeros(len(rows), np.int64)
    unread = np.zeros(len(values), np.bool_)
    children = []
    for field, each in zip(_struct_fields(len(sql_type.fields)), sql_type.field_types, strict=True):
        of_field = list(map(attrgetter(field), rows))
        array, missing, field_unread = _column(of_field, each, within, units)
        within += 1 if missing is None else ~missing
        if field_unread is not None:
            unread[present] |= field_unread
        children.append(array)
    np.add.at(inner, present, within)
    if len(rows) == len(values):
        return struct_of(children, sql_type), unread
    indexes = pa.array(np.cumsum(present_mask) - 1, mask=~present_mask)
    return struct_of([child.take(indexes) for child in children], sql_type, ~present_mask), unread


def _maps(
    values: Sequence[Any], sql_type: SqlType, inner: Ints, units: TimeUnits
) -> tuple[pa.Array, Bools | None]:
    """Return the column of maps, and which of them have a key or a timestamp that cannot be read."""
    if any(value is UNSET for value in values):
        raise TypeError
    read = [_entries(value or {}, sql_type.key) for value in values]
    entries = [entry for each in read for entry in each or ()]
    lengths = np.array([len(each or ()) for each in read], np.int64)
    within = np.ones(len(entries), np.int64)
    keys = to_arrow([key for key, _ in entries], sql_type.key)
    items, unread = _array([value for _, value in entries], sql_type.value, within, units)
    offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
    assert sql_type.element is not None
    structs = struct_of([keys, items], sql_type.element)
    null = pa.array([value is None for value in values], pa.bool_())
    column = pa.ListArray.from_arrays(offsets, structs, mask=null)
    row_of_entry = np.repeat(np.arange(len(values)), lengths)
    np.add.at(inner, row_of_entry, within)
    bad = np.array([each is None for each in read], np.bool_)
    if unread is not None:
        bad |= np.bincount(row_of_entry[unread], minlength=len(values)) > 0
    return column, bad


def _entries(decoded: dict[str, Any], key: SqlType) -> list[tuple[Value, Any]] | None:
    """Return keys and values in the order of the keys; None if a key cannot be read, or is a duplicate."""
    if key.kind is Kind.STRING:
        return sorted(decoded.items(), key=itemgetter(0))
    try:
        read = [(read_key(text, key), value) for text, value in decoded.items()]
    except RowFailure:
        return None
    return by_key(read) if distinct(each for each, _ in read) else None


def _arrays(
    values: Sequence[Any], element: SqlType, inner: Ints, units: TimeUnits
) -> tuple[pa.Array, Bools | None]:
    """Return the column of lists, and which of them have an unreadable timestamp."""
    if any(value is UNSET for value in values):
        raise TypeError
    null = [value is None for value in values]
    lengths = np.array([0 if value is None else len(value) for value in values], np.int64)
    within = np.zeros(int(lengths.sum()), np.int64)
    elements, unread = _array(
        [each for value in values for each in value or ()], element, within, units
    )
    offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
    column = pa.ListArray.from_arrays(offsets, elements, mask=pa.array(null, pa.bool_()))
    row_of_element = np.repeat(np.arange(len(values)), lengths)
    np.add.at(inner, row_of_element, within)
    if unread is None:
        return column, None
    return column, np.bincount(row_of_element[unread], minlength=len(values)) > 0
