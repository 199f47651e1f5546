"""Files whose chunks come with the rows that follow them, for tables at rest with `max_ahead`.

Whether a row is far ahead of the rows around it depends on rows after it, which may be in the next chunks.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass
from fsql.connectors.file.metadata import MetadataSplit
from fsql.runtime.ports import FOLLOWING_ROWS, Chunk, FollowingRows, LocatesRows

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from fsql.connectors.file.source import FileSplit
    from fsql.formats.factories import FileSplit as WholeFile
    from fsql.runtime.ports import RowPlace, SourceOffset, Split, SplitReader, Wait


@dataclass(frozen=True, slots=True)
class LookAheadSplit:
    """A file whose chunks come with the rows that follow them."""

    inner: FileSplit | WholeFile | MetadataSplit
    max_ahead_us: int

    @property
    def name(self) -> str:
        """Return the name of the file."""
        return self.inner.name

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.inner.path

    def open(self, source_offset: SourceOffset | None = None) -> LookAheadReader:
        """Return a reader at the first row, or at `source_offset`.

        Raises:
            FsqlError: as `FileSplit.open`.
        """
        return LookAheadReader(self.inner.open(source_offset), self.max_ahead_us)


def file_of(split: Split) -> Split:
    """Return the split of the file itself, without what is added to its rows or chunks."""
    while isinstance(split, LookAheadSplit | MetadataSplit):
        split = split.inner
    return split


class LookAheadReader:
    """Reads a file at rest, at least `FOLLOWING_ROWS` rows ahead of what it returns."""

    def __init__(self, inner: SplitReader, max_ahead_us: int) -> None:
        self._inner = inner
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

    def place_of(self, row: int) -> RowPlace | None:
        """Return where a row begins; None if that is not known.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        return self._inner.place_of(row) if isinstance(self._inner, LocatesRows) else None

    def bytes_passed(self) -> int:
        """Return the position of the reader in its file, in bytes."""
        return self._inner.bytes_passed()

    def source_offset(self) -> SourceOffset:
        """Return where the rows begin that `read` returns next."""
        return self._ahead[0][0] if self._ahead else self._inner.source_offset()

    def close(self) -> None:
        """Close the file."""
        self._inner.close()
