"""The structure of object container files: a header with the schema, and blocks of encoded rows.

Every length that a file states is checked against the length of the file before anything is read.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO, Final

from fsql.compiler.records import dataclass
from fsql.formats.avro.codecs import CODECS, NULL, decompress
from fsql.formats.avro.damage import DamagedError
from fsql.formats.avro.varints import encode_long, read_varint, zigzag

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC: Final = b"Obj\x01"
SYNC_BYTES: Final = 16
BLOCK_BYTES_MAX: Final = 64 * 1024 * 1024
HEADER_BYTES_MAX: Final = 4 * 1024 * 1024
_SCHEMA: Final = "avro.schema"
_CODEC: Final = "avro.codec"
_VARINT_BYTES: Final = 10


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file: its schema as JSON, its codec, and the marker after each block."""

    schema: bytes
    codec: str
    sync: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """A block: its number, its offset, the offset and length of its contents, and its number of rows."""

    number: int
    start: int
    contents: int
    length: int
    rows: int

    @property
    def end(self) -> int:
        """Return the offset of the next block."""
        return self.contents + self.length + SYNC_BYTES


class BlockError(Exception):
    """A block is damaged; the text names its number and offset."""

    def __init__(self, number: int, start: int, reason: str) -> None:
        super().__init__(f"block {number:,} at byte {start:,} {reason}")


class Container:
    """Reads the blocks of an open file in order; the contents of blocks may be skipped."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the header.

        Raises:
            DamagedError: if the file has no valid header.
        """
        self._file = file
        self.size = os.fstat(file.fileno()).st_size
        data = file.read(HEADER_BYTES_MAX)
        self.header, self._next = _read_header(data)
        self._number = 0

    def next_block(self) -> Block | None:
        """Return the next block, without its contents; None at the end of the file.

        Raises:
            BlockError: if it is damaged.
        """
        start = self._next
        if start == self.size:
            return None
        self._number += 1
        self._file.seek(start)
        head = self._file.read(2 * _VARINT_BYTES)
        try:
            rows, length, at = _read_block_head(head, self.size - start)
        except DamagedError as error:
            raise BlockError(self._number, start, str(error)) from None
        block = Block(self._number, start, start + at, length, rows)
        self._next = block.end
        return block

    def contents(self, block: Block) -> bytes:
        """Return the decompressed contents of a block.

        Raises:
            BlockError: if it is damaged.
        """
        self._file.seek(block.contents)
        data = self._file.read(block.length + SYNC_BYTES)
        if data[block.length :] != self.header.sync:
            reason = "does not end with the marker of the file"
            raise BlockError(block.number, block.start, reason)
        try:
            return decompress(self.header.codec, data[: block.length], BLOCK_BYTES_MAX)
        except DamagedError as error:
            raise BlockError(block.number, block.start, str(error)) from None


def header_bytes(schema: bytes, codec: str, sync: bytes) -> bytes:
    """Return the header of a file."""
    entries = {_SCHEMA: schema, _CODEC: codec.encode()}
    data = b"".join(
        _with_length(key.encode()) + _with_length(value) for key, value in entries.items()
    )
    return MAGIC + encode_long(len(entries)) + data + encode_long(0) + sync


def block_bytes(rows: int, contents: bytes, sync: bytes) -> bytes:
    """Return a block of `rows` rows, whose contents are already compressed."""
    return encode_long(rows) + _with_length(contents) + sync


def _with_length(data: bytes) -> bytes:
    return encode_long(len(data)) + data


def _read_header(data: bytes) -> tuple[Header, int]:
    if not data.startswith(MAGIC):
        raise DamagedError("it is not an Avro file: it does not begin with the bytes Obj and 1")
    try:
        entries, at = _read_entries(data, len(MAGIC))
        sync = _slice(data, at, SYNC_BYTES)
    except DamagedError as error:
        raise DamagedError(f"its header {error}") from None
    codec = entries.get(_CODEC, NULL.encode()).decode(errors="backslashreplace")
    if codec not in CODECS:
        known = ", ".join(CODECS)
        raise DamagedError(f"its codec is '{codec[:40]}', not one of {known}")
    if _SCHEMA not in entries:
        raise DamagedError("its header has no schema")
    return Header(entries[_SCHEMA], codec, sync), at + SYNC_BYTES


def _read_block_head(head: bytes, bytes_left: int) -> tuple[int, int, int]:
    """Return the numbers of rows and bytes of a block, and the offset of the bytes in it."""
    rows, at = _read_long(head, 0)
    length, at = _read_long(head, at)
    if rows < 0 or length < 0:
        raise DamagedError("states a negative length")
    if length > BLOCK_BYTES_MAX:
        raise DamagedError(f"states {length:,} bytes; the limit is {BLOCK_BYTES_MAX:,}")
    if at + length + SYNC_BYTES > bytes_left:
        raise DamagedError("is longer than the rest of the file")
    return rows, length, at


def _read_entries(data: bytes, at: int) -> tuple[Mapping[str, bytes], int]:
    entries: dict[str, bytes] = {}
    while True:
        count, at = _read_long(data, at)
        if count == 0:
            return entries, at
        if count < 0:
            count = -count
            _, at = _read_long(data, at)
        for _ in range(count):
            key, at = _read_bytes(data, at)
            value, at = _read_bytes(data, at)
            entries[key.decode(errors="backslashreplace")] = value


def _read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _read_long(data, at)
    return _slice(data, at, length), at + length


def _read_long(data: bytes, at: int) -> tuple[int, int]:
    value, at = read_varint(data, at)
    return zigzag(value), at


def _slice(data: bytes, at: int, length: int) -> bytes:
    if length < 0:
        raise DamagedError("states a negative length")
    if at + length > len(data):
        ends = f"ends early, or has more than {HEADER_BYTES_MAX:,} bytes"
        raise DamagedError(ends if len(data) == HEADER_BYTES_MAX else "ends early")
    return data[at : at + length]
