"""Front logs as the coordinator has them: what may go, and what survives the loss of power."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fsql.connectors.live.front_log import LogWriter, segments
from fsql.connectors.live.front_logs import LocalFrontLog
from fsql.connectors.streams.replay import CHECKED_BYTES
from fsql.runtime.cluster.snapshots.manifest import Manifest
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.hosts.front_logs import FrontLogs

if TYPE_CHECKING:
    import pytest

LINE = b"x" * (CHECKED_BYTES - 1) + b"\n"


def at(line: int) -> Manifest:
    """Return a snapshot whose front goes on behind so many lines of the log."""
    point = ResumePoint(0, line, line + 1, line * CHECKED_BYTES, 0)
    return Manifest("job", 0, 1, 1, (line, 0), 1, (), (point,))


def log_of(directory: Path, lines: int) -> LogWriter:
    """Return a log that has each line in a segment of its own."""
    writer = LogWriter(directory, 1 << 30, segment_bytes=1)
    writer.append(LINE * lines)
    return writer


def first_line(directory: Path) -> int:
    return segments(directory)[0].start // CHECKED_BYTES


def test_what_the_two_newest_snapshots_need_stays(tmp_path: Path) -> None:
    log_of(tmp_path, 9).close()
    logs = FrontLogs({0: LocalFrontLog(tmp_path)})
    found = []
    # The third is behind the second: that could not be restored, and the job went back.
    for line in (4, 7, 5, 8, 8):
        logs.on_committed(at(line))
        found.append(first_line(tmp_path))
    assert found == [0, 3, 4, 4, 7]


def test_what_readers_see_and_where_it_ends_survive_the_loss_of_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def sync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "fdatasync", sync)
    log = tmp_path / "log"
    writer = log_of(log, 2)
    first, second, third = (segment.path.name for segment in segments(log))
    above = [tmp_path.parent.name, tmp_path.name]
    assert synced == [*above, "log", first, "log", second, "log"]
    synced.clear()
    writer.append(b"a")
    writer.flush()
    writer.flush()
    assert synced == [third]
    synced.clear()
    writer.end()
    writer.close()
    assert synced == ["end.new", "log"]
