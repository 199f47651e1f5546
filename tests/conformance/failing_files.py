"""Files that fail: a process killed in the middle of a write, a full disk, a loss of power."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from fsql.connectors.file.file_layer import FileLayer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random


class KilledError(BaseException):
    """The process is gone; nothing of it may catch this."""


class CountedFiles(FileLayer):
    """Counts what changes files, and lets something happen at one of these operations."""

    def __init__(self, fails_at: int, random: Random) -> None:
        self._descriptors: set[int] = set()
        self.fails_at = fails_at
        self.random = random
        self.operations = 0
        self.failed = False

    def fail(self) -> None:
        """End the process, and with it all that it has open."""
        for descriptor in sorted(self._descriptors):
            self.close(descriptor)
        raise KilledError

    def open(self, path: Path, *, private: bool = False) -> int:
        descriptor = super().open(path, private=private)
        self._descriptors.add(descriptor)
        return descriptor

    def duplicate(self, descriptor: int) -> int:
        duplicate = super().duplicate(descriptor)
        self._descriptors.add(duplicate)
        return duplicate

    def close(self, descriptor: int) -> None:
        # What runs while the process ends closes nothing a second time.
        if descriptor in self._descriptors:
            self._descriptors.remove(descriptor)
            super().close(descriptor)

    def _counted(self) -> bool:
        """Count an operation; say whether it is the one at which it happens."""
        self.operations += 1
        return self.operations == self.fails_at

    def write(self, descriptor: int, data: memoryview, start: int) -> None:
        if self._counted():
            self.failed = True
            super().write(descriptor, data[: self.random.randrange(len(data) + 1)], start)
            self.fail()
        super().write(descriptor, data, start)

    def sync(self, descriptor: int) -> None:
        """Count only: what was written survives the end of a process anyway."""
        del descriptor
        self._before_or_after(lambda: None)

    def sync_directory(self, path: Path) -> None:
        """Count only."""
        del path
        self._before_or_after(lambda: None)

    def truncate(self, descriptor: int, size: int) -> None:
        self._before_or_after(lambda: FileLayer.truncate(self, descriptor, size))

    def replace(self, old: Path, new: Path) -> None:
        self._before_or_after(lambda: FileLayer.replace(self, old, new))

    def remove(self, path: Path) -> None:
        self._before_or_after(lambda: FileLayer.remove(self, path))

    def _before_or_after(self, change: Callable[[], None]) -> None:
        if not self._counted():
            change()
            return
        self.failed = True
        if self.random.random() < 0.5:
            change()
        self.fail()


class FullDisk(CountedFiles):
    """No room for anything that is written, from one operation on until there is room again."""

    def __init__(self, fails_at: int, random: Random) -> None:
        super().__init__(fails_at, random)
        self.full = False

    def fail(self) -> None:
        self.full = True
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(self, descriptor: int, data: memoryview, start: int) -> None:
        if self.full:
            self.fail()
        super().write(descriptor, data, start)


class Unsynced(FileLayer):
    """Knows what of each file was synced, and can lose the rest."""

    def __init__(self) -> None:
        self._synced: dict[int, bytes] = {}

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self._synced[os.fstat(descriptor).st_ino] = self.read(descriptor, self.size(descriptor), 0)

    def lose_power(self, folder: Path, random: Random) -> None:
        """Lose of each file some, all or nothing of what was not synced; a lost page is cut or zeros."""
        for path in sorted(folder.rglob("*")):
            if not path.is_file():
                continue
            synced = self._synced.get(path.stat().st_ino, b"")
            now = path.read_bytes()
            if now == synced:
                continue
            same = next(
                (at for at, (a, b) in enumerate(zip(now, synced, strict=False)) if a != b), 0
            )
            same = same or min(len(now), len(synced))
            kept = random.randrange(same, len(now) + 1)
            lost = bytes(len(now) - kept) if random.random() < 0.5 else b""
            path.write_bytes(now[:kept] + lost)
