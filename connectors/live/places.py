"""Where the rows of a split come from, if its bytes are those of several files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fsql.runtime.ports import DeadLetter


class Places(Protocol):
    """The files of which a stream consists."""

    def locate(self, dead_letters: list[DeadLetter], end: int) -> list[DeadLetter]:
        """Return the dead letters with file, and line and byte in it, in place of those of the stream.

        All rows before byte `end` of the stream have been read.
        """
