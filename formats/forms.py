"""Bytes that are not UTF-8: what they are, and in which encoding they can be read."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from typing import Final

_COMPRESSED: Final = {
    b"\x1f\x8b": "compressed by gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
}
_ASCII: Final = rb"[\t\r\n\x20-\x7e]"
_UTF16: Final = {
    "utf-16": re.compile(BOM_UTF16_LE + b"|" + re.escape(BOM_UTF16_BE)),
    "utf-16le": re.compile(rb"%s\0[^\0]\0" % _ASCII),
    "utf-16be": re.compile(rb"\0%s\0[^\0]" % _ASCII),
}
"""How texts begin, by their encoding."""


def other_form(start: bytes) -> str | None:
    """Return what a file is that begins with these bytes; None if it may be lines of UTF-8.

    >>> other_form("a".encode("utf-16"))
    'UTF-16, not UTF-8'
    """
    if utf16_encoding(start) is not None:
        return "UTF-16, not UTF-8"
    return next((form for first, form in _COMPRESSED.items() if start.startswith(first)), None)


def utf16_encoding(start: bytes) -> str | None:
    """Return the encoding of a text in UTF-16 that begins with these bytes; None if it is another one."""
    return next((name for name, begin in _UTF16.items() if begin.match(start)), None)


def guessed_encoding(text: bytes, *, at_start: bool, whole: bool = True) -> str | None:
    """Return an encoding in which a text can be read; None if it is UTF-8.

    `at_start` says whether the text begins a file, `whole` whether no character is cut off
    at its end.  Any bytes are texts of Latin-1, almost any of cp1252.

    >>> guessed_encoding("né".encode("cp1252"), at_start=True)
    'cp1252'
    """
    utf16 = utf16_encoding(text) if at_start else None
    if utf16 is not None:
        return utf16
    try:
        getincrementaldecoder("utf-8")().decode(text.removeprefix(BOM_UTF8), whole)
    except UnicodeDecodeError:
        pass
    else:
        return None
    try:
        text.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def encoding_help(encoding: str) -> str:
    """Return what to add to a table of files that can be read in an encoding."""
    return f"add 'encoding' = '{encoding}', in which it can be read"
