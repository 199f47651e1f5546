"""The file operations of sinks, in one small layer that tests replace by one with failures.

All writes are at an offset that the caller gives, never at the end, which another process may have moved.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class FileLayer:
    """The files of the operating system."""

    def open(self, path: Path, *, private: bool = False) -> int:
        """Return a descriptor to read and write a file, which is created if it does not exist.

        A new file that is `private` is readable by its owner only.
        """
        mode = 0o600 if private else 0o666
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)

    def duplicate(self, descriptor: int) -> int:
        """Return another descriptor of the same file, which stays open when this one is closed."""
        return os.dup(descriptor)

    def size(self, descriptor: int) -> int:
        """Return the length of the file."""
        return os.fstat(descriptor).st_size

    def read(self, descriptor: int, count: int, start: int) -> bytes:
        """Return up to `count` bytes from `start` on, fewer only at the end of the file."""
        pieces = []
        while count > 0 and (piece := os.pread(descriptor, count, start)):
            pieces.append(piece)
            count -= len(piece)
            start += len(piece)
        return b"".join(pieces)

    def write(self, descriptor: int, data: memoryview, start: int) -> None:
        """Write all of `data` at `start`."""
        while data:
            written = os.pwrite(descriptor, data, start)
            data = data[written:]
            start += written

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Make all written bytes survive a loss of power."""
        os.fsync(descriptor)

    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory survive a loss of power."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def replace(self, old: Path, new: Path) -> None:
        """Rename a file atomically; a file of that name is replaced."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        path.unlink(missing_ok=True)

    def is_removed(self, descriptor: int) -> bool:
        """Return whether the file has been removed from its directory."""
        return os.fstat(descriptor).st_nlink == 0

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        os.close(descriptor)
