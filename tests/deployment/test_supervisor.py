"""When the supervisor starts a job again, and when it gives up: without processes."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import msgspec
import pytest

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.deployment.agent import run_agent
from fsql.deployment.agent_log import bound_log, log_line
from fsql.deployment.directory import (
    ClusterDirectory,
    Deployment,
    JobStatus,
    Outcome,
    locked_by,
    take_lock,
)
from fsql.deployment.files import system_error
from fsql.deployment.messages import Ping
from fsql.deployment.startup import start_agent
from fsql.deployment.supervisor import FAILURES_MAX, Supervisor
from fsql.deployment.views import causes, view_of
from fsql.job.state_directory import deletion_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.deployment.directory import JobDirectory


class Trial:
    """A supervisor of one job whose process never runs; the clock of attempts is set back by hand."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = ClusterDirectory(path)
        self.cluster.create()
        self.job = self.cluster.job_of("1")
        self.job.path.mkdir()
        self.job.set_deployment(
            Deployment("1", "trial", 1, 1000, None, "refuse", "running", time.time())
        )
        self.starts = 0
        self.said: list[str] = []
        self.supervisor = Supervisor(self.cluster, self.said.append)
        monkeypatch.setattr(self.supervisor, "start", self._start)

    def _start(self, job: JobDirectory) -> None:
        job.set_outcome(None)
        job.log.touch()
        self.starts += 1

    def fail(self, code: str, *, lasting: bool) -> None:
        error = diagnostics_bytes(FsqlError([Diagnostic(code, "it fails")])).decode()
        self.job.set_outcome(Outcome("failed", 0.0, error, lasting=lasting))

    def look(self) -> None:
        """Look after the job as if the time of the next attempt had come."""
        self.supervisor.reconcile_all()
        restarts = self.job.restarts()
        if restarts is not None and restarts.next_at:
            self.job.set_restarts(
                type(restarts)(restarts.failures, 1.0, restarts.progress, restarts.reason)
            )


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    return Trial(tmp_path, monkeypatch)


def test_a_new_job_is_started_at_once(trial: Trial) -> None:
    trial.look()
    assert (trial.starts, trial.said) == (1, [])


def test_a_job_that_ended_is_started_after_growing_times(trial: Trial) -> None:
    trial.look()
    for _ in range(3):
        trial.fail("E624", lasting=False)
        trial.look()
        trial.look()
    assert trial.starts == 4
    assert trial.said == [
        "job trial: it fails; starting it again in 1 s",
        "job trial: it fails; starting it again in 2 s",
        "job trial: it fails; starting it again in 4 s",
    ]


def test_a_job_waits_for_its_next_attempt(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.look()
    trial.fail("E624", lasting=False)
    now = time.time()
    monkeypatch.setattr("fsql.deployment.supervisor.time.time", lambda: now)
    trial.supervisor.reconcile_all()
    trial.supervisor.reconcile_all()
    assert trial.starts == 1
    restarts = trial.job.restarts()
    assert restarts is not None
    assert (restarts.failures, restarts.reason) == (1, "it fails")


def test_a_lasting_error_is_not_tried_again(trial: Trial) -> None:
    trial.look()
    trial.fail("E513", lasting=True)
    for _ in range(3):
        trial.look()
    assert (trial.starts, trial.said) == (1, [])
    assert view_of(trial.cluster, trial.job).state == "failed"


def test_a_job_that_keeps_failing_is_given_up(trial: Trial) -> None:
    trial.look()
    for _ in range(FAILURES_MAX * 2):
        if trial.job.outcome() is None:
            trial.fail("E624", lasting=False)
        trial.look()
    assert trial.starts == FAILURES_MAX
    assert trial.said[-1] == f"job trial: has failed {FAILURES_MAX} times and is not restarted"
    view = view_of(trial.cluster, trial.job)
    assert view.state == "failed"
    assert "it failed: FSQL-E624: it fails" in list(causes(view))


def test_a_full_disk_ends_neither_the_agent_nor_its_log(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said once, and the job is started when there is space again."""
    full = system_error(trial.job.path, OSError(errno.ENOSPC, "No space left on device"))
    trial.look()
    trial.fail("E624", lasting=False)
    with monkeypatch.context() as patch:
        patch.setattr(type(trial.job), "set_restarts", Mock(side_effect=full))
        for _ in range(3):
            trial.look()
        patch.setattr("shutil.disk_usage", lambda _: Mock(free=4096))
        why = "its disk is full: snapshots, its status and its log are not written until there is space"
        assert why in causes(view_of(trial.cluster, trial.job))
    [error] = full.diagnostics
    assert (error.code, error.helps) == ("E632", ("free space on its disk",))
    trial.look()
    trial.look()
    assert trial.starts == 2
    assert trial.said == [
        f'job 1: E632: "{trial.job.path}" cannot be used: no space left on device',
        "job trial: it fails; starting it again in 1 s",
    ]


def test_a_job_on_a_full_disk_can_be_stopped(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays stopped, and that is stored when there is space again."""
    full = system_error(trial.job.path, OSError(errno.ENOSPC, "No space left on device"))
    trial.look()
    with monkeypatch.context() as patch:
        patch.setattr(type(trial.job), "set_deployment", Mock(side_effect=full))
        with pytest.raises(FsqlError, match="no space left on device"):
            trial.supervisor.want_stopped(trial.job)
        trial.job.set_outcome(Outcome("stopped", 0.0))
        trial.look()
        trial.look()
    assert trial.job.deployment().wanted == "running"
    trial.look()
    assert trial.job.deployment().wanted == "stopped"
    assert trial.starts == 1
    assert trial.said == [
        f'job 1: E632: "{trial.job.path}" cannot be used: no space left on device'
    ]
    wanted = msgspec.structs.replace(trial.job.deployment(), wanted="running")
    trial.supervisor.set_deployment(trial.job, wanted)
    trial.look()
    assert trial.starts == 2


def test_a_log_that_cannot_be_written_ends_no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        log_line("agent ends")
        monkeypatch.undo()
        with suppress(OSError):
            full.close()


def test_of_two_agents_started_at_once_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, locks = ClusterDirectory(tmp_path), list[int | None]()

    def spawn(command: Sequence[str], log: Path) -> int:
        """Return a process that ends at once, because the other agent has taken the lock."""
        assert (command, log) == (("agent", "--dir", str(tmp_path)), cluster.log)
        locks.append(take_lock(cluster.lock))
        return os.posix_spawn("/bin/true", ["true"], {})

    asked = Mock()
    monkeypatch.setattr("fsql.deployment.startup.ask_agent", asked)
    assert not start_agent(cluster, spawn)
    asked.assert_called_once_with(cluster, Ping())
    [lock] = locks
    assert lock is not None
    os.close(lock)


def test_a_lock_that_is_only_tested_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the test takes: on a busy machine, a process may stop in the middle of it."""
    path, waits = tmp_path / "lock", iter(range(100))
    tested = os.open(path, os.O_RDONLY | os.O_CREAT)
    fcntl.flock(tested, fcntl.LOCK_SH)

    def wait(_: float) -> None:
        if next(waits) == 50:
            fcntl.flock(tested, fcntl.LOCK_UN)

    monkeypatch.setattr("fsql.deployment.directory.time.sleep", wait)
    lock = take_lock(path)
    assert lock is not None
    assert locked_by(path) == os.getpid()
    assert take_lock(path) is None
    assert locked_by(path) == os.getpid()
    os.close(lock)
    os.close(tested)


def test_an_agent_ends_if_its_directory_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cluster"
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(Supervisor, "reconcile_all", lambda _: shutil.rmtree(path))
    with pytest.raises(FsqlError) as raised:
        run_agent(ClusterDirectory(path))
    [error] = raised.value.diagnostics
    reason = "it was deleted while the agent ran"
    assert (error.code, error.message) == ("E632", f'"{path}" cannot be used: {reason}')


def test_a_run_ends_if_its_state_directory_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text("{}")
    with deletion_check(tmp_path) as check:
        check()
        shutil.rmtree(tmp_path)
        with pytest.raises(FsqlError) as raised:
            check()
    [error] = raised.value.diagnostics
    assert (error.code, error.message, error.helps) == (
        "E621",
        f'the state directory "{tmp_path}" cannot be used: it was deleted while the job was running',
        ("restore a copy of a snapshot: fsql snapshot restore COPY --state DIRECTORY",),
    )


@pytest.mark.parametrize(
    ("pid", "reported", "shown"), [(7, 3, 3), (7, 0, 1), (8, 3, 1), (None, 3, 1)]
)
def test_a_running_job_shows_the_workers_that_it_has(
    trial: Trial, pid: int | None, reported: int, shown: int
) -> None:
    """Process 7 has reported them; the job was deployed with one."""
    status = JobStatus(7, 0.0, 0.0, "running", 1, "", (), "", 0.0, (0, 0), {}, workers=reported)
    assert replace(view_of(trial.cluster, trial.job), status=status, runner=pid).workers == shown


@pytest.mark.parametrize("kind", ["finished"])
def test_a_finished_job_is_left_alone(trial: Trial, kind: str) -> None:
    trial.look()
    assert kind == "finished"
    trial.job.set_outcome(Outcome("finished", 0.0))
    trial.look()
    assert (trial.starts, trial.said) == (1, [])


def test_a_job_that_was_stopped_with_the_machine_is_started(trial: Trial) -> None:
    trial.look()
    trial.job.set_outcome(Outcome("stopped", 0.0))
    trial.look()
    assert (trial.starts, trial.said) == (2, [])


def test_the_log_of_an_agent_is_bounded_for_all_that_write_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that have inherited it go on writing at its end."""
    monkeypatch.setattr("fsql.deployment.agent_log.LOG_BYTES_MAX", 10)
    path = tmp_path / "agent.log"
    with path.open("ab", buffering=0) as inherited:
        for number in range(4):
            inherited.write(b"line %d\n" % number)
            bound_log(path)
    assert path.read_bytes() == b""
    assert path.with_name("agent.log.1").read_bytes() == b"line 2\nline 3\n"
    bound_log(tmp_path / "none")
