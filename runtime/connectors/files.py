"""Splits that are byte streams: files, the files of a directory, standard input.

A reader takes big blocks, cuts them into lines and decodes as many lines at a time as it is asked for.
Which rows there are, and their numbers, depend on the bytes alone.
"""

from __future__ import annotations

import os
import select
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.runtime.connectors import paths
from fsql.runtime.connectors.lines import LineCutter
from fsql.runtime.connectors.replay import check_replayable, content_before, not_replayable
from fsql.runtime.ports import Chunk, Place, Wait

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.runtime.connectors.lines import LineDecoder, Lines

BLOCK_BYTES: Final = 1 << 22
_WAIT_SECONDS_MIN: Final = 0.001
_WAIT_SECONDS_MAX: Final = 0.004


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
            return LineReader(
                descriptor, str(self.path), self.decoder(), self.block_bytes, place=place
            )
        except BaseException:
            os.close(descriptor)
            raise


@dataclass(frozen=True, slots=True)
class StreamSplit:
    """A stream that somebody else opened, such as standard input; it can be read once only."""

    name: str
    descriptor: int
    decoder: Callable[[], LineDecoder]
    block_bytes: int = BLOCK_BYTES

    def open(self, place: Place | None = None) -> LineReader:
        """Return a reader that hands out what is there and never blocks.

        Raises:
            FsqlError: E531, if the stream is closed; E536, if it is to be read from a place on.
        """
        if place is not None and place.byte:
            raise not_replayable(self.name, place, "a stream can be read once only")
        try:
            descriptor = os.dup(self.descriptor)
        except OSError as error:
            raise paths.cannot_open("E531", self.name, error) from None
        return LineReader(descriptor, self.name, self.decoder(), self.block_bytes, live=True)


class LineReader:
    """Reads the lines of a descriptor, which it owns; a live one is never waited for."""

    def __init__(
        self,
        descriptor: int,
        name: str,
        decoder: LineDecoder,
        block_bytes: int,
        *,
        live: bool = False,
        place: Place | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._name = name
        self._decoder = decoder
        self._block_bytes = block_bytes
        self._live = live
        self._readable = select.poll()
        self._readable.register(descriptor, select.POLLIN)
        self._place = Place(0, 1, 0) if place is None else place
        _, line, byte, _ = self._place
        self._cutter = LineCutter(decoder.record_bytes_max, byte, line)
        self._parts: deque[Lines] = deque()
        self._ended = False
        self._wait_seconds = _WAIT_SECONDS_MIN

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return up to `rows_max` further rows, a Wait, or None at the end.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        while not self._parts:
            if self._ended:
                return None
            if self._live and not self._readable.poll(0):
                wait, self._wait_seconds = self._wait_seconds, self._wait_seconds * 2
                self._wait_seconds = min(self._wait_seconds, _WAIT_SECONDS_MAX)
                return Wait(wait)
            self._wait_seconds = _WAIT_SECONDS_MIN
            self._read_block()
        lines = self._parts.popleft()
        if len(lines) > rows_max:
            self._parts.appendleft(lines.slice(rows_max, len(lines)))
            lines = lines.slice(0, rows_max)
        row, _, byte, _ = self._place
        unknown_before = self._decoder.unknown_fields
        columns, rows, rejects = self._decoder.decode(lines, row)
        unknown = self._decoder.unknown_fields - unknown_before
        self._place = Place(row + len(lines), lines.end_number, lines.end_byte)
        # Empty lines and blocks without a line end belong to the chunk that comes after them.
        return Chunk(columns, rows, rejects, lines.end_byte - byte, unknown)

    def place(self) -> Place:
        """Return where the reader stands.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        if self._place.content or self._live:
            return self._place
        try:
            content = content_before(self._descriptor, self._place.byte)
        except OSError as error:
            raise paths.failed("reading", self._name, error) from None
        self._place = self._place._replace(content=content)
        return self._place

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)

    def _read_block(self) -> None:
        try:
            block = os.read(self._descriptor, self._block_bytes)
        except OSError as error:
            raise paths.failed("reading", self._name, error) from None
        self._ended = not block
        for lines in self._cutter.feed(block) if block else self._cutter.finish():
            part = lines.without_empty() if self._decoder.skips_empty_lines else lines
            if len(part):
                self._parts.append(part)


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
