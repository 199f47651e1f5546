"""Decodes Debezium change events into rows: the kind of change, then the columns of the row."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from fsql.formats.debezium_json.schemas import EventSchemas
from fsql.formats.debezium_json.unavailable import Placeholder, partial_row
from fsql.formats.json.decoder import JsonDecoder
from fsql.formats.json.strict import parse_object
from fsql.formats.json.time_units import TimeUnits, time_units
from fsql.formats.lines import Lines, SingleLineDecoder
from fsql.formats.malformed import (
    NULL_NOT_ALLOWED,
    TRUNCATED,
    UNAVAILABLE,
    UNKNOWN_OPERATION,
    WRONG_TYPE,
    MalformedError,
    check_length,
    dead_letter,
)
from fsql.runtime.dictionaries import decode_dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.schema import Schema
    from fsql.formats.lines import DecodedRows, LineDecoder
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import DeadLetter

_KINDS: Final = {"c": "+U", "r": "+U", "u": "+U", "d": "-D"}
_KEYS: Final = (b'"payload"', b'"op"', b'"before"', b'"after"')
_NULL: Final = b"null"
_NO_KEY: Final = b"{}"
_MAY_PASS: Final = re.compile(
    rb'(?:^|\n)[ \t]*null[ \t\r]*(?:\n|$)|"op"[ \t]*:[ \t]*"m"|"payload"[ \t]*:[ \t]*null'
)
"""Matches lines that are passed over, and perhaps others."""


class _Event(msgspec.Struct):
    op: str | None = None
    before: msgspec.Raw = msgspec.Raw(_NULL)
    after: msgspec.Raw = msgspec.Raw(_NULL)
    payload: msgspec.Raw = msgspec.Raw(_NULL)
    schema: msgspec.Raw = msgspec.Raw(_NULL)


_DECODE: Final = msgspec.json.Decoder(_Event).decode


class _Change(NamedTuple):
    operation: str
    row: bytes
    old: bytes
    marks: str | None


class _Images(NamedTuple):
    operation: str
    new: bytes | None
    old: bytes | None


class _Reading(NamedTuple):
    """How values are read: the placeholder for those that are left out, and the units of times."""

    placeholder: Placeholder
    units: TimeUnits


def make_decoder(columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
    """Return a factory of decoders, one for each split.

    Raises:
        FsqlError: E534, if the maximum length of records exceeds the limit.
    """
    record_bytes_max = settings.record_bytes_max()
    required = settings.required_in_images
    reading = _Reading(Placeholder(settings.text("unavailable_value")), time_units(settings))
    if required is None:
        row, old = columns[: -len(settings.old_key or ()) - 1], columns[:-1]
        old = tuple(
            replace(each, name=each.name.removeprefix("before.")) for each in old[len(row) :]
        )
        nulled = settings.nulled_columns(row)
        lacking = settings.required_unless_deleted
        return lambda: DebeziumDecoder(row, old, record_bytes_max, nulled, reading, lacking)
    image = tuple(
        replace(column, nullable=index not in required)
        for index, column in enumerate(columns[1 : 1 + len(columns) // 2])
    )
    nulled = settings.nulled_columns((columns[0], *image))
    return lambda: ImagesDecoder((columns[0], *image), record_bytes_max, nulled, reading)


class _EventDecoder(SingleLineDecoder):
    """Decodes events; the rows in them are decoded together, as lines of JSON."""

    skips_empty_lines = True

    def records(self, lines: Lines) -> Lines:
        """Return the lines that are events of rows, or malformed.

        A tombstone is NULL, and follows the event that deletes the row of its key; a message of the
        application (kind `m`) is in the log of the database, but not in a table.
        """
        lines = lines.without_empty()
        if _MAY_PASS.search(lines.span()) is None:
            return lines
        contents = map(lines.content, range(len(lines)))
        return lines.filter(np.fromiter((not _passes(each) for each in contents), np.bool_))

    def __init__(
        self,
        columns: Schema,
        record_bytes_max: int,
        nulled: Collection[str],
        reading: _Reading,
    ) -> None:
        self.record_bytes_max = record_bytes_max
        self._columns = columns[1:]
        self._placeholder = reading.placeholder
        self._rows = JsonDecoder(columns[1:], record_bytes_max, nulled, units=reading.units)
        self._schemas = EventSchemas(columns[1:], nulled)

    @property
    def unknown_fields(self) -> int:
        """Return the number of fields in rows that are not columns."""
        return self._rows.unknown_fields

    @property
    def nulled_fields(self) -> int:
        """Return the number of malformed values in rows that became NULL."""
        return self._rows.nulled_fields + self._schemas.nulled_fields

    def _read(self, row: bytes, image: str, event: _Event) -> bytes:
        """Return a row of an event as format `json` reads it, by the schema of the event.

        Raises:
            MalformedError: E512, E513, E520.
        """
        schema = bytes(event.schema)
        return row if schema == _NULL else self._schemas.read(row, image, schema)


class DebeziumDecoder(_EventDecoder):
    """Decodes events into the kind of change, the row that it leaves or removes, the old key, and marks.

    The old key is that of the row before an update, NULL if the event does not have it.  The marks say which
    values of the row are not available, NULL if all are.
    """

    def __init__(
        self,
        columns: Schema,
        key: Schema,
        record_bytes_max: int,
        nulled: Collection[str],
        reading: _Reading,
        required: Collection[int],
    ) -> None:
        """Take the columns and the key; those of the indexes `required` are NULL in deletions only."""
        super().__init__(columns, record_bytes_max, nulled, reading)
        self._columns = tuple(
            replace(column, nullable=column.nullable and index not in required)
            for index, column in enumerate(columns)
        )[1:]
        self._key = key
        self._needed = [column.name for column in columns[1:] if column.time_attribute]
        self._needed += [column.name for column in key]
        self._keys = JsonDecoder(key, record_bytes_max, (), units=reading.units)
        self._key_schemas = EventSchemas(key)

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
        keys, of_keys, malformed_keys = self._keys.decode(_lines_of([c.old for c in changes]), 0)
        reported = {each.row for each in malformed}
        for each in (*malformed, *(key for key in malformed_keys if key.row not in reported)):
            line = line_of[each.row]
            fault = MalformedError(each.code, each.reason, each.field)
            dead_letters.append(dead_letter(lines, line, first_row + line, fault))
        dead_letters.sort(key=lambda each: each.row)
        if malformed or malformed_keys:
            both = np.intersect1d(indexes, of_keys)
            columns = _rows_at(columns, np.searchsorted(indexes, both))
            keys = _rows_at(keys, np.searchsorted(of_keys, both))
            indexes = both
        kept = indexes.tolist()
        operations = pa.array([changes[index].operation for index in kept], pa.string())
        rows = first_row + np.array([line_of[index] for index in kept], np.int64)
        marks = pa.array([changes[index].marks for index in kept], pa.string())
        return [operations, *columns, *keys, marks], rows, dead_letters

    def _change(self, record: bytes) -> _Change:
        """Return the change of an event.

        Raises:
            MalformedError: if the record is not an event of a row.
        """
        event = _event_of(record, self.record_bytes_max)
        operation = _KINDS[event.op or ""]
        old = bytes(event.before) if event.op == "u" else _NULL
        if operation == "-D":
            row = _image(event, "before")
            known = partial_row(row, None, self._columns, self._needed, self._placeholder)
            row = self._read(row if known is None else known.row, "before", event)
            return _Change(operation, row, _NO_KEY, None)
        row = _image(event, "after")
        known = partial_row(
            row, bytes(event.before), self._columns, self._needed, self._placeholder
        )
        before = None if old == _NULL else partial_row(old, None, self._key, (), self._placeholder)
        if before is not None:
            old = before.row
        if known is not None:
            row = known.row
            if (
                known.marks
                and old != _NULL
                and _differ(old, row, [column.name for column in self._key])
            ):
                reason = "a value is left out of the event, which changes the key of its row"
                raise MalformedError(UNAVAILABLE, reason)
        marks = None if known is None else known.marks or None
        row = self._read(row, "after", event)
        schema = bytes(event.schema)
        if _NULL not in {schema, old}:
            old = self._key_schemas.read(old, "before", schema)
        return _Change(operation, row, _NO_KEY if old == _NULL else old, marks)


class ImagesDecoder(_EventDecoder):
    """Decodes events into the kind of change, the columns of the new row, and those of the old one.

    The kinds are `+I`, `+U` and `-D`; the first has no old row, and the last no new one.
    """

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows of lines, none of which is empty; the first has the number `first_row`."""
        events: list[_Images] = []
        line_of: list[int] = []
        faults: dict[int, MalformedError] = {}
        for line in range(len(lines)):
            try:
                events.append(self._images(lines.content(line)))
                line_of.append(line)
            except MalformedError as error:
                faults[line] = error
        columns: list[pa.Array] = []
        for images in ([each.new for each in events], [each.old for each in events]):
            given = [index for index, image in enumerate(images) if image is not None]
            made, rows, malformed = self._rows.decode(_lines_of(list(filter(None, images))), 0)
            for each in malformed:
                fault = MalformedError(each.code, each.reason, each.field)
                faults.setdefault(line_of[given[each.row]], fault)
            place = np.full(len(events), -1)
            place[np.array(given, np.int64)[rows]] = np.arange(len(rows))
            taken = pa.array(place, mask=place < 0)
            columns += [decode_dictionary(column).take(taken) for column in made]
        kept = [index for index, line in enumerate(line_of) if line not in faults]
        operations = pa.array([events[index].operation for index in kept], pa.string())
        numbers = first_row + np.array([line_of[index] for index in kept], np.int64)
        indexes = pa.array(kept, pa.int64())
        letters = [
            dead_letter(lines, line, first_row + line, fault)
            for line, fault in sorted(faults.items())
        ]
        return [operations, *(column.take(indexes) for column in columns)], numbers, letters

    def _images(self, record: bytes) -> _Images:
        """Return the rows of an event.

        Raises:
            MalformedError: if the record is not an event with the rows of its kind.
        """
        event = _event_of(record, self.record_bytes_max)
        if event.op in {"c", "r"}:
            new = self._whole(_image(event, "after"), None)
            return _Images("+I", self._read(new, "after", event), None)
        if event.op == "u":
            _image(event, "after")  # its lack is told first
        old = self._whole(_image(event, "before"), None)
        read = self._read(old, "before", event)
        if event.op == "d":
            return _Images("-D", None, read)
        new = self._whole(_image(event, "after"), old)
        return _Images("+U", self._read(new, "after", event), read)

    def _whole(self, row: bytes, other: bytes | None) -> bytes:
        """Return a row with the values that it lacks; an equal row could not be found without them.

        Raises:
            MalformedError: E512, E519, E527.
        """
        needed = [column.name for column in self._columns]
        known = partial_row(row, other, self._columns, needed, self._placeholder)
        return row if known is None else known.row


def _passes(record: bytes) -> bool:
    """Return whether a record is passed over: a tombstone, or a message of the application."""
    if _MAY_PASS.search(record) is None:
        return False
    if record.strip() == _NULL:
        return True
    try:
        event = _DECODE(record)
        if bytes(event.payload) != _NULL:
            event = _DECODE(event.payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    images = {bytes(event.before), bytes(event.after)}
    if images != {_NULL}:
        return False
    return event.op == "m" or (event.op is None and b'"payload"' in record)


def _image(event: _Event, field: str) -> bytes:
    row = bytes(event.before if field == "before" else event.after)
    if row == _NULL:
        reason = f'an event of kind "{event.op}" needs the row in "{field}"'
        raise MalformedError(NULL_NOT_ALLOWED, reason, field)
    return row


def _differ(old: bytes, row: bytes, key: Sequence[str]) -> bool:
    """Return whether the key of an old row is known, and not that of a new one."""
    before, after = (msgspec.json.decode(each) for each in (old, row))
    known = all(before.get(name) is not None for name in key)
    return known and any(before[name] != after.get(name) for name in key)


def _event_of(record: bytes, record_bytes_max: int) -> _Event:
    """Return the event of a record, which may be in a field `payload`; its kind is known.

    Raises:
        MalformedError: if it is not an event of a row.
    """
    check_length(len(record), record_bytes_max)
    event = _event(record)
    schema, rest = event.schema, record
    if bytes(schema) != _NULL:
        rest = record.replace(bytes(schema), _NULL, 1)  # which names the fields again
    if any(rest.count(key) > 1 for key in _KEYS):
        parse_object(record)  # raises the error for a duplicate key
    if bytes(event.payload) != _NULL:
        event = _event(bytes(event.payload))
        event.schema = schema
    if event.op in _KINDS:
        return event
    reason = "there is no kind of event: c, u, r or d"
    if event.op == "t":
        reason = (
            "the table was truncated (t): an event without a key cannot remove the rows of all keys"
        )
        raise MalformedError(TRUNCATED, reason, "op")
    if event.op is not None:
        reason = f'the kind of event is "{event.op[:32]}", not c, u, r or d'
    raise MalformedError(UNKNOWN_OPERATION, reason, "op")


def _event(record: bytes) -> _Event:
    try:
        return _DECODE(record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        parse_object(record)
        raise MalformedError(WRONG_TYPE, "the record is not a change event", "op") from error


def _rows_at(columns: Sequence[pa.Array], indexes: NDArray[np.int64]) -> list[pa.Array]:
    return [column.take(pa.array(indexes)) for column in columns]


def _lines_of(rows: Sequence[bytes]) -> Lines:
    """Return the rows as lines of a text."""
    lengths = np.array([len(row) for row in rows], np.int64)
    ends = np.cumsum(lengths + 1) - 1
    text = b"".join(row + b"\n" for row in rows)
    numbers = np.arange(1, len(rows) + 1)
    return Lines(text, ends - lengths, ends, numbers, 0, len(text), len(rows) + 1)
