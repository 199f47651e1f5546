"""A simulated disk: it can be full, slow or broken, flip bits, and tear files in a crash.

Written data is visible to readers, but only synced data survives a crash of the machine.  Of the rest, each
file keeps all, nothing, or a part, as the tape decides, and the part may end in zeros.  Names are synced with
their directory, which is the part of the name before the first slash: a name that was not synced may be
missing after a crash, and a removed one may reappear.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.simulation.tape import Stream

    Names = dict[str, "_File"]


class _File:
    """The content of a file, and the content that survives a crash (None if it was never synced)."""

    __slots__ = ("content", "durable")

    def __init__(self, content: bytes, durable: bytes | None = None) -> None:
        self.content = content
        self.durable = durable


class Disk:
    """The files of one machine."""

    def __init__(self, choices: Stream) -> None:
        self._choices = choices
        self._directories: dict[str, Names] = {}
        self._durable: dict[str, Names] = {}
        self.full = False
        self.failure_rate = 0.0
        self.delay_us = 0

    def write(self, path: str, content: bytes) -> None:
        """Write a whole file.

        Raises:
            OSError: if the disk is full or fails.
        """
        self._check_space(path)
        names = self._names(path)
        file = names.get(path)
        if file is None:
            names[path] = _File(content)
        else:
            file.content = content

    def append(self, path: str, content: bytes) -> None:
        """Write at the end of a file.

        Raises:
            OSError: if the disk is full or fails.
        """
        file = self._names(path).get(path)
        self.write(path, (b"" if file is None else file.content) + content)

    def sync(self, path: str) -> None:
        """Make the content of a file survive a crash.

        Raises:
            OSError: if the disk fails; then it is unknown which part of the file is durable.
        """
        self._fail_at_random(path)
        file = self._names(path)[path]
        file.durable = file.content

    def sync_directory(self, directory: str) -> None:
        """Make the names in a directory survive a crash.

        Raises:
            OSError: if the disk fails.
        """
        self._fail_at_random(directory)
        self._durable[directory] = dict(self._directories.get(directory, {}))

    def rename(self, path: str, new_path: str) -> None:
        """Rename a file in its directory, and replace the file of that name."""
        names = self._names(path)
        names[new_path] = names.pop(path)

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            OSError: if there is none, or the disk fails.
        """
        self._fail_at_random(path)
        file = self._names(path).get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return file.content

    def remove(self, path: str) -> None:
        """Remove a file, if there is one."""
        self._names(path).pop(path, None)

    def paths(self, directory: str) -> list[str]:
        """Return the names of all files in a directory, sorted."""
        return sorted(self._directories.get(directory, ()))

    def directories(self) -> list[str]:
        """Return the directories that contain files, sorted."""
        return sorted(name for name, names in self._directories.items() if names)

    def crash(self) -> None:
        """Lose or tear data that was not synced."""
        for directory in sorted({*self._directories, *self._durable}):
            names = self._directories.setdefault(directory, {})
            durable = self._durable.get(directory, {})
            for path in sorted({*names, *durable}):
                self._crash(path, names, durable.get(path))
            self._durable[directory] = dict(names)

    def _crash(self, path: str, names: Names, durable: _File | None) -> None:
        file = names.pop(path, None)
        if file is not durable and self._choices.below(2):
            file = durable
        if file is None:
            return
        content = file.content
        kept = content if content is file.durable else self._after_crash(content, file.durable)
        if kept is not None:
            # One of two names may have been renamed to the other: they are two files now.
            names[path] = _File(kept, kept)

    def rot(self, paths: Sequence[str]) -> bool:
        """Flip a bit in one of the files; return whether there was any file."""
        there = [
            path for path in paths if path in self._names(path) and self._names(path)[path].content
        ]
        if not there:
            return False
        path = self._choices.one_of(there)
        file = self._names(path)[path]
        altered = bytearray(file.content)
        bit = self._choices.below(len(altered) * 8)
        altered[bit // 8] ^= 1 << bit % 8
        file.content = file.durable = bytes(altered)
        return True

    def _after_crash(self, content: bytes, durable: bytes | None) -> bytes | None:
        match self._choices.below(4):
            case 0:
                return content
            case 1:
                return durable
            case 2:
                return content[: self._choices.below(len(content) + 1)]
            case _:
                torn = self._choices.below(len(content) + 1)
                return content[:torn] + bytes(len(content) - torn)

    def _names(self, path: str) -> Names:
        directory, slash, _ = path.partition("/")
        return self._directories.setdefault(directory if slash else "", {})

    def _check_space(self, path: str) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "no space left on the disk", path)
        self._fail_at_random(path)

    def _fail_at_random(self, path: str) -> None:
        if self.failure_rate and self._choices.chance(self.failure_rate):
            raise OSError(errno.EIO, "the disk fails", path)
