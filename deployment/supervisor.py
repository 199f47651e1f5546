"""Keeps the wanted jobs of a cluster directory running: starts them, and restarts them when they end.

A job that ends without a lasting error is restarted after a delay of 1 s, which doubles each time up to 60 s.
A job that ends `FAILURES_MAX` times without progress in between has failed, and so has a job with a lasting
error, such as a malformed row: it is restarted only on request.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.deployment.directory import Outcome, Restarts
from fsql.deployment.spare import RUNNER, SpareProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.deployment.directory import ClusterDirectory, JobDirectory

FAILURES_MAX: Final = 8
BACKOFF_SECONDS_MAX: Final = 60.0
STOP_SECONDS: Final = 20.0
"""How long a job may take to stop before its process is killed."""

SPARE_AFTER: Final = 2.0
"""How long after its own start the agent starts a spare process."""

SPARE_AFTER_START: Final = 8.0
"""How long after the start of a job the agent starts another spare process, which slows the job down."""

WARM_SECONDS_MAX: Final = 30.0
"""The maximum time for which a job to be restarted continues while processes are prepared."""

_LOG_BYTES_MAX: Final = 16 << 20
"""A log that is larger is renamed to log.1 when the job starts."""

_POLL_SECONDS: Final = 0.05


class Supervisor:
    """Starts and stops the processes of jobs."""

    def __init__(self, directory: ClusterDirectory, log: Callable[[str], None]) -> None:
        self._directory = directory
        self._log = log
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._spare: SpareProcess | None = None
        self._spare_at = time.monotonic() + SPARE_AFTER
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
        self._keep_spare()
        for job in self._directory.jobs():
            with self._changed:
                if job.path.name in self._busy:
                    continue
            with self.lock_job(job.path.name):
                try:
                    self._reconcile(job)
                except FsqlError as error:
                    self._log(f"job {job.path.name}: {error}")

    def _reconcile(self, job: JobDirectory) -> None:
        if not job.path.exists():
            return
        self._reap(job)
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

    def is_running(self, job: JobDirectory) -> bool:
        """Return whether the process of a job runs, or has just been started."""
        child = self._started.get(job.path.name)
        return (child is not None and child.poll() is None) or job.runner() is not None

    def _reap(self, job: JobDirectory) -> None:
        child = self._started.get(job.path.name)
        if child is not None and child.poll() is not None:
            del self._started[job.path.name]

    def start(self, job: JobDirectory, prepared: SpareProcess | None = None) -> None:
        """Start a job that does not run, in a prepared process, a spare process or a new one."""
        job.set_outcome(None)
        with suppress(FileNotFoundError):
            if job.log.stat().st_size > _LOG_BYTES_MAX:
                job.log.replace(job.log.with_suffix(".1"))
        spare = prepared or self._take_spare()
        if spare is not None:
            self._spare_at = time.monotonic() + SPARE_AFTER_START
            if spare.run(job):
                self._started[job.path.name] = spare.process
                return
        descriptor = os.open(job.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._started[job.path.name] = subprocess.Popen(  # noqa: S603 - our own command
                [*RUNNER, str(job.path)],
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                start_new_session=True,
                cwd=job.path,
            )
        finally:
            os.close(descriptor)

    def prepare(self) -> SpareProcess:
        """Return a process that waits to run a job, and can start its processes without delay.

        It shortens the pause of a job that is restarted.
        """
        spare = self._take_spare()
        self._spare_at = math.inf  # no spare process is started while the job pauses
        if spare is None or not spare.is_running():
            spare = SpareProcess()
        spare.prepare(WARM_SECONDS_MAX)
        return spare

    def discard(self, spare: SpareProcess) -> None:
        """End a prepared process that is not needed."""
        self._spare_at = time.monotonic() + SPARE_AFTER
        spare.end()

    def _keep_spare(self) -> None:
        """Keep a spare process, which has imported all modules, for the next job that is started."""
        if self._spare is not None and not self._spare.is_running():
            self.end_spare()
            self._spare_at = time.monotonic() + BACKOFF_SECONDS_MAX
        if self._spare is None and time.monotonic() >= self._spare_at:
            self._spare_at = time.monotonic() + SPARE_AFTER
            self._spare = SpareProcess()

    def _take_spare(self) -> SpareProcess | None:
        with self._changed:
            spare, self._spare = self._spare, None
        return spare

    def end_spare(self) -> None:
        """End the spare process."""
        spare = self._take_spare()
        if spare is not None:
            spare.end()

    def stop(self, job: JobDirectory) -> None:
        """Stop the process of a job and wait until it has ended; kill it if it takes too long."""
        self._end(job, signal.SIGTERM, STOP_SECONDS)
        self._end(job, signal.SIGKILL, STOP_SECONDS)

    def _end(self, job: JobDirectory, number: signal.Signals, seconds: float) -> None:
        until = time.monotonic() + seconds
        sent = False
        while time.monotonic() < until:
            child = self._started.get(job.path.name)
            alive = child is not None and child.poll() is None
            runner = job.runner()
            if not alive and runner is None:
                self._reap(job)
                return
            process = runner or (child.pid if child is not None and alive else 0)
            # A process that has just been started may not handle the signal yet; then it ends immediately.
            if process and not sent:
                sent = True
                with suppress(ProcessLookupError):
                    os.kill(process, number)
            time.sleep(_POLL_SECONDS)

    def wait_until_ended(self, job: JobDirectory, seconds: float) -> bool:
        """Wait until the process of a job has ended; return False if it does not in that time."""
        until = time.monotonic() + seconds
        while self.is_running(job):
            if time.monotonic() >= until:
                return False
            time.sleep(_POLL_SECONDS)
        self._reap(job)
        return True
