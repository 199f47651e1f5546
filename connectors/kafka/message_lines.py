"""Messages as lines: the records that the decoders of formats read.

Columns that are not in the value of a message are added to its record: those of its key and its metadata.
They have names in the record that no field of a value has, so a value may have fields with the names of the
columns.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol, cast

import msgspec

from fsql.compiler.connectors import METADATA
from fsql.compiler.sqltypes import STRING
from fsql.connectors.kafka.message_key import MalformedKeyError, MessageKey, message_key
from fsql.connectors.settings import settings_of
from fsql.formats.factories import make_decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from confluent_kafka import Message

    from fsql.compiler.logical import Table
    from fsql.compiler.schema import Schema
    from fsql.formats.lines import LineDecoder
    from fsql.formats.settings import Settings

_NO_RECORD: Final = b"null\n"
_EMPTY_RECORD: Final = b'""\n'
_MALFORMED_KEY: Final = b"malformed key: "
_SPACE: Final = b" \t\r"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NULL: Final = b"null"
_NO_TIMESTAMP: Final = 0
_TIMESTAMP_TYPES: Final = (b'"NoTimestampType"', b'"CreateTime"', b'"LogAppendTime"')


class LineOf(Protocol):
    """Returns the line of a message: a record and a line end, or nothing if it is passed over."""

    def __call__(self, key: bytes | None, value: bytes | None, /) -> bytes:
        """Return the line of a message with this key and value."""


class LinesOf(Protocol):
    """Returns the lines of messages."""

    def __call__(self, messages: Sequence[Message], /) -> bytes:
        """Return the lines of messages, in order."""


def lines_of(table: Table, settings: Settings) -> LinesOf:
    """Return the lines of the messages of a table."""
    key, metadata = message_key(table.columns, settings), _metadata(table)
    if key is None and not metadata:
        return _PlainLines(_line_of(settings))
    return _RecordLines(table, settings, key, metadata)


def record_decoder(table: Table, settings: Settings) -> Callable[[], LineDecoder]:
    """Return a factory of decoders of the lines of a table.

    Raises:
        FsqlError: E534, if the options of the format are not valid.
    """
    key, metadata = message_key(table.columns, settings), _metadata(table)
    if key is None and not metadata:
        return make_decoder(table.columns, settings)
    if settings.text("format") == "text":
        settings = settings_of((*table.options, ("format", "json")))
    return make_decoder(_record_columns(table, key, metadata), settings)


def _metadata(table: Table) -> list[str]:
    """Return the metadata keys of a table, which are those of its last columns."""
    keys = dict(table.options).get(METADATA)
    return [] if keys is None else keys.split(",")


def _record_columns(table: Table, key: MessageKey | None, metadata: Sequence[str]) -> Schema:
    """Return the columns of a table with the names that they have in the records."""
    count = len(table.columns) - len(metadata)
    apart = set() if key is None or key.in_value else {each.name for each in key.columns}
    physical = (
        replace(each, name=_key_field(each.name)) if each.name in apart else each
        for each in table.columns[:count]
    )
    added = zip(table.columns[count:], _metadata_fields(metadata), strict=True)
    return (*physical, *(replace(each, name=name) for each, name in added))


def _key_field(name: str) -> str:
    return f"{name} of the key"


def _metadata_fields(metadata: Sequence[str]) -> list[str]:
    """Return the names in records of metadata columns, of which several may have one key."""
    return [f"kafka:{number}:{key}" for number, key in enumerate(metadata)]


class _PlainLines:
    """The lines of messages whose values have all columns."""

    def __init__(self, line_of: LineOf) -> None:
        self._line_of = line_of

    def __call__(self, messages: Sequence[Message], /) -> bytes:
        return b"".join([self._line_of(each.key(), each.value()) for each in messages])


class _RecordLines:
    """The lines of messages that have columns apart from their values."""

    def __init__(
        self, table: Table, settings: Settings, key: MessageKey | None, metadata: Sequence[str]
    ) -> None:
        self._key = key
        columns = table.columns[len(table.columns) - len(metadata) :]
        self._metadata = [
            (
                _member(name),
                _bytes_of_key if each == "key" and column.type != STRING else _METADATA[each],
            )
            for name, each, column in zip(
                _metadata_fields(metadata), metadata, columns, strict=True
            )
        ]
        self._text = (
            _member(next(each.name for each in table.columns if self._is_value(each.name)))
            if settings.text("format") == "text"
            else None
        )
        upserts = settings.optional("changes") == "upsert"
        self._deletion = (
            b"{" + _member(settings.text("op_column")) + b'"-D"}\n'
            if upserts and key is not None
            else None
        )
        self._line_of = _line_of(settings)

    def __call__(self, messages: Sequence[Message], /) -> bytes:
        return b"".join([self._lines(each) for each in messages])

    def _is_value(self, name: str) -> bool:
        """Return whether a column is in the value of messages."""
        key = self._key
        return key is None or key.in_value or name not in {each.name for each in key.columns}

    def _lines(self, message: Message) -> bytes:
        key, value = message.key(), message.value()
        members = [name + value_of(message) for name, value_of in self._metadata]
        deletion = self._deletion is not None and value is None
        if self._key is not None:
            try:
                values = self._key.values(key)
            except MalformedKeyError:
                return _MALFORMED_KEY + (key or b"").replace(b"\n", b" ") + b"\n"
            if not self._key.in_value:
                members += [_member(_key_field(name)) + each for name, each in values]
            elif deletion:
                members += [_member(name) + each for name, each in values]
        if self._deletion is not None and value is None:
            return _with_members(members, self._deletion)
        if self._text is None:
            return _with_members(members, self._line_of(key, value))
        texts = (value or b"").split(b"\n")
        return b"".join(
            [_with_members(members, b"{" + self._text + _text(each) + b"}\n") for each in texts]
        )


def _member(name: str) -> bytes:
    """Return the beginning of a member of an object: its name and a colon."""
    return msgspec.json.encode(name) + b":"


def _with_members(members: Sequence[bytes], line: bytes) -> bytes:
    """Return the line of an object with further members; a line without one is malformed as it is.

    They come first, so that the line is valid if and only if it was before.
    """
    record = line.lstrip(_SPACE)
    if not members or not record.startswith(b"{"):
        return line
    rest = record[1:]
    comma = b"" if rest.lstrip(_SPACE).startswith(b"}") else b","
    return b"{" + b",".join(members) + comma + rest


def _text(value: bytes) -> bytes:
    """Return a text as JSON; one that is not UTF-8 stays malformed."""
    try:
        return msgspec.json.encode(value.decode())
    except UnicodeDecodeError:
        return b'"' + value.replace(b"\n", b" ") + b'"'


# Metadata as JSON.


def _topic(message: Message) -> bytes:
    return msgspec.json.encode(message.topic())


def _partition(message: Message) -> bytes:
    return b"%d" % cast("int", message.partition())


def _offset(message: Message) -> bytes:
    return b"%d" % cast("int", message.offset())


def _timestamp(message: Message) -> bytes:
    """Return the time of a message, null if it has none or its year has not four digits."""
    kind, milliseconds = message.timestamp()
    if kind == _NO_TIMESTAMP:
        return _NULL
    try:
        at = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return _NULL
    return msgspec.json.encode(at)


def _timestamp_type(message: Message) -> bytes:
    return _TIMESTAMP_TYPES[message.timestamp()[0]]


def _headers(message: Message) -> bytes:
    """Return the headers of a message; the last of several with the same name is kept, as in Flink."""
    headers = cast("Iterable[tuple[str, bytes | None]]", message.headers() or ())
    texts = {
        name: None if value is None else base64.b64encode(value).decode() for name, value in headers
    }
    return msgspec.json.encode(texts)


def _leader_epoch(message: Message) -> bytes:
    epoch = message.leader_epoch()
    return _NULL if epoch is None or epoch < 0 else b"%d" % epoch


def _text_of_key(message: Message) -> bytes:
    """Return the key of a message; one that is no UTF-8 stays so, for which the decoder rejects the row."""
    key = message.key()
    return _NULL if key is None else _text(key)


def _bytes_of_key(message: Message) -> bytes:
    key = message.key()
    return _NULL if key is None else b'"' + base64.b64encode(key) + b'"'


_METADATA: Final[dict[str, Callable[[Message], bytes]]] = {
    "topic": _topic,
    "partition": _partition,
    "offset": _offset,
    "timestamp": _timestamp,
    "timestamp-type": _timestamp_type,
    "headers": _headers,
    "leader-epoch": _leader_epoch,
    "key": _text_of_key,
}


# Values.


def _line_of(settings: Settings) -> LineOf:
    """Return the lines of the values of messages."""
    format_ = settings.text("format")
    if format_ == "text":
        return _text_line
    if format_ == "debezium-json":
        return _event_line
    assert format_ == "json", "the connector declares its formats"
    if settings.optional("changes") == "upsert":
        return _UpsertLine(settings.text("op_column"))
    return _json_line


def _text_line(key: bytes | None, value: bytes | None) -> bytes:
    del key
    return (value or b"") + b"\n"


def _json_line(key: bytes | None, value: bytes | None) -> bytes:
    """Return a JSON value as one line; a line end within it can only be white space."""
    del key
    if value is None:
        return _NO_RECORD
    return value.replace(b"\n", b" ") + b"\n" if value else _EMPTY_RECORD


def _event_line(key: bytes | None, value: bytes | None) -> bytes:
    """Return a change event; a message without a value follows the event that deletes the row."""
    return b"" if value is None else _json_line(key, value)


class _UpsertLine:
    """The lines of upserts; a message without a value is the deletion of the row of its key."""

    def __init__(self, op_column: str) -> None:
        self._deletion = b"{" + msgspec.json.encode(op_column) + b':"-D",'

    def __call__(self, key: bytes | None, value: bytes | None) -> bytes:
        if value is not None:
            return _json_line(key, value)
        record = b"" if key is None else key.replace(b"\n", b" ").strip()
        # An object without columns of the key, or no object, is malformed: the decoder says so.
        return self._deletion + record[1:] + b"\n" if record.startswith(b"{") else _NO_RECORD
