"""Columns in the key of messages: which they are, and their form."""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.connectors import EXCEPT_KEY, KEY_FIELDS, KEY_FORMAT, KEY_PREFIX, VALUE_FIELDS
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import Kind
from fsql.formats.json.encoder import JsonEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from fsql.compiler.schema import Column, Schema
    from fsql.formats.settings import Settings

_NUMBERS: Final = {Kind.INT: ">i", Kind.BIGINT: ">q", Kind.DOUBLE: ">d"}
"""The forms of raw numbers, which are those of Kafka's own serializers."""
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VALUE: Final = msgspec.json.Decoder(msgspec.Raw)
_BEFORE_VALUE: Final = b'{"k":'


class MalformedKeyError(Exception):
    """A key does not have the declared form."""


@dataclass(frozen=True, slots=True)
class MessageKey:
    """The columns of a table that are in the key of its messages, and the names that they have there.

    With `in_value` the value of a message has them, too.
    """

    form: str
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    in_value: bool

    def values(self, key: bytes | None) -> list[tuple[str, bytes]]:
        """Return the columns that a key has, with their values in JSON, without line ends.

        Raises:
            MalformedKeyError: if the key does not have the declared form.
        """
        if key is None:
            return []
        try:
            if self.form == "raw":
                return [(self.columns[0].name, _raw_value(key, self.columns[0].type.kind))]
            if self.form == "json-value":
                return [(self.columns[0].name, _one_line(_VALUE.decode(key)))]
            members = _OBJECT.decode(key)
        except (msgspec.DecodeError, struct.error, ValueError):
            raise MalformedKeyError from None
        return [
            (column.name, _one_line(members[name]))
            for column, name in zip(self.columns, self.names, strict=True)
            if name in members
        ]


def message_key(columns: Schema, settings: Settings) -> MessageKey | None:
    """Return the columns of a table that are in the key of messages; None if its options name none."""
    form, fields = settings.optional(KEY_FORMAT), settings.optional(KEY_FIELDS)
    if form is None or fields is None:
        return None
    by_name = {column.name: column for column in columns}
    names = fields.split(";")
    prefix = settings.optional(KEY_PREFIX) or ""
    return MessageKey(
        form,
        tuple(by_name[name] for name in names),
        tuple(name.removeprefix(prefix) for name in names),
        settings.text(VALUE_FIELDS) != EXCEPT_KEY,
    )


class KeyEncoder:
    """Makes the keys of messages."""

    def __init__(self, key: MessageKey) -> None:
        """Take the columns of the key."""
        self._form = key.form
        self._type = key.columns[0].type.kind
        names = ["k"] if key.form == "json-value" else list(key.names)
        self._objects = JsonEncoder(names, [each.type for each in key.columns])

    def __call__(self, columns: Sequence[pa.Array]) -> list[bytes | None]:
        """Return the keys of rows with these columns; a key of one column that is NULL is missing."""
        if self._form == "raw":
            return [_raw_bytes(value, self._type) for value in columns[0].to_pylist()]
        objects = b"".join(self._objects.encode(list(columns), None)).split(b"\n")[:-1]
        if self._form == "json":
            return list(objects)
        values = [each[len(_BEFORE_VALUE) : -1] for each in objects]
        return [None if each == b"null" else each for each in values]


def _raw_value(key: bytes, kind: Kind) -> bytes:
    """Return a raw key as JSON."""
    if kind is Kind.STRING:
        return msgspec.json.encode(key.decode())
    if kind is Kind.BYTES:
        return b'"' + base64.b64encode(key) + b'"'
    (number,) = struct.unpack(_NUMBERS[kind], key)
    if number != number or number in {float("inf"), float("-inf")}:  # noqa: PLR0124 - NaN
        raise MalformedKeyError
    return msgspec.json.encode(number)


def _raw_bytes(value: object, kind: Kind) -> bytes | None:
    """Return the raw key of a value."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    return struct.pack(_NUMBERS[kind], value)


def _one_line(value: msgspec.Raw) -> bytes:
    """Return a JSON value as one line; a line end within it can only be white space."""
    return bytes(value).replace(b"\n", b" ")
