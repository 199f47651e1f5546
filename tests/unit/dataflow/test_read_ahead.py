"""The read-ahead of a front: what is under way comes to what came out lately, whatever the speed of the job.

Catches: a read-ahead that grows without bound before a slow consumer, one that starves a job whose way out is
long, one that stays closed forever, and small chunks that keep a job behind.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fsql.runtime.batch import START, Root
from fsql.runtime.dataflow.read_ahead import (
    CHUNKS_MANY,
    PAUSE_SECONDS_MAX,
    ROW_BYTES,
    ROWS_FEW,
    ReadAhead,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20
CHUNK = 4 * MIB


@dataclass
class Job:
    """A front that reads chunks as soon as it may, before a way out of a fixed delay and a fixed speed."""

    read_ahead: ReadAhead
    seconds_a_chunk: float
    delay: float = 0.0
    chunk: int = CHUNK
    now: float = 0.0
    chunks_read: int = 0
    chunks_out: int = 0
    took: list[float] = field(default_factory=list)
    _read_at: list[float] = field(default_factory=list)
    _free_at: float = 0.0
    _out_at: list[float] = field(default_factory=list)

    def run(self, until: float) -> Iterator[int]:
        """Go on; give how many chunks are under way each time that one is out."""
        front: Any = SimpleNamespace(rows_read=0)
        while self.now < until:
            while self.read_ahead.is_open:
                self.chunks_read += 1
                front.bytes_read = self.chunks_read * self.chunk
                front.promised = Root(self.chunks_read, 0)
                self.read_ahead.on_chunk(front, self.now)
                self._read_at.append(self.now)
                self._free_at = max(self._free_at, self.now) + self.seconds_a_chunk
                self._out_at.append(self._free_at + self.delay)
            yield self.chunks_read - self.chunks_out
            self.now = self._out_at[self.chunks_out]
            self.took.append(self.now - self._read_at[self.chunks_out])
            self.chunks_out += 1
            self.read_ahead.on_released(Root(self.chunks_out, 0), self.now)


@pytest.mark.parametrize("seconds_a_chunk", [0.001, 0.01, 0.05, 0.2])
def test_what_is_read_is_out_about_as_much_later_as_the_lead_is_long(
    seconds_a_chunk: float,
) -> None:
    job = Job(ReadAhead(0.5), seconds_a_chunk)
    under_way = list(job.run(20.0))
    assert job.chunks_out == pytest.approx(20.0 / seconds_a_chunk, rel=0.01)
    assert max(under_way) <= 0.5 / seconds_a_chunk + 1.01
    assert max(job.took) <= 0.5 + 1.01 * seconds_a_chunk


def test_a_job_that_becomes_slower_has_less_under_way() -> None:
    job = Job(ReadAhead(0.5), 1 / 128)
    assert max(job.run(10.0)) == 64
    job.seconds_a_chunk = 0.25
    under_way = list(job.run(40.0))
    assert max(under_way[130:]) == 2
    assert max(job.took[-30:]) == pytest.approx(0.5)
    job.seconds_a_chunk = 1 / 128
    assert list(job.run(50.0))[-1] == 64


@pytest.mark.parametrize("delay", [0.3, 2.0, 30.0])
def test_a_way_out_that_takes_long_is_kept_full(delay: float) -> None:
    job = Job(ReadAhead(0.5), 0.01, delay)
    for _ in job.run(30 * delay):
        pass
    before, since = job.chunks_out, job.now
    for _ in job.run(40 * delay):
        pass
    assert (job.chunks_out - before) / (job.now - since) == pytest.approx(100, rel=0.1)


def test_a_chunk_that_was_slow_for_once_does_not_make_the_lead_long_for_ever() -> None:
    job = Job(ReadAhead(0.5), 1 / 128, delay=5.0)
    next(job.run(1.0))
    job.delay = 0.0
    assert max(list(job.run(60.0))[2000:]) == 64


def test_little_is_never_held_back() -> None:
    read_ahead = ReadAhead(0.5)
    front: Any = SimpleNamespace(rows_read=0, bytes_read=0, promised=START)
    for row in range(10_000):
        assert read_ahead.is_open
        front.rows_read, front.bytes_read, front.promised = row + 1, 100 * row, Root(row, 0)
        read_ahead.on_chunk(front, 0.0)


def test_rows_count_where_there_are_no_bytes() -> None:
    read_ahead = ReadAhead(0.5, bytes_min=10 * ROW_BYTES)
    seen = [read_ahead.is_open]
    for rows in (9, 10):
        front: Any = SimpleNamespace(rows_read=rows, bytes_read=0, promised=Root(rows, 0))
        read_ahead.on_chunk(front, 0.0)
        seen.append(read_ahead.is_open)
    for row in (8, 9):
        read_ahead.on_released(Root(row, 0), 1.0)
        seen.append(read_ahead.is_open)
    assert seen == [True, True, False, False, True]


@pytest.mark.parametrize("seconds_a_chunk", [0.002, 0.01, 0.05, 0.1])
def test_a_job_for_which_small_chunks_are_too_much_gets_larger_ones(seconds_a_chunk: float) -> None:
    """Each chunk takes the same time, however few rows have come since the last one was read."""
    read_ahead = ReadAhead(0.5)
    front: Any = SimpleNamespace(rows_read=0, bytes_read=0, promised=START)
    out: deque[tuple[float, Root]] = deque()
    free_at = reads_at = 0.0
    lags = []
    for millisecond in range(60_000):
        now = millisecond / 1000
        while out and out[0][0] <= now:
            read_ahead.on_released(out.popleft()[1], now)
        if now >= reads_at:
            rows = millisecond - front.rows_read  # one row a millisecond
            front.rows_read, front.promised = millisecond, Root(millisecond, 0)
            read_ahead.on_chunk(front, now)
            reads_at = now + read_ahead.pause(rows, now)
            free_at = max(free_at, now) + seconds_a_chunk
            out.append((free_at, front.promised))
            lags.append(free_at - now)
    assert max(lags) <= 60 * seconds_a_chunk
    assert max(lags[-100:]) <= 0.05 + 20 * seconds_a_chunk


def test_the_front_does_not_pause_after_large_chunks_and_between_few() -> None:
    read_ahead = ReadAhead(0.5)
    front: Any = SimpleNamespace(rows_read=0, bytes_read=0, promised=START)
    for _ in range(CHUNKS_MANY - 1):
        read_ahead.on_chunk(front, 0.0)
    assert read_ahead.pause(1, 60.0) == 0.0
    read_ahead.on_chunk(front, 0.0)
    assert read_ahead.pause(ROWS_FEW, 0.01) == 0.0
    assert read_ahead.pause(ROWS_FEW, 1.0) == 1.0 / CHUNKS_MANY
    assert read_ahead.pause(ROWS_FEW + 1, 1.0) == 0.0
    assert read_ahead.pause(1, 60.0) == PAUSE_SECONDS_MAX
    read_ahead.on_released(START, 60.0)
    assert read_ahead.pause(1, 60.0) == 0.0


def test_the_front_lingers_after_small_chunks_and_pauses_for_longer_between_many() -> None:
    read_ahead = ReadAhead(0.5)
    front: Any = SimpleNamespace(rows_read=0, bytes_read=0, promised=START)
    assert read_ahead.pause(1, 0.0, 0.02) == 0.02
    assert read_ahead.pause(ROWS_FEW, 0.0, 0.02) == 0.02
    assert read_ahead.pause(ROWS_FEW + 1, 0.0, 0.02) == 0.0
    for _ in range(CHUNKS_MANY):
        read_ahead.on_chunk(front, 0.0)
    assert read_ahead.pause(1, 0.01, 0.02) == 0.02
    assert read_ahead.pause(1, 1.0, 0.02) == 1.0 / CHUNKS_MANY
    assert read_ahead.pause(1, 1.0, 0.2) == 0.2
