r"""Blocks of regular records into columns by the JSON reader of Arrow, which makes no object for a row.

A block is regular if each record has only fields of the table, each once, with a value of its type that has
the form in which it is mostly written.  Arrow refuses most other blocks; `RegularReader` declines those that
it would read otherwise than the exact rules, which are in `fsql.formats.json.strict`:

* Arrow reads one object after the other, whatever the lines.  If every line begins with `{` and ends with
  `}`, then no object goes over an end of line; if there are as many objects as lines, each line is one.
* A zero byte ends its input.
* An escape `\u` can be half of a character.
* A number that is too large for DOUBLE becomes infinite.

A declined block is decoded record by record.  So a result depends neither on Arrow nor on the blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json

from fsql.compiler.sqltypes import Kind, SqlType
from fsql.formats.json.values import MILLIS_MAX, MILLIS_MIN
from fsql.formats.timestamps import read_dates, read_texts, read_times
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.few_rows import FEW_ROWS_IN_C

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fsql.compiler.schema import Schema
    from fsql.formats.lines import Lines

_Types: TypeAlias = "tuple[pa.DataType, ...]"
_ReadTexts: TypeAlias = "Callable[[pa.StringArray], tuple[NDArray[Any], NDArray[np.bool_]]]"

_PLAIN: Final = frozenset((Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.STRING))
"""Kinds whose values Arrow reads as the exact rules do, or not at all."""
_NARROW: Final = {Kind.TINYINT: pa.int8(), Kind.SMALLINT: pa.int16()}
"""Kinds that have a wider type in columns: Arrow checks the range of these."""
_READ_TEXTS: Final[dict[Kind, _ReadTexts]] = {
    Kind.TIMESTAMP: read_texts,
    Kind.DATE: read_dates,
    Kind.TIME: read_times,
}
"""Kinds whose values are texts, which are read as a column."""
_ROWS_MIN: Final = 2 * FEW_ROWS_IN_C
"""Arrow needs two threads and 0.2 ms to begin; from here on it is the faster way."""
_PAUSE_MAX: Final = 64
"""How many blocks are decoded record by record at most before Arrow is tried again."""
_OPEN, _CLOSE = b"{}"
_MILLIS_US: Final = 1_000


class _IrregularError(Exception):
    """The block is not regular."""


class RegularReader:
    """Reads the regular blocks of one split; after others it pauses, for longer each time."""

    def __init__(self, columns: Schema, rows_min: int = _ROWS_MIN) -> None:
        """Take the columns, and how many rows the blocks have that are worth reading so."""
        self._columns = columns
        self._rows_min = rows_min
        self._possible = all(map(_is_possible, (column.type for column in columns)))
        self._options: dict[_Types, arrow_json.ParseOptions] = {}
        self._pause = 0
        """How many blocks the next pause has."""
        self._skipped = 0
        """How many of them are behind."""

    def read(self, lines: Lines, span: bytes) -> list[pa.Array] | None:
        """Return the columns of `lines`, whose text is `span` and valid UTF-8; None if it is declined."""
        if not self._possible or len(lines) < self._rows_min:
            return None
        if self._skipped < self._pause:
            self._skipped += 1
            return None
        try:
            arrays = self._read(lines, span)
        except (_IrregularError, pa.ArrowException, msgspec.MsgspecError):
            self._pause, self._skipped = min(2 * self._pause + 1, _PAUSE_MAX), 0
            return None
        self._pause = 0
        return arrays

    def _read(self, lines: Lines, span: bytes) -> list[pa.Array]:
        text = np.frombuffer(lines.data, np.uint8)
        _require(
            bool((text[lines.starts] == _OPEN).all() and (text[lines.ends - 1] == _CLOSE).all())
        )
        _require(b"\0" not in span and not (b"\\" in span and b"\\u" in span))
        first = msgspec.json.decode(lines.content(0))
        written = tuple(
            _written_type(column.type, first.get(column.name)) for column in self._columns
        )
        if written not in self._options:
            fields = zip((column.name for column in self._columns), written, strict=True)
            self._options[written] = arrow_json.ParseOptions(
                explicit_schema=pa.schema(fields), unexpected_field_behavior="error"
            )
        table = arrow_json.read_json(
            pa.BufferReader(span),
            arrow_json.ReadOptions(use_threads=False, block_size=len(span) + 1),
            self._options[written],
        )
        _require(len(table) == len(lines))
        arrays = []
        for array, column in zip(table.columns, self._columns, strict=True):
            _require(column.nullable or not array.null_count)
            (chunk,) = array.chunks
            arrays.append(_column(chunk, column.type))
        return arrays


def _require(regular: bool) -> None:  # noqa: FBT001 - what it requires
    if not regular:
        raise _IrregularError


def _is_possible(sql_type: SqlType) -> bool:
    """Return whether Arrow can read a column of this type."""
    if sql_type.element is not None:
        return sql_type.kind is Kind.ARRAY and sql_type.element.kind in _PLAIN
    return sql_type.kind in _PLAIN or sql_type.kind in _NARROW or sql_type.kind in _READ_TEXTS


def _written_type(sql_type: SqlType, value: object) -> pa.DataType:
    """Return the type of the values of a column as they are written; `value` is one of them."""
    if sql_type.kind in _READ_TEXTS:
        in_millis = sql_type.kind is Kind.TIMESTAMP and isinstance(value, int)
        return pa.int64() if in_millis else pa.string()
    return _NARROW.get(sql_type.kind) or arrow_type(sql_type)


def _column(array: pa.Array, sql_type: SqlType) -> pa.Array:
    """Return the column with values of its type.

    Raises:
        _IrregularError: the exact rules have to read a value.
    """
    if sql_type.contains(Kind.DOUBLE):
        numbers = array.flatten() if sql_type.element else array
        _require(not np.isinf(numbers.fill_null(0.0).to_numpy()).any())
    if sql_type.kind not in _READ_TEXTS:
        return array.cast(arrow_type(sql_type))
    null = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_integer(array.type):
        millis = array.fill_null(0).to_numpy()
        _require(bool(((millis >= MILLIS_MIN) & (millis <= MILLIS_MAX)).all()))
        values = millis * _MILLIS_US
    else:
        values, done = _READ_TEXTS[sql_type.kind](array)
        _require(bool((done | null).all()))
    return pa.array(values, mask=null if array.null_count else None).cast(arrow_type(sql_type))
