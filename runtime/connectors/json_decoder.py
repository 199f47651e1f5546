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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa

from fsql.runtime.connectors.json_rows import REFUSED, RowType
from fsql.runtime.connectors.json_strict import DEPTH_MAX, parse_object
from fsql.runtime.connectors.json_values import column_values
from fsql.runtime.connectors.malformed import MalformedError, check_length, reject

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.compiler.schema import Schema
    from fsql.runtime.connectors.lines import DecodedRows, Lines
    from fsql.runtime.ports import Reject

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

_COLON, _QUOTE, _SPACE = ord(":"), ord('"'), ord(" ")
_DECODE_ANY: Final = msgspec.json.Decoder().decode


@dataclass(slots=True)
class _Rows:
    """The rows of `lines` so far: decoded structs, and rejects."""

    lines: Lines
    first_row: int
    decoded: list[msgspec.Struct] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)

    def kept(self) -> Ints:
        """Return the indexes of the lines that the decoded rows come from."""
        kept = np.arange(len(self.lines))
        return np.delete(kept, [each.row - self.first_row for each in self.rejects])


class JsonDecoder:
    """Decodes lines into the columns of a table; `unknown_fields` counts those that are ignored."""

    skips_empty_lines = True

    def __init__(self, columns: Schema, record_bytes_max: int) -> None:
        self._columns = columns
        self._row_type = RowType(columns)
        self.record_bytes_max = record_bytes_max
        self.unknown_fields = 0

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows of lines none of which is empty; the first has the number `first_row`."""
        rows = _Rows(lines, first_row)
        self._decode_rows(rows)
        kept = rows.kept()
        arrays, lacking, unread = self._row_type.columns(rows.decoded)
        good = self._keys_are_distinct(rows, kept, len(self._columns) - lacking)
        for index in np.flatnonzero(unread & good).tolist():
            good[index] = self._strict_row(rows, kept[index]) is not None
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
                rows.decoded = list(map(self._row_type.decode, records))
            except REFUSED:
                pass
            else:
                return
        decoded = (self._row(rows, line, record) for line, record in enumerate(records))
        rows.decoded = [row for row in decoded if row is not None]

    def _row(self, rows: _Rows, line: int, record: bytes) -> msgspec.Struct | None:
        """Return the row of a line, None if it is rejected."""
        if len(record) <= self.record_bytes_max and _utf8(record):
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
            return self._row_type.row(column_values(self._columns, parse_object(record)))
        except MalformedError as error:
            rows.rejects.append(reject(rows.lines, line, rows.first_row + line, error))
            return None

    def _keys_are_distinct(self, rows: _Rows, kept: Ints, found: Ints) -> Bools:
        """Return which rows have no key twice; reject the others, and count unknown fields.

        `kept` are the rows' lines, `found` is how many of the table's columns each row has.
        """
        good = np.ones(len(kept), np.bool_)
        colons = _key_colons(rows.lines.span())
        if len(kept) == len(rows.lines) and len(colons) == found.sum():
            return good  # no row has fewer keys than columns, so none has more either
        bounds = np.append(rows.lines.starts, rows.lines.ends[-1:]) - rows.lines.starts[:1]
        keys_max = np.diff(np.searchsorted(colons, bounds))[kept]
        for index in np.flatnonzero(keys_max != found).tolist():
            record = rows.lines.content(kept[index])
            fields = _field_count(record, int(keys_max[index]))
            if fields is None:
                good[index] = self._strict_row(rows, kept[index]) is not None
                fields = len(parse_object(record)) if good[index] else int(found[index])
            self.unknown_fields += fields - int(found[index])
        return good


def _field_count(record: bytes, keys_max: int) -> int | None:
    """Return how many fields the record has, None unless it is certain that no key comes twice."""
    if record.count(b"[") + record.count(b"{") > DEPTH_MAX:
        return None
    value = _DECODE_ANY(record)
    return len(value) if _key_count(value) == keys_max else None


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
