"""The bounds of a front log, in a file next to its segments, so that a replay has each at its offset.

A file of bounds has records of a fixed size.  A bound `Arrived` is synced with the bytes after it, any other
bound immediately.  Once there are many records, the file is rewritten without those that are no longer
needed: its first record has the number of records before the others, and how many of them are repeated.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

import xxhash

from fsql.connectors import paths
from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.live.front_log import segments
from fsql.connectors.streams.blocks import Arrived, AtLeast, AtMost, TimeBound

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.connectors.live.front_log import LogWriter
    from fsql.connectors.live.time_bounds import ArrivalClock
    from fsql.connectors.streams.blocks import Blocks

_NAME: Final = "bounds"
_RECORD_BYTES: Final = 64
LINE_BYTES_MAX: Final = 1 << 19
"""Half a block of a log: a line up to this length is read in one piece."""
RECORDS_MIN: Final = 1 << 14
"""The file of bounds is not rewritten before it has this many records."""
_KINDS: Final[Mapping[bytes, type[TimeBound]]] = {
    b"least": AtLeast,
    b"most": AtMost,
    b"came": Arrived,
}
_BASE: Final = b"base"
_FILES: Final = FileLayer()


class LogClock:
    """Reads the clock for a front log while it is written, and writes the bounds to it."""

    def __init__(self, clock: ArrivalClock, log: LogWriter, writer: BoundWriter) -> None:
        self._clock = clock
        self._log = log
        self._writer = writer
        log.before_flush.append(writer.sync)
        clock.resume(writer.last_us)

    def on_activity(self) -> None:
        """Record that the source is not being read now."""
        self._clock.on_activity()

    def on_data(self) -> None:
        """Record the arrival of bytes, before they are written.

        Raises:
            FsqlError: E535, if the log cannot be written.
            OSError: if the disk fails.
        """
        self._write(self._clock.on_data())

    def on_silence(self) -> None:
        """Record that the source is silent.

        Raises:
            FsqlError: E535, if the log cannot be written.
            OSError: if the disk fails.
        """
        self._write(self._clock.on_silence())

    def close(self) -> None:
        """Close the file of the bounds."""
        self._writer.close()

    def _write(self, bound: TimeBound | None) -> None:
        # Readers may already have read a part of a line that is longer than a block.
        if bound is None or self._log.length - self._log.line_end >= LINE_BYTES_MAX:
            return
        if self._writer.is_long:
            self._log.flush()
            self._writer.drop_before(segments(self._log.directory)[0].start)
        if isinstance(bound, Arrived):
            # No reader sees the bound before the bytes after it, which become readable by a flush.
            self._writer.write_unsynced(self._log.line_end, bound)
            return
        self._log.flush()
        self._writer.write(self._log.line_end, bound)


class _Records(NamedTuple):
    """The content of a file of bounds: offsets and bounds, numbered from `first` on."""

    first: int
    bounds: list[tuple[int, TimeBound]]


class BoundWriter:
    """Writes the bounds of a front log, or continues them."""

    def __init__(self, directory: Path, first_byte: int, length: int | None = None) -> None:
        """Continue a file; bytes before `first_byte` are never read again, and the log ends at `length`.

        Raises:
            OSError: if the file cannot be written.
        """
        self._path = directory / _NAME
        first, bounds = _records(self._path)
        self.last_us = max((b.us for _, b in bounds if not isinstance(b, AtMost)), default=0)
        """The greatest time of the clock that was recorded."""
        # A bound after the end belongs to bytes that were lost before they could be read.
        bounds = [each for each in bounds if length is None or each[0] <= length]
        self._descriptor: int | None = None
        self._synced = True
        self._count = self._long_count = 0
        self._last: tuple[int, TimeBound] | None = None
        self._rewrite(_Records(first, bounds), first_byte)

    def write(self, byte: int, bound: TimeBound) -> None:
        """Write a bound at an offset of the log, durably.

        It replaces the last bound if that has the same kind and offset.

        Raises:
            OSError: if the disk fails.
        """
        self.write_unsynced(byte, bound)
        self.sync()

    def write_unsynced(self, byte: int, bound: TimeBound) -> None:
        """Write a bound like `write`, but durable only after the next `sync`.

        Raises:
            OSError: if the disk fails.
        """
        assert self._descriptor is not None
        repeats = self._last is not None and self._last[0] == byte
        repeats = repeats and self._last is not None and type(self._last[1]) is type(bound)
        at = self._count - repeats
        os.pwrite(self._descriptor, _encode(byte, bound), at * _RECORD_BYTES)
        self._count = at + 1
        self._last = (byte, bound)
        self._synced = False

    def sync(self) -> None:
        """Make all bounds survive a loss of power.

        Raises:
            OSError: if the disk fails.
        """
        if self._descriptor is not None and not self._synced:
            os.fsync(self._descriptor)
            self._synced = True

    def drop_before(self, first_byte: int) -> None:
        """Drop the bounds below the first offset that readers need.

        Raises:
            OSError: if the disk fails.
        """
        self._rewrite(_records(self._path), first_byte)

    @property
    def is_long(self) -> bool:
        """Return whether there are enough records that the file should be rewritten."""
        return self._count >= self._long_count

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _rewrite(self, records: _Records, first_byte: int) -> None:
        """Rewrite the file without the records that are not needed from an offset on.

        A reader that has the old file open still reads its records there, so none may be replaced later.
        """
        passed = sum(byte < first_byte for byte, _ in records.bounds)
        repeated = _lasting_bounds(records.bounds[:passed])
        bounds = [*repeated, *records.bounds[passed:]]
        base = _record(len(repeated), _BASE, records.first + passed)
        new = self._path.with_suffix(".new")
        with open(new, "wb", opener=_open_private) as file:
            file.write(base + b"".join(_encode(byte, bound) for byte, bound in bounds))
            file.flush()
            os.fsync(file.fileno())
        _FILES.replace(new, self._path)
        _FILES.sync_directory(self._path.parent)
        self.close()
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        self._count = 1 + len(bounds)
        self._long_count = max(RECORDS_MIN, 2 * self._count)
        self._last = None
        self._synced = True


class BoundReader:
    """Reads the bounds of a growing front log, from an offset on."""

    def __init__(self, directory: Path, byte: int) -> None:
        self._path = directory / _NAME
        self._descriptor: int | None = None
        self._number = 0
        self._first = 0
        """The number of the first record of the file that is open."""
        self._returned: TimeBound | None = None
        """The last bound of the record with the number that was returned."""
        passed = []
        while (record := self._record()) is not None and record[0] < byte:
            passed.append(record)
            self._number += 1
        self._before = [bound for _, bound in _lasting_bounds(passed)]

    def at(self, byte: int, *, beyond: bool) -> TimeBound | None:
        """Return the next bound at an offset, each once; None if there is no more.

        `beyond` says that bytes after the offset have been read, so that no more bounds are written at it.
        """
        if self._before:
            return self._before.pop(0)
        while (record := self._record()) is not None and record[0] <= byte:
            bound = record[1]
            if isinstance(bound, Arrived) and not beyond:
                return None  # it may not be durable yet, or may be replaced by a later time
            if bound != self._returned:
                self._returned = bound
                return bound
            if not beyond and self._record(1) is None:
                return None
            self._number += 1
            self._returned = None
        return None

    def next_offset(self) -> int | None:
        """Return the offset of the next bound, None if there is none yet."""
        record = self._record()
        return None if record is None else record[0]

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _record(self, ahead: int = 0) -> tuple[int, TimeBound] | None:
        """Return the next record, or the one `ahead` records after it; None if it does not exist yet."""
        if self._descriptor is None and not self._open():
            return None
        found = self._read(self._number + ahead)
        if found is None and self._is_rewritten():
            self.close()
            self._open()
            found = self._read(self._number + ahead)
        return found

    def _read(self, number: int) -> tuple[int, TimeBound] | None:
        assert self._descriptor is not None
        offset = (1 + number - self._first) * _RECORD_BYTES
        return _decode(os.pread(self._descriptor, _RECORD_BYTES, offset))

    def _open(self) -> bool:
        """Open the file; return whether it exists."""
        try:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        self._first = _first_number(os.pread(self._descriptor, _RECORD_BYTES, 0))
        if self._number < self._first:
            self._number, self._returned = self._first, None
        return True

    def _is_rewritten(self) -> bool:
        """Return whether the open file was rewritten."""
        assert self._descriptor is not None
        try:
            return self._path.stat().st_ino != os.fstat(self._descriptor).st_ino
        except FileNotFoundError:
            return False


class BoundedBlocks:
    """The bytes of a front log with its bounds at their offsets."""

    def __init__(self, blocks: Blocks, bounds: BoundReader, byte: int) -> None:
        """Take blocks and bounds that are positioned at an offset."""
        self._blocks = blocks
        self._bounds = bounds
        self._byte = byte
        self._data: bytes | TimeBound | None = None
        """Bytes or a bound that were read and not returned yet."""

    def read(self) -> bytes | TimeBound | None:
        """Return the next bytes or bound; see `Blocks`.

        Raises:
            FsqlError: E535 or E536, if the log cannot be read.
        """
        if not self._data:
            # Read before the bounds, so that all bounds before these bytes have been written.
            self._data = self._blocks.read()
        data = self._data
        assert data is None or isinstance(data, bytes)
        try:
            bound = self._bounds.at(self._byte, beyond=data is not None)
            if bound is not None or not data:
                return data if bound is None else bound
            offset = self._bounds.next_offset()
        except OSError as error:
            raise paths.io_error("reading", "the bounds of a front log", error) from None
        size = len(data) if offset is None else min(len(data), offset - self._byte)
        self._data = data[size:]
        self._byte += size
        return data[:size]

    def content_before(self, byte: int) -> str:
        """Return what the blocks return."""
        return self._blocks.content_before(byte)

    def bytes_passed(self, byte: int) -> int:
        """Return what the blocks return."""
        return self._blocks.bytes_passed(byte)

    def bytes_lost(self, byte: int) -> int:
        """Return what the blocks return."""
        return self._blocks.bytes_lost(byte)

    def close(self) -> None:
        """Close blocks and bounds."""
        self._blocks.close()
        self._bounds.close()


def _lasting_bounds(passed: list[tuple[int, TimeBound]]) -> list[tuple[int, TimeBound]]:
    """Return the records before an offset that are still valid at it: the last of each lasting kind."""
    last = {type(bound): (byte, bound) for byte, bound in passed}
    return sorted(last[kind] for kind in (AtMost, Arrived) if kind in last)


def _records(path: Path) -> _Records:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return _Records(0, [])
    base = _fields(data[:_RECORD_BYTES])
    # Files of older versions, which did not rewrite them, have no base.
    has_base = base is not None and base[1] == _BASE
    offsets = range(_RECORD_BYTES if has_base else 0, len(data), _RECORD_BYTES)
    decoded = [_decode(data[at : at + _RECORD_BYTES]) for at in offsets]
    bounds = [record for record in decoded if record is not None]
    return _Records(_first_number(data[:_RECORD_BYTES]) if has_base else 0, bounds)


def _first_number(base: bytes) -> int:
    """Return the number of the first record after a base."""
    fields = _fields(base)
    return 0 if fields is None else fields[2] - fields[0]


def _encode(byte: int, bound: TimeBound) -> bytes:
    kind = next(name for name, kind in _KINDS.items() if type(bound) is kind)
    return _record(byte, kind, bound.us)


def _record(byte: int, kind: bytes, us: int) -> bytes:
    body = b"%020d %-5s %+020d " % (byte, kind, us)
    return body + xxhash.xxh3_64_hexdigest(body)[:15].encode() + b"\n"


def _decode(record: bytes) -> tuple[int, TimeBound] | None:
    """Return the content of a record, None if it is missing or incomplete."""
    fields = _fields(record)
    return None if fields is None else (fields[0], _KINDS[fields[1]](fields[2]))


def _fields(record: bytes) -> tuple[int, bytes, int] | None:
    body, record_hash = record[:-16], record[-16:]
    if (
        len(record) < _RECORD_BYTES
        or record_hash[:-1] != xxhash.xxh3_64_hexdigest(body)[:15].encode()
    ):
        return None
    byte, kind, us = body.split()
    return int(byte), kind, int(us)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
