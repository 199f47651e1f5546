"""Bounds by the clock: when there is one, where it stands in a front log, what a replay finds of it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.connectors.live.front_log import LogBlocks, LogWriter
from fsql.connectors.live.logged_bounds import (
    BoundedBlocks,
    BoundReader,
    BoundWriter,
    LogClock,
)
from fsql.connectors.live.time_bounds import ArrivalClock, BoundOptions, ClockedBlocks
from fsql.connectors.streams.blocks import Arrived, AtLeast, AtMost, TimeBound

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.us = 1_000 * SECOND

    def seconds(self) -> float:
        return self.us / SECOND

    def read(self, options: BoundOptions) -> ArrivalClock:
        return ArrivalClock(options, lambda: self.us, self.seconds)

    def advance(self, seconds: float) -> None:
        self.us += int(seconds * SECOND)


def test_a_source_is_idle_when_it_was_silent_for_long() -> None:
    clock = Clock()
    arrivals = clock.read(BoundOptions(idle_us=10 * SECOND))
    found = []
    for seconds in (9.9, 0.1, 0.5, 0.5, 1.0):
        clock.advance(seconds)
        found.append(arrivals.on_silence())
    assert found == [
        None,
        AtLeast(1_000 * SECOND),
        None,
        AtLeast(1_001 * SECOND),
        AtLeast(1_002 * SECOND),
    ]
    assert arrivals.on_data() is None
    clock.advance(9.9)
    assert arrivals.on_silence() is None
    arrivals.on_activity()
    clock.advance(9.9)
    assert arrivals.on_silence() is None


def test_a_row_may_be_ahead_by_what_the_table_says_and_a_step() -> None:
    clock = Clock()
    arrivals = clock.read(BoundOptions(max_ahead_us=16 * SECOND - 16))
    assert arrivals.on_data() == AtMost((1_000 + 16 + 1) * SECOND - 16)
    clock.advance(0.9)
    assert arrivals.on_data() is None
    clock.advance(0.1)
    assert arrivals.on_data() == AtMost((1_001 + 16 + 1) * SECOND - 16)
    clock.advance(-5)
    assert arrivals.on_data() == AtMost((996 + 16 + 1) * SECOND - 16)
    assert clock.read(BoundOptions()).on_data() is None
    assert clock.read(BoundOptions()).on_silence() is None


def test_the_time_of_arrival_never_goes_back() -> None:
    clock = Clock()
    arrivals = clock.read(BoundOptions(arrival=True))
    told: list[TimeBound | None] = []
    for us in (1_500, 400, 200, -5_000, 5_000):
        clock.us += us
        told += [arrivals.on_data()]
    clock.advance(0.1)
    told += [arrivals.on_silence()]
    clock.advance(0.2)
    told += [arrivals.on_silence(), arrivals.on_data()]
    clock.advance(-9)
    told += [arrivals.on_data()]
    start = 1_000 * SECOND
    assert told == [
        Arrived(start + 1_000),
        None,
        Arrived(start + 2_000),
        None,
        None,
        None,
        AtLeast(start + 302_000),
        Arrived(start + 302_000),
        None,
    ]
    again = clock.read(BoundOptions(arrival=True))
    again.resume(start + 400_000)
    assert again.on_data() == Arrived(start + 400_000)


class Given:
    """Blocks that a test gives."""

    def __init__(self, *blocks: bytes | None) -> None:
        self._blocks = list(blocks)

    def read(self) -> bytes | None:
        return self._blocks.pop(0)

    def content_before(self, byte: int) -> str:
        return str(byte)

    def bytes_lost(self, byte: int) -> int:
        return byte

    def bytes_passed(self, byte: int) -> int:
        return byte

    def close(self) -> None:
        self._blocks.clear()


def test_a_bound_comes_before_the_bytes_that_it_is_for() -> None:
    clock = Clock()
    options = BoundOptions(idle_us=SECOND, max_ahead_us=10**9 * SECOND)
    blocks = ClockedBlocks(Given(b"1\n", None, None, b"2\n", b""), clock.read(options))
    most = AtMost(clock.us + (10**9 + 3600) * SECOND)
    assert [blocks.read() for _ in range(3)] == [most, b"1\n", None]
    clock.advance(2)
    assert [blocks.read() for _ in range(3)] == [AtLeast(1_001 * SECOND), b"2\n", b""]


BOTH = BoundOptions(idle_us=SECOND, max_ahead_us=32 * SECOND)
ARRIVAL = BoundOptions(arrival=True)


def log_of(
    directory: Path, random: Random, rounds: int, options: BoundOptions
) -> list[bytes | TimeBound]:
    """Write a log with bounds; return its lines and bounds in order, the last of those at one place."""
    log = LogWriter(directory, 1 << 20, segment_bytes=40)
    writer = BoundWriter(directory, 0)
    clock = Clock()
    arrivals = clock.read(options)
    logged = LogClock(arrivals, log, writer)
    for _ in range(rounds):
        clock.advance(random.random() * 3)
        if random.random() < 0.05:
            writer.drop_before(0)
        if random.random() < 0.5:
            logged.on_silence()
        else:
            logged.on_data()
            log.append(random.choice([b"ab", b"c\n", b"d\nef", b"g\nh\n"]))
    logged.on_data()
    log.append(b"\n")
    log.end()
    log.close()
    writer.close()
    return read_from(directory, 0)[1]


def read_from(directory: Path, byte: int) -> tuple[int, list[bytes | TimeBound]]:
    """Return how long a log is, and its lines and bounds from a place on."""
    blocks = BoundedBlocks(LogBlocks(directory, byte), BoundReader(directory, byte), byte)
    found: list[bytes | TimeBound] = []
    while (block := blocks.read()) != b"":
        assert block is not None
        if isinstance(block, bytes):
            found += block.splitlines(keepends=True)
            byte += len(block)
        else:
            found.append(block)
    blocks.close()
    return byte, found


@pytest.mark.parametrize("seed", range(20))
def test_a_replay_from_any_line_finds_the_bounds_that_hold_there(tmp_path: Path, seed: int) -> None:
    whole = log_of(tmp_path / "log", Random(seed), 60, BOTH)
    assert any(isinstance(each, AtLeast) for each in whole)
    assert any(isinstance(each, AtMost) for each in whole)
    byte, most = 0, None
    for index, each in enumerate(whole):
        if isinstance(each, AtMost):
            most = each
        if not isinstance(each, bytes):
            continue
        before = [] if most is None or byte == 0 else [most]
        behind = read_from(tmp_path / "log", byte)[1]
        first = next(i for i, other in enumerate(behind) if isinstance(other, bytes))
        assert behind[first:] == whole[index:]
        # What holds at the place is told before its line, the last of each kind being the one that counts.
        mosts = [other for other in behind[:first] if isinstance(other, AtMost)]
        assert mosts[-1:] == before or byte == 0
        byte += len(each)


@pytest.mark.parametrize("seed", range(20))
def test_a_replay_from_any_line_finds_when_it_came(tmp_path: Path, seed: int) -> None:
    whole = log_of(tmp_path / "log", Random(seed), 60, ARRIVAL)
    lines = [each for each in whole if isinstance(each, bytes)]
    arrivals = arrivals_of(whole)
    byte = 0
    for number, line in enumerate(lines):
        behind = read_from(tmp_path / "log", byte)[1]
        assert [each for each in behind if isinstance(each, bytes)] == lines[number:]
        assert arrivals_of(behind) == arrivals[number:]
        byte += len(line)
    assert arrivals == sorted(arrivals)


def arrivals_of(items: list[bytes | TimeBound]) -> list[int]:
    """Return when each line came, which is not before any bound that was told before it."""
    found: list[int] = []
    came = least = 0
    for each in items:
        if isinstance(each, Arrived):
            came = each.us
        elif isinstance(each, AtLeast):
            least = each.us
        elif isinstance(each, bytes):
            found.append(came)
            assert came >= least
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_reader_goes_on_when_the_bounds_are_written_anew(tmp_path: Path, seed: int) -> None:
    """A reader that reads along, however far behind, finds what one finds that reads it all at last."""
    random, clock = Random(seed), Clock()
    log = LogWriter(tmp_path, 1 << 20)
    writer = BoundWriter(tmp_path, 0)
    logged = LogClock(clock.read(ARRIVAL), log, writer)
    along = BoundedBlocks(LogBlocks(tmp_path, 0), BoundReader(tmp_path, 0), 0)
    read: list[bytes | TimeBound] = []
    for number in range(80):
        clock.advance(random.random())
        match random.randrange(5):
            case 0:
                writer.drop_before(max(log.line_end - random.randrange(200), 0))
            case 1:
                logged.on_silence()
            case _:
                logged.on_data()
                log.append(b"%d" % number + random.choice((b"\n", b"\n", b"")))
        if random.random() < 0.3:
            log.flush()
        while random.random() < 0.5 and (block := along.read()) is not None:
            read += block.splitlines(keepends=True) if isinstance(block, bytes) else [block]
    logged.on_data()
    log.append(b"\n")
    log.end()
    while block := along.read():
        read += block.splitlines(keepends=True) if isinstance(block, bytes) else [block]
    came = arrivals_of(read)
    whole = log_arrivals(tmp_path)
    assert came[-len(whole) :] == whole
    for each in (along, writer, log):
        each.close()


def log_arrivals(directory: Path) -> list[int]:
    """Return when each line came whose record is still there, by the records alone."""
    records = [record.split() for record in (directory / "bounds").read_text().splitlines()]
    came = [(int(place), int(us)) for place, kind, us, _ in records if kind == "came"]
    start, found = 0, []
    for line in read_lines(directory):
        known = [us for place, us in came if place <= start]
        found += known[-1:]
        start += len(line)
    return found


def read_lines(directory: Path) -> list[bytes]:
    segments = sorted(path for path in directory.iterdir() if path.name.isdigit())
    return b"".join(path.read_bytes() for path in segments).splitlines(keepends=True)


def test_a_bound_of_bytes_that_were_lost_is_dropped(tmp_path: Path) -> None:
    writer = BoundWriter(tmp_path, 0)
    writer.write(0, Arrived(5))
    writer.write(9, Arrived(7))
    writer.close()
    writer = BoundWriter(tmp_path, 0, 4)
    writer.write(4, Arrived(8))
    reader = BoundReader(tmp_path, 0)
    assert [reader.at(place, beyond=True) for place in (0, 0, 4, 4, 9)] == [
        Arrived(5),
        None,
        Arrived(8),
        None,
        None,
    ]
    assert writer.last_us == 7
    writer.close()
    reader.close()


def test_a_file_without_a_base_keeps_all_its_bounds(tmp_path: Path) -> None:
    writer = BoundWriter(tmp_path, 0)
    writer.write(0, AtLeast(5))
    writer.write(9, AtLeast(7))
    writer.close()
    file = tmp_path / "bounds"
    _, *records = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(records))
    BoundWriter(tmp_path, 0).close()
    reader = BoundReader(tmp_path, 0)
    assert [reader.at(place, beyond=True) for place in (0, 0, 9, 9)] == [
        AtLeast(5),
        None,
        AtLeast(7),
        None,
    ]
    reader.close()


def test_bounds_are_read_along(tmp_path: Path) -> None:
    """The last bound at a place may change until a line stands behind it."""
    log = LogWriter(tmp_path, 1 << 20)
    writer = BoundWriter(tmp_path, 0)
    blocks = BoundedBlocks(LogBlocks(tmp_path, 0), BoundReader(tmp_path, 0), 0)
    assert blocks.read() is None
    writer.write(log.line_end, AtLeast(5))
    assert [blocks.read(), blocks.read()] == [AtLeast(5), None]
    writer.write(log.line_end, AtLeast(7))
    assert [blocks.read(), blocks.read()] == [AtLeast(7), None]
    log.append(b"a\nb")
    log.flush()
    writer.write(log.line_end, AtMost(9))
    log.append(b"c\n")
    log.flush()
    assert [blocks.read() for _ in range(4)] == [b"a\n", AtMost(9), b"bc\n", None]
    writer.write(log.line_end, AtLeast(11))
    writer.close()
    writer = BoundWriter(tmp_path, 2)
    blocks.close()
    again = BoundedBlocks(LogBlocks(tmp_path, 5), BoundReader(tmp_path, 5), 5)
    assert [again.read() for _ in range(3)] == [AtMost(9), AtLeast(11), None]
    again.close()
    writer.close()
    log.close()
