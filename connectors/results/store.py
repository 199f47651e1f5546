"""The store of one result: appends the released changes of a table to its log."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths
from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.results.log import (
    Frame,
    FrameReader,
    Header,
    Number,
    Position,
    header_parts,
    position_parts,
    read_header,
    read_position,
    segment_path,
    segments,
)
from fsql.runtime.batch import START, Root
from fsql.runtime.sink import SinkDiskError, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.connectors.results.log import Segment
    from fsql.runtime.sink import OpenRequest

SEGMENT_BYTES: Final = 32 << 20
"""The length from which on a segment is followed by another."""


class ResultStore:
    """The segments of one log, of which it writes the last."""

    def __init__(self, journal: Path, header: Header, files: FileLayer | None = None) -> None:
        """Take the prefix of the paths, and the header without owner and position."""
        self._journal = journal
        self._header = header
        self._files = FileLayer() if files is None else files
        self._lock = threading.Lock()
        """Held while descriptors are opened or closed: `sync` is called by another thread."""
        self._descriptor: int | None = None
        self._unsynced: list[int] = []
        self._number = Number(0, 0)
        self._length = 0
        self._added: list[memoryview] = []
        self._position = START

    @property
    def empty(self) -> bool:
        """Return False: segments have their own headers."""
        return False

    def open(self, opening: OpenRequest) -> Root:
        """Begin an epoch, with a segment of its own.

        Raises:
            FsqlError: E535; E537, if the log has lost rows or belongs to another job.
            SinkLostError: if there is no room, or a later epoch has begun.
        """
        self.close()
        self._added = []
        self._header = msgspec.structs.replace(self._header, owner=opening.owner)
        with self._translate_errors():
            before = segments(self._journal)
            found = self._last_position(before)
            if opening.option.keeps_position:
                self._position = START if found is None else found
                if self._position < opening.begins:
                    raise self._lost_error()
            else:
                self._position = opening.begins
            if before and before[-1].number.epoch > opening.epoch:
                later = before[-1].number.epoch
                raise SinkLostError(f"epoch {later} has begun, and this is {opening.epoch}")
            mine = [each.number.place for each in before if each.number.epoch == opening.epoch]
            self._number = Number(opening.epoch, max(mine, default=0))
            self._begin_segment()
        return self._position

    def append(self, data: Sequence[memoryview]) -> None:
        """Keep the frames until their bundle is complete."""
        self._added += data

    def commit(self, position: Root) -> None:
        """Write the frames of a bundle, and the position behind it.

        Raises:
            FsqlError: E535, if the operating system refuses.
            SinkLostError: if there is no room.
        """
        assert self._descriptor is not None
        reached = Position(position, time.time_ns() // 1000)
        added, self._added = self._added, []
        with self._translate_errors():
            for piece in [*added, *position_parts(reached)]:
                self._files.write(self._descriptor, piece, self._length)
                self._length += len(piece)
            self._position = position
            if self._length >= SEGMENT_BYTES:
                self._begin_segment()

    def sync(self) -> None:
        """Make everything committed survive a loss of power; any thread may call this.

        Raises:
            FsqlError: E535, if the operating system refuses.
            SinkLostError: if there is no room.
        """
        with self._lock:
            waiting = [self._files.duplicate(each) for each in self._unsynced]
            ended = [each for each in self._unsynced if each != self._descriptor]
            self._unsynced = [] if self._descriptor is None else [self._descriptor]
            for descriptor in ended:
                self._files.close(descriptor)
        try:
            with self._translate_errors():
                for descriptor in waiting:
                    self._files.sync(descriptor)
                self._files.sync_directory(self._journal.parent)
        finally:
            for descriptor in waiting:
                self._files.close(descriptor)

    def close(self) -> None:
        """Close the segments."""
        with self._lock:
            for descriptor in self._unsynced:
                with suppress(OSError):
                    self._files.close(descriptor)
            self._unsynced, self._descriptor = [], None

    def _begin_segment(self) -> None:
        """Begin the next segment, at the position that is stored."""
        self._number = Number(self._number.epoch, self._number.place + 1)
        path = segment_path(self._journal, self._number)
        descriptor = self._files.open(path, private=True)
        with self._lock:
            self._descriptor = descriptor
            self._unsynced.append(descriptor)
        self._length = 0
        header = msgspec.structs.replace(self._header, follows=tuple(self._position))
        for piece in header_parts(header):
            self._files.write(descriptor, piece, self._length)
            self._length += len(piece)

    def _last_position(self, before: Sequence[Segment]) -> Root | None:
        """Return the position up to which the log is whole; None if there is no log."""
        for segment in reversed(before):
            position = self._position_of(segment.path)
            if position is not None:
                return position
        return None

    def _position_of(self, path: Path) -> Root | None:
        """Return the last position of a segment; None if not even its header is whole."""
        descriptor = self._files.open(path, private=True)
        position: Root | None = None
        try:
            for kind, payload in FrameReader(self._files, descriptor).frames():
                if kind is Frame.HEADER:
                    header = read_header(payload)
                    if header.owner != self._header.owner:
                        raise self._mismatch_error(
                            f"it has rows of {header.owner}, not of {self._header.owner}"
                        )
                    position = header.root
                elif kind is Frame.POSITION:
                    position = read_position(payload).root
        finally:
            self._files.close(descriptor)
        return position

    def _lost_error(self) -> FsqlError:
        return self._mismatch_error("it lacks rows that it had")

    def _mismatch_error(self, reason: str) -> FsqlError:
        message = f'result "{self._header.table}" does not match the position of the job: {reason}'
        helps = (
            f'restore the files "{self._journal}.*"',
            "or start again with an empty state directory",
        )
        return FsqlError([Diagnostic("E537", message, helps=helps)])

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            path = error.filename or self._journal
            if error.errno in paths.FULL_DISK:
                raise SinkDiskError(f'writing "{path}": {error.strerror}') from None
            raise paths.io_error("writing", path, error) from None
