"""JSON lines into columns: fast for valid records, exact for invalid ones.

msgspec decodes each record into a struct for the table's columns; it is strict about types, ranges and
syntax, and the values of records that it accepts are those defined by `json_strict` and `json_values`.  A
record is decoded by these two modules in four cases:

* msgspec refuses it, or it is too long or not UTF-8;
* a timestamp in it cannot be read;
* there is a DOUBLE column, and the record has a `-0`, whose sign msgspec drops;
* it has a repeated key, which msgspec does not detect.  A key is followed by a colon, and that
  colon is preceded by a quote or white space.  If a record has no more such colons than columns, and fields
  of ROWs, that were found in it, then its keys are exactly those, each once.  This costs one pass over the
  bytes.  It also bounds the nesting, because only an unknown field can nest deeper than its type.

Records with unknown fields fail that last test, so they are decoded again without types, and their
keys counted.  If they still seem to have too many, there may be colons within texts: then the parser of the
standard library compares the keys of each object.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa

from fsql.compiler.sqltypes import FLOATING, Kind, row_of
from fsql.formats.json.rows import REFUSED, RowType
from fsql.formats.json.strict import DEPTH_MAX, parse_object
from fsql.formats.json.values import column_values
from fsql.formats.lines import SingleLineDecoder
from fsql.formats.malformed import MalformedError, check_length, dead_letter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.formats.lines import DecodedRows, LineDecoder, Lines
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import DeadLetter

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]
    Octets = NDArray[np.uint8]

_COLON, _QUOTE, _SPACE, _BRACE, _BRACKET, _BACKSLASH = b':" {[\\'
_NEGATIVE_ZERO: Final = re.compile(rb"-0[\s,\]}]")
_CONTAINERS: Final = (dict, list)
_DECODE_ANY: Final = msgspec.json.Decoder().decode


class _RepeatedKeyError(Exception):
    """An object has a key twice."""


def _distinct(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _RepeatedKeyError


_COMPARE_KEYS: Final = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=str, parse_float=str
).decode
"""Reads a valid record, to find keys that come twice in an object of it."""


@dataclass(slots=True)
class _Rows:
    """The rows of `lines` so far: decoded structs, and dead letters; `span` is the text of all lines."""

    lines: Lines
    span: bytes
    first_row: int
    decoded: list[msgspec.Struct] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    nulled: dict[int, int] = field(default_factory=dict)
    """How many malformed values of a line are NULL."""

    def kept(self) -> Ints:
        """Return the indexes of the lines that the decoded rows come from."""
        kept = np.arange(len(self.lines))
        return np.delete(kept, [each.row - self.first_row for each in self.dead_letters])


def make_decoder(columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
    """Return what makes the decoder of one split.

    Raises:
        FsqlError: E534, if records may not be as long as the settings say.
    """
    record_bytes_max = settings.record_bytes_max()
    nulled = settings.nulled_columns(columns)
    return lambda: JsonDecoder(columns, record_bytes_max, nulled)


class JsonDecoder(SingleLineDecoder):
    """Decodes lines into the columns of a table."""

    skips_empty_lines = True

    def __init__(
        self, columns: Schema, record_bytes_max: int, nulled: Collection[str] = ()
    ) -> None:
        """Take the columns; a malformed value of one of `nulled` is NULL."""
        self._columns = columns
        self._nulled = nulled
        self._row_type = RowType(columns)
        self._reads_doubles = any(column.type.contains(*FLOATING) for column in columns)
        self._type = row_of((column.name, column.type) for column in columns)
        self.record_bytes_max = record_bytes_max
        self.unknown_fields = self.nulled_fields = 0

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows of lines none of which is empty; the first has the number `first_row`."""
        rows = _Rows(lines, lines.span(), first_row)
        self._decode_rows(rows)
        kept = rows.kept()
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
        rows.dead_letters.sort(key=lambda each: each.row)
        if rows.nulled:
            self.nulled_fields += sum(rows.nulled.get(line, 0) for line in kept.tolist())
        return arrays, first_row + kept, rows.dead_letters

    def _exact_columns(self, decoded: Sequence[msgspec.Struct]) -> list[pa.Array]:
        """Return the columns of rows that are all well-formed: a malformed value hides those beside it."""
        arrays, _, _, unread = self._row_type.columns(decoded)
        assert not unread.any(), "the exact rules read what the columns do not"
        return arrays

    def _decode_rows(self, rows: _Rows) -> None:
        """Decode what can be decoded, and reject the rest."""
        lines = rows.lines
        records = lines.contents(rows.span)
        lengths = lines.ends - lines.starts
        long = (lengths > self.record_bytes_max).any()
        if not long and _utf8(rows.span) and not self._has_negative_zero(rows.span):
            try:
                rows.decoded = list(map(self._row_type.decode, records))
            except REFUSED:
                pass
            else:
                return
        decoded = (self._row(rows, line, record) for line, record in enumerate(records))
        rows.decoded = [row for row in decoded if row is not None]

    def _has_negative_zero(self, text: bytes) -> bool:
        """Return whether there may be a `-0` that a DOUBLE column has to keep the sign of."""
        return self._reads_doubles and _NEGATIVE_ZERO.search(text) is not None

    def _row(self, rows: _Rows, line: int, record: bytes) -> msgspec.Struct | None:
        """Return the row of a line, None if it is rejected."""
        fits = len(record) <= self.record_bytes_max
        if fits and _utf8(record) and not self._has_negative_zero(record):
            try:
                return self._row_type.decode(record)
            except REFUSED:
                pass
        return self._strict_row(rows, line)

    def _strict_row(self, rows: _Rows, line: int) -> msgspec.Struct | None:
        """Return the row that the exact rules give, None if it is rejected."""
        record = rows.lines.content(line)
        try:
            check_length(len(record), self.record_bytes_max)
            values, nulled = column_values(self._columns, parse_object(record), self._nulled)
            rows.nulled[line] = nulled
            return self._row_type.row(values)
        except MalformedError as error:
            rows.dead_letters.append(dead_letter(rows.lines, line, rows.first_row + line, error))
            return None

    def _keys_are_distinct(self, rows: _Rows, kept: Ints, found: Ints) -> Bools:
        """Return which rows have no key twice; reject the others, and count unknown fields.

        `kept` are the rows' lines, `found` is how many of the table's columns, and of their fields, each has.
        """
        good = np.ones(len(kept), np.bool_)
        block = np.frombuffer(rows.span, np.uint8)
        colons = _key_colons(block, rows.span)
        if len(kept) == len(rows.lines) and np.count_nonzero(colons) == found.sum():
            return good  # no row has fewer keys than columns, so none has more either
        keys_max = rows.lines.count(np.flatnonzero(colons) + 1)[kept]
        doubtful = np.flatnonzero(keys_max != found)
        braces = rows.lines.count(np.flatnonzero(block == _BRACE))[kept[doubtful]]
        brackets = rows.lines.count(np.flatnonzero(block == _BRACKET))[kept[doubtful]]
        shallow = braces + brackets <= DEPTH_MAX
        for index in doubtful[~shallow].tolist():
            good[index] = self._strict_key_count(rows, kept[index])
        doubtful, flat = doubtful[shallow], braces[shallow] == 1
        for index, most, one_object in zip(
            doubtful.tolist(), keys_max[doubtful].tolist(), flat.tolist(), strict=True
        ):
            record = rows.lines.content(kept[index])
            value = _DECODE_ANY(record)
            keys = len(value) if one_object else _key_count(value)
            if most == keys or _keys_differ(record):
                self.unknown_fields += _unknown_count(value, self._type)
            else:
                good[index] = self._strict_key_count(rows, kept[index])
        return good

    def _strict_key_count(self, rows: _Rows, line: int) -> bool:
        """Check a row by the exact rules; return whether it is valid."""
        if self._strict_row(rows, line) is None:
            return False
        self.unknown_fields += _unknown_count(parse_object(rows.lines.content(line)), self._type)
        return True


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


def _keys_differ(record: bytes) -> bool:
    """Return whether no object in a valid record has a key twice."""
    try:
        _COMPARE_KEYS(record.decode())
    except _RepeatedKeyError:
        return False
    return True


def _key_count(value: dict[str, object] | list[object]) -> int:
    """Return how many keys there are in a value, at every depth."""
    if isinstance(value, dict):
        count, inner = len(value), iter(value.values())
    else:
        count, inner = 0, iter(value)
    for each in inner:
        if isinstance(each, _CONTAINERS):
            count += _key_count(each)
    return count


def _unknown_count(value: object, sql_type: SqlType) -> int:
    """Return how many fields of a valid value its type does not have, at every depth of the type."""
    if isinstance(value, dict) and sql_type.kind is Kind.MAP:
        return sum(_unknown_count(each, sql_type.value) for each in value.values())
    if isinstance(value, dict):
        known = dict(sql_type.fields)
        inside = (_unknown_count(value[name], known[name]) for name in value.keys() & known)
        return len(value.keys() - known.keys()) + sum(inside)
    if isinstance(value, list) and sql_type.element is not None and sql_type.contains(Kind.ROW):
        element = sql_type.element
        return sum(_unknown_count(each, element) for each in value)
    return 0


def _utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
