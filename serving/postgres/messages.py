"""Messages of the protocol as bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROTOCOL_3: Final = 196608
CANCEL: Final = 80877102
SSL: Final = 80877103
GSS: Final = 80877104
STARTUP_BYTES_MAX: Final = 10_000
MESSAGE_BYTES_MAX: Final = 8 << 20


class ProtocolError(Exception):
    """A client has sent what is no message of the protocol, or too long."""


class ResultColumn(NamedTuple):
    """A column of a result: its name, the OID of its type, and the length of its values."""

    name: str
    oid: int
    length: int


def message(kind: bytes, content: bytes = b"") -> bytes:
    """Return a message."""
    return kind + struct.pack("!i", len(content) + 4) + content


def text(value: str) -> bytes:
    """Return a text that ends with a zero byte."""
    return value.replace("\0", "").encode() + b"\0"


def authentication(code: int, content: bytes = b"") -> bytes:
    """Return a request, or the end, of authentication."""
    return message(b"R", struct.pack("!i", code) + content)


def parameter_status(name: str, value: str) -> bytes:
    """Return the value of a setting of the server."""
    return message(b"S", text(name) + text(value))


def ready(status: bytes) -> bytes:
    """Return that the next query may come."""
    return message(b"Z", status)


def complete(tag: str) -> bytes:
    """Return the end of a statement."""
    return message(b"C", text(tag))


def error(
    state: str, what: str, detail: str = "", hint: str = "", severity: str = "ERROR"
) -> bytes:
    """Return an error."""
    fields = [(b"S", severity), (b"V", severity), (b"C", state), (b"M", what)]
    fields += [(b"D", detail)] if detail else []
    fields += [(b"H", hint)] if hint else []
    return message(b"E", b"".join(key + text(value) for key, value in fields) + b"\0")


def row_description(columns: Sequence[ResultColumn], formats: Sequence[int]) -> bytes:
    """Return the columns of a result, each in text (0) or binary (1)."""
    parts = [struct.pack("!h", len(columns))]
    for column, form in zip(columns, formats, strict=True):
        parts.append(text(column.name))
        parts.append(struct.pack("!ihihih", 0, 0, column.oid, column.length, -1, form))
    return message(b"T", b"".join(parts))


def data_row(values: Iterable[bytes | None], count: int) -> bytes:
    """Return one row."""
    parts = [struct.pack("!h", count)]
    for value in values:
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            parts += (struct.pack("!i", len(value)), value)
    return message(b"D", b"".join(parts))


def parameter_description(oids: Sequence[int]) -> bytes:
    """Return the types of the parameters of a statement."""
    return message(b"t", struct.pack(f"!h{len(oids)}I", len(oids), *oids))


class Reader:
    """Reads the content of a message."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def text(self) -> str:
        """Return the next text."""
        end = self._content.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError("a text has no end")
        found, self._at = self._content[self._at : end], end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise ProtocolError("a text is not UTF-8") from None

    def octets(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        found = self._content[self._at : self._at + count]
        if count < 0 or len(found) < count:
            raise ProtocolError("a message is too short")
        self._at += count
        return found

    def rest(self) -> bytes:
        """Return the remaining bytes."""
        return self.octets(len(self._content) - self._at)

    def int16(self) -> int:
        """Return the next integer of two bytes."""
        return int.from_bytes(self.octets(2), "big", signed=True)

    def int32(self) -> int:
        """Return the next integer of four bytes."""
        return int.from_bytes(self.octets(4), "big", signed=True)

    def count(self) -> int:
        """Return the next number of things."""
        found = self.int16()
        if found < 0:
            raise ProtocolError("a number is negative")
        return found
