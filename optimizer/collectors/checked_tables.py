"""Tables in files of two lines: a header with the CRC-32 of the second line, and the tables."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

_Tables = TypeVar("_Tables")
_Header = TypeVar("_Header", bound=msgspec.Struct)


def encode(tables: object, header: Callable[[int], msgspec.Struct]) -> bytes:
    """Return tables as the content of a file; `header` returns the header for a CRC."""
    content = msgspec.json.encode(tables)
    return b"%b\n%b\n" % (msgspec.json.encode(header(zlib.crc32(content))), content)


def decode_header(content: bytes, kind: type[_Header]) -> _Header:
    """Return the header of a file.

    Raises:
        ValueError: if it is damaged.
    """
    return msgspec.json.decode(content.partition(b"\n")[0], type=kind)


def decode_tables(content: bytes, crc: int, kind: type[_Tables]) -> _Tables:
    """Return the tables of a file, whose header has this CRC.

    Raises:
        ValueError: if they are damaged.
    """
    tables = content.partition(b"\n")[2].removesuffix(b"\n")
    if zlib.crc32(tables) != crc:
        raise ValueError("it is damaged")
    return msgspec.json.decode(tables, type=kind)


def check_version(version: int, known: int) -> None:
    """Check the version of a file.

    Raises:
        ValueError: if it is not the known one.
    """
    if version != known:
        raise ValueError(f"its version is {version}, and this is {known}")
