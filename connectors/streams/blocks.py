"""Blocks: the consecutive bytes of a file or a live stream."""

from __future__ import annotations

import os
import select
from typing import NamedTuple, Protocol

from fsql.connectors import paths
from fsql.connectors.streams.replay import content_before


class AtLeast(NamedTuple):
    """Later rows have at least this time, in microseconds since 1970; an earlier time is raised to it."""

    us: int


class AtMost(NamedTuple):
    """Later rows have at most this event time; rows with a later one are rejected."""

    us: int


class Arrived(NamedTuple):
    """Later rows have arrived at this time, which increases within a stream."""

    us: int


TimeBound = AtLeast | AtMost | Arrived


class Blocks(Protocol):
    """The bytes of a stream from an offset on, and between them bounds on the times of later rows."""

    def read(self) -> bytes | TimeBound | None:
        """Return the next bytes or bound, b"" at the end, None if there are none yet.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """

    def content_before(self, byte: int) -> str:
        """Return a hash of the bytes before an offset, "" if they cannot be read again.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """

    def bytes_passed(self, byte: int) -> int:
        """Return how many bytes of the file have been read when the offset in the stream is `byte`."""

    def bytes_lost(self, byte: int) -> int:
        """Return how many bytes after an offset have been received and cannot be read again.

        Nothing more is read after this call.
        """

    def close(self) -> None:
        """Release all resources."""


class FileBlocks:
    """The bytes of an open file from the position of its descriptor on; closes the descriptor."""

    def __init__(self, descriptor: int, name: str, block_bytes: int) -> None:
        self._descriptor = descriptor
        self._name = name
        self._block_bytes = block_bytes

    def read(self) -> bytes | None:
        """Return the next block, b"" at the end.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        try:
            return os.read(self._descriptor, self._block_bytes)
        except OSError as error:
            raise paths.io_error("reading", self._name, error) from None

    def content_before(self, byte: int) -> str:
        """Return the hash of the last bytes before an offset.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        try:
            return content_before(self._descriptor, byte)
        except OSError as error:
            raise paths.io_error("reading", self._name, error) from None

    def bytes_passed(self, byte: int) -> int:
        """Return `byte`: the file is read as it is."""
        return byte

    def bytes_lost(self, byte: int) -> int:
        """Return 0: a file can be read again."""
        del byte
        return 0

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)


class LiveBlocks(FileBlocks):
    """The bytes of a pipe or terminal, as they become available."""

    def __init__(self, descriptor: int, name: str, block_bytes: int) -> None:
        super().__init__(descriptor, name, block_bytes)
        self._readable = select.poll()
        self._readable.register(descriptor, select.POLLIN)
        self._received = 0

    def read(self) -> bytes | None:
        """Return available bytes, None if there are none.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        if not self._readable.poll(0):
            return None
        data = super().read()
        self._received += len(data or b"")
        return data

    def content_before(self, byte: int) -> str:
        """Return "": the bytes cannot be read again."""
        del byte
        return ""

    def bytes_lost(self, byte: int) -> int:
        """Return how many bytes after an offset have been received."""
        return self._received - byte
