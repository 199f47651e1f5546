"""A strict and slow JSON parser: it defines which records are well-formed.

The fast decoder accepts most records in bulk.  This module decides about records that it does not accept, or
that may be invalid: so malformed records and their messages do not depend on the version of a library or on
the division of the input into blocks.

Strict means RFC 8259, and in addition: no repeated key in an object at any depth, no lone surrogate in a
string, at most `DEPTH_MAX` nested brackets.  Of several errors the first in the text is reported; a
duplicate key only if there is no other error.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

from fsql.formats.malformed import (
    DUPLICATE_KEY,
    NOT_AN_OBJECT,
    NOT_JSON,
    NOT_UTF8,
    TOO_DEEP,
    MalformedError,
    decode_utf8,
)

DEPTH_MAX: Final = 64


class Number(NamedTuple):
    """The text of a number."""

    text: str


Json: TypeAlias = "bool | str | Number | list[Json] | dict[str, Json] | None"

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_ESCAPES: Final = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}


def parse_object(record: bytes) -> dict[str, Json]:
    """Return the object in the record.

    Raises:
        MalformedError: E511, E512, E515, E516 or E519.
    """
    scanner = _Scanner(decode_utf8(record))
    value = scanner.document()
    if not isinstance(value, dict):
        raise MalformedError(NOT_AN_OBJECT, f"the record is {describe(value)}, not an object")
    if scanner.duplicate is not None:
        reason = f'the key "{scanner.duplicate}" occurs twice'
        raise MalformedError(DUPLICATE_KEY, reason, scanner.duplicate)
    return value


def describe(value: Json) -> str:
    """Return the kind of a value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case Number():
            return "a number"
        case list():
            return "an array"
        case dict():
            return "an object"


class _Scanner:
    """One pass over a record's text; `duplicate` is the path of the first duplicate key."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0
        self._path: list[str] = []
        self._depth = 0
        self.duplicate: str | None = None

    def document(self) -> Json:
        """Return the value of the whole text."""
        value = self._value()
        if self._next() != "":
            raise self._error("there is text after the value")
        return value

    def _next(self) -> str:
        """Skip white space and return the next character, or "" at the end."""
        match = _SPACE.match(self._text, self._offset)
        assert match is not None
        self._offset = match.end()
        return self._text[self._offset : self._offset + 1]

    def _value(self) -> Json:
        character = self._next()
        if character == '"':
            return self._string()
        if character == "{":
            return self._object()
        if character == "[":
            return self._array()
        number = _NUMBER.match(self._text, self._offset)
        if number is not None:
            self._offset = number.end()
            return Number(number.group())
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._offset):
                self._offset += len(word)
                return value
        raise self._error("expected a value")

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            reason = f"brackets are nested more than {DEPTH_MAX} deep at byte {self._byte_offset()}"
            raise MalformedError(TOO_DEEP, reason)
        self._offset += 1

    def _leave(self) -> None:
        self._depth -= 1
        self._offset += 1

    def _array(self) -> list[Json]:
        self._enter()
        values: list[Json] = []
        if self._next() != "]":
            while True:
                self._path.append(f"[{len(values)}]")
                values.append(self._value())
                self._path.pop()
                if self._separator("]") == "]":
                    break
        self._leave()
        return values

    def _object(self) -> dict[str, Json]:
        self._enter()
        values: dict[str, Json] = {}
        if self._next() != "}":
            while True:
                if self._next() != '"':
                    raise self._error("expected a key in quotes")
                key = self._string()
                self._path.append(f".{key}" if self._path else key)
                if key in values and self.duplicate is None:
                    self.duplicate = "".join(self._path)
                if self._next() != ":":
                    raise self._error("expected a colon")
                self._offset += 1
                values[key] = self._value()
                self._path.pop()
                if self._separator("}") == "}":
                    break
        self._leave()
        return values

    def _separator(self, close: str) -> str:
        """Return the next comma or closing bracket; a comma is consumed, a bracket is not."""
        character = self._next()
        if character == ",":
            self._offset += 1
        elif character != close:
            raise self._error(f'expected a comma or "{close}"')
        return character

    def _string(self) -> str:
        parts = []
        self._offset += 1
        while True:
            plain = _PLAIN.match(self._text, self._offset)
            assert plain is not None
            parts.append(plain.group())
            self._offset = plain.end()
            character = self._text[self._offset : self._offset + 1]
            if character == '"':
                self._offset += 1
                return "".join(parts)
            if character != "\\":
                raise self._error("a control character in a string")
            parts.append(self._escape())

    def _escape(self) -> str:
        """Return the character of the next escape."""
        letter = self._text[self._offset + 1 : self._offset + 2]
        if letter == "u":
            return self._unicode_escape()
        if letter not in _ESCAPES:
            raise self._error("an unknown escape")
        self._offset += 2
        return _ESCAPES[letter]

    def _unicode_escape(self) -> str:
        r"""Return the character of `\uXXXX`, or of two of them that are a surrogate pair."""
        start = self._byte_offset()
        first = self._unit()
        if not 0xD800 <= first < 0xE000:
            return chr(first)
        if first < 0xDC00 and self._text.startswith("\\u", self._offset):
            second = self._unit()
            if 0xDC00 <= second < 0xE000:
                return chr(0x10000 + (first - 0xD800 << 10) + (second - 0xDC00))
        raise MalformedError(NOT_UTF8, f"a lone surrogate at byte {start}")

    def _unit(self) -> int:
        digits = _HEX.match(self._text, self._offset + 2)
        if digits is None:
            raise self._error("an unknown escape")
        self._offset = digits.end()
        return int(digits.group(), 16)

    def _byte_offset(self) -> int:
        """Return the current offset in bytes."""
        return len(self._text[: self._offset].encode())

    def _error(self, reason: str) -> MalformedError:
        if self._offset >= len(self._text):
            return MalformedError(NOT_JSON, "the record ends too early")
        return MalformedError(NOT_JSON, f"{reason} at byte {self._byte_offset()}")
