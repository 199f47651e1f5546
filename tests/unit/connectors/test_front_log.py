"""Front logs and what feeds them: every whole line comes to the reader once, whoever is killed when."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import STRING
from fsql.connectors.context import ConnectorContext
from fsql.connectors.live import front_log
from fsql.connectors.live.front_log import LogWriter, segments, trim
from fsql.connectors.live.inflows import DescriptorInflow, Feed, SocketInflow
from fsql.connectors.live.kinds import needs_front_log
from fsql.connectors.live.live_splits import open_feed
from fsql.connectors.live.log_split import LogSplit
from fsql.connectors.live.time_bounds import BoundOptions
from fsql.connectors.opening import open_source
from fsql.connectors.streams.replay import CHECKED_BYTES
from fsql.formats.text.decoder import TextDecoder
from fsql.runtime.ports import Chunk, SourceOffset, Wait
from fsql.tests.unit.connectors.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.schema import Schema
    from fsql.runtime.ports import SplitReader

LINE: Schema = (Column("line", STRING),)
LARGE = 1 << 40


def split_of(directory: Path) -> LogSplit:
    return LogSplit("stdin", directory, lambda: TextDecoder(1 << 20), BoundOptions())


def available(reader: SplitReader, rows_max: int = 100) -> list[tuple[int, str]]:
    """Return what can be read now, as row numbers and lines."""
    read: list[tuple[int, str]] = []
    while isinstance(chunk := reader.read(rows_max), Chunk):
        assert not chunk.dead_letters
        read += zip(chunk.rows.tolist(), chunk.columns[0].to_pylist(), strict=True)
    return read


def numbered(data: bytes) -> list[tuple[int, str]]:
    return list(enumerate(data.decode().splitlines()))


def drawn_lines(random: Random, count: int) -> bytes:
    lines = [f"{n} " + "x" * random.choice([0, 3, 50, 300]) for n in range(count)]
    return "".join(line + random.choice(["\n", "\r\n"]) for line in lines).encode()


@pytest.mark.parametrize("seed", range(40))
def test_a_reader_sees_every_line_once_while_all_is_cut_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    for sync in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, sync, lambda _: None)  # no power is lost here
    random = Random(seed)
    data = drawn_lines(random, 300)
    if random.random() < 0.3:
        data = data.rstrip()
    segment_bytes = random.choice([1, 200, 5000, 1 << 20])
    writer = LogWriter(tmp_path, LARGE, segment_bytes)
    reader = split_of(tmp_path).open()
    read: list[tuple[int, str]] = []
    while not writer.ended:
        piece = data[writer.length : writer.length + random.randrange(2000)]
        assert writer.append(piece) == len(piece)
        if random.random() < 0.8:
            writer.flush()
        if random.random() < 0.8:
            read += available(reader, random.choice([1, 7, 1000]))
        if random.random() < 0.2:
            source_offset = reader.source_offset()
            reader.close()
            trim(tmp_path, source_offset.byte)
            reader = split_of(tmp_path).open(source_offset)
        if random.random() < 0.2:
            writer.close()
            writer = LogWriter(tmp_path, LARGE, segment_bytes)
        if writer.length >= len(data):
            writer.end()
    writer.close()
    read += available(reader)
    assert reader.read(10) is None
    reader.close()
    assert read == numbered(data)
    assert LogWriter(tmp_path, LARGE).ended


def test_a_line_without_its_end_is_waited_for(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, LARGE)
    reader = split_of(tmp_path).open()
    writer.append(b"one\ntw")
    writer.flush()
    assert available(reader) == [(0, "one")]
    assert isinstance(reader.read(10), Wait)
    writer.append(b"o\nthree")
    writer.flush()
    assert available(reader) == [(1, "two")]
    writer.end()
    assert available(reader) == [(2, "three")]
    assert reader.read(10) is None
    reader.close()
    writer.close()


def test_a_reader_may_come_before_the_log(tmp_path: Path) -> None:
    reader = split_of(tmp_path / "log").open()
    assert isinstance(reader.read(10), Wait)
    writer = LogWriter(tmp_path / "log", LARGE)
    writer.append(b"one\n")
    writer.flush()
    assert available(reader) == [(0, "one")]
    reader.close()
    writer.close()


def test_a_line_that_its_writer_did_not_finish_is_cut_off(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, LARGE)
    writer.append(b"one\ntw")
    writer.flush()
    writer.close()
    reader = split_of(tmp_path).open()
    assert available(reader) == [(0, "one")]
    writer = LogWriter(tmp_path, LARGE)
    writer.append(b"three\n")
    writer.flush()
    assert available(reader) == [(1, "three")]
    reader.close()
    writer.close()


def test_a_line_longer_than_a_block_that_is_cut_off_is_noticed(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, LARGE)
    writer.append(b"x" * (3 << 20))
    writer.flush()
    reader = split_of(tmp_path).open()
    assert isinstance(reader.read(10), Wait)
    writer.close()
    writer = LogWriter(tmp_path, LARGE)
    with pytest.raises(FsqlError, match="E536"):
        reader.read(10)
    reader.close()
    writer.close()


def test_a_line_is_seen_once_it_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that was released and is lost would make the next one take its position."""
    writer = LogWriter(tmp_path, LARGE)
    reader = split_of(tmp_path).open()
    writer.append(b"one\n")
    seen = []

    def sync(_: int) -> None:
        seen.append(available(reader))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", sync)
        writer.flush()
    assert (seen, available(reader)) == ([[]], [(0, "one")])
    writer.append(b"two\n")
    writer.close()
    assert available(reader) == []
    LogWriter(tmp_path, LARGE).close()
    assert available(reader) == [(1, "two")]
    reader.close()


def test_a_log_that_lost_what_was_seen_of_it_is_refused(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, LARGE)
    writer.append(b"one\ntwo\n")
    writer.flush()
    writer.append(b"thr")
    writer.close()
    LogWriter(tmp_path, LARGE).close()
    segment = segments(tmp_path)[0].path
    assert segment.read_bytes() == b"one\ntwo\n"
    for lost in (7, 4, 0):
        os.truncate(segment, lost)
        with pytest.raises(FsqlError, match=rf"E536.*ends at byte {lost}: its end is lost"):
            LogWriter(tmp_path, LARGE)
    segment.unlink()
    with pytest.raises(FsqlError, match=r"E536.*its end is lost"):
        LogWriter(tmp_path, LARGE)


def test_what_was_trimmed_cannot_be_read(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, LARGE, segment_bytes=CHECKED_BYTES)
    line = b"x" * 999 + b"\n"
    for _ in range(400):
        writer.append(line)
    writer.flush()
    writer.close()
    trim(tmp_path, 300_000)
    first = segments(tmp_path)[0].start
    assert 300_000 - 3 * CHECKED_BYTES < first <= 300_000 - CHECKED_BYTES
    for source_offset in (None, SourceOffset(1, 2, 1000)):
        with pytest.raises(FsqlError, match="E536"):
            split_of(tmp_path).open(source_offset).read(10)


def test_segments_that_are_removed_while_a_place_is_looked_at_are_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LogWriter(tmp_path, 1 << 20, segment_bytes=100_000)
    writer.append((b"x" * 99 + b"\n") * 5_000)
    writer.flush()
    reader = split_of(tmp_path).open()
    while reader.source_offset().byte < writer.length:
        reader.read(10_000)
    source_offset, seen = reader.source_offset(), segments(tmp_path)
    trim(tmp_path, source_offset.byte)
    assert len(segments(tmp_path)) < len(seen)
    monkeypatch.setattr(front_log, "segments", lambda _: seen)
    assert split_of(tmp_path).open(source_offset).source_offset() == source_offset


def test_another_log_is_not_taken_for_the_one_that_was_read(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, LARGE)
    writer.append(b"one\ntwo\n")
    writer.flush()
    writer.close()
    reader = split_of(tmp_path).open()
    available(reader)
    source_offset = reader.source_offset()
    reader.close()
    split_of(tmp_path).open(source_offset).close()
    segments(tmp_path)[0].path.write_bytes(b"one\nTWO\nthree\n")
    with pytest.raises(FsqlError, match="the contents before have changed"):
        split_of(tmp_path).open(source_offset)


def wait_until(reached: object) -> None:
    assert callable(reached)
    while not reached():
        time.sleep(0.005)


def no_failure(error: FsqlError) -> None:
    raise AssertionError(error)


def test_a_full_log_holds_the_source_back_until_it_is_trimmed(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    limit = 8 * CHECKED_BYTES
    writer = LogWriter(tmp_path, limit)
    feed = Feed(DescriptorInflow(reading), writer, no_failure)
    reader = split_of(tmp_path).open()
    data = b"".join(b"%d\n" % n for n in range(400_000))
    read: list[tuple[int, str]] = []
    sent = held_back = 0
    while sent < len(data) or len(read) < 400_000:
        is_held_back = False
        try:
            sent += os.write(writing, data[sent : sent + 65536])
        except BlockingIOError:
            is_held_back = writer.room() == 0
            held_back += is_held_back
        on_disk = sum(segment.path.stat().st_size for segment in segments(tmp_path))
        assert on_disk <= limit + (1 << 12)
        if is_held_back or sent == len(data):
            read += available(reader, 1 << 20)
            trim(tmp_path, reader.source_offset().byte)
        if sent == len(data):
            time.sleep(0.001)
    os.close(writing)
    wait_until(lambda: writer.ended)
    feed.close()
    assert available(reader) == []
    assert reader.read(1) is None
    reader.close()
    os.close(reading)
    assert held_back > 0
    assert [row for row, _ in read] == list(range(400_000))
    assert [line for _, line in read] == data.decode().split()


@pytest.mark.parametrize("ends", [False, True])
def test_connections_come_one_after_the_other(tmp_path: Path, *, ends: bool) -> None:
    inflow = SocketInflow(("127.0.0.1", 0), ends_with_connection=ends)
    address = inflow.address
    writer = LogWriter(tmp_path, LARGE)
    feed = Feed(inflow, writer, no_failure)
    reader = split_of(tmp_path).open()
    with socket.create_connection(address) as first:
        first.sendall(b"one\ntwo\nunfin")
        first.sendall(b"ished")
        read: list[tuple[int, str]] = []
        while len(read) < 2:
            read += available(reader)
    while len(read) < 3:
        read += available(reader)
    assert read == [(0, "one"), (1, "two"), (2, "unfinished")]
    if ends:
        wait_until(lambda: reader.read(1) is None)
    else:
        with socket.create_connection(address) as second:
            second.sendall(b"four\n")
            while len(read) < 4:
                read += available(reader)
        assert read[3] == (3, "four")
    feed.close()
    reader.close()


def test_what_cannot_be_read_again_has_a_log(tmp_path: Path) -> None:
    from_stdin = table(LINE, connector="stdin", format="text")
    assert needs_front_log(from_stdin)
    assert not needs_front_log(table(LINE, connector="file", path="f"))
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo")
    os.close(writing)
    feed = open_feed(from_stdin, tmp_path, no_failure, ConnectorContext(tmp_path, stdin=reading))
    (split,) = open_source(from_stdin, ConnectorContext(tmp_path, front_logs=tmp_path))
    reader = split.open()
    read: list[str] = []
    while (chunk := reader.read(10)) is not None:
        if isinstance(chunk, Chunk):
            read += chunk.columns[0].to_pylist()
    assert (split.name, read) == ("stdin", ["one", "two"])
    reader.close()
    feed.close()
    os.close(reading)


CHILD = """
import sys
from pathlib import Path
from fsql.connectors.live.front_log import LogWriter
from fsql.connectors.live.inflows import DescriptorInflow, Feed
writer = LogWriter(Path(sys.argv[1]), 1 << 40, segment_bytes=20_000)
feed = Feed(DescriptorInflow(0), writer, lambda error: None)
feed._thread.join()
"""


@pytest.mark.cluster
def test_a_launcher_that_is_killed_loses_no_line_that_a_reader_saw(tmp_path: Path) -> None:
    random = Random(3)
    reader = split_of(tmp_path).open()
    read: list[tuple[int, str]] = []
    for attempt in range(4):
        command = [sys.executable, "-c", CHILD, str(tmp_path)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE)
        assert child.stdin is not None
        with child.stdin as pipe:
            try:
                for n in range(2000 + random.randrange(20_000)):
                    pipe.write(b"%d.%d\n" % (attempt, n))
                pipe.flush()
                child.send_signal(signal.SIGKILL)
            except BrokenPipeError:
                pass
        child.wait()
        read += available(reader)
    reader.close()
    again = split_of(tmp_path).open()
    assert available(again) == read
    again.close()
    assert [row for row, _ in read] == list(range(len(read)))
    for attempt in range(4):
        numbers = [int(line.split(".")[1]) for _, line in read if line.startswith(f"{attempt}.")]
        assert numbers == list(range(len(numbers)))


def test_a_full_disk_is_reported_once_until_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogWriter(tmp_path, LARGE)
    reports: list[str] = []
    log.on_full = lambda: reports.append("full")
    write = os.write

    def refuse(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, f"{descriptor >= 0} {len(data)}")

    for _ in range(2):
        monkeypatch.setattr(os, "write", refuse)
        assert [log.append(b"one\n") for _ in range(3)] == [0, 0, 0]
        monkeypatch.setattr(os, "write", write)
        assert log.append(b"one\n") == 4
    assert reports == ["full", "full"]
    log.append(b"two\nthr")
    assert (log.drop_unfinished(), log.length) == (3, 12)
    log.close()
    assert (tmp_path / f"{0:020}").read_bytes() == b"one\none\ntwo\n"
    again = LogWriter(tmp_path, LARGE)
    assert (again.bytes_cut, again.line_end) == (0, 12)
    again.append(b"four")
    again.close()
    with closing(LogWriter(tmp_path, LARGE)) as last:
        assert (last.bytes_cut, last.length) == (4, 12)
