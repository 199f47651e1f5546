"""Bounds by the clock: when there is one, where it stands in a front log, what a replay finds of it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.connectors.live.front_log import LogBlocks, LogWriter
from fsql.connectors.live.time_bounds import (
    ArrivalClock,
    BoundedBlocks,
    BoundOptions,
    BoundReader,
    BoundWriter,
    ClockedBlocks,
    LogClock,
)
from fsql.connectors.streams.blocks import AtLeast, AtMost, TimeBound

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


class Given:
    """Blocks that a test gives."""

    def __init__(self, *blocks: bytes | None) -> None:
        self._blocks = list(blocks)

    def read(self) -> bytes | None:
        return self._blocks.pop(0)

    def content_before(self, byte: int) -> str:
        return str(byte)

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


def log_of(directory: Path, random: Random, rounds: int) -> list[bytes | TimeBound]:
    """Write a log with bounds; return its lines and bounds in order, the last of those at one place."""
    log = LogWriter(directory, 1 << 20, segment_bytes=40)
    writer = BoundWriter(directory, 0)
    clock = Clock()
    arrivals = clock.read(BoundOptions(idle_us=SECOND, max_ahead_us=32 * SECOND))
    logged = LogClock(arrivals, log, writer)
    for _ in range(rounds):
        clock.advance(random.random() * 3)
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
    whole = log_of(tmp_path / "log", Random(seed), 60)
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
