"""A front log as the split that workers read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.live.front_log import LogBlocks
from fsql.connectors.live.logged_bounds import BoundedBlocks, BoundReader
from fsql.connectors.streams.line_reader import LineReader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.connectors.live.places import Places
    from fsql.connectors.live.time_bounds import BoundOptions
    from fsql.connectors.streams.blocks import Blocks
    from fsql.formats.lines import LineDecoder
    from fsql.runtime.ports import SourceOffset


class LogSplit:
    """A log as a split, with the name of the source."""

    def __init__(
        self,
        name: str,
        directory: Path,
        decoder: Callable[[], LineDecoder],
        bounds: BoundOptions,
        *,
        root: Path | None = None,
        places: Places | None = None,
    ) -> None:
        """Take the directory `root` of the files whose bytes the log has, and their places in it."""
        self.name = name
        self.root = root
        self._directory = directory
        self._decoder = decoder
        self._bounds = bounds
        self._places = places

    def open(self, source_offset: SourceOffset | None = None) -> LineReader:
        """Return a reader at the first row, or at `source_offset`, which follows the log as it grows.

        Raises:
            FsqlError: E535, if the operating system fails to read; E536, if it cannot be read from there.
        """
        byte = 0 if source_offset is None else source_offset.byte
        log = LogBlocks(self._directory, byte)
        if source_offset is not None:
            log.check(source_offset)
        blocks: Blocks = log
        if self._bounds:
            blocks = BoundedBlocks(log, BoundReader(self._directory, byte), byte)
        return LineReader(
            blocks, self._decoder(), source_offset, header_of=self.name, places=self._places
        )
