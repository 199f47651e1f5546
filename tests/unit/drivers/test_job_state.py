"""The state directory as the coordinator has it: damage is told, and what may pass by itself is no bug."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.cluster.manifest import Manifest
from fsql.runtime.coordination.embedded import FILE
from fsql.runtime.coordination.port import CoordinationUnavailableError
from fsql.runtime.drivers.processes import job_state
from fsql.runtime.drivers.processes.job_state import JobState
from fsql.runtime.state.snapshots import Snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobState]:
    monkeypatch.setattr(job_state, "LEASE_SECONDS", 600.0)  # the machine may stand still meanwhile
    made = JobState(tmp_path, "somebody")
    assert made.renew_lease() is not None
    yield made
    made.close()


def test_damage_under_a_coordinator_that_leads_is_told(state: JobState, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("DROP TABLE sessions")
    for attempt in (state.renew_lease, state.next_epoch):
        with pytest.raises(FsqlError, match="E615"):
            attempt()


def test_a_manifest_that_cannot_be_read_now_is_no_bug(state: JobState, tmp_path: Path) -> None:
    state.commit(Manifest("job", 0, 1, 1, (2, 0), 1, (), ()))
    manifest = Snapshots(tmp_path).path(1)
    manifest.unlink()
    manifest.mkdir()
    with pytest.raises(CoordinationUnavailableError, match="Is a directory"):
        state.next_epoch()
