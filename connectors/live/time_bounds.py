"""Bounds on the event times of live input by the clock, at their places in the stream.

`AtLeast` is a lower bound for the times of later rows: a source was silent for the duration of its option
`idle`, and its time advances with the clock.  `AtMost` is an upper bound: the clock at the arrival of the
rows plus the option `max_ahead`.

A run without state reads the clock when it reads the input.  In a job with state, the process that writes the
front log reads the clock, and writes each bound to the log before it takes effect, so that a replay agrees.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import xxhash

from fsql.connectors import paths
from fsql.connectors.streams.blocks import AtLeast, AtMost, TimeBound

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.connectors.live.front_log import LogWriter
    from fsql.connectors.streams.blocks import Blocks

_NAME: Final = "bounds"
_RECORD_BYTES: Final = 64
_SECOND_US: Final = 1_000_000
_HOUR_US: Final = 3_600 * _SECOND_US
LINE_BYTES_MAX: Final = 1 << 19
"""Half a block of a log: a line that is not longer is read as a whole."""
_STEPS: Final = 16
"""Into how many steps the clock of `max_ahead` is divided; a row may be ahead by one step more."""


def _wall_us() -> int:
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class BoundOptions:
    """The options of a table about its clock, in microseconds; None if not set."""

    idle_us: int | None = None
    max_ahead_us: int | None = None

    def __bool__(self) -> bool:
        """Return whether a clock is needed."""
        return self.idle_us is not None or self.max_ahead_us is not None


class ArrivalClock:
    """Says which bounds belong where in a stream, as its bytes come."""

    def __init__(
        self,
        options: BoundOptions,
        wall_us: Callable[[], int] = _wall_us,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._wall_us = wall_us
        self._seconds = seconds
        self._silent_since = seconds()
        self._promised_at: float | None = None
        self._read_at_us: int | None = None

    def on_activity(self) -> None:
        """Record that the source is not silent, or is not being read now."""
        self._silent_since = self._seconds()
        self._promised_at = None

    def on_data(self) -> AtMost | None:
        """Return the bound that belongs before bytes that have come, if it is another one now."""
        self.on_activity()
        ahead_us = self._options.max_ahead_us
        if ahead_us is None:
            return None
        now_us, step_us = self._wall_us(), min(ahead_us // _STEPS + 1, _HOUR_US)
        if self._read_at_us is not None and abs(now_us - self._read_at_us) < step_us:
            return None
        self._read_at_us = now_us
        return AtMost(now_us + ahead_us + step_us)

    def on_silence(self) -> AtLeast | None:
        """Return the bound that belongs where nothing comes now, if the source is idle."""
        idle_us = self._options.idle_us
        if idle_us is None:
            return None
        now, idle = self._seconds(), idle_us / _SECOND_US
        if now - self._silent_since < idle:
            return None
        if self._promised_at is not None and now - self._promised_at < min(idle / 4, 1.0):
            return None
        self._promised_at = now
        return AtLeast(self._wall_us() - idle_us)


class ClockedBlocks:
    """The bytes of a stream that can be read once, with the bounds that the clock gives now."""

    def __init__(self, blocks: Blocks, clock: ArrivalClock) -> None:
        """Take over the blocks."""
        self._blocks = blocks
        self._clock = clock
        self._held: bytes | TimeBound | None = None

    def read(self) -> bytes | TimeBound | None:
        """Return the next bytes or bound; see `Blocks`.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        block, self._held = self._held, None
        if block is None:
            block = self._blocks.read()
            if block is None:
                return self._clock.on_silence()
            bound = self._clock.on_data()
            if bound is not None:
                self._held = block
                return bound
        return block

    def content_before(self, byte: int) -> str:
        """Return what the blocks return."""
        return self._blocks.content_before(byte)

    def bytes_passed(self, byte: int) -> int:
        """Return what the blocks return."""
        return self._blocks.bytes_passed(byte)

    def close(self) -> None:
        """Close the blocks."""
        self._blocks.close()


class LogClock:
    """Reads the clock for a front log while it is written, and writes the bounds to it."""

    def __init__(self, clock: ArrivalClock, log: LogWriter, writer: BoundWriter) -> None:
        self._clock = clock
        self._log = log
        self._writer = writer

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
        # Readers may have read a part of a line that is longer than a block.
        if bound is not None and self._log.length - self._log.line_end < LINE_BYTES_MAX:
            self._log.flush()
            self._writer.write(self._log.line_end, bound)


class BoundWriter:
    """Writes the bounds of a front log, or continues them."""

    def __init__(self, directory: Path, first_byte: int) -> None:
        """Continue; nothing before `first_byte` is read any more.

        Raises:
            OSError: if the file cannot be written.
        """
        self._directory = directory
        self._path = directory / _NAME
        kept = _needed(_records(self._path), first_byte)
        new = self._path.with_suffix(".new")
        with open(new, "wb", opener=_private) as file:
            file.write(b"".join(_encoded(byte, bound) for byte, bound in kept))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        self._count = len(kept)
        self._last = kept[-1] if kept else None
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)

    def write(self, byte: int, bound: TimeBound) -> None:
        """Write a bound at a place of the log; return when it survives the loss of power.

        It replaces the last one if that is of the same kind at the same place.

        Raises:
            OSError: if the disk fails.
        """
        again = self._last is not None and self._last[0] == byte
        again = again and self._last is not None and type(self._last[1]) is type(bound)
        at = self._count - again
        os.pwrite(self._descriptor, _encoded(byte, bound), at * _RECORD_BYTES)
        os.fsync(self._descriptor)
        self._count = at + 1
        self._last = (byte, bound)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class BoundReader:
    """Reads the bounds of a front log along, from some place on."""

    def __init__(self, directory: Path, byte: int) -> None:
        self._path = directory / _NAME
        self._descriptor: int | None = None
        self._index = 0
        self._told: TimeBound | None = None
        """The last bound of the record at the index that was returned."""
        self._before: AtMost | None = None
        while (record := self._record(self._index)) is not None and record[0] < byte:
            if isinstance(record[1], AtMost):
                self._before = record[1]
            self._index += 1

    def at(self, byte: int, *, beyond: bool) -> TimeBound | None:
        """Return the next bound that holds at a place, each once.

        `beyond` says that bytes behind the place have been seen: nothing more is written at it.
        """
        if self._before is not None:
            before, self._before = self._before, None
            return before
        while (record := self._record(self._index)) is not None and record[0] <= byte:
            if record[1] != self._told:
                self._told = record[1]
                return record[1]
            if not beyond and self._record(self._index + 1) is None:
                return None
            self._index += 1
            self._told = None
        return None

    def next_place(self) -> int | None:
        """Return the place of the next bound, None if there is none yet."""
        record = self._record(self._index)
        return None if record is None else record[0]

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _record(self, index: int) -> tuple[int, TimeBound] | None:
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
        return _decoded(os.pread(self._descriptor, _RECORD_BYTES, index * _RECORD_BYTES))


class BoundedBlocks:
    """The bytes of a front log and its bounds, each where it was written."""

    def __init__(self, blocks: Blocks, bounds: BoundReader, byte: int) -> None:
        """Take over blocks and bounds that stand at a place."""
        self._blocks = blocks
        self._bounds = bounds
        self._byte = byte
        self._data: bytes | TimeBound | None = None
        """What was read of the blocks and not returned."""

    def read(self) -> bytes | TimeBound | None:
        """Return the next bytes or bound; see `Blocks`.

        Raises:
            FsqlError: E535 or E536, if the log cannot be read.
        """
        if not self._data:
            # Before the bounds are looked at: those that stand before these bytes are there by then.
            self._data = self._blocks.read()
        data = self._data
        assert data is None or isinstance(data, bytes)
        try:
            bound = self._bounds.at(self._byte, beyond=data is not None)
            if bound is not None or not data:
                return data if bound is None else bound
            place = self._bounds.next_place()
        except OSError as error:
            raise paths.failed("reading", "the bounds of a front log", error) from None
        size = len(data) if place is None else min(len(data), place - self._byte)
        self._data = data[size:]
        self._byte += size
        return data[:size]

    def content_before(self, byte: int) -> str:
        """Return what the blocks return."""
        return self._blocks.content_before(byte)

    def bytes_passed(self, byte: int) -> int:
        """Return what the blocks return."""
        return self._blocks.bytes_passed(byte)

    def close(self) -> None:
        """Close blocks and bounds."""
        self._blocks.close()
        self._bounds.close()


def _needed(records: list[tuple[int, TimeBound]], first_byte: int) -> list[tuple[int, TimeBound]]:
    """Return the records that are needed for reading from a place on."""
    behind = [record for record in records if record[0] >= first_byte]
    before = [r for r in records if r[0] < first_byte and isinstance(r[1], AtMost)]
    return [*before[-1:], *behind]


def _records(path: Path) -> list[tuple[int, TimeBound]]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    decoded = [_decoded(data[at : at + _RECORD_BYTES]) for at in range(0, len(data), _RECORD_BYTES)]
    return [record for record in decoded if record is not None]


def _encoded(byte: int, bound: TimeBound) -> bytes:
    kind = "least" if isinstance(bound, AtLeast) else "most "
    body = f"{byte:020d} {kind} {bound.us:+020d} ".encode()
    return body + xxhash.xxh3_64_hexdigest(body)[:15].encode() + b"\n"


def _decoded(record: bytes) -> tuple[int, TimeBound] | None:
    """Return what a record says, None if it is not there, or not whole."""
    body, record_hash = record[:-16], record[-16:]
    if (
        len(record) < _RECORD_BYTES
        or record_hash[:-1] != xxhash.xxh3_64_hexdigest(body)[:15].encode()
    ):
        return None
    byte, kind, us = body.split()
    return int(byte), (AtLeast if kind == b"least" else AtMost)(int(us))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
