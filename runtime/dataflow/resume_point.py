"""Where a front resumes reading its split after a restart."""

from __future__ import annotations

import msgspec

from fsql.runtime.ports import Place


class ResumePoint(msgspec.Struct, frozen=True):
    """Where a front begins again: the boundary of a chunk at or before the snapshot's position.

    `row`, `line`, `byte` and `content` are the place of the reader (`ports.Place`); `time` is the greatest
    time before it.
    """

    front: int
    row: int
    line: int
    byte: int
    time: int
    content: str = ""

    @property
    def place(self) -> Place:
        """Return the place of the reader."""
        return Place(self.row, self.line, self.byte, self.content)
