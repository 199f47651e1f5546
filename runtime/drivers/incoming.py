"""A connection on which another node sends: bytes as they come, made into the parts that were sent.

In front of the parts of a frame or datagram stands, little-endian, how many there are and how long each is:

| bytes | what                              |
|-------|-----------------------------------|
| 4     | `FSQL`                            |
| 4     | how many parts follow             |
| 4     | the length of each part, for each |

Who sends something else is cut off.  What the parts say is the wire format's affair.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from fsql.runtime.wire.parts import LARGE_BYTES

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence

    from typing_extensions import Buffer

_MAGIC: Final = b"FSQL"
_HEAD: Final = struct.Struct("<4sI")
_SIZE_BYTES: Final = 4
_PARTS_MAX: Final = 1 << 16
_READ_BYTES: Final = 1 << 18
_READS_MAX: Final = 64
"""How often one connection is read before it is another's turn."""


class CutOffError(Exception):
    """The connection has ended, or what comes on it is nothing of ours."""


def head_of(parts: Sequence[Buffer]) -> bytes:
    """Return what stands in front of the parts."""
    sizes = [memoryview(part).nbytes for part in parts]
    return _HEAD.pack(_MAGIC, len(sizes)) + struct.pack(f"<{len(sizes)}I", *sizes)


class PartsOfStream:
    """Makes parts of bytes, wherever these are cut."""

    def __init__(self, part_bytes_max: int) -> None:
        self._part_bytes_max = part_bytes_max
        self._data = b""
        self._at = 0
        self._sizes: list[int] | None = None
        self._parts: list[Buffer] = []
        self._large: memoryview | None = None
        self._filled = 0

    def room(self) -> memoryview | None:
        """Return where the next bytes go, if they belong to a large part; then `take` how many came."""
        return None if self._large is None else self._large[self._filled :]

    def take(self, count: int) -> None:
        """Learn that so many bytes were put where `room` said."""
        self._filled += count

    def feed(self, data: bytes) -> Iterator[list[Buffer]]:
        """Return one after the other what `data` completes.

        Raises:
            CutOffError: if it is not what nodes send.
        """
        self._data = self._data[self._at :] + data
        self._at = 0
        while self._head() and self._filled_up():
            parts, self._parts, self._sizes = self._parts, [], None
            yield parts

    def _head(self) -> bool:
        """Say whether it is known how long the parts are."""
        if self._sizes is not None:
            return True
        data, at = self._data, self._at
        if len(data) - at < _HEAD.size:
            if not _MAGIC.startswith(data[at : at + len(_MAGIC)]):
                raise CutOffError
            return False
        magic, count = _HEAD.unpack_from(data, at)
        if magic != _MAGIC or not 0 < count <= _PARTS_MAX:
            raise CutOffError
        begin = at + _HEAD.size
        end = begin + count * _SIZE_BYTES
        if len(data) < end:
            return False
        sizes = struct.unpack_from(f"<{count}I", data, begin)
        if max(sizes) > self._part_bytes_max:
            raise CutOffError
        self._at = end
        self._sizes = list(sizes)
        return True

    def _filled_up(self) -> bool:
        """Say whether all parts are there."""
        assert self._sizes is not None
        for size in self._sizes[len(self._parts) :]:
            part = self._part(size)
            if part is None:
                return False
            self._parts.append(part)
        return True

    def _part(self, size: int) -> Buffer | None:
        """Return the next part, None if it is not all there."""
        if self._large is None:
            begin, end = self._at, self._at + size
            if end <= len(self._data):
                self._at = end
                return self._data[begin:end]
            if size < LARGE_BYTES:
                return None
            self._large, self._filled = memoryview(bytearray(size)), 0
        large = self._large
        if self._at < len(self._data):
            # A large part begins with what came with its head, and goes on to the end of that.
            more = self._data[self._at : self._at + size - self._filled]
            large[self._filled : self._filled + len(more)] = more
            self._filled += len(more)
            self._at += len(more)
        if self._filled < size:
            return None
        self._large = None
        return large


class Incoming:
    """A connection that a node has made."""

    def __init__(self, connection: socket.socket, part_bytes_max: int) -> None:
        connection.settimeout(0)
        self.connection = connection
        self._stream = PartsOfStream(part_bytes_max)

    def receive(self) -> Iterator[list[Buffer]]:
        """Return one after the other the parts of what has come; never waits.

        Raises:
            CutOffError: behind that, if the connection has ended or is to be ended.
        """
        for _ in range(_READS_MAX):
            room = self._stream.room()
            asked = _READ_BYTES if room is None else len(room)
            try:
                if room is None:
                    data = self.connection.recv(_READ_BYTES)
                    count = len(data)
                else:
                    count, data = self.connection.recv_into(room), b""
                    self._stream.take(count)
            except BlockingIOError:
                return
            except OSError:
                raise CutOffError from None
            if count == 0:
                raise CutOffError
            yield from self._stream.feed(data)
            if count < asked:
                return  # it had no more
