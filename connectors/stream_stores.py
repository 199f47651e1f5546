"""Stores whose position lives as long as their process: one that drops rows, and one for a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors import paths
from fsql.runtime.batch import START

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.connectors.context import OutputStream
    from fsql.runtime.batch import Root
    from fsql.runtime.sink import OpenRequest


class NullStore:
    """Drops all bytes, and keeps the position in memory."""

    def __init__(self) -> None:
        self._position = START

    def open(self, opening: OpenRequest) -> Root:
        """Return the position; rows that an earlier process was given count as written."""
        keeps = opening.option.keeps_position
        self._position = max(self._position, opening.begins) if keeps else opening.begins
        return self._position

    @property
    def empty(self) -> bool:
        """Return True: no earlier bytes are known."""
        return True

    def append(self, data: Sequence[memoryview]) -> None:
        """Drop the bytes."""

    def commit(self, position: Root) -> None:
        """Keep the position."""
        self._position = position

    def sync(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class StreamStore(NullStore):
    """A stream such as standard output, in the process that owns it.

    A bundle is written when it is complete.  The position is lost with the process, and rows written since
    the last snapshot are written again by the next process; one process writes no row twice.
    """

    def __init__(self, stream: OutputStream, name: str) -> None:
        super().__init__()
        self._stream = stream
        self._name = name
        self._added: list[memoryview] = []

    def open(self, opening: OpenRequest) -> Root:
        """Return the position that the process has written; drop the parts of an incomplete bundle."""
        self._added = []
        return super().open(opening)

    def append(self, data: Sequence[memoryview]) -> None:
        """Keep the bytes until their bundle is complete."""
        self._added += data

    def commit(self, position: Root) -> None:
        """Write the bundle and flush the stream.

        Raises:
            FsqlError: E535, for example if the stream has no reader any more.
        """
        added, self._added = self._added, []
        try:
            for piece in added:
                self._stream.write(piece)
            self._stream.flush()
        except OSError as error:
            notes = ("its last row may be incomplete",) if error.errno in paths.FULL_DISK else ()
            raise paths.io_error("writing", self._name, error, *notes) from None
        super().commit(position)
