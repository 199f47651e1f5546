"""Reads rows from blocks of bytes: cuts them into records, and decodes as many records as are requested.

Rows and their numbers depend on the bytes only.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.connectors.streams.blocks import Arrived, AtLeast, AtMost
from fsql.connectors.streams.passed_lines import PassedLines
from fsql.connectors.streams.replay import add_length, read_length
from fsql.formats.lines import LineCutter
from fsql.runtime.ports import Chunk, SourceOffset, Wait

if TYPE_CHECKING:
    from fsql.connectors.live.places import Places
    from fsql.connectors.streams.blocks import Blocks
    from fsql.formats.lines import LineDecoder, LineJoiner, Lines, RecordCutter
    from fsql.runtime.ports import RowPlace

_WAIT_SECONDS_MIN: Final = 0.001
_WAIT_SECONDS_MAX: Final = 0.004


class LineReader:
    """Reads the lines of blocks, which it closes; it never waits for lines that have not arrived."""

    def __init__(
        self,
        blocks: Blocks,
        decoder: LineDecoder,
        source_offset: SourceOffset | None = None,
        *,
        header_of: str | None = None,
        places: Places | None = None,
        rows_kept: int = 0,
        cutter: RecordCutter | None = None,
    ) -> None:
        """Continue at `source_offset`, where the blocks begin.

        `header_of` names the source if its header is still to be read; None if the decoder has it.  `places`
        are those of the rows, if the blocks are of several files.  The reader knows where the rows of the
        last chunk are, and at least `rows_kept` before them.  A `cutter` is for records that are not lines.
        """
        self._passed = PassedLines(rows_kept)
        self._places = places
        self._header_of = header_of
        self._blocks = blocks
        self._decoder = decoder
        self._offset = SourceOffset(0, 1, 0) if source_offset is None else source_offset
        _, line, byte, _ = self._offset
        self._cutter = cutter or LineCutter(decoder.record_bytes_max, byte, line)
        self._joiner = decoder.make_joiner()
        self._parts: deque[Lines] = deque()
        self._ended = False
        # The length of the split, if the rows that were read so far depend on it.
        self._length = None if source_offset is None else read_length(source_offset)
        self._time_at_most: int | None = None
        self._arrived: int | None = None
        self._wait_seconds = _WAIT_SECONDS_MIN

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return up to `rows_max` further rows, a Wait, or None at the end.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        while not self._parts:
            if self._ended:
                return None
            block = self._blocks.read()
            if block is None:
                wait, self._wait_seconds = self._wait_seconds, self._wait_seconds * 2
                self._wait_seconds = min(self._wait_seconds, _WAIT_SECONDS_MAX)
                return Wait(wait)
            self._wait_seconds = _WAIT_SECONDS_MIN
            match block:
                case AtMost(us):
                    self._time_at_most = us
                case Arrived(us):
                    self._arrived = us
                case AtLeast(us):
                    return Chunk((), np.empty(0, np.int64), (), 0, time_at_least=us)
                case bytes():
                    self._take(block)
        lines = self._parts.popleft()
        if len(lines) > rows_max:
            self._parts.appendleft(lines.slice(rows_max, len(lines)))
            lines = lines.slice(0, rows_max)
        row, _, byte, _ = self._offset
        unknown_before, nulled_before = self._decoder.unknown_fields, self._decoder.nulled_fields
        columns, rows, dead_letters = self._decoder.decode(lines, row)
        self._passed.add(row, lines)
        if self._places is not None:
            dead_letters = self._places.locate(dead_letters, lines.end_byte)
            self._places.forget(self._passed.first_byte)
        unknown = self._decoder.unknown_fields - unknown_before
        nulled = self._decoder.nulled_fields - nulled_before
        self._offset = SourceOffset(row + len(lines), lines.end_number, lines.end_byte)
        # Empty lines and blocks without a line end belong to the next chunk.
        read = lines.end_byte - byte
        arrived = self._arrived
        arrivals = None if arrived is None else np.full(len(rows), arrived, np.int64)
        bounds = (self._time_at_most, None, arrivals)
        return Chunk(columns, rows, dead_letters, read, unknown, *bounds, nulled)

    def place_of(self, row: int) -> RowPlace | None:
        """Return where a row begins, None if it is not one of the last that were read.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        place = self._passed.place_of(row)
        if place is None or self._places is None:
            return place
        return self._places.locate([place], self._offset.byte)[0]

    def bytes_passed(self) -> int:
        """Return how far the reader is in its file."""
        return self._blocks.bytes_passed(self._offset.byte)

    def bytes_lost(self) -> int:
        """Return how many bytes were received that are in no row and cannot be read again.

        Nothing more is read after this call.
        """
        if self._ended and not self._parts:
            return 0
        whole = self._cutter.line_byte if self._joiner is None else self._offset.byte
        return self._blocks.bytes_lost(self._offset.byte if self._parts else whole)

    def source_offset(self) -> SourceOffset:
        """Return the offset of the reader.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        if not self._offset.content:
            content = self._blocks.content_before(self._offset.byte)
            self._offset = self._offset._replace(content=add_length(content, self._length))
        return self._offset

    def close(self) -> None:
        """Close the blocks."""
        self._blocks.close()

    def _take(self, block: bytes) -> None:
        self._ended = not block
        for cut in _cut(self._cutter, self._joiner, block):
            lines = self._without_header(cut) if self._decoder.has_header else cut
            part = self._decoder.records(lines)
            if len(part):
                self._parts.append(part)

        if self._ended and self._joiner is not None and self._joiner.decided_by_end:
            self._length = self._cutter.seen_bytes

    def _without_header(self, lines: Lines) -> Lines:
        """Return the lines without the first line of the source, which is the header.

        Raises:
            FsqlError: E543, if the columns cannot be found by it.
        """
        if not len(lines) or lines.number(0) != 1:
            return lines
        if self._header_of is not None:
            self._decoder.take_header(lines.content(0), self._header_of, ordered=True)
        return lines.slice(1, len(lines))


def read_header(blocks: Blocks, decoder: LineDecoder) -> bytes | None:
    """Return the first record of blocks that are read from their beginning, None if there are no bytes.

    Raises:
        FsqlError: E535, if the operating system fails to read.
    """
    cutter, joiner = LineCutter(decoder.record_bytes_max), decoder.make_joiner()
    while isinstance(block := blocks.read(), bytes):
        for lines in _cut(cutter, joiner, block):
            return lines.content(0)
        if not block:
            break
    return None


def _cut(cutter: RecordCutter, joiner: LineJoiner | None, block: bytes) -> list[Lines]:
    """Return the records that a block completes, or the end of the stream, if it is empty."""
    parts = cutter.feed(block) if block else cutter.finish()
    if joiner is None:
        return parts
    records = [each for part in parts for each in joiner.join(part)]
    return records if block else [*records, *joiner.finish()]
