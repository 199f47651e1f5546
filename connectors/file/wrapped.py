"""What adds something to the rows or chunks of a file: a split around that of the file, and its reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fsql.runtime.ports import LocatesRows

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.runtime.ports import RowPlace, SourceOffset, Split, SplitReader


class SplitOfFile(Protocol):
    """A split that is a file, or adds something to one."""

    @property
    def name(self) -> str:
        """Return the name of the file."""

    @property
    def path(self) -> Path:
        """Return the path of the file."""

    def open(self, source_offset: SourceOffset | None = None) -> SplitReader:
        """Return a reader at the first row, or at `source_offset`.

        Raises:
            FsqlError: as `FileSplit.open`.
        """


class WrappedSplit:
    """A file whose rows or chunks get something added; `inner` is without it."""

    __slots__ = ()
    inner: SplitOfFile

    @property
    def name(self) -> str:
        """Return the name of the file."""
        return self.inner.name

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.inner.path


def file_of(split: Split) -> Split:
    """Return the split of the file itself, without what is added to its rows or chunks."""
    while isinstance(split, WrappedSplit):
        split = split.inner
    return split


class WrappedReader:
    """Reads a file by another reader, where nothing else is said."""

    def __init__(self, inner: SplitReader) -> None:
        self._inner = inner

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
        """Return the offset of the reader."""
        return self._inner.source_offset()

    def close(self) -> None:
        """Close the file."""
        self._inner.close()
