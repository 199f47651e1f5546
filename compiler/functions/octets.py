"""BYTES: octets as text, and text as octets.

A value of BYTES is a Python text with a character of U+0000 to U+00FF for each octet.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from fsql.compiler.functions.failure import OutOfRangeFailure, UnreadableTextFailure
from fsql.compiler.sqltypes import BYTES, STRING

_CHARSETS: Final = {
    "UTF-8": "utf-8",
    "UTF8": "utf-8",
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
}
_ENCODINGS: Final = ("hex", "base64", "utf8", "ascii")
_HEX: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]*)|[xX]'([0-9a-fA-F]*)'")
_SHOWN_OCTETS: Final = 20
_PADDED_MAX: Final = 1_000_000


def to_bytes(octets: str) -> bytes:
    """Return the bytes of a value."""
    return octets.encode("latin-1")


def from_bytes(data: bytes) -> str:
    """Return the value with these bytes."""
    return data.decode("latin-1")


def hex_of(octets: str) -> str:
    """Return two hexadecimal digits for each octet, in capitals."""
    return to_bytes(octets).hex().upper()


def base64_of(octets: str) -> str:
    """Return the octets in Base64, as they are written in JSON."""
    return base64.b64encode(to_bytes(octets)).decode()


def parse_base64(text: str) -> str:
    """Return the octets that a text writes in Base64.

    Raises:
        UnreadableTextFailure: E503.
    """
    try:
        return from_bytes(binascii.a2b_base64(text, strict_mode=True))
    except ValueError:
        raise UnreadableTextFailure(text, BYTES) from None


def parse_hex(text: str) -> str:
    """Return the octets that a text writes in hexadecimal digits.

    Raises:
        UnreadableTextFailure: E503.
    """
    try:
        return from_bytes(binascii.unhexlify(text))
    except ValueError:
        raise UnreadableTextFailure(text, BYTES) from None


def octets_of_text(text: str) -> str:
    """Return the UTF-8 of a text."""
    return from_bytes(text.encode())


def text_of_octets(octets: str) -> str:
    """Return the text whose UTF-8 the octets are.

    Raises:
        UnreadableTextFailure: E503.
    """
    try:
        return to_bytes(octets).decode()
    except UnicodeDecodeError:
        more = "…" if len(octets) > _SHOWN_OCTETS else ""
        shown = f"X'{hex_of(octets[:_SHOWN_OCTETS])}{more}'"
        raise UnreadableTextFailure(shown, STRING) from None


def charset_error(charset: str) -> str | None:
    """Return what is wrong with the name of a character set, if anything is."""
    return None if charset.upper() in _CHARSETS else f"a character set is {', '.join(_CHARSETS)}"


def encode(text: str, charset: str) -> str:
    """Return a text in a character set, with `?` for what it does not have."""
    return from_bytes(text.encode(_CHARSETS[charset.upper()], "replace"))


def decode(octets: str, charset: str) -> str | None:
    """Return the text that the octets are in a character set, None if they are none."""
    try:
        return to_bytes(octets).decode(_CHARSETS[charset.upper()])
    except UnicodeDecodeError:
        return None


def encoding_error(encoding: str) -> str | None:
    """Return what is wrong with the name of an encoding of bytes as a text, if anything is."""
    known = ", ".join(_ENCODINGS)
    return None if encoding.lower() in _ENCODINGS else f"an encoding is {known}"


def octets_in_text(text: str, encoding: str) -> str | None:
    """Return the octets that a text writes in an encoding, None if it writes none."""
    match encoding.lower():
        case "hex":
            found = _HEX.fullmatch(text)
            digits = "" if found is None else found[1] or found[2] or ""
            return None if found is None or len(digits) % 2 else from_bytes(bytes.fromhex(digits))
        case "base64":
            try:
                return parse_base64(text)
            except UnreadableTextFailure:
                return None
        case charset:
            return encode(text, {"utf8": "UTF-8", "ascii": "US-ASCII"}[charset])


def pad(octets: str, length: int) -> str:
    """Return the first octets, followed by zeros if there are fewer than `length`.

    Raises:
        OutOfRangeFailure: E502, if they would be too many.
    """
    if length > _PADDED_MAX:
        raise OutOfRangeFailure(BYTES)
    return octets[: max(length, 0)].ljust(length, "\0")
