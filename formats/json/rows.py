"""Rows between JSON and Arrow: the struct that a record decodes to, and columns of many structs.

msgspec makes the struct straight from the bytes, with the types and ranges of the table's columns
checked on the way.  A field that the record lacks is UNSET, which only a column that may be NULL takes.
"""

from __future__ import annotations

import re
from operator import attrgetter
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType

from fsql.compiler.sqltypes import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN, Kind, SqlType
from fsql.formats.json.values import MILLIS_MAX, MILLIS_MIN
from fsql.formats.timestamps import timestamps
from fsql.runtime.arrow_types import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.schema import Schema
    from fsql.formats.json.values import Decoded

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

_BIGINT: Final = Annotated[int, msgspec.Meta(ge=BIGINT_MIN, le=BIGINT_MAX)]
_TYPES: Final[dict[Kind, Any]] = {
    Kind.BOOLEAN: bool,
    Kind.INT: Annotated[int, msgspec.Meta(ge=INT_MIN, le=INT_MAX)],
    Kind.BIGINT: _BIGINT,
    Kind.DOUBLE: float,
    Kind.STRING: str,
    Kind.TIMESTAMP: str | Annotated[int, msgspec.Meta(ge=MILLIS_MIN, le=MILLIS_MAX)],
    Kind.INTERVAL: _BIGINT,
}
_NUMPY_TYPES: Final[dict[Kind, type[np.signedinteger]]] = {
    Kind.INT: np.int32,
    Kind.BIGINT: np.int64,
    Kind.INTERVAL: np.int64,
}
"""Kinds whose columns NumPy makes faster than Arrow; of DOUBLE it would take NULL for NaN."""
_NOT_CONVERTED: Final = (pa.ArrowInvalid, pa.ArrowTypeError, TypeError)
"""What making a column raises where a field is missing: UNSET is not a value of any type."""
ODD_NAME: Final = re.compile(r'["\\\x00-\x1f]')
"""What msgspec does not allow in the name of a field."""


class Columns(NamedTuple):
    """Columns of rows; `lacking` counts the fields that each row lacks.

    `unread` says which rows have a timestamp that cannot be read; it is NULL in its column.
    """

    arrays: list[pa.Array]
    lacking: Ints
    unread: Bools


class RowType:
    """The struct type of a table's rows; its fields are called `c0`, `c1`, …."""

    def __init__(self, columns: Schema) -> None:
        self._types = [column.type for column in columns]
        self._fields = [f"c{index}" for index in range(len(columns))]
        self._getters = [attrgetter(field) for field in self._fields]
        fields: list[Any] = []
        for field, column in zip(self._fields, columns, strict=True):
            if column.nullable:
                fields.append((field, _field_type(column.type) | None | UnsetType, UNSET))
            else:
                fields.append((field, _field_type(column.type)))
        names = [column.name for column in columns]
        odd = any(map(ODD_NAME.search, names))
        rename = None if odd else dict(zip(self._fields, names, strict=True))
        self._struct = msgspec.defstruct("Row", fields, rename=rename, gc=False, kw_only=True)
        self.decode: Callable[[bytes], msgspec.Struct] = (
            _decline if odd else msgspec.json.Decoder(self._struct).decode
        )
        """Return the row of a record.  Raises what `REFUSED` lists."""

    def row(self, values: Sequence[Decoded]) -> msgspec.Struct:
        """Return the row with these values, one for each column."""
        return self._struct(**dict(zip(self._fields, values, strict=True)))

    def columns(self, rows: Sequence[msgspec.Struct]) -> Columns:
        """Return the columns of many rows."""
        arrays = []
        lacking = np.zeros(len(rows), np.int64)
        unread = np.zeros(len(rows), np.bool_)
        for sql_type, get in zip(self._types, self._getters, strict=True):
            values = list(map(get, rows))
            try:
                array, column_unread = _array(values, sql_type)
            except _NOT_CONVERTED:
                lacking += np.fromiter((value is UNSET for value in values), np.bool_, len(rows))
                values = [None if value is UNSET else value for value in values]
                array, column_unread = _array(values, sql_type)
            arrays.append(array)
            if column_unread is not None:
                unread |= column_unread
        return Columns(arrays, lacking, unread)


REFUSED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises for a record that it does not take."""


def _decline(_record: bytes) -> msgspec.Struct:
    """Decode nothing: every record is left to the exact half."""
    raise msgspec.DecodeError


def _field_type(sql_type: SqlType) -> Any:  # noqa: ANN401 - a type expression
    if sql_type.element is not None:
        return GenericAlias(list, (_field_type(sql_type.element) | None,))
    return _TYPES[sql_type.kind]


def _array(values: Sequence[Any], sql_type: SqlType) -> tuple[pa.Array, Bools | None]:
    """Return the column of decoded values, and which of them have an unreadable timestamp, if any can."""
    if sql_type.kind is Kind.TIMESTAMP:
        micros, null, unread = timestamps(values)
        return pa.array(micros, mask=null | unread).cast(arrow_type(sql_type)), unread
    if sql_type.element is not None and _has_timestamps(sql_type.element):
        return _arrays_with_timestamps(values, sql_type.element)
    numpy_type = _NUMPY_TYPES.get(sql_type.kind)
    if numpy_type is not None:
        try:
            numbers = np.fromiter(values, numpy_type, len(values))
        except TypeError:  # a NULL
            return pa.array(values, arrow_type(sql_type)), None
        return pa.array(numbers).view(arrow_type(sql_type)), None
    return pa.array(values, arrow_type(sql_type)), None


def _has_timestamps(sql_type: SqlType) -> bool:
    if sql_type.element is not None:
        return _has_timestamps(sql_type.element)
    return sql_type.kind is Kind.TIMESTAMP


def _arrays_with_timestamps(
    values: Sequence[Any], element: SqlType
) -> tuple[pa.Array, Bools | None]:
    """Return the column of lists, and which of them have an unreadable timestamp."""
    null = [value is None for value in values]
    lengths = np.array([0 if value is None else len(value) for value in values], np.int64)
    elements, unread = _array([each for value in values for each in value or ()], element)
    offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
    column = pa.ListArray.from_arrays(offsets, elements, mask=pa.array(null, pa.bool_()))
    row_of_element = np.repeat(np.arange(len(values)), lengths)
    return column, np.bincount(row_of_element[unread], minlength=len(values)) > 0
