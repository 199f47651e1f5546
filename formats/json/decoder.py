"""Decodes JSON lines into columns: fast for valid records, exact for invalid ones.

Records with the same keys in the same order are decoded in bulk (`bulk`).  Each of the others is decoded by
msgspec into a struct for the table's columns; it is strict about types, ranges and
syntax, and the values of records that it accepts are those defined by `strict` and `values`.  A
record is decoded by these two modules in four cases:

* msgspec refuses it, or it is too long or not UTF-8; msgspec also refuses an object or an array for a STRING,
  which the exact rules make the text of;
* a timestamp in it cannot be read;
* there is a DOUBLE column, and the record has a `-0`, whose sign msgspec drops;
* it may have a repeated key, which msgspec does not detect.  A key is followed by a colon, and that
  colon is preceded by a quote or white space.  If the number of such colons in a record does not exceed the
  number of columns, and fields of ROWs, that were found in it, then its keys are exactly those, each once.
  This costs one pass over the bytes.  It also bounds the nesting, because only an unknown field can nest
  deeper than its type.

Records with unknown fields fail this last test, so they are decoded again without types, and their
keys are counted.  If they still seem to have too many, there may be colons within texts: then the parser of
the standard library compares the keys of each object.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa

from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import FLOATING, Kind, row_of
from fsql.formats.json.bulk import BulkDecoder
from fsql.formats.json.documents import DocumentCutter
from fsql.formats.json.layouts import is_utf8
from fsql.formats.json.quick import read_object
from fsql.formats.json.rows import REFUSED, RowType
from fsql.formats.json.shapes import begins_document, records_path
from fsql.formats.json.strict import DEPTH_MAX
from fsql.formats.json.time_units import TimeUnits, time_units
from fsql.formats.json.values import column_values
from fsql.formats.lines import SingleLineDecoder
from fsql.formats.malformed import MalformedError, check_length, dead_letter
from fsql.runtime.few_rows import FEW_ROWS_IN_C

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.formats.json.shapes import MemberPath
    from fsql.formats.lines import DecodedRows, LineDecoder, Lines, RecordCutter
    from fsql.formats.settings import Settings
    from fsql.runtime.arrays import Bools, Ints, Octets
    from fsql.runtime.ports import DeadLetter


_COLON, _QUOTE, _SPACE, _BRACE, _BRACKET, _BACKSLASH = b':" {[\\'
_NEGATIVE_ZERO: Final = re.compile(rb"-0[\s,\]}]")
_UNITS: Final = TimeUnits()
_CONTAINERS: Final = (dict, list)
_DECODE_ANY: Final = msgspec.json.Decoder().decode


class _RepeatedKeyError(Exception):
    """An object has a duplicate key."""


def _check_distinct(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _RepeatedKeyError


_COMPARE_KEYS: Final = json.JSONDecoder(
    object_pairs_hook=_check_distinct, parse_int=str, parse_float=str
).decode
"""Reads a valid record, to find duplicate keys in its objects."""


@dataclass(slots=True)
class _Rows:
    """The rows of `lines` so far: decoded structs, and dead letters; `span` is the text of all lines.

    The lines are some of the lines of `source`, in which they have the indexes `source_lines`.
    """

    lines: Lines
    span: bytes
    source: Lines
    source_lines: Ints
    first_row: int
    decoded: list[msgspec.Struct] = field(default_factory=list)
    rejected: dict[int, MalformedError] = field(default_factory=dict)
    exact: dict[int, int] = field(default_factory=dict)
    """The number of unknown fields of the lines that were decoded by the exact rules.

    These have no repeated key; their rows do not say which fields are missing.
    """
    nulled: dict[int, int] = field(default_factory=dict)
    """The number of malformed values that became NULL, by line."""

    @staticmethod
    def of(source: Lines, chosen: Ints, first_row: int) -> _Rows:
        """Begin with the chosen lines, none of which is decoded yet."""
        lines = source if len(chosen) == len(source) else source.copy(chosen)
        return _Rows(lines, lines.span(), source, chosen, first_row)

    def row_lines(self) -> Ints:
        """Return the indexes of the lines of the decoded rows."""
        return np.delete(np.arange(len(self.lines)), sorted(self.rejected))

    def dead_letters(self) -> list[DeadLetter]:
        """Return the rejected lines, in order."""
        letters = []
        for line in sorted(self.rejected):
            at = int(self.source_lines[line])
            row = self.first_row + at
            letters.append(dead_letter(self.source, at, row, self.rejected[line]))
        return letters


def make_decoder(columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
    """Return a factory of decoders, one for each split.

    Raises:
        FsqlError: E534, if the maximum length of records exceeds the limit.
    """
    record_bytes_max = settings.record_bytes_max()
    nulled = settings.nulled_columns(columns)
    path, units = records_path(settings), time_units(settings)
    return lambda: JsonDecoder(columns, record_bytes_max, nulled, path=path, units=units)


class JsonDecoder(SingleLineDecoder):
    """Decodes lines into the columns of a table."""

    skips_empty_lines = True
    takes_documents = True

    def __init__(
        self,
        columns: Schema,
        record_bytes_max: int,
        nulled: Collection[str] = (),
        bulk_rows_min: int = FEW_ROWS_IN_C,
        path: MemberPath | None = None,
        units: TimeUnits = _UNITS,
    ) -> None:
        """Take the columns; a malformed value of one of `nulled` is NULL; `units` are those of numbers.

        Fewer than `bulk_rows_min` records are decoded one by one.  If a `path` is given, sources have
        documents with records there; otherwise their first bytes show what they have.
        """
        self._path = path
        self._faults: dict[int, MalformedError] = {}
        self._columns = columns
        self._nulled = nulled
        self._units = units
        self._row_type = RowType(columns, units)
        self._bulk = BulkDecoder(columns, bulk_rows_min, units)
        self._reads_doubles = any(column.type.contains(*FLOATING) for column in columns)
        self._type = row_of((column.name, column.type) for column in columns)
        self.record_bytes_max = record_bytes_max
        self.unknown_fields = self.nulled_fields = 0

    def document_cutter(self, start: bytes, *, whole: bool) -> RecordCutter | None:
        """Return the cutter for a source with these first bytes, or all of them; None if it has lines."""
        if self._path is None and not begins_document(start, whole=whole):
            return None
        cutter = DocumentCutter(self._path or (), self.record_bytes_max)
        self._faults = cutter.faults
        return cutter

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows of lines, none of which is empty; the first has the number `first_row`."""
        if self._faults and lines.offset(0) in self._faults:
            fault = dead_letter(lines, 0, first_row, self._faults.pop(lines.offset(0)))
            return self._row_type.columns([])[0], np.empty(0, np.int64), [fault]
        parts = self._bulk.decode(lines, self.record_bytes_max)
        self.unknown_fields += sum(part.unknown_fields for part in parts)
        found = [(part.lines, part.arrays) for part in parts]
        rejected: list[DeadLetter] = []
        if not parts or sum(len(part.lines) for part in parts) < len(lines):
            left = np.ones(len(lines), np.bool_)
            for part in parts:
                left[part.lines] = False
            rows = _Rows.of(lines, np.flatnonzero(left), first_row)
            arrays, kept = self._decode_one_by_one(rows)
            found.append((rows.source_lines[kept], arrays))
            rejected = rows.dead_letters()
        kept, arrays = _merge(found)
        return arrays, first_row + kept, rejected

    def _decode_one_by_one(self, rows: _Rows) -> tuple[list[pa.Array], Ints]:
        """Return the columns of rows, and the lines of the rows."""
        self._decode_rows(rows)
        kept = rows.row_lines()
        arrays, lacking, inner, unread = self._row_type.columns(rows.decoded)
        good = self._keys_are_distinct(rows, kept, len(self._columns) - lacking + inner)
        exact = 0
        for index in np.flatnonzero(unread & good).tolist():
            row = self._strict_row(rows, kept[index])
            good[index] = row is not None
            if row is not None:
                rows.decoded[index] = row
                exact += 1
        if not good.all():
            kept = kept[good]
            arrays = [array.filter(pa.array(good)) for array in arrays]
        if exact:
            arrays = self._exact_columns([rows.decoded[index] for index in np.flatnonzero(good)])
        if rows.nulled:
            self.nulled_fields += sum(rows.nulled.get(line, 0) for line in kept.tolist())
        return arrays, kept

    def _exact_columns(self, decoded: Sequence[msgspec.Struct]) -> list[pa.Array]:
        """Return the columns of rows that the exact rules have accepted, so that all values can be read."""
        arrays, _, _, unread = self._row_type.columns(decoded)
        assert not unread.any(), "the exact rules read what the columns do not"
        return arrays

    def _decode_rows(self, rows: _Rows) -> None:
        """Decode all lines that can be decoded, and reject the others."""
        lines = rows.lines
        records = lines.contents(rows.span)
        lengths = lines.ends - lines.starts
        long = (lengths > self.record_bytes_max).any()
        if not long and is_utf8(rows.span) and not self._has_negative_zero(rows.span):
            try:
                rows.decoded = list(map(self._row_type.decode, records))
            except REFUSED:
                pass
            else:
                return
        decoded = (self._row(rows, line, record) for line, record in enumerate(records))
        rows.decoded = [row for row in decoded if row is not None]

    def _has_negative_zero(self, text: bytes) -> bool:
        """Return whether there may be a `-0`, whose sign a DOUBLE column has to keep."""
        return self._reads_doubles and _NEGATIVE_ZERO.search(text) is not None

    def _row(self, rows: _Rows, line: int, record: bytes) -> msgspec.Struct | None:
        """Return the row of a line, None if it is rejected."""
        fits = len(record) <= self.record_bytes_max
        if fits and is_utf8(record) and not self._has_negative_zero(record):
            try:
                return self._row_type.decode(record)
            except REFUSED:
                pass
        return self._strict_row(rows, line)

    def _strict_row(self, rows: _Rows, line: int) -> msgspec.Struct | None:
        """Return the row of a line by the exact rules, None if it is rejected."""
        record = rows.lines.content(line)
        try:
            check_length(len(record), self.record_bytes_max)
            value = read_object(record)
            values, nulled = column_values(self._columns, value, self._nulled, self._units)
        except MalformedError as error:
            rows.rejected[int(line)] = error
            return None
        rows.nulled[line] = nulled
        rows.exact[line] = _unknown_count(value, self._type)
        return self._row_type.row(values)

    def _keys_are_distinct(self, rows: _Rows, kept: Ints, found: Ints) -> Bools:
        """Return which rows have no duplicate keys; reject the others, and count unknown fields.

        `kept` are the lines of the rows, `found` is the number of columns, and fields of columns, that each
        has.
        """
        good = np.ones(len(kept), np.bool_)
        block = np.frombuffer(rows.span, np.uint8)
        colons = _key_colons(block, rows.span)
        exact = np.isin(kept, list(rows.exact))
        whole = len(kept) == len(rows.lines) and not rows.exact
        if whole and np.count_nonzero(colons) == found.sum():
            return good  # no row has fewer keys than columns, so none has more either
        self.unknown_fields += sum(rows.exact[line] for line in kept[exact].tolist())
        keys_max = rows.lines.count(np.flatnonzero(colons) + 1)[kept]
        doubtful = np.flatnonzero((keys_max != found) & ~exact)
        braces = rows.lines.count(np.flatnonzero(block == _BRACE))[kept[doubtful]]
        brackets = rows.lines.count(np.flatnonzero(block == _BRACKET))[kept[doubtful]]
        shallow = braces + brackets <= DEPTH_MAX
        for index in doubtful[~shallow].tolist():
            good[index] = self._strict_key_count(rows, kept[index])
        doubtful, flat = doubtful[shallow], braces[shallow] == 1
        for index, most, one_object in zip(
            doubtful.tolist(), keys_max[doubtful].tolist(), flat.tolist(), strict=True
        ):
            unknown = self._unknown_fields(rows.lines.content(kept[index]), most, flat=one_object)
            if unknown is None:
                good[index] = self._strict_key_count(rows, kept[index])
            else:
                self.unknown_fields += unknown
        return good

    def _unknown_fields(self, record: bytes, keys_max: int, *, flat: bool) -> int | None:
        """Return how many fields of a valid record are not columns; None if the exact rules must decide.

        The record seems to have `keys_max` keys; if it is `flat`, none of its values is an object.
        """
        try:
            value = _DECODE_ANY(record)
        except REFUSED:  # a number out of range in an unknown field
            return None
        keys = len(value) if flat else _key_count(value)
        return (
            _unknown_count(value, self._type) if keys == keys_max or keys_differ(record) else None
        )

    def _strict_key_count(self, rows: _Rows, line: int) -> bool:
        """Check a row by the exact rules; return whether it is valid."""
        if self._strict_row(rows, line) is None:
            return False
        self.unknown_fields += rows.exact[line]
        return True


def _merge(parts: Sequence[tuple[Ints, list[pa.Array]]]) -> tuple[Ints, list[pa.Array]]:
    """Return the rows of all parts in the order of their lines: the lines, and the columns."""
    if len(parts) == 1:
        return parts[0]
    lines = np.concatenate([lines for lines, _ in parts])
    order = np.argsort(lines, kind="stable")
    indexes = pa.array(order)
    columns = zip(*(arrays for _, arrays in parts), strict=True)
    return lines[order], [pa.concat_arrays(column).take(indexes) for column in columns]


def _key_colons(block: Octets, text: bytes) -> Bools:
    r"""Return which octets, except the first, are colons that may follow a key: after a quote or space.

    The quote in `\":` is part of a text, as in JSON within JSON, if no backslash is itself escaped.
    """
    colons = block[1:] == _COLON
    before = block[:-1]
    colons &= (before == _QUOTE) | (before <= _SPACE)
    if b"\\" in text and b"\\\\" not in text:
        colons[1:] &= (block[:-2] != _BACKSLASH) | (before[1:] != _QUOTE)
    return colons


def keys_differ(record: bytes) -> bool:
    """Return whether all objects in a valid record have distinct keys."""
    try:
        _COMPARE_KEYS(record.decode())
    except _RepeatedKeyError:
        return False
    return True


def _key_count(value: dict[str, object] | list[object]) -> int:
    """Return the number of keys in a value, at all depths."""
    if isinstance(value, dict):
        count, inner = len(value), iter(value.values())
    else:
        count, inner = 0, iter(value)
    for each in inner:
        if isinstance(each, _CONTAINERS):
            count += _key_count(each)
    return count


def _unknown_count(value: object, sql_type: SqlType) -> int:
    """Return the number of fields of a valid value that its type does not have, at all depths of the type."""
    if isinstance(value, dict) and sql_type.kind is Kind.MAP:
        return sum(_unknown_count(each, sql_type.value) for each in value.values())
    if isinstance(value, dict) and sql_type.kind is Kind.ROW:
        known = dict(sql_type.fields)
        inside = (_unknown_count(value[name], known[name]) for name in value.keys() & known)
        return len(value.keys() - known.keys()) + sum(inside)
    if isinstance(value, list) and sql_type.element is not None and sql_type.contains(Kind.ROW):
        element = sql_type.element
        return sum(_unknown_count(each, element) for each in value)
    return 0
