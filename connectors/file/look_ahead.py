"""Files whose chunks come with the rows that follow them, for tables at rest with `max_ahead`.

Whether a row is far ahead of the rows around it depends on rows after it, which may be in the next chunks.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass
from fsql.connectors.file.wrapped import WrappedReader, WrappedSplit
from fsql.runtime.ports import FOLLOWING_ROWS, Chunk, FollowingRows

if TYPE_CHECKING:
    import pyarrow as pa

    from fsql.connectors.file.wrapped import SplitOfFile
    from fsql.runtime.ports import SourceOffset, SplitReader, Wait


@dataclass(frozen=True, slots=True)
class LookAheadSplit(WrappedSplit):
    """A file whose chunks come with the rows that follow them."""

    inner: SplitOfFile
    max_ahead_us: int

    def open(self, source_offset: SourceOffset | None = None) -> LookAheadReader:
        """Return a reader at the first row, or at `source_offset`.

        Raises:
            FsqlError: as `FileSplit.open`.
        """
        return LookAheadReader(self.inner.open(source_offset), self.max_ahead_us)


class LookAheadReader(WrappedReader):
    """Reads a file at rest, at least `FOLLOWING_ROWS` rows ahead of what it returns."""

    def __init__(self, inner: SplitReader, max_ahead_us: int) -> None:
        super().__init__(inner)
        self._max_ahead_us = max_ahead_us
        self._ahead: deque[tuple[SourceOffset, Chunk]] = deque()
        """Chunks that were read and not returned, with the offsets at which they begin."""

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return up to about `rows_max` rows, or None at the end."""
        while sum(len(chunk.rows) for _, chunk in [*self._ahead][1:]) < FOLLOWING_ROWS:
            before = self._inner.source_offset()
            chunk = self._inner.read(rows_max)
            if chunk is None:
                break
            assert isinstance(chunk, Chunk), "files at rest are read without waiting"
            self._ahead.append((before, chunk))
        if not self._ahead:
            return None
        _, chunk = self._ahead.popleft()
        following = FollowingRows(self._max_ahead_us, self._following())
        return replace(chunk, following=following)

    def _following(self) -> list[list[pa.Array]]:
        """Return the columns of the next rows, of one chunk after the other."""
        found, left = [], FOLLOWING_ROWS
        for _, chunk in self._ahead:
            if left and len(chunk.rows):
                found.append([column.slice(0, left) for column in chunk.columns])
                left -= min(left, len(chunk.rows))
        return found

    def source_offset(self) -> SourceOffset:
        """Return where the rows begin that `read` returns next."""
        return self._ahead[0][0] if self._ahead else self._inner.source_offset()
