"""Where the rows of a split come from, if its bytes are those of several files."""

from __future__ import annotations

from typing import Protocol, TypeVar

from fsql.runtime.ports import DeadLetter, RowPlace

PlacedT = TypeVar("PlacedT", DeadLetter, RowPlace)


class Places(Protocol):
    """The files of which a stream consists."""

    def locate(self, rows: list[PlacedT], end: int) -> list[PlacedT]:
        """Return rows with file, and line and byte in it, in place of those of the stream.

        All rows before byte `end` of the stream have been read.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """

    def forget(self, end: int) -> None:
        """Forget the places before byte `end` of the stream: no row before it will be located."""
