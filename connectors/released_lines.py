"""The lines of rows that were released to a sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.dataflow.barrier import Released

if TYPE_CHECKING:
    from fsql.formats.lines import LineEncoder
    from fsql.runtime.cluster.delivery import Contents


class ReleasedLines:
    """The lines of what goes to a sink."""

    def __init__(self, encoder: LineEncoder) -> None:
        self._encoder = encoder
        self.header = encoder.header

    def __call__(self, contents: Contents) -> list[memoryview]:
        """Return the lines of released rows."""
        assert isinstance(contents, Released)
        release = contents.release
        lines = self._encoder.encode(release.columns, release.operations)
        return [memoryview(line) for line in lines]
