"""JSON lines into columns: fast for the records that are fine, exact for those that are not.

msgspec decodes each record into a struct made for the table's columns; it is strict about types,
ranges and syntax, and what it accepts has the value that `json_strict` and `json_values` define.  They
alone decide about a record in three cases:

* msgspec refuses it, or it is too long or not UTF-8;
* a timestamp in it cannot be read;
* it may have a key twice, which msgspec would not notice.  A key is followed by a colon, and that
  colon is preceded by a quote or white space.  If a record has no more such colons than columns that
  were found in it, then its keys are exactly those columns, each once.  This costs one pass over the
  bytes.  It also bounds the nesting, because only an unknown field can nest deeper than its type.

Records with unknown fields fail that last test, so they are decoded once more without types, and their
keys counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from operator import attrgetter
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType

from fsql.compiler.sqltypes import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN, Kind, SqlType
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.connectors.json_strict import DEPTH_MAX, parse_object
from fsql.runtime.connectors.json_values import MILLIS_MAX, MILLIS_MIN, column_values
from fsql.runtime.connectors.malformed import MalformedError, check_length, reject
from fsql.runtime.connectors.timestamps import timestamps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.schema import Schema
    from fsql.runtime.connectors.lines import DecodedRows, Lines
    from fsql.runtime.ports import Reject

    Bools = NDArray[np.bool_]

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
_REFUSED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_NOT_CONVERTED: Final = (pa.ArrowInvalid, pa.ArrowTypeError, TypeError)
"""What making a column raises where a field is missing: UNSET is not a value of any type."""
_ODD_NAME: Final = re.compile(r'["\\\x00-\x1f]')
"""What msgspec does not allow in the name of a field."""
_COLON, _QUOTE, _SPACE = ord(":"), ord('"'), ord(" ")


@dataclass(slots=True)
class _Rows:
    """The rows of `lines` so far: decoded structs with the lines they come from, and rejects."""

    lines: Lines
    first_row: int
    decoded: list[msgspec.Struct] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)


class JsonDecoder:
    """Decodes lines into the columns of a table; `unknown_fields` counts those that are ignored."""

    skips_empty_lines = True

    def __init__(self, columns: Schema, record_bytes_max: int) -> None:
        self._columns = columns
        self.record_bytes_max = record_bytes_max
        self._row_type = _row_type(columns)
        self._decode_row: Callable[[bytes], msgspec.Struct] = _decline
        if not any(_ODD_NAME.search(column.name) for column in columns):
            self._decode_row = msgspec.json.Decoder(self._row_type).decode
        self._decode_any = msgspec.json.Decoder().decode
        self._getters = [attrgetter(name) for name in _fields(columns)]
        self.unknown_fields = 0

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows of lines none of which is empty; the first has the number `first_row`."""
        rows = _Rows(lines, first_row)
        self._decode_rows(rows)
        arrays, missing, unread = self._arrays(rows.decoded)
        good = self._keys_are_distinct(rows, len(self._columns) - missing)
        for index in np.flatnonzero(unread & good).tolist():
            good[index] = self._strict_row(rows, rows.kept[index]) is not None
        kept = np.array(rows.kept, np.int64)
        if not good.all():
            kept = kept[good]
            arrays = [array.filter(pa.array(good)) for array in arrays]
        rows.rejects.sort(key=lambda each: each.row)
        return arrays, first_row + kept, rows.rejects

    def _decode_rows(self, rows: _Rows) -> None:
        """Decode what can be decoded, and reject the rest."""
        lines = rows.lines
        records = lines.contents()
        lengths = lines.ends - lines.starts
        if not (lengths > self.record_bytes_max).any() and _utf8(lines.span()):
            try:
                rows.decoded = list(map(self._decode_row, records))
            except _REFUSED:
                pass
            else:
                rows.kept = list(range(len(lines)))
                return
        for line, record in enumerate(records):
            row = self._row(rows, line, record)
            if row is not None:
                rows.decoded.append(row)
                rows.kept.append(line)

    def _row(self, rows: _Rows, line: int, record: bytes) -> msgspec.Struct | None:
        """Return the row of a line, None if it is rejected."""
        if len(record) <= self.record_bytes_max and _utf8(record):
            try:
                return self._decode_row(record)
            except _REFUSED:
                pass
        return self._strict_row(rows, line)

    def _strict_row(self, rows: _Rows, line: int) -> msgspec.Struct | None:
        """Return the row that the exact rules give, None if it is rejected."""
        record = rows.lines.content(line)
        try:
            check_length(len(record), self.record_bytes_max)
            values = column_values(self._columns, parse_object(record))
        except MalformedError as error:
            rows.rejects.append(reject(rows.lines, line, rows.first_row + line, error))
            return None
        return self._row_type(**dict(zip(_fields(self._columns), values, strict=True)))

    def _arrays(
        self, rows: Sequence[msgspec.Struct]
    ) -> tuple[list[pa.Array], NDArray[np.int64], Bools]:
        """Return the columns, the number of fields each row lacks, and which timestamps are unreadable."""
        arrays = []
        missing = np.zeros(len(rows), np.int64)
        unread = np.zeros(len(rows), np.bool_)
        for column, get in zip(self._columns, self._getters, strict=True):
            values = list(map(get, rows))
            try:
                array, column_unread = _array(values, column.type)
            except _NOT_CONVERTED:
                missing += np.fromiter((value is UNSET for value in values), np.bool_, len(rows))
                values = [None if value is UNSET else value for value in values]
                array, column_unread = _array(values, column.type)
            arrays.append(array)
            unread |= column_unread
        return arrays, missing, unread

    def _keys_are_distinct(self, rows: _Rows, found: NDArray[np.int64]) -> Bools:
        """Return which rows have no key twice; reject the others, and count unknown fields.

        `found` is how many of the table's columns each row has.
        """
        good = np.ones(len(rows.kept), np.bool_)
        colons = _key_colons(rows.lines.span())
        if len(rows.kept) == len(rows.lines) and len(colons) == found.sum():
            return good  # no row has fewer keys than columns, so none has more either
        bounds = np.append(rows.lines.starts, rows.lines.ends[-1:]) - rows.lines.starts[:1]
        keys_max = np.diff(np.searchsorted(colons, bounds))[rows.kept]
        for index in np.flatnonzero(keys_max != found).tolist():
            record = rows.lines.content(rows.kept[index])
            fields = self._fields_of(record, int(keys_max[index]))
            if fields is None:
                good[index] = self._strict_row(rows, rows.kept[index]) is not None
                fields = len(parse_object(record)) if good[index] else int(found[index])
            self.unknown_fields += fields - int(found[index])
        return good

    def _fields_of(self, record: bytes, keys_max: int) -> int | None:
        """Return how many fields the record has, None unless it is certain that no key comes twice."""
        if record.count(b"[") + record.count(b"{") > DEPTH_MAX:
            return None
        value = self._decode_any(record)
        return len(value) if _key_count(value) == keys_max else None


def _row_type(columns: Schema) -> type[msgspec.Struct]:
    """Return a struct type that JSON objects of the columns decode to; fields are `c0`, `c1`, …."""
    fields: list[Any] = []
    for name, column in zip(_fields(columns), columns, strict=True):
        field_type = _field_type(column.type)
        if column.nullable:
            fields.append((name, field_type | None | UnsetType, UNSET))
        else:
            fields.append((name, field_type))
    names = [column.name for column in columns]
    rename = (
        None
        if any(map(_ODD_NAME.search, names))
        else dict(zip(_fields(columns), names, strict=True))
    )
    return msgspec.defstruct("Row", fields, rename=rename, gc=False, kw_only=True)


def _fields(columns: Schema) -> list[str]:
    return [f"c{index}" for index in range(len(columns))]


def _decline(_record: bytes) -> msgspec.Struct:
    """Decode nothing: every record is left to the exact half."""
    raise msgspec.DecodeError


def _field_type(sql_type: SqlType) -> Any:  # noqa: ANN401 - a type expression
    if sql_type.element is not None:
        return GenericAlias(list, (_field_type(sql_type.element) | None,))
    return _TYPES[sql_type.kind]


def _array(values: Sequence[Any], sql_type: SqlType) -> tuple[pa.Array, Bools]:
    """Return the column of decoded values, and which of them have a timestamp that cannot be read."""
    if sql_type.kind is Kind.TIMESTAMP:
        micros, null, unread = timestamps(values)
        return pa.array(micros, mask=null | unread).cast(arrow_type(sql_type)), unread
    if sql_type.element is None or not _has_timestamps(sql_type):
        return pa.array(values, arrow_type(sql_type)), np.zeros(len(values), np.bool_)
    lengths = np.array([0 if value is None else len(value) for value in values], np.int64)
    elements, unread = _array([each for value in values for each in value or ()], sql_type.element)
    row = np.repeat(np.arange(len(values)), lengths)
    null = pa.array([value is None for value in values], pa.bool_())
    offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
    column = pa.ListArray.from_arrays(offsets, elements, mask=null)
    return column, np.bincount(row[unread], minlength=len(values)) > 0


def _has_timestamps(sql_type: SqlType) -> bool:
    if sql_type.element is None:
        return sql_type.kind is Kind.TIMESTAMP
    return _has_timestamps(sql_type.element)


def _key_colons(block: bytes) -> NDArray[np.int64]:
    """Return the indexes of the colons that may follow a key: those behind a quote or white space."""
    octets = np.frombuffer(block, np.uint8)
    colons = np.flatnonzero(octets == _COLON)
    before = octets[colons - 1]
    keys: NDArray[np.int64] = colons[(before == _QUOTE) | (before <= _SPACE)]
    return keys


def _key_count(value: object) -> int:
    """Return how many keys there are in a value, at every depth."""
    if isinstance(value, dict):
        return len(value) + sum(map(_key_count, value.values()))
    return sum(map(_key_count, value)) if isinstance(value, list) else 0


def _utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
