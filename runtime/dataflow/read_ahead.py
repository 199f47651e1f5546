"""The lead: how far a front may be ahead of what is out, measured in time.

Contract.  What is under way of a front is what it has read and what is not out yet.  The front may read more
while that is less than what came out in the last `seconds`: so what it reads is out about so much later (the
law of Little), however fast or slow the job is, and no queue in between holds more.  Two things keep that
from being too little.  Where a chunk that has nothing before it takes longer, the last one and a half times
as long count; and what is under way may always come to `LEAST_BYTES`, so that all stations of a job have
something to do.

Rows count for `ROW_BYTES` each beside the bytes that they were read from, since some have none.

Not promised: that a front that may read has rows, nor a bound where one chunk takes long.  Nothing here shows
in what is released.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.front import Front

LEAST_BYTES: Final = 8 << 20
"""About two large chunks."""

ROW_BYTES: Final = 64

_MORE_THAN_ALONE: Final = 1.5
"""With 1, a lead that is too short for all stations to be busy would stay as it is."""


class _Chunk(NamedTuple):
    """A chunk that is not out; `alone` is one that found nothing before it."""

    promised: Root
    size: int
    read_at: float
    alone: bool


class ReadAhead:
    """The lead of one front."""

    def __init__(self, seconds: float, least_bytes: int = LEAST_BYTES) -> None:
        self._seconds = seconds
        self._least = least_bytes
        self._read = 0
        self._chunks: deque[_Chunk] = deque()
        self._under_way = 0
        self._out: deque[tuple[float, int]] = deque()
        self._lately = 0
        self._alone_takes = 0.0

    @property
    def is_open(self) -> bool:
        """Say whether the front may read more."""
        return self._under_way < max(self._lately, self._least)

    def chunk_read(self, front: Front, now: float) -> None:
        """Learn that the front has read a chunk: all of it lies below the front's promise."""
        before, self._read = self._read, front.bytes_read + ROW_BYTES * front.rows_read
        size = self._read - before
        self._chunks.append(_Chunk(front.promised, size, now, alone=not self._chunks))
        self._under_way += size

    def out_below(self, position: Root, now: float) -> None:
        """Learn that everything below a position is out."""
        came = 0
        while self._chunks and self._chunks[0].promised <= position:
            chunk = self._chunks.popleft()
            came += chunk.size
            took = now - chunk.read_at
            self._alone_takes = took if chunk.alone else min(took, self._alone_takes)
        if came:
            self._under_way -= came
            self._lately += came
            self._out.append((now, came))
        since = now - max(self._seconds, _MORE_THAN_ALONE * self._alone_takes)
        while self._out and self._out[0][0] <= since:
            self._lately -= self._out.popleft()[1]
