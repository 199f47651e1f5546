"""Sinks: files, standard output, and nowhere.

A sink writes whole lines in the order in which they are released, and hands them to the operating
system before `write` returns.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from fsql.connectors import paths

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import BinaryIO

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from fsql.runtime.ports import Release


class LineEncoder(Protocol):
    """Makes lines of rows."""

    def encode(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> Sequence[pa.Buffer]:
        """Return whole lines, in order, in one or more buffers."""


class LineFile:
    """A file of lines, which is empty when it is opened."""

    def __init__(self, path: Path) -> None:
        """Create the file, or empty it.

        Raises:
            FsqlError: E532, if that is not possible.
        """
        self._path = path
        if not path.parent.is_dir():
            help_ = f'create the directory "{path.parent}"'
            raise paths.cannot_open("E532", path, "its directory does not exist", help_)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            raise paths.cannot_open("E532", path, error) from None

    def append(self, pieces: Sequence[memoryview]) -> None:
        """Write whole lines.

        Raises:
            FsqlError: E535, if the operating system refuses them: the disk is full, say.
        """
        for piece in pieces:
            rest = piece
            while rest:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except OSError as error:
                    raise paths.failed("writing", self._path, error) from None

    def close(self) -> None:
        """Close the file.

        Raises:
            FsqlError: E535, if the operating system could not keep what was written.
        """
        try:
            os.close(self._descriptor)
        except OSError as error:
            raise paths.failed("writing", self._path, error) from None


class FileSink:
    """Writes rows to a file, which is empty when the sink is opened."""

    def __init__(self, path: Path, encoder: LineEncoder) -> None:
        """Create the file, or empty it.

        Raises:
            FsqlError: E532, if that is not possible.
        """
        self._encoder = encoder
        self._file = LineFile(path)

    def write(self, release: Release) -> None:
        """Write the rows.

        Raises:
            FsqlError: E535, if the operating system refuses them: the disk is full, say.
        """
        lines = self._encoder.encode(release.columns, release.operations)
        self._file.append([memoryview(line) for line in lines])

    def close(self) -> None:
        """Close the file.

        Raises:
            FsqlError: E535, if the operating system could not keep what was written.
        """
        self._file.close()


class StreamSink:
    """Writes lines to a stream that somebody else opened and will close."""

    def __init__(self, stream: BinaryIO, name: str, encoder: LineEncoder) -> None:
        self._stream = stream
        self._name = name
        self._encoder = encoder

    def write(self, release: Release) -> None:
        """Write the rows and flush the stream.

        Raises:
            FsqlError: E535, if nobody reads the stream any more, say.
        """
        try:
            for buffer in self._encoder.encode(release.columns, release.operations):
                self._stream.write(memoryview(buffer))
            self._stream.flush()
        except OSError as error:
            raise paths.failed("writing", self._name, error) from None

    def close(self) -> None:
        """Leave the stream to its owner; everything has been flushed."""


class BlackholeSink:
    """Drops the rows; `rows` counts them."""

    def __init__(self) -> None:
        self.rows = 0

    def write(self, release: Release) -> None:
        """Count the rows."""
        self.rows += len(release.time)

    def close(self) -> None:
        """Do nothing."""
