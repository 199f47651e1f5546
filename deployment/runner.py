"""The process of one job: runs its compiled plan on workers and a coordinator, and records its status.

It needs no agent: it continues when the agent ends, and a later agent finds it by its lock.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from setproctitle import setproctitle

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.deployment.directory import JobDirectory, JobStatus, Outcome, take_lock
from fsql.deployment.job_process import PREPARE, READY
from fsql.deployment.launch_options import launch_options
from fsql.deployment.machines import Join, set_join
from fsql.deployment.plans import check_deployable
from fsql.job.compilation import compile_job
from fsql.job.overview import JobOverview, describe_job
from fsql.job.process_metrics import ProcessMetrics
from fsql.job.process_run import run_on_processes
from fsql.runtime.cluster.coordinator.phase import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from fsql.deployment.directory import Deployment
    from fsql.job.auto_ticks import AutoChoice
    from fsql.job.description import PreparedJob
    from fsql.runtime.dataflow.metrics import Metrics
    from fsql.runtime.drivers.processes.fork_server import ForkServer
    from fsql.runtime.drivers.processes.lines import ProgressReport, TickReport

TRANSIENT_ERRORS: Final = frozenset(
    {"E532", "E535", "E540", "E602", "E603", "E614", "E621", "E624", "E632", "E642"}
)
"""Errors that may not occur in another attempt: a missing consumer or server, a full disk."""

WARM_SECONDS_MAX: Final = 30.0
"""The maximum time for which a job waits for processes that import their modules."""

_STATUS_SECONDS: Final = 0.5


class _Stop(Exception):  # noqa: N818 - not an error: it was requested
    """SIGTERM or SIGINT was received."""


def run_next_job(open_fork_server: Callable[[], ForkServer]) -> int:
    """Wait for the directory of a job on standard input, and run that job; return an exit code.

    Lines `PREPARE` may precede the directory: then a fork server is started, and `READY` is written when it
    can fork the processes of the job.  If standard input ends, the agent has ended.
    """
    with ExitStack() as stack:
        fork_server = None
        line = sys.stdin.readline()
        while line == PREPARE:
            fork_server = fork_server or stack.enter_context(open_fork_server())
            fork_server.wait_until_ready(WARM_SECONDS_MAX)
            os.write(sys.stdout.fileno(), READY)
            line = sys.stdin.readline()
        if not line.endswith("\n"):
            return 0
        return _run_line(line, fork_server or stack.enter_context(open_fork_server()))


def _run_line(line: str, fork_server: ForkServer) -> int:
    """Run the job whose directory a line names; return an exit code."""
    started, path = time.time(), Path(line[:-1])
    log = os.open(path / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)
    os.chdir(path)
    setproctitle(f"fsql job {path}")
    return _run_job(path, fork_server, started)


def _run_job(path: Path, fork_server: ForkServer, started: float) -> int:
    """Run the job in a directory until its input ends, it fails, or SIGTERM arrives; return an exit code.

    `started` is the time of the request.  The coordinator and the workers are forked by `fork_server`.
    """
    job = JobDirectory(path)
    lock = take_lock(job.lock)
    if lock is None:
        return 0  # another process runs the job
    os.environ["PYTHONUNBUFFERED"] = "1"
    job.set_outcome(None)
    set_join(job, None)
    deployment = job.deployment()
    observer = _Observer(job, started)
    try:
        observer.log("started", {"job": deployment.name, "pid": os.getpid()})
        outcome = _run(job, deployment, observer, fork_server)
    except _Stop:
        outcome = Outcome("stopped", time.time())
    except FsqlError as error:
        lasting = not {each.code for each in error.diagnostics} <= TRANSIENT_ERRORS
        outcome = Outcome("failed", time.time(), diagnostics_bytes(error).decode(), lasting=lasting)
    unread = {name: each.bytes_unread for name, each in observer.metrics.total.sources.items()}
    unread = {name: count for name, count in unread.items() if count}
    fields = {"bytes_unread": unread} if unread else {}
    observer.log("ended", {"outcome": outcome.kind, **_error_fields(outcome), **fields})
    job.set_outcome(outcome)
    set_join(job, None)
    os.close(lock)
    return 0 if outcome.kind != "failed" else 1


def _run(
    job: JobDirectory, deployment: Deployment, observer: _Observer, fork_server: ForkServer
) -> Outcome:
    """Run the job; return how it ended.

    Raises:
        FsqlError: if it cannot run.
    """
    script, options, process_options = launch_options(job, deployment)
    process_options = replace(process_options, start_process=fork_server.start)
    observer.catch_signals()
    compiled = compile_job(script)
    check_deployable(compiled)
    error = run_on_processes(compiled, options, process_options, observer, observer.metrics)
    if error is not None:
        raise error
    if observer.drained:
        return Outcome("drained", time.time())
    return Outcome("finished", time.time())


class _Observer:
    """Writes the status file and the log; see `fsql.job.process_observer.ProcessObserver`."""

    def __init__(self, job: JobDirectory, started: float) -> None:
        self.metrics = ProcessMetrics()
        self._job = job
        self._started = started
        self._written = 0.0
        self._phase = ("", 0, "")
        self._problems: tuple[str, ...] = ()
        self._snapshots = 0
        self._snapshot_at: float | None = None
        self._restoring: float | None = None
        self._restore_seconds: float | None = None
        self._created_at = time.time()
        self._shown = self._created_at
        self._reported: float | None = None
        self._start_seconds: float | None = None
        self._overview = JobOverview()
        self._stop_requested = False
        self.drained = False

    def catch_signals(self) -> None:
        """Make SIGTERM and SIGINT end the run between two chunks."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._stop_requested = True

    def log(self, event: str, fields: dict[str, object]) -> None:
        """Write a line to the log, which is standard error."""
        line = {"ts": round(time.time(), 3), "event": event, **fields}
        with suppress(OSError):  # on a full disk, the job waits for space, and its log has a gap
            sys.stderr.write(json.dumps(line, ensure_ascii=False) + "\n")
            sys.stderr.flush()

    def on_ready(self, job: PreparedJob) -> None:
        """Record that the sources were found."""
        self.log("ready", {"splits": job.front_names()})

    def on_already_finished(self, state: Path) -> None:
        """Record that the job has already finished."""
        del state
        self.log("already_finished", {})

    def on_listening(self, job: PreparedJob) -> None:
        """Do nothing: listening for connections is not recorded."""

    def on_waiting(self, workers: int, address: str, key: Path, keys: Path | None) -> None:
        """Record where workers of other machines join, and the command that starts one."""
        set_join(self._job, Join(address, str(key)))
        command = ["fsql", "worker", "--join", address, "--key", str(key)]
        flags = [] if keys is None else ["--keys", "DIR"]
        fields = {"workers": workers, "command": shlex.join([*command, *flags])}
        self.log("waiting", fields)

    @contextmanager
    def show(self, job: PreparedJob, *, resumed: bool) -> Iterator[None]:
        """Record the start of the run."""
        self._shown = time.time()
        self._overview = describe_job(job.compiled.job, job.splits)
        self.log("running", {"resumed": resumed})
        yield

    def on_tick(self, tick: TickReport) -> None:
        """Record a tick that was taken or refused."""
        self.log("tick", tick.fields())

    def on_choice(self, choice: AutoChoice) -> None:
        """Record why a tick was proposed, or why none could be chosen."""
        self.log("tick_chosen", choice.fields())

    def on_input_note(self, note: str) -> None:
        """Record a notice about followed files."""
        self.log("input", {"note": note})

    def on_drained(self) -> None:
        """Record that the run ended at a committed position."""
        self.drained = True

    def on_report(self, report: ProgressReport, metrics: ProcessMetrics) -> None:
        """Record the status of the job."""
        del metrics
        now = time.time()
        phase = (report.phase, report.epoch, report.detail)
        if phase != self._phase:
            self._phase = phase
            fields: dict[str, object] = {"phase": report.phase, "epoch": report.epoch}
            self.log("phase", fields | ({"detail": report.detail} if report.detail else {}))
            self._time_restore(report.phase, now)
            self._written = 0.0
        for problem in report.problems:
            if problem not in self._problems:
                self.log("warning", {"message": problem})
        self._problems = report.problems
        if report.metrics.snapshots != self._snapshots:
            self._snapshots, self._snapshot_at = report.metrics.snapshots, now
        if now - self._written >= _STATUS_SECONDS:
            self._written = now
            with suppress(FsqlError):  # the status is out of date until there is space on the disk
                self._job.set_status(self._status(report, now))

    def _time_restore(self, phase: str, now: float) -> None:
        """Measure the time for loading state, and that of the start without the starts of processes."""
        self._reported = self._reported or now
        if phase == Phase.RUNNING.value and self._start_seconds is None:
            self._start_seconds = self._shown - self._created_at + now - self._reported
        if phase == Phase.RESTORING.value:
            self._restoring = now
        elif self._restoring is not None:
            if phase == Phase.RUNNING.value:
                self._restore_seconds = now - self._restoring
            self._restoring = None

    def _status(self, report: ProgressReport, now: float) -> JobStatus:
        total = self.metrics.total
        counters = {
            "rows_in": total.rows_in,
            "bytes_in": total.bytes_in,
            "rows_out": total.rows_out,
            "rows_late": total.rows_late,
            "rows_rejected": total.rows_rejected,
            "rows_state": total.rows_state,
            "rows_held": total.rows_held,
            "rows_unreleased": total.rows_unreleased,
            "recoveries": total.recoveries,
            "snapshots": total.snapshots,
            "behind_us": round(total.seconds_behind * 1e6),
        }
        return JobStatus(
            pid=os.getpid(),
            started=self._started,
            updated=now,
            phase=report.phase,
            epoch=report.epoch,
            detail=report.detail,
            problems=report.problems,
            held_by=total.held_by,
            held_seconds=total.held_seconds,
            progress=report.begins,
            counters=counters,
            snapshot_at=self._snapshot_at,
            restore_seconds=self._restore_seconds,
            start_seconds=self._start_seconds,
            min_time=self._min_time_text(total),
            workers=report.workers,
        )

    def _min_time_text(self, total: Metrics) -> str:
        if total.min_time is None:
            return ""
        return self._overview.min_time_text(total.held_by, total.min_time)

    def check(self) -> None:
        """End the run if that was requested.

        Raises:
            _Stop: if it was.
        """
        if self._stop_requested:
            raise _Stop


def _error_fields(outcome: Outcome) -> dict[str, object]:
    if outcome.diagnostics is None:
        return {}
    error = json.loads(outcome.diagnostics)["diagnostics"][0]
    return {"code": f"FSQL-{error['code']}", "message": error["message"]}
