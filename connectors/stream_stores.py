"""Stores whose position lives as long as their process: nowhere, and a stream that it owns."""

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
    """Keeps nothing: the blackhole.  It has whatever its process has been given."""

    def __init__(self) -> None:
        self._position = START

    def open(self, opening: OpenRequest) -> Root:
        """Return the position that was written; rows of an earlier process count as written."""
        keeps = opening.option.keeps_position
        self._position = max(self._position, opening.begins) if keeps else opening.begins
        return self._position

    @property
    def empty(self) -> bool:
        """Return that nothing is known to stand before."""
        return True

    def append(self, data: Sequence[memoryview]) -> None:
        """Drop the bytes."""

    def commit(self, position: Root) -> None:
        """Note the position."""
        self._position = position

    def sync(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class StreamStore(NullStore):
    """A stream such as standard output, in the process that owns it.

    A bundle is written when it is whole.  The position is lost with the process, and what was written since
    the last snapshot comes again from the next process: within one, nothing comes twice.
    """

    def __init__(self, stream: OutputStream, name: str) -> None:
        super().__init__()
        self._stream = stream
        self._name = name
        self._added: list[memoryview] = []

    def open(self, opening: OpenRequest) -> Root:
        """Return what the process has written; parts of a bundle that never became whole are forgotten."""
        self._added = []
        return super().open(opening)

    def append(self, data: Sequence[memoryview]) -> None:
        """Keep the bytes until their bundle is whole."""
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
            raise paths.failed("writing", self._name, error) from None
        super().commit(position)
