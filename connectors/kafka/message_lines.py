"""Messages as lines: the records that the decoders of formats read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec

if TYPE_CHECKING:
    from fsql.formats.settings import Settings

_NO_RECORD: Final = b"null\n"
_EMPTY_RECORD: Final = b'""\n'


class LineOf(Protocol):
    """Returns the line of a message: a record and a line end, or nothing if it is passed over."""

    def __call__(self, key: bytes | None, value: bytes | None, /) -> bytes:
        """Return the line of a message with this key and value."""


def line_of(settings: Settings) -> LineOf:
    """Return the lines of the messages of a table."""
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
