"""The source of connector `file`: a file, or the files of a directory, one split each.

A reader takes big blocks, cuts them into lines and decodes as many lines at a time as it is asked for.
Which rows there are, and their numbers, depend on the bytes alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.connectors import paths
from fsql.connectors.streams.blocks import FileBlocks
from fsql.connectors.streams.line_reader import LineReader
from fsql.connectors.streams.replay import check_replayable
from fsql.formats.making import make_decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fsql.compiler.logical import Table
    from fsql.connectors.surroundings import Surroundings
    from fsql.formats.lines import LineDecoder
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Place, Split

BLOCK_BYTES: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A file; its rows begin at its beginning, or at a place that a reader of it has named."""

    name: str
    path: Path
    decoder: Callable[[], LineDecoder]
    block_bytes: int = BLOCK_BYTES

    def open(self, place: Place | None = None) -> LineReader:
        """Return a reader that stands at the first row, or at `place`.

        Raises:
            FsqlError: E531, if the file cannot be opened; E536, if it is not the file that was read.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise paths.cannot_open("E531", self.path, error) from None
        try:
            if place is not None:
                check_replayable(descriptor, self.path, place)
                os.lseek(descriptor, place.byte, os.SEEK_SET)
            blocks = FileBlocks(descriptor, str(self.path), self.block_bytes)
            return LineReader(blocks, self.decoder(), place)
        except BaseException:
            os.close(descriptor)
            raise


def open_source(table: Table, settings: Settings, surroundings: Surroundings) -> Sequence[Split]:
    """Return the file, or the files of the directory, as splits sorted by name.

    Raises:
        FsqlError: E531, E533 or E534, if they cannot be opened.
    """
    path = surroundings.resolve(settings.text("path"))
    splits = file_splits(path, make_decoder(table.columns, settings))
    for split in splits:  # a directory may have links that lead elsewhere
        surroundings.resolve(str(split.path))
    return splits


def file_splits(path: Path, decoder: Callable[[], LineDecoder]) -> list[FileSplit]:
    """Return the file, or the files of the directory, as splits sorted by name.

    Of a directory only its own regular files count, and none that is hidden.

    Raises:
        FsqlError: E531, if there is no such file, or none in the directory.
    """
    try:
        if path.is_dir():
            names = sorted(entry.name for entry in os.scandir(path) if _counts(entry))
            if not names:
                help_ = "hidden files and directories within it are not read"
                raise paths.cannot_open("E531", path, "the directory has no files", help_)
            return [FileSplit(name, path / name, decoder) for name in names]
        if not path.exists():
            raise paths.cannot_open("E531", path, "there is no such file", *paths.near(path))
        if not path.is_file():
            help_ = "to read a stream, use 'connector' = 'stdin'"
            raise paths.cannot_open("E531", path, "it is not a regular file", help_)
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        raise paths.cannot_open("E531", path, error) from None
    return [FileSplit(path.name, path, decoder)]


def _counts(entry: os.DirEntry[str]) -> bool:
    return entry.is_file() and not entry.name.startswith(".")
