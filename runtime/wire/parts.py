"""Buffers as parts: small ones one after the other in the first part, each large one as its own part.

Writer and reader follow the same rule, so that only sizes are sent.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from fsql.runtime.wire.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

ALIGNMENT: Final = 8
"""Each buffer begins at a multiple of this many bytes, as Arrow recommends."""
LARGE_BYTES: Final = 1 << 16
"""Buffers of at least this size become separate parts."""
PIECE_BYTES: Final = 1 << 25
"""Larger buffers are cut into parts of this size: transports limit the size of a part."""
_PADDING: Final = [bytes(count) for count in range(ALIGNMENT)]


def padding(size: int) -> bytes:
    """Return the padding after `size` bytes that aligns the next buffer."""
    return _PADDING[-size % ALIGNMENT]


class PartsWriter:
    """Collects buffers: small ones in the first part, each large one as a separate part."""

    __slots__ = ("large", "small")

    def __init__(self) -> None:
        self.small: list[Buffer] = []
        self.large: list[Buffer] = []

    def put(self, buffer: Buffer, size: int) -> None:
        """Add a buffer of `size` bytes, which must not be changed afterwards."""
        if size > PIECE_BYTES:
            whole = memoryview(buffer).cast("B")
            self.large += [whole[at : at + PIECE_BYTES] for at in range(0, size, PIECE_BYTES)]
        elif size >= LARGE_BYTES:
            self.large.append(buffer)
        else:
            self.small.append(buffer)
            if rest := size % ALIGNMENT:
                self.small.append(_PADDING[ALIGNMENT - rest])


class PartsReader:
    """Returns the buffers in the order in which they were written."""

    __slots__ = ("_large", "_offset", "_small")

    def __init__(self, small: Buffer, large: Sequence[Buffer]) -> None:
        self._small = _align(small)
        self._large = deque(large)
        self._offset = 0

    def take(self, size: int) -> pa.Buffer:
        """Return the next buffer, which has `size` bytes.

        Raises:
            MalformedError: if there is no further buffer of that size.
        """
        if size > PIECE_BYTES:
            # A generator, so that a wrong size fails at the first missing piece.
            begins = range(0, size, PIECE_BYTES)
            pieces = (self._part(min(PIECE_BYTES, size - begin)) for begin in begins)
            return pa.py_buffer(b"".join(pieces))
        if size >= LARGE_BYTES:
            return _align(self._part(size))
        offset = self._offset
        end = offset + size
        if size < 0 or end > self._small.size:
            raise MalformedError(f"a column of {size} bytes goes beyond the end")
        self._offset = end + -size % ALIGNMENT
        return self._small.slice(offset, size)

    def _part(self, size: int) -> Buffer:
        if not self._large:
            raise MalformedError("a part is missing")
        part = memoryview(self._large.popleft())
        if part.nbytes != size:
            raise MalformedError(f"a part has {part.nbytes} bytes in place of {size}")
        return part

    def finish(self) -> None:
        """Check that nothing is left.

        Raises:
            MalformedError: if something is left.
        """
        if self._large or self._offset != self._small.size:
            raise MalformedError("there is more than was announced")


def _align(data: Buffer) -> pa.Buffer:
    buffer = pa.py_buffer(data)
    return pa.py_buffer(bytes(data)) if buffer.address % ALIGNMENT else buffer
