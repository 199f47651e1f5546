"""The lines of rows that were released to a sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.runtime.dataflow.barrier import Released

if TYPE_CHECKING:
    from fsql.formats.lines import LineEncoder
    from fsql.runtime.cluster.delivery.delivery import Contents
    from fsql.runtime.ports import Release


class ReleasedLines:
    """Encodes the rows of a sink as lines."""

    def __init__(self, encoder: LineEncoder) -> None:
        self._encoder = encoder
        self.header = encoder.header

    def __call__(self, contents: Contents) -> list[memoryview]:
        """Return the lines of released rows; a worker may have encoded them already."""
        assert isinstance(contents, Released)
        release = contents.release
        if release.encoded:
            return [encoded_text(release)]
        lines = self._encoder.encode(release.columns, release.operations)
        return [memoryview(line) for line in lines]


def encoded_text(release: Release) -> memoryview:
    """Return the lines of rows that workers have encoded, concatenated without copying."""
    lines = release.columns[0]
    _, offsets, text = lines.buffers()
    bounds = np.frombuffer(offsets, np.int64)
    first, last = bounds[lines.offset], bounds[lines.offset + len(lines)]
    return memoryview(text)[first:last]
