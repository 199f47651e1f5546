"""Read-ahead: how far a front may be ahead of the released rows, measured in time.

Contract.  The rows in flight of a front are those that it has read and that are not released yet.  The front
may read more while they are fewer than the rows released in the last `seconds`.  By Little's law, a row is
then released about `seconds` after it was read, whatever the speed of the job, and no queue holds more.  Two
rules keep the limit from being too low.  If a chunk that was alone in flight takes longer than `seconds`, one
and a half times its time is used instead; and `BYTES_MIN` may always be in flight, so that no part of a job
is idle.

Rows count `ROW_BYTES` each, in addition to the bytes that they were read from, because some have none.

A source that has few rows at a time makes small chunks, which cost more for each row.  If many are in flight,
the front reads less often, so that later ones are larger; otherwise a job that is behind would stay behind.

If a single chunk takes longer, time is not bounded.  Released bytes do not depend on the read-ahead.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.front import Front

BYTES_MIN: Final = 8 << 20
"""About two large chunks."""

ROW_BYTES: Final = 64

CHUNKS_MANY: Final = 16
"""With as many chunks in flight, the front pauses between them for a part of the time that they take."""

PAUSE_SECONDS_MIN: Final = 0.005
"""A pause that would be shorter is not made, so that rows that are released soon do not wait for it."""

PAUSE_SECONDS_MAX: Final = 0.25

ROWS_FEW: Final = 1024
"""A chunk with more rows costs little more for each row than a larger one."""

BYTES_FEW: Final = 64 << 10
"""A chunk that was read from more bytes has so much work that the front does not linger after it."""

_MORE_THAN_ALONE: Final = 1.5
"""With 1, a read-ahead that is too short to keep all stages busy would never grow."""


class _Chunk(NamedTuple):
    """A chunk that is not released; `alone` if no other chunk was in flight when it was read."""

    promised: Root
    size: int
    read_at: float
    alone: bool


class ReadAhead:
    """The read-ahead of one front."""

    def __init__(self, seconds: float, bytes_min: int = BYTES_MIN) -> None:
        self._seconds = seconds
        self._least = bytes_min
        self._read = 0
        self._chunks: deque[_Chunk] = deque()
        self._under_way = 0
        self._out: deque[tuple[float, int]] = deque()
        self._recent = 0
        self._alone_takes = 0.0

    @property
    def is_open(self) -> bool:
        """Return whether the front may read more."""
        return self._under_way < max(self._recent, self._least)

    def pause(self, rows: int, now: float, linger: float = 0.0) -> float:
        """Return how many seconds to wait before the next chunk, after one with `rows` rows.

        After a chunk with few rows that is at least the `linger` of the table, in seconds.
        """
        if rows > ROWS_FEW:
            return 0.0
        many = len(self._chunks) / CHUNKS_MANY
        if many < 1:
            return linger
        pause = many * (now - self._chunks[0].read_at) / CHUNKS_MANY
        return linger if pause < PAUSE_SECONDS_MIN else max(linger, min(pause, PAUSE_SECONDS_MAX))

    def begin(self, front: Front) -> None:
        """Start from the current counts of the front."""
        self._read = front.bytes_read + ROW_BYTES * front.rows_read

    def on_chunk(self, front: Front, now: float) -> None:
        """Record that the front has read a chunk; all of it is below the promise of the front."""
        before, self._read = self._read, front.bytes_read + ROW_BYTES * front.rows_read
        size = self._read - before
        self._chunks.append(_Chunk(front.promised, size, now, alone=not self._chunks))
        self._under_way += size

    def on_released(self, position: Root, now: float) -> None:
        """Record that everything below a position has been released."""
        came = 0
        while self._chunks and self._chunks[0].promised <= position:
            chunk = self._chunks.popleft()
            came += chunk.size
            took = now - chunk.read_at
            self._alone_takes = took if chunk.alone else min(took, self._alone_takes)
        if came:
            self._under_way -= came
            self._recent += came
            self._out.append((now, came))
        since = now - max(self._seconds, _MORE_THAN_ALONE * self._alone_takes)
        while self._out and self._out[0][0] <= since:
            self._recent -= self._out.popleft()[1]
