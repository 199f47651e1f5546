"""Keeps the wanted jobs of a cluster directory running: starts them, and restarts them when they end.

A job that ends without a lasting error is restarted after a delay of 1 s, which doubles each time up to 60 s.
A job that ends `FAILURES_MAX` times without progress in between has failed, and so has a job with a lasting
error, such as a malformed row: it is restarted only on request.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.deployment.directory import Outcome, Restarts
from fsql.deployment.job_process import JobProcess
from fsql.deployment.processes import STILL_SECONDS, StillProcesses, kill_with_descendants
from fsql.runtime.drivers.processes.starting import start_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.deployment.directory import ClusterDirectory, Deployment, JobDirectory
    from fsql.runtime.drivers.processes.starting import PipedProcess, StartProcess

FAILURES_MAX: Final = 8
BACKOFF_SECONDS_MAX: Final = 60.0
STOP_SECONDS: Final = 20.0
"""How long a job may take to stop before its process is killed."""

WARM_SECONDS_MAX: Final = 30.0
"""The maximum time for which a job to be restarted continues while processes are prepared."""

_LOG_BYTES_MAX: Final = 16 << 20
"""A log that is larger is renamed to log.1 when the job starts."""

_POLL_SECONDS: Final = 0.05


class Supervisor:
    """Starts and stops the processes of jobs."""

    def __init__(
        self,
        directory: ClusterDirectory,
        log: Callable[[str], None],
        start_process: StartProcess = start_process,
    ) -> None:
        """Take the cluster directory, the log, and the function that starts the processes of jobs."""
        self._directory = directory
        self._log = log
        self._start_process = start_process
        self._started: dict[str, PipedProcess] = {}
        self._problems: dict[str, str] = {}
        self._stopped = set[str]()
        self._still: dict[str, StillProcesses] = {}
        self._busy: set[str] = set()
        self._changed = threading.Condition()

    @contextmanager
    def lock_job(self, job_id: str) -> Iterator[None]:
        """Hold the lock of a job during a change."""
        with self._changed:
            while job_id in self._busy:
                self._changed.wait()
            self._busy.add(job_id)
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(job_id)
                self._changed.notify_all()

    def reconcile_all(self) -> None:
        """Start wanted jobs that do not run; to be called several times a second."""
        for job in self._directory.jobs():
            with self._changed:
                if job.path.name in self._busy:
                    continue
            with self.lock_job(job.path.name):
                try:
                    self._reconcile(job)
                    problem = ""
                except (FsqlError, OSError) as error:  # for example, its disk is full
                    problem = str(error)
                self._report(job, problem)

    def _report(self, job: JobDirectory, problem: str) -> None:
        """Log why a job cannot be started, "" if it can, once for each problem."""
        if problem != self._problems.pop(job.path.name, "") and problem:
            self._log(f"job {job.path.name}: {problem}")
        if problem:
            self._problems[job.path.name] = problem

    def _reconcile(self, job: JobDirectory) -> None:
        if not job.path.exists():
            self._still.pop(job.path.name, None)
            return
        self._reap(job)
        if job.path.name in self._stopped:
            self.want_stopped(job)
        self.kill_if_still(job)
        if job.deployment().wanted != "running" or self.is_running(job):
            return
        outcome, restarts, now = job.outcome(), job.restarts(), time.time()
        if outcome is not None and (outcome.kind == "finished" or outcome.lasting):
            return
        started = job.status() is not None and job.path.name not in self._started
        if outcome is None and not (job.log.exists() or started):
            self.start(job)  # for the first time
        elif restarts is not None and restarts.next_at > now:
            return
        elif restarts is not None and restarts.next_at > 0:
            job.set_restarts(msgspec.structs.replace(restarts, next_at=0.0))
            self.start(job)
        elif outcome is not None and outcome.kind in {"stopped", "drained"}:
            self.start(job)
        else:
            self._back_off(job, outcome, restarts, now)

    def _back_off(
        self, job: JobDirectory, outcome: Outcome | None, restarts: Restarts | None, now: float
    ) -> None:
        """Decide when to restart a job that has failed; give up if it keeps failing."""
        status = job.status()
        progress = (0, 0) if status is None else status.progress
        repeated = restarts is not None and progress <= restarts.progress
        failures = restarts.failures + 1 if restarts is not None and repeated else 1
        reason = "its process ended"
        if outcome is not None and outcome.diagnostics is not None:
            reason = msgspec.json.decode(outcome.diagnostics)["diagnostics"][0]["message"]
        if failures >= FAILURES_MAX:
            self._give_up(job, outcome, failures, now)
            return
        delay = min(2.0 ** (failures - 1), BACKOFF_SECONDS_MAX)
        job.set_restarts(Restarts(failures, now + delay, progress, reason))
        self._log(f"job {job.deployment().name}: {reason}; starting it again in {delay:.0f} s")

    def _give_up(
        self, job: JobDirectory, outcome: Outcome | None, failures: int, now: float
    ) -> None:
        diagnostics = None if outcome is None else outcome.diagnostics
        if diagnostics is None:
            message = f"the process of the job has ended {failures} times without progress"
            helps = (f"see why: fsql logs {job.deployment().name}",)
            error = FsqlError([Diagnostic("E624", message, helps=helps)])
            diagnostics = diagnostics_bytes(error).decode()
        job.set_outcome(Outcome("failed", now, diagnostics, lasting=True))
        self._log(f"job {job.deployment().name}: has failed {failures} times and is not restarted")

    def set_deployment(self, job: JobDirectory, deployment: Deployment) -> None:
        """Record the deployment of a job, in place of a stop that could not be stored.

        Raises:
            FsqlError: E632, if this cannot be stored.
        """
        job.set_deployment(deployment)
        self._stopped.discard(job.path.name)

    def want_stopped(self, job: JobDirectory) -> None:
        """Record that a job is not to run.

        If this cannot be stored, because a disk is full, the job is not started nevertheless, and it is
        stored as soon as there is space.

        Raises:
            FsqlError: E632, if this cannot be stored.
        """
        self._stopped.add(job.path.name)
        self.set_deployment(job, msgspec.structs.replace(job.deployment(), wanted="stopped"))

    def is_running(self, job: JobDirectory) -> bool:
        """Return whether the process of a job runs, or has just been started."""
        child = self._started.get(job.path.name)
        return (child is not None and child.poll() is None) or job.runner() is not None

    def kill_if_still(self, job: JobDirectory) -> None:
        """Kill the process of a job, and those below it, if it has been stopped for long.

        To be called several times a second.  Nobody else would: it is what replaces the other processes.
        """
        processes = self._processes(job)
        still = self._still.setdefault(job.path.name, StillProcesses(wait_briefly=False))
        for pid in still.find(processes, time.monotonic()):
            name = job.deployment().name
            self._log(
                f"job {name}: its process {pid} has been stopped for {STILL_SECONDS:.0f} s: killed"
            )
            kill_with_descendants(pid)

    def _processes(self, job: JobDirectory) -> set[int]:
        """Return the process that runs a job, and the one that was started for it."""
        child, runner = self._started.get(job.path.name), job.runner()
        started = {child.pid} if child is not None and child.poll() is None else set()
        return started | ({runner} if runner else set())

    def _reap(self, job: JobDirectory) -> None:
        child = self._started.get(job.path.name)
        if child is not None and child.poll() is not None:
            del self._started[job.path.name]

    def start(self, job: JobDirectory, prepared: JobProcess | None = None) -> None:
        """Start a job that does not run, in a prepared process or another one."""
        job.set_outcome(None)
        with suppress(FileNotFoundError):
            if job.log.stat().st_size > _LOG_BYTES_MAX:
                job.log.replace(job.log.with_suffix(".1"))
        process = prepared or JobProcess(self._start_process)
        if not process.run(job) and process is prepared:
            process = JobProcess(self._start_process)
            process.run(job)
        self._started[job.path.name] = process.process

    def prepare(self) -> JobProcess:
        """Return a process that waits to run a job, and can start its processes without delay.

        It shortens the pause of a job that is restarted.
        """
        prepared = JobProcess(self._start_process)
        prepared.prepare(WARM_SECONDS_MAX)
        return prepared

    def stop(self, job: JobDirectory) -> None:
        """Stop the process of a job and wait until it has ended; kill it if it takes too long."""
        if not self._end(job, signal.SIGTERM, STOP_SECONDS):
            for pid in self._processes(job):
                kill_with_descendants(pid)
            self._end(job, signal.SIGKILL, STOP_SECONDS)

    def _end(self, job: JobDirectory, number: signal.Signals, seconds: float) -> bool:
        """Send a signal to the process of a job; return whether it has ended in so many seconds."""
        until = time.monotonic() + seconds
        sent = False
        while time.monotonic() < until:
            child = self._started.get(job.path.name)
            alive = child is not None and child.poll() is None
            runner = job.runner()
            if not alive and runner is None:
                self._reap(job)
                return True
            process = runner or (child.pid if child is not None and alive else 0)
            # A process that has just been started may not handle the signal yet; then it ends immediately.
            if process and not sent:
                sent = True
                with suppress(ProcessLookupError):
                    os.kill(process, number)
            time.sleep(_POLL_SECONDS)
        return False

    def wait_until_ended(self, job: JobDirectory, seconds: float) -> bool:
        """Wait until the process of a job has ended; return False if it does not in that time."""
        until = time.monotonic() + seconds
        while self.is_running(job):
            if time.monotonic() >= until:
                return False
            time.sleep(_POLL_SECONDS)
        self._reap(job)
        return True
