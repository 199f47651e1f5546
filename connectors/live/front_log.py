"""The front log: the input of a source that cannot be read again, on disk.

A log is a directory of segments, files named by the offset of their first byte, and at the end of the input
the file `end`, which has the total length.  One process writes, others read concurrently, and segments that
are no longer needed are removed.  The bytes are those of the source; a segment ends with a line.

Readers see only durable bytes (`flushed_length`).  If a writer ended in the middle of a line, the next writer
removes that part: readers wait for the end of a line, so it has not been read as a row.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import xxhash

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths
from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.live.flushed_length import FlushedLengthReader, FlushedLengthWriter
from fsql.connectors.streams.replay import CHECKED_BYTES, not_replayable, read_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.runtime.ports import SourceOffset

SEGMENT_BYTES: Final = 16 << 20
_BLOCK_BYTES: Final = 1 << 20
_DIGITS: Final = 20
_END: Final = "end"
_FILES: Final = FileLayer()


class Segment(NamedTuple):
    """A file of a log, and the offset of its first byte."""

    start: int
    path: Path


def segments(directory: Path) -> list[Segment]:
    """Return the existing segments, in order."""
    try:
        found = [path for path in directory.iterdir() if path.name.isdigit()]
    except FileNotFoundError:
        return []
    return sorted(Segment(int(path.name), path) for path in found)


def trim(directory: Path, byte: int) -> None:
    """Remove the segments that are not needed for reading from `byte` on.

    The bytes before a source offset that a resuming reader checks are kept.
    """
    known = segments(directory)
    for segment, following in pairwise(known):
        if following.start <= byte - CHECKED_BYTES:
            segment.path.unlink(missing_ok=True)


def _read_end(directory: Path) -> int | None:
    """Return the length of a complete log, None if it may still grow."""
    try:
        return int((directory / _END).read_text())
    except FileNotFoundError:
        return None


class LogWriter:
    """Writes a log, or continues one."""

    def __init__(
        self,
        directory: Path,
        bytes_max: int,
        segment_bytes: int = SEGMENT_BYTES,
        known_end: int | None = None,
    ) -> None:
        """Continue after the last whole line; keep at most about `bytes_max` bytes on disk.

        If `known_end` is given, bytes after it are cut off: they are not recorded, and no reader has seen
        them.

        Raises:
            FsqlError: E532 or E535, if the log cannot be written; E536, if its end is lost.
        """
        self.directory = directory
        self.before_flush: list[Callable[[], None]] = []
        """Functions that make data durable on which the written lines depend."""
        self.on_full: Callable[[], None] = _ignore
        """Called when the disk has become full, and the log waits for space."""
        self._waits_for_space = False
        self.bytes_cut = 0
        """How many bytes after the last complete line another writer has left."""
        self._bytes_max = bytes_max
        self._segment_bytes = min(segment_bytes, max(bytes_max // 4, 1))
        self._descriptor: int | None = None
        try:
            for each in (directory.parent, directory):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
                _FILES.sync_directory(each.parent)
            self._flushed = FlushedLengthWriter(directory)
            self.ended = _read_end(directory) is not None
            self._resume(known_end)
        except OSError as error:
            raise paths.open_error("E532", directory, error) from None

    @property
    def line_end(self) -> int:
        """Return the offset after the last complete line."""
        return self._line_end

    @property
    def length(self) -> int:
        """Return the total number of bytes written."""
        return self._start + self._size

    @property
    def unflushed(self) -> int:
        """Return the number of written bytes that are not visible to readers yet."""
        return self.length - self._flushed.length

    def room(self) -> int:
        """Return how many bytes may be written until a part of the log is trimmed."""
        known = segments(self.directory)
        first = known[0].start if known else self._start
        return max(self._bytes_max - (self.length - first), 0)

    def append(self, data: bytes) -> int:
        """Write bytes; return the number written, which is less if the disk is full.

        Raises:
            FsqlError: E535, if the operating system refuses for another reason.
        """
        written = 0
        try:
            while written < len(data):
                end = self._end_of_segment(data, written)
                part = memoryview(data)[written : len(data) if end is None else end]
                count = self._write(part)
                written += count
                if count < len(part):
                    break
                if end is not None:
                    self._begin(self.length)
        except OSError as error:
            raise paths.io_error("writing", self.directory, error) from None
        newline = data.rfind(b"\n", 0, written)
        if newline >= 0:
            self._line_end = self.length - written + newline + 1
        return written

    def _end_of_segment(self, data: bytes, start: int) -> int | None:
        """Return where to end the segment, after a line; None if all of the data goes into it."""
        stop = start + max(self._segment_bytes - self._size, 0)
        if len(data) <= stop:
            return None
        newline = data.rfind(b"\n", start, stop)
        if newline < 0:
            newline = data.find(b"\n", stop)
        return None if newline < 0 else newline + 1

    def end(self) -> None:
        """Mark the end of the log.

        Raises:
            FsqlError: E535, if the operating system refuses.
        """
        new = self.directory / f"{_END}.new"
        try:
            self.flush()
            descriptor = _FILES.open(new)
            try:
                _FILES.truncate(descriptor, 0)
                _FILES.write(descriptor, memoryview(str(self.length).encode()), 0)
                _FILES.sync(descriptor)
            finally:
                _FILES.close(descriptor)
            _FILES.replace(new, self.directory / _END)
            _FILES.sync_directory(self.directory)
        except OSError as error:
            raise paths.io_error("writing", self.directory, error) from None
        self.ended = True

    def flush(self) -> None:
        """Make written lines survive a loss of power; then make them visible to readers.

        Raises:
            FsqlError: E535, if the operating system refuses.
        """
        if self._descriptor is None or not self.unflushed:
            return
        try:
            for make_durable in self.before_flush:
                make_durable()
            os.fdatasync(self._descriptor)
            self._flushed.write(self.length)
        except OSError as error:
            raise paths.io_error("writing", self.directory, error) from None

    def drop_unfinished(self) -> int:
        """Cut off the bytes after the last complete line, which readers have not seen; return their number.

        Raises:
            OSError: if the operating system refuses.
        """
        if self._descriptor is None or self.ended:
            return 0
        dropped = self.length - self._line_end
        if dropped:
            # As when a log is continued: the length that readers have seen is never that of more bytes.
            self._flushed.write(min(self._flushed.length, self._line_end))
            os.ftruncate(self._descriptor, self._size - dropped)
            self._size -= dropped
        return dropped

    def close(self) -> None:
        """Close the log, which another writer may continue."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)
            self._flushed.close()

    def _resume(self, known_end: int | None) -> None:
        """Open the last segment, and cut it after its last complete line, or at `known_end`.

        Raises:
            FsqlError: E536, if it is shorter than the length that readers have seen.
        """
        known = segments(self.directory)
        while known_end is not None and known and known[-1].start > known_end:
            known.pop().path.unlink()
        start = known[-1].start if known else 0
        if not self.ended:
            content = known[-1].path.read_bytes() if known else b""
            if start + len(content) < self._flushed.length:
                raise _lost_end_error(self.directory, start + len(content), self._flushed.length)
            lines = content if known_end is None else content[: known_end - start]
            whole = lines.rfind(b"\n") + 1
            # Before the cut: otherwise a process that ends in between would leave bytes that seem lost.
            self._flushed.write(min(self._flushed.length, start + whole))
            self.bytes_cut = len(content) - whole
            if self.bytes_cut:
                os.truncate(known[-1].path, whole)
        self._begin(start)
        self._line_end = self.length
        self.flush()

    def _begin(self, start: int) -> None:
        """Open a segment; make earlier segments, and all names, durable."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(self.directory / f"{start:0{_DIGITS}}", flags, 0o600)
        if self._descriptor is not None:
            before, self._descriptor = self._descriptor, None
            try:
                os.fdatasync(before)
            finally:
                os.close(before)
        self._descriptor = descriptor
        self._start, self._size = start, os.fstat(descriptor).st_size
        _FILES.sync_directory(self.directory)

    def _write(self, data: memoryview) -> int:
        """Write as much as there is space for, possibly nothing."""
        assert self._descriptor is not None
        before = self._size
        while data:
            try:
                written = os.write(self._descriptor, data)
            except OSError as error:
                if error.errno not in paths.FULL_DISK:
                    raise
                if not self._waits_for_space:
                    self._waits_for_space = True
                    self.on_full()
                break
            self._waits_for_space = False
            self._size += written
            data = data[written:]
        return self._size - before


def _ignore() -> None:
    """Report nothing."""


def _lost_end_error(directory: Path, length: int, read: int) -> FsqlError:
    message = f'front log "{directory}" ends at byte {length:,}: its end is lost'
    note = f"rows up to byte {read:,} may have been released"
    helps = ("restore the log", "or start the job again, with an empty state directory")
    return FsqlError([Diagnostic("E536", message, notes=(note,), helps=helps)])


class LogBlocks:
    """The durable bytes of a log from an offset on, in whole lines except for very long ones."""

    def __init__(self, directory: Path, byte: int) -> None:
        self._directory = directory
        self._byte = byte
        self._flushed = FlushedLengthReader(directory)
        self._segment: Segment | None = None
        self._descriptor: int | None = None

    def read(self) -> bytes | None:
        """Return the next bytes, b"" at the end of the log, None if there are none yet.

        Raises:
            FsqlError: E535, if the operating system fails to read; E536, if they have been removed.
        """
        try:
            end = _read_end(self._directory)
            limit = self._flushed.read() if end is None else end
            data = self._read_segment(limit)
            if not data and limit > self._byte and self._find_segment():
                data = self._read_segment(limit)
            if not data:
                self._check_length()
        except OSError as error:
            raise paths.io_error("reading", self._directory, error) from None
        lines = data.rfind(b"\n") + 1
        if lines or (len(data) < _BLOCK_BYTES and self._byte + len(data) != end):
            data = data[:lines]
        self._byte += len(data)
        return data if data or self._byte == end else None

    def bytes_passed(self, byte: int) -> int:
        """Return `byte`: the log is read as it is."""
        return byte

    def bytes_lost(self, byte: int) -> int:
        """Return 0: a log can be read again."""
        del byte
        return 0

    def content_before(self, byte: int) -> str:
        """Return the hash of the last bytes before an offset.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        try:
            return xxhash.xxh3_128_hexdigest(self._bytes_before(byte))
        except OSError as error:
            raise paths.io_error("reading", self._directory, error) from None

    def check(self, source_offset: SourceOffset) -> None:
        """Check that the log still has the lines that were read before `source_offset`.

        Raises:
            FsqlError: E536, if it does not; E535, if it cannot be read.
        """
        known = segments(self._directory)
        if source_offset.byte and (not known or known[0].start > source_offset.byte):
            raise not_replayable(
                self._directory, source_offset, "it has been removed up to there, and more"
            )
        read = read_hash(source_offset)
        if read and self.content_before(source_offset.byte) != read:
            raise not_replayable(self._directory, source_offset, "the contents before have changed")

    def close(self) -> None:
        """Close the open segments."""
        self._flushed.close()
        self._close_segment()

    def _close_segment(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _read_segment(self, limit: int) -> bytes:
        """Return the next bytes of the open segment, up to `limit` in the log and at most one block."""
        size = min(_BLOCK_BYTES, limit - self._byte)
        if self._descriptor is None or self._segment is None or size <= 0:
            return b""
        return os.pread(self._descriptor, size, self._byte - self._segment.start)

    def _check_length(self) -> None:
        """Check that the bytes read of a line longer than a block were not cut off by a writer."""
        if self._descriptor is not None and self._segment is not None:
            length = self._segment.start + os.fstat(self._descriptor).st_size
            if length < self._byte:
                raise self._lost_data_error(
                    f'front log "{self._directory}" was cut to {length:,} bytes'
                )

    def _lost_data_error(self, message: str) -> FsqlError:
        note = f"a reader is at byte {self._byte:,}"
        return FsqlError([Diagnostic("E536", message, notes=(note,))])

    def _find_segment(self) -> bool:
        """Open the segment that has, or will have, the next byte; return whether it is a new one."""
        known = segments(self._directory)
        if known and known[0].start > self._byte:
            raise self._lost_data_error(
                f'front log "{self._directory}" begins at byte {known[0].start:,}'
            )
        found = next((each for each in reversed(known) if each.start <= self._byte), None)
        if found is None or found == self._segment:
            return False
        self._close_segment()
        self._descriptor = os.open(found.path, os.O_RDONLY | os.O_CLOEXEC)
        self._segment = found
        return True

    def _bytes_before(self, byte: int) -> bytes:
        wanted = max(byte - CHECKED_BYTES, 0)
        pieces = []
        known = segments(self._directory)
        ends = [following.start for following in known[1:]] + [byte]
        for (start, path), end in zip(known, ends, strict=True):
            if start < byte and end > wanted:  # earlier segments may be removed at any moment
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    first = max(wanted, start)
                    size = os.fstat(descriptor).st_size
                    if first < start + size:
                        pieces.append(os.pread(descriptor, byte - first, first - start))
                finally:
                    os.close(descriptor)
        return b"".join(pieces)
