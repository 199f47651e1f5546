"""Follows the log of one result: reads it from its last rewriting on, and then what is appended."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.results.log import (
    ROWS_SUFFIX,
    Frame,
    FrameReader,
    Header,
    Number,
    Position,
    following,
    frame_parts,
    header_parts,
    position_parts,
    read_header,
    read_position,
    row_schema,
    segment_path,
    segments,
)
from fsql.job.results.current_rows import CurrentRows
from fsql.job.results.result_schema import ResultSchema, schema_of
from fsql.runtime.batch import START, Root

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_AHEAD_BYTES: Final = 64 << 20
"""How much of a log is read before it is applied."""
_ROWS_PER_FRAME: Final = 65_536
_NEW: Final = ".new"


class LogGoneError(Exception):
    """The files were removed or replaced meanwhile: the log has to be read from its beginning."""


class _Waiting(NamedTuple):
    """Rows that are read and not applied, and the number of their segment."""

    rows: pa.RecordBatch
    segment: Number


class LogReader:
    """One log: the rows up to an applied position, and what was read beyond it."""

    def __init__(self, journal: Path, rows_max: int) -> None:
        """Read the last rewriting, if there is one.

        Raises:
            LogGoneError: if there is no log.
        """
        self.journal = journal
        self._files = FileLayer()
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._positions: deque[tuple[Position, Number]] = deque()
        self._batches: list[pa.RecordBatch] = []
        self.applied = START
        """All rows below this position are applied."""
        self._applied_segment = Number(0, 0)
        self._header: Header | None = None
        self._rows_max = rows_max
        self._descriptor = -1
        self._number = self._load_rows()
        self._open(self._number)

    @property
    def read(self) -> Position:
        """Return the position up to which the log was read."""
        return self._positions[-1][0] if self._positions else Position(self.applied, 0)

    @property
    def has_header(self) -> bool:
        """Return whether the columns are known."""
        return self._header is not None

    @property
    def header(self) -> Header:
        """Return what the rows are."""
        assert self._header is not None
        return self._header

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def poll(self) -> bool:
        """Read what is new, up to a limit; return whether there was something.

        Raises:
            LogGoneError: if the log was replaced.
        """
        before = self.read.root, len(self._waiting)
        while self._waiting_bytes < _AHEAD_BYTES:
            self._read_segment()
            if self._waiting_bytes >= _AHEAD_BYTES:
                break
            following_number = following(self.journal, self._number)
            if following_number is None:
                break
            self._read_segment()  # what was written before the next segment was begun
            if self._waiting_bytes < _AHEAD_BYTES:
                self._open(following_number)
        if self._files.is_removed(self._descriptor):
            raise LogGoneError
        return before != (self.read.root, len(self._waiting))

    def advance(self, bound: Root) -> None:
        """Apply all rows below a position, which was read."""
        if bound <= self.applied:
            return
        while self._waiting:
            rows, segment = self._waiting[0]
            first, last = _roots(rows, 0), _roots(rows, -1)
            if first >= bound:
                break
            self._waiting.popleft()
            self._waiting_bytes -= rows.nbytes
            if last >= bound:
                cut = first_at(rows, bound)
                rest = rows.slice(cut)
                self._waiting.appendleft(_Waiting(rest, segment))
                self._waiting_bytes += rest.nbytes
                rows = rows.slice(0, cut)
            self._apply(rows)
        while self._positions and self._positions[0][0].root <= bound:
            _, self._applied_segment = self._positions.popleft()
        self.applied = bound

    def _apply(self, rows: pa.RecordBatch) -> None:
        if _roots(rows, 0) < self.applied:  # an epoch of before has written the first of them
            rows = rows.slice(first_at(rows, self.applied))
        if rows.num_rows:
            operations = rows.column(2).to_numpy()
            self.current.apply(rows.columns[3:], operations)

    # Reading.

    def _load_rows(self) -> Number:
        """Load the rows of the last rewriting; return the number of the segment that comes next."""
        for number, path in reversed(segments(self.journal, ROWS_SUFFIX)):
            descriptor = _descriptor_of(path)
            try:
                found = self._rows_of(descriptor)
            finally:
                os.close(descriptor)
            if found is not None:
                self.applied = found.root
                self._applied_segment = number
                return number
        first = segments(self.journal)
        if not first:
            raise LogGoneError
        return first[0].number

    def _rows_of(self, descriptor: int) -> Position | None:
        """Load the rows of a file; return their position, None if the file is not whole."""
        for kind, payload in FrameReader(self._files, descriptor).frames():
            match kind:
                case Frame.HEADER:
                    self._begin(read_header(payload))
                case Frame.ROWS:
                    self.current.load(self._batch(payload).columns[3:])
                case Frame.POSITION:
                    return read_position(payload)
        return None

    def _open(self, number: Number) -> None:
        self.close()
        self._descriptor = _descriptor_of(segment_path(self.journal, number))
        self._number = number
        self._reader = FrameReader(self._files, self._descriptor)

    def _read_segment(self) -> None:
        """Read the frames of the segment up to the last whole bundle, or to the limit."""
        for kind, payload in self._reader.frames():
            match kind:
                case Frame.HEADER:
                    self._on_header(read_header(payload))
                case Frame.ROWS:
                    self._batches.append(self._batch(payload))
                case Frame.POSITION:
                    for rows in self._batches:
                        self._waiting.append(_Waiting(rows, self._number))
                        self._waiting_bytes += rows.nbytes
                    self._batches = []
                    self._positions.append((read_position(payload), self._number))
                    if self._waiting_bytes >= _AHEAD_BYTES:
                        return

    def _on_header(self, header: Header) -> None:
        self._batches = []  # a bundle that was not completed
        if self._header is None:
            self._begin(header)
            self.applied = header.root
            self._applied_segment = self._number
        elif (header.columns, header.owner) != (self._header.columns, self._header.owner):
            raise LogGoneError

    def _begin(self, header: Header) -> None:
        self._header = header
        self.schema: ResultSchema = schema_of(header.table, header.columns)
        self._rows = row_schema(self.schema.types)
        self.current = CurrentRows(
            self.schema.types, header.key, appends=header.appends, rows_max=self._rows_max
        )

    def _batch(self, payload: memoryview) -> pa.RecordBatch:
        return pa.ipc.read_record_batch(pa.py_buffer(payload), self._rows)

    # Rewriting.

    def bytes_to_apply(self) -> int:
        """Return the length of the segments that a reader that begins now has to read."""
        rewritten = segments(self.journal, ROWS_SUFFIX)
        first = rewritten[-1].number if rewritten else Number(0, 0)
        return sum(_size(each.path) for each in segments(self.journal) if each.number >= first)

    def rewrite(self, keep_bytes: int) -> None:
        """Write the applied rows, so that segments before are not needed, and remove the oldest of these.

        Segments of up to `keep_bytes` stay, for readers that want changes.
        """
        number = self._applied_segment
        path = segment_path(self.journal, number, ROWS_SUFFIX)
        new = path.with_name(f"{path.name}{_NEW}.{os.getpid()}")
        descriptor = self._files.open(new, private=True)
        try:
            at = 0
            for piece in self._rows_frames():
                self._files.write(descriptor, piece, at)
                at += len(piece)
            self._files.sync(descriptor)
        finally:
            os.close(descriptor)
        self._sync_segments(number)
        new.replace(path)
        self._files.sync_directory(path.parent)
        for segment in segments(self.journal, ROWS_SUFFIX):
            if segment.number < number:
                segment.path.unlink(missing_ok=True)
        before = [each for each in segments(self.journal) if each.number < number]
        kept = 0
        for segment in reversed(before):
            kept += _size(segment.path)
            if kept > keep_bytes:
                segment.path.unlink(missing_ok=True)

    def _sync_segments(self, first: Number) -> None:
        """Sync the segments that stay: after a loss of power, the rows alone are no log."""
        for segment in segments(self.journal):
            if segment.number >= first:
                descriptor = _descriptor_of(segment.path)
                try:
                    self._files.sync(descriptor)
                finally:
                    os.close(descriptor)

    def _rows_frames(self) -> Iterator[memoryview]:
        yield from header_parts(self.header)
        columns = self.current.all_rows()
        count = len(columns[0]) if columns else 0
        for start in range(0, count, _ROWS_PER_FRAME):
            part = [column.slice(start, _ROWS_PER_FRAME) for column in columns]
            size = len(part[0])
            zeros = [pa.array(np.zeros(size, kind)) for kind in (np.int64, np.int64, np.int8)]
            batch = pa.RecordBatch.from_arrays([*zeros, *part], schema=self._rows)
            yield from frame_parts(Frame.ROWS, batch.serialize())
        yield from position_parts(Position(self.applied, 0))


def _descriptor_of(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise LogGoneError from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _roots(rows: pa.RecordBatch, at: int) -> Root:
    at %= rows.num_rows
    return Root(rows.column(0)[at].as_py(), rows.column(1)[at].as_py())


def first_at(rows: pa.RecordBatch, root: Root) -> int:
    """Return the first row that is not below a position: rows are sorted by position."""
    time: NDArray[np.int64] = rows.column(0).to_numpy()
    origin: NDArray[np.int64] = rows.column(1).to_numpy()
    low, high = (int(np.searchsorted(time, root.time, side)) for side in ("left", "right"))
    return low + int(np.searchsorted(origin[low:high], root.origin))
