"""A file of lines in a run that keeps no state."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from fsql.connectors import paths
from fsql.runtime.batch import START

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.runtime.batch import Root
    from fsql.runtime.sink import OpenRequest


class LineFile:
    """A store that passes each line to the operating system immediately, and keeps no position."""

    def __init__(self, path: Path, *, append: bool = False) -> None:
        self._path = path
        self._append = append
        self._descriptor: int | None = None
        self._size = 0
        """The size of a regular file; devices and FIFOs have none."""
        self._is_regular = False

    def open(self, opening: OpenRequest) -> Root:
        """Create the file, or empty it unless lines are to be appended.

        Raises:
            FsqlError: E532, if it cannot be opened.
        """
        del opening
        if not self._path.parent.is_dir():
            help_ = f'create the directory "{self._path.parent}"'
            raise paths.open_error("E532", self._path, "its directory does not exist", help_)
        mode = os.O_APPEND if self._append else os.O_TRUNC
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | mode
        try:
            self._descriptor = os.open(self._path, flags, 0o666)
        except OSError as error:
            raise paths.open_error("E532", self._path, error) from None
        status = os.fstat(self._descriptor)
        self._size, self._is_regular = status.st_size, stat.S_ISREG(status.st_mode)
        return START

    @property
    def empty(self) -> bool:
        """Return whether the file has no bytes."""
        return self._descriptor is not None and os.fstat(self._descriptor).st_size == 0

    def append(self, data: Sequence[memoryview]) -> None:
        """Write whole lines; if that fails, the file keeps none of them.

        Raises:
            FsqlError: E535, if the operating system refuses, for example because the disk is full.
        """
        assert self._descriptor is not None
        before = self._size
        for piece in data:
            rest = piece.cast("B")
            while rest:
                try:
                    written = os.write(self._descriptor, rest)
                except OSError as error:
                    notes = self._cut(before)
                    raise paths.io_error(
                        "writing", self._path, error, *notes, run_again=paths.OVERWRITE
                    ) from None
                rest = rest[written:]
                self._size += written

    def _cut(self, size: int) -> tuple[str, ...]:
        """Cut a regular file to a size that it had before the last rows; return notes about what it has."""
        assert self._descriptor is not None
        if not self._is_regular:
            return ()
        try:
            os.ftruncate(self._descriptor, size)
        except OSError:
            return ("the last row in it may be incomplete",)
        return (f"it has whole rows only, {size:,} bytes: a part of the next rows was cut off",)

    def commit(self, position: Root) -> None:
        """Do nothing: no position is kept."""

    def sync(self) -> None:
        """Do nothing: a run that keeps no state guarantees nothing after a loss of power."""

    def close(self) -> None:
        """Close the file.

        Raises:
            FsqlError: E535, if the operating system could not store written bytes.
        """
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            os.close(descriptor)
        except OSError as error:
            raise paths.io_error("writing", self._path, error) from None
