"""Where a front resumes reading its split after a restart."""

from __future__ import annotations

import msgspec

from fsql.runtime.ports import SourceOffset


class ResumePoint(msgspec.Struct, frozen=True):
    """Where a front resumes: the boundary of a chunk at or before the snapshot's position.

    `row`, `line`, `byte` and `content` are the source offset of the reader; `time` is the greatest event
    time before it.
    """

    front: int
    row: int
    line: int
    byte: int
    time: int
    content: str = ""

    @property
    def source_offset(self) -> SourceOffset:
        """Return the source offset of the reader."""
        return SourceOffset(self.row, self.line, self.byte, self.content)
