"""The state directory as the coordinator has it: damage is told, and what may pass by itself is no bug."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, NoReturn, TypeVar

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.owner_map import ALL_BINS
from fsql.runtime.cluster.snapshots.manifest import Manifest, StateSegment
from fsql.runtime.coordination.embedded import FILE
from fsql.runtime.coordination.port import CoordinationUnavailableError
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.drivers.processes.job_state import (
    embedded_coordination,
    end_leadership,
    open_job_state,
)
from fsql.runtime.state.local_directory import LocalDirectory, local_snapshots
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.runtime.hosts.job_state import JobState
    from fsql.runtime.hosts.ports import Steps

_Result = TypeVar("_Result")


def done(steps: Steps[_Result]) -> _Result:
    """Return what work in steps ends with."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result


@pytest.fixture
def state(tmp_path: Path) -> Iterator[JobState]:
    # The machine may stand still meanwhile.
    made = open_job_state(tmp_path, "somebody", {}, lease_seconds=600.0)
    assert done(made.renew_lease()) is not None
    yield made
    made.close()


def test_damage_under_a_coordinator_that_leads_is_told(state: JobState, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("DROP TABLE sessions")
    for attempt in (state.renew_lease, state.take_epoch):
        with pytest.raises(FsqlError, match="E615"):
            done(attempt())


def test_a_manifest_that_cannot_be_read_now_is_no_bug(state: JobState, tmp_path: Path) -> None:
    done(state.commit(Manifest("job", 0, 1, 1, (2, 0), 1, (), ())))
    manifest = local_snapshots(tmp_path).path(1)
    manifest.unlink()
    manifest.mkdir()
    with pytest.raises(CoordinationUnavailableError, match="Is a directory"):
        done(state.take_epoch())


@pytest.mark.parametrize(
    ("transient", "error", "said"),
    [
        (True, CoordinationUnavailableError, "cannot read snapshots: snapshot 1"),
        (False, FsqlError, "E612: snapshot 1"),
    ],
)
def test_records_that_cannot_be_read_now_are_not_lost(
    state: JobState,
    monkeypatch: pytest.MonkeyPatch,
    transient: bool,  # noqa: FBT001 - a parameter of the test
    error: type[Exception],
    said: str,
) -> None:
    def fails(*_: object, **__: object) -> NoReturn:
        raise StateStoreError("cannot read", transient=transient)

    record = StateSegment(0, "key", "operator", 1, 0, 1, 1, "", ALL_BINS)
    done(state.commit(Manifest("job", 0, 1, 1, (2, 0), 1, (record,), ())))
    monkeypatch.setattr(LocalDirectory, "open_store", fails)
    with pytest.raises(error, match=said):
        done(state.take_epoch())


def test_logs_keep_what_manifests_need_that_cannot_be_removed_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job may go back to any manifest that is there, if the newer ones cannot be read."""
    trimmed: list[int] = []

    class Log:
        def trim(self, byte: int) -> None:
            trimmed.append(byte)

    def manifest(number: int) -> Manifest:
        front = ResumePoint(0, number, number, number, 0)
        return Manifest("job", 0, 1, number, (number, 0), 1, (), (front,))

    def cannot(*_: object) -> NoReturn:
        raise OSError("the disk fails")

    state = open_job_state(tmp_path, "somebody", {0: Log()}, lease_seconds=600.0)
    with contextlib.closing(state):
        assert done(state.renew_lease()) is not None
        for number in (1, 2):
            done(state.commit(manifest(number)))
        with monkeypatch.context() as patch:
            patch.setattr(LocalDirectory, "remove", cannot)
            done(state.commit(manifest(3)))
        assert trimmed == [1]
        assert local_snapshots(tmp_path).numbers() == (3, 2, 1)
        done(state.commit(manifest(4)))
        assert local_snapshots(tmp_path).numbers() == (4, 3)
    assert trimmed == [1, 2]


def test_a_coordinator_that_has_ended_leads_no_longer(state: JobState, tmp_path: Path) -> None:
    with contextlib.closing(open_job_state(tmp_path, "another", {}, lease_seconds=600.0)) as other:
        for ended, held in (("another", False), ("somebody", True)):
            end_leadership(embedded_coordination(tmp_path), ended)
            assert (done(other.renew_lease()) is not None) is held
    assert done(state.renew_lease()) is None


def test_without_coordination_nothing_is_ended(tmp_path: Path) -> None:
    end_leadership(embedded_coordination(tmp_path), "somebody")
    assert list(tmp_path.iterdir()) == []
