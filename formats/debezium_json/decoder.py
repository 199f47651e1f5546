"""Decodes Debezium change events into rows: the kind of change, then the columns of the row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from fsql.formats.json.decoder import JsonDecoder
from fsql.formats.json.strict import parse_object
from fsql.formats.lines import Lines, SingleLineDecoder
from fsql.formats.malformed import (
    NULL_NOT_ALLOWED,
    UNKNOWN_OPERATION,
    WRONG_TYPE,
    MalformedError,
    check_length,
    dead_letter,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from fsql.compiler.schema import Schema
    from fsql.formats.lines import DecodedRows, LineDecoder
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import DeadLetter

_KINDS: Final = {"c": "+U", "r": "+U", "u": "+U", "d": "-D"}
_KEYS: Final = (b'"payload"', b'"op"', b'"before"', b'"after"')
_NULL: Final = b"null"


class _Event(msgspec.Struct):
    op: str | None = None
    before: msgspec.Raw = msgspec.Raw(_NULL)
    after: msgspec.Raw = msgspec.Raw(_NULL)
    payload: msgspec.Raw = msgspec.Raw(_NULL)


_DECODE: Final = msgspec.json.Decoder(_Event).decode


class _Change(NamedTuple):
    operation: str
    row: bytes


def make_decoder(columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
    """Return a factory of decoders, one for each split.

    Raises:
        FsqlError: E534, if the maximum length of records exceeds the limit.
    """
    record_bytes_max = settings.record_bytes_max()
    nulled = settings.nulled_columns(columns)
    return lambda: DebeziumDecoder(columns, record_bytes_max, nulled)


class DebeziumDecoder(SingleLineDecoder):
    """Decodes events; the rows in them are decoded together, as lines of JSON."""

    skips_empty_lines = True

    def __init__(self, columns: Schema, record_bytes_max: int, nulled: Collection[str]) -> None:
        self.record_bytes_max = record_bytes_max
        self._rows = JsonDecoder(columns[1:], record_bytes_max, nulled)

    @property
    def unknown_fields(self) -> int:
        """Return the number of fields in rows that are not columns."""
        return self._rows.unknown_fields

    @property
    def nulled_fields(self) -> int:
        """Return the number of malformed values in rows that became NULL."""
        return self._rows.nulled_fields

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows of lines, none of which is empty; the first has the number `first_row`."""
        changes: list[_Change] = []
        line_of: list[int] = []
        dead_letters: list[DeadLetter] = []
        for line in range(len(lines)):
            try:
                changes.append(self._change(lines.content(line)))
                line_of.append(line)
            except MalformedError as error:
                dead_letters.append(dead_letter(lines, line, first_row + line, error))
        columns, indexes, malformed = self._rows.decode(_lines_of([c.row for c in changes]), 0)
        for each in malformed:
            line = line_of[each.row]
            fault = MalformedError(each.code, each.reason, each.field)
            dead_letters.append(dead_letter(lines, line, first_row + line, fault))
        dead_letters.sort(key=lambda each: each.row)
        kept = indexes.tolist()
        operations = pa.array([changes[index].operation for index in kept], pa.string())
        rows = first_row + np.array([line_of[index] for index in kept], np.int64)
        return [operations, *columns], rows, dead_letters

    def _change(self, record: bytes) -> _Change:
        """Return the change of an event.

        Raises:
            MalformedError: if the record is not an event of a row.
        """
        check_length(len(record), self.record_bytes_max)
        if any(record.count(key) > 1 for key in _KEYS):
            parse_object(record)  # raises the error for a duplicate key
        event = _event(record)
        payload = bytes(event.payload)
        if payload != _NULL:
            event = _event(payload)
        operation = _KINDS.get(event.op or "")
        if operation is None:
            reason = "there is no kind of event: c, u, r or d"
            if event.op is not None:
                reason = f'the kind of event is "{event.op[:32]}", not c, u, r or d'
            raise MalformedError(UNKNOWN_OPERATION, reason, "op")
        field = "before" if operation == "-D" else "after"
        row = bytes(event.before if operation == "-D" else event.after)
        if row == _NULL:
            reason = f'an event of kind "{event.op}" needs the row in "{field}"'
            raise MalformedError(NULL_NOT_ALLOWED, reason, field)
        return _Change(operation, row)


def _event(record: bytes) -> _Event:
    try:
        return _DECODE(record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        parse_object(record)
        raise MalformedError(WRONG_TYPE, "the record is not a change event", "op") from error


def _lines_of(rows: Sequence[bytes]) -> Lines:
    """Return the rows as lines of a text."""
    lengths = np.array([len(row) for row in rows], np.int64)
    ends = np.cumsum(lengths + 1) - 1
    text = b"".join(row + b"\n" for row in rows)
    numbers = np.arange(1, len(rows) + 1)
    return Lines(text, ends - lengths, ends, numbers, 0, len(text), len(rows) + 1)
