"""The agent of another machine: runs workers of jobs there, and restarts them when they end.

It needs only the cluster directory: jobs record how many of their workers each machine runs, and at which
address these join.  It may be killed at any time: its workers continue, and the next agent finds them.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fsql import __version__
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.deployment.agent_log import bound_log, log_line
from fsql.deployment.directory import take_lock
from fsql.deployment.files import file_error
from fsql.deployment.machines import (
    STATUS_SECONDS,
    Join,
    MachineStatus,
    StartedWorker,
    host_name,
    join_of,
)
from fsql.deployment.processes import (
    STILL_SECONDS,
    StillProcesses,
    kill_with_descendants,
    started_at,
    view_process,
)
from fsql.runtime.drivers.processes.starting import COMMAND, start_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from fsql.deployment.directory import ClusterDirectory, JobDirectory
    from fsql.deployment.machines import MachineDirectory
    from fsql.runtime.drivers.processes.starting import PipedProcess, StartProcess

ROUND_SECONDS: Final = 0.2
STEADY_SECONDS: Final = 10.0
"""A worker that has run for this long is restarted immediately, others after increasing delays."""

BACKOFF_SECONDS_MAX: Final = 30.0
END_SECONDS: Final = 5.0
"""How long a worker may take to end before it is killed."""

WORKER: Final = (*COMMAND, "worker")

WorkerSlot = tuple[str, int]
"""The id of a job, and the number of one of its workers on this machine."""


def run_machine_agent(
    cluster: ClusterDirectory,
    machine: MachineDirectory,
    start_process: StartProcess = start_process,
) -> bool:
    """Run the agent of a machine until a signal; return False if another one runs.

    `start_process` starts the workers.

    Raises:
        FsqlError: E632, if the cluster directory cannot be used or is deleted.
    """
    machine.create()
    lock = take_lock(machine.lock)
    if lock is None:
        return False
    try:
        _MachineAgent(cluster, machine, lock, start_process).run()
    finally:
        os.close(lock)
    return True


@dataclass(slots=True)
class _Attempts:
    """Failed starts of a worker, and the time of the next one by the monotonic clock."""

    failures: int = 0
    next_at: float = 0.0


class _MachineAgent:
    """Keeps the workers of jobs on a machine running."""

    def __init__(
        self,
        cluster: ClusterDirectory,
        machine: MachineDirectory,
        lock: int,
        start_process: StartProcess,
    ) -> None:
        self._start_process = start_process
        self._cluster = cluster
        self._machine = machine
        self._lock = lock
        self._settings = machine.settings()
        self._end = threading.Event()
        self._workers = {
            (worker.job, worker.slot): worker
            for worker in machine.workers()
            if started_at(worker.pid) == worker.started
        }
        self._started_at = dict.fromkeys(self._workers, time.monotonic())
        self._children: dict[int, PipedProcess] = {}
        self._attempts: dict[WorkerSlot, _Attempts] = {}
        self._names: dict[str, str] = {}
        self._still = StillProcesses(wait_briefly=True)
        self._reported = -STATUS_SECONDS
        self._problem = ""

    def run(self) -> None:
        """Run until a signal, and end the workers.

        Raises:
            FsqlError: E632, if the cluster directory is deleted.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        log_line(f"agent {os.getpid()} of machine {self._machine.name}")
        try:
            while not self._end.wait(ROUND_SECONDS):
                if os.fstat(self._lock).st_nlink == 0:
                    raise file_error(self._machine.path, "it was deleted while the agent ran")
                bound_log(self._machine.log)
                self._reconcile_and_report()
        finally:
            with suppress(FsqlError):
                self._reconcile({})
            log_line("agent ends")
        self._machine.set_status(None)

    def _reconcile_and_report(self) -> None:
        """Start and end workers, and report them; log once why this cannot be recorded."""
        problem = ""
        try:
            self._reconcile(dict(self._wanted_workers()))
            self._report()
        except FsqlError as error:  # for example, the disk is full
            problem = str(error)
        if problem not in {"", self._problem}:
            log_line(problem)
        self._problem = problem

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._end.set()

    def _wanted_workers(self) -> Iterator[tuple[WorkerSlot, Join]]:
        """Yield the workers that should run here, with the addresses at which they join."""
        for job in self._cluster.jobs():
            with suppress(FsqlError):  # the job is being dropped; the agent reports other errors
                count, join = self._share_of(job)
                if join is not None:
                    yield from (((job.path.name, slot), join) for slot in range(count))

    def _share_of(self, job: JobDirectory) -> tuple[int, Join | None]:
        deployment = job.deployment()
        self._names[job.path.name] = deployment.name
        if deployment.wanted != "running" or job.outcome() is not None:
            return 0, None
        return deployment.machines.get(self._machine.name, 0), join_of(job)

    def _reconcile(self, wanted: dict[WorkerSlot, Join]) -> None:
        """End workers that are not wanted, or that join at another address; start missing ones.

        A worker that stands still is killed: its coordinator can only do without it.
        """
        running = {worker.pid: slot for slot, worker in self._workers.items()}
        for pid in self._still.find(running, time.monotonic()):
            name = self._names.get(running[pid][0], running[pid][0])
            log_line(f"job {name}: worker {pid} has stood still for {STILL_SECONDS:.0f} s: killed")
            kill_with_descendants(pid)
        before = dict(self._workers)
        for slot, worker in before.items():
            if not self._is_running(worker):
                self._on_worker_ended(slot)
            elif wanted.get(slot) != worker.join:
                self._end_worker(worker)
                del self._workers[slot]
        for slot, join in wanted.items():
            attempts = self._attempts.get(slot, _Attempts())
            if slot not in self._workers and time.monotonic() >= attempts.next_at:
                self._start(slot, join)
        if self._workers != before:
            self._machine.set_workers(tuple(self._workers.values()))

    def _is_running(self, worker: StartedWorker) -> bool:
        child = self._children.get(worker.pid)
        if child is None:
            return started_at(worker.pid) == worker.started
        if child.poll() is None:
            return True
        del self._children[worker.pid]
        return False

    def _on_worker_ended(self, slot: WorkerSlot) -> None:
        """Remove a worker that has ended, and decide when it is restarted."""
        del self._workers[slot]
        attempts = self._attempts.setdefault(slot, _Attempts())
        now = time.monotonic()
        if now - self._started_at[slot] >= STEADY_SECONDS:
            attempts.failures = 0
        attempts.next_at = now + min(2.0**attempts.failures - 1, BACKOFF_SECONDS_MAX)
        attempts.failures += 1
        log_line(f"job {self._names.get(slot[0], slot[0])}: a worker has ended")

    def _start(self, slot: WorkerSlot, join: Join) -> None:
        settings = self._settings
        flags = {
            "--join": join.address,
            "--key": join.key,
            "--keys": settings.keys,
            "--listen": settings.listen,
            "--coordination-credentials": settings.credentials,
        }
        given = [text for flag, value in flags.items() if value for text in (flag, value)]
        child = self._start_process([*WORKER, *given], piped=False)
        self._children[child.pid] = child
        self._started_at[slot] = time.monotonic()
        self._workers[slot] = StartedWorker(*slot, join, child.pid, started_at(child.pid) or 0)

    def _end_worker(self, worker: StartedWorker) -> None:
        """End a worker, and kill it if it takes too long."""
        until = time.monotonic() + END_SECONDS
        number = signal.SIGTERM
        while self._is_running(worker):
            with suppress(ProcessLookupError):
                os.kill(worker.pid, number)
            time.sleep(ROUND_SECONDS / 4)
            if time.monotonic() >= until:
                number = signal.SIGKILL

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._reported < STATUS_SECONDS:
            return
        self._reported = now
        name = self._machine.name
        processes = view_process(os.getpid(), "agent", None, name)
        for (job, _), worker in sorted(self._workers.items()):
            processes += view_process(worker.pid, "worker", self._names.get(job), name)
        status = MachineStatus(host_name(), __version__, time.time(), tuple(processes))
        self._machine.set_status(status)
