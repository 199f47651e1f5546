"""Metadata of messages, as fields of their records.

The front log keeps lines, so what is known of a message has to be in its line.  Each metadata column is a
field at the beginning of the record, with a name that records do not have.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

import msgspec

from fsql.compiler.sqltypes import STRING
from fsql.connectors.file.metadata import metadata_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from confluent_kafka import Message

    from fsql.compiler.logical import Table

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_TIMESTAMP: Final = "NoTimestampType"
_TIMESTAMP_TYPES: Final = (_NO_TIMESTAMP, "CreateTime", "LogAppendTime")
_NULL: Final = b"null"


def with_fields(table: Table) -> Table:
    """Return the table with the names that metadata columns have in records."""
    keys = metadata_of(table)
    if not keys:
        return table
    width = len(table.columns) - len(keys)
    renamed = [
        replace(column, name=name)
        for column, name in zip(table.columns[width:], _fields(keys), strict=True)
    ]
    return replace(table, columns=(*table.columns[:width], *renamed))


def _fields(keys: Sequence[str]) -> list[str]:
    """Return the names in records of metadata columns, of which several may have one key."""
    return [f"kafka:{number}:{key}" for number, key in enumerate(keys)]


class MessageMetadata:
    """Adds the metadata columns of a table to the lines of messages."""

    def __init__(self, table: Table) -> None:
        keys = metadata_of(table)
        columns = table.columns[len(table.columns) - len(keys) :]
        self._fields: list[tuple[bytes, Callable[[Message], bytes]]] = [
            (
                msgspec.json.encode(name) + b":",
                _bytes_of_key if key == "key" and column.type != STRING else _VALUES[key],
            )
            for key, name, column in zip(keys, _fields(keys), columns, strict=True)
        ]

    def add(self, line: bytes, message: Message) -> bytes:
        """Return the line of a message with its metadata; what is not an object is malformed, and kept."""
        record = line.lstrip()
        if not self._fields or not record.startswith(b"{"):
            return line
        fields = b",".join([name + value(message) for name, value in self._fields])
        rest = record[1:].lstrip()
        return b"{" + fields + (b"" if rest.startswith(b"}") else b",") + rest


def _timestamp(message: Message) -> bytes:
    """Return the time of a message, null if it has none or its year has not four digits."""
    kind, milliseconds = message.timestamp()
    try:
        at = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return _NULL
    if _TIMESTAMP_TYPES[kind] == _NO_TIMESTAMP:
        return _NULL
    return msgspec.json.encode(at.isoformat(timespec="milliseconds").replace("+00:00", "Z"))


def _headers(message: Message) -> bytes:
    """Return the headers of a message; of several with one name the last counts, as in Flink."""
    headers = cast("Sequence[tuple[str, bytes | None]]", message.headers() or ())
    return msgspec.json.encode(
        {name: None if value is None else b64encode(value).decode() for name, value in headers}
    )


def _text_of_key(message: Message) -> bytes:
    """Return the key of a message; one that is no UTF-8 stays so, for which the decoder rejects the row."""
    key = _key(message)
    if key is None:
        return _NULL
    try:
        return msgspec.json.encode(key.decode())
    except UnicodeDecodeError:
        return b'"' + key.replace(b"\n", b" ") + b'"'


def _bytes_of_key(message: Message) -> bytes:
    key = _key(message)
    return _NULL if key is None else msgspec.json.encode(b64encode(key).decode())


def _key(message: Message) -> bytes | None:
    return message.key()


_VALUES: Final[Mapping[str, Callable[[Message], bytes]]] = {
    "topic": lambda message: msgspec.json.encode(message.topic()),
    "partition": lambda message: msgspec.json.encode(message.partition()),
    "offset": lambda message: msgspec.json.encode(message.offset()),
    "timestamp": _timestamp,
    "timestamp-type": lambda message: msgspec.json.encode(_TIMESTAMP_TYPES[message.timestamp()[0]]),
    "headers": _headers,
    "key": _text_of_key,
}
"""The values of `MESSAGE_METADATA` as JSON."""
