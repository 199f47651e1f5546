"""The disk: files that a crash may tear, and a disk that is full, slow, broken, or rots.

What was written is there for whoever reads, but only what was synced outlives a crash of the machine: of
the rest each file keeps what the tape says: all, nothing, or a part, and the part may end in zeros.  A file
that was never synced may be missing, and a rename that no sync of the directory followed may be undone.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.simulation.tape import Stream


@dataclass(slots=True)
class _File:
    """A file as it is read, and what of it would outlive a crash (None: not even its name)."""

    content: bytes
    durable: bytes | None = None


class Disk:
    """The files of one machine."""

    def __init__(self, choices: Stream) -> None:
        self._choices = choices
        self._files: dict[str, _File] = {}
        self._removed: dict[str, bytes] = {}
        self.full = False
        self.failure_rate = 0.0
        self.delay_us = 0

    def write(self, path: str, content: bytes) -> None:
        """Write a whole file.

        Raises:
            OSError: if the disk is full or fails.
        """
        if self.full:
            raise OSError(errno.ENOSPC, "no space left on the disk", path)
        self._may_fail(path)
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = _File(b"")
        file.content = content

    def sync(self, path: str) -> None:
        """Make a file and its name outlive a crash.

        Raises:
            OSError: if the disk fails; what of the file is durable is not known then.
        """
        self._may_fail(path)
        file = self._files[path]
        file.durable = file.content

    def rename(self, path: str, new_path: str) -> None:
        """Give a file another name, and replace what had that name."""
        file = self._files.pop(path)
        replaced = self._files.get(new_path)
        kept = None if replaced is None else replaced.durable
        self._files[new_path] = _File(file.content, kept)
        if file.durable is not None:
            self._removed[path] = file.durable

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            OSError: if there is none, or the disk fails.
        """
        self._may_fail(path)
        file = self._files.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return file.content

    def remove(self, path: str) -> None:
        """Remove a file, if there is one."""
        file = self._files.pop(path, None)
        if file is not None and file.durable is not None:
            self._removed[path] = file.durable

    def paths(self, prefix: str = "") -> list[str]:
        """Return the names of all files that begin so, sorted."""
        return sorted(path for path in self._files if path.startswith(prefix))

    def size(self) -> int:
        """Return how many bytes all files have."""
        return sum(len(file.content) for file in self._files.values())

    def crash(self) -> None:
        """Lose or tear what was not synced."""
        for path in sorted(self._files):
            file = self._files[path]
            if file.content is file.durable:
                continue
            kept = self._after_crash(file)
            if kept is None:
                del self._files[path]
            else:
                file.content = file.durable = kept
        for path, durable in self._removed.items():
            if path not in self._files and self._choices.below(4) == 3:
                self._files[path] = _File(durable, durable)
        self._removed.clear()

    def rot(self, paths: Sequence[str]) -> bool:
        """Flip a bit of one of some files at rest; say whether there was any."""
        there = [path for path in paths if path in self._files and self._files[path].content]
        if not there:
            return False
        path = self._choices.one_of(there)
        file = self._files[path]
        altered = bytearray(file.content)
        bit = self._choices.below(len(altered) * 8)
        altered[bit // 8] ^= 1 << bit % 8
        file.content = file.durable = bytes(altered)
        return True

    def _after_crash(self, file: _File) -> bytes | None:
        match self._choices.below(4):
            case 0:
                return file.content
            case 1:
                return file.durable
            case 2:
                return file.content[: self._choices.below(len(file.content) + 1)]
            case _:
                torn = self._choices.below(len(file.content) + 1)
                return file.content[:torn] + bytes(len(file.content) - torn)

    def _may_fail(self, path: str) -> None:
        if self.failure_rate and self._choices.chance(self.failure_rate):
            raise OSError(errno.EIO, "the disk fails", path)
