"""The durable length of a front log, in a file that its writer writes and readers poll.

A row that has been released must not be lost: otherwise the next row would get its position and be dropped as
already delivered.  So readers read only up to this length.  The file itself is not synced: every length that
was ever written to it is correct, so an old one is at worst too small.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import xxhash

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = "flushed"
_RECORD_BYTES: Final = 32
_HASH_DIGITS: Final = 11


class FlushedLengthWriter:
    """Writes the length."""

    def __init__(self, directory: Path) -> None:
        """Open the file.

        Raises:
            OSError: if it cannot be opened.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(directory / _NAME, flags, 0o600)
        self.length = _decode(os.pread(self._descriptor, _RECORD_BYTES, 0)) or 0

    def write(self, length: int) -> None:
        """Allow readers to read up to `length`.

        Raises:
            OSError: if the disk fails.
        """
        os.pwrite(self._descriptor, _encode(length), 0)
        self.length = length

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class FlushedLengthReader:
    """Reads the length while it grows."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / _NAME
        self._descriptor: int | None = None
        self._length = 0

    def read(self) -> int:
        """Return the length: the previous one while another is being written, 0 if there is none.

        Raises:
            OSError: if the disk fails.
        """
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return 0
        length = _decode(os.pread(self._descriptor, _RECORD_BYTES, 0))
        if length is not None:
            self._length = length
        return self._length

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


def _encode(length: int) -> bytes:
    digits = b"%020d" % length
    return digits + _hash_of(digits) + b"\n"


def _decode(record: bytes) -> int | None:
    """Return the length in a record, None if the record is incomplete."""
    digits, record_hash = record[:20], record[20:-1]
    if len(record) < _RECORD_BYTES or record_hash != _hash_of(digits):
        return None
    return int(digits)


def _hash_of(digits: bytes) -> bytes:
    return xxhash.xxh3_64_hexdigest(digits)[:_HASH_DIGITS].encode()
