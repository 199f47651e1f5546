"""The states of the jobs of a cluster directory; no agent is needed to read them."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics.encoding import error_of
from fsql.compiler.diagnostics.numbers import count_text
from fsql.compiler.records import dataclass
from fsql.deployment.directory import locked_by
from fsql.deployment.machines import MachineDirectory, machines
from fsql.deployment.processes import ProcessView, view_process
from fsql.runtime.cluster.coordinator.phase import Phase
from fsql.runtime.drivers.processes.process_role import processes_below, role_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.compiler.diagnostics import FsqlError
    from fsql.deployment.directory import (
        ClusterDirectory,
        Deployment,
        JobDirectory,
        JobStatus,
        Outcome,
        Restarts,
    )

_HELD_SECONDS = 5.0
"""An input that has been silent for longer is reported as the cause of a delay."""


_FREE_BYTES_MIN = 1 << 20
"""With less space, the disk is reported as full."""


@dataclass(frozen=True, slots=True)
class JobView:
    """A job: its deployment, its status, and the outcome of its last run."""

    directory: JobDirectory
    deployment: Deployment
    runner: int | None
    status: JobStatus | None
    outcome: Outcome | None
    restarts: Restarts | None
    agent: int | None

    @property
    def workers(self) -> int:
        """Return how many workers the job has, which ticks change; as deployed if it does not run."""
        status = self.status
        is_current = status is not None and self.runner is not None and status.pid == self.runner
        known = status.workers if status is not None and is_current else 0
        return known or self.deployment.workers

    @property
    def state(self) -> str:
        """Return the state in one word.

        `starting`, `running`, `recovering`: a process runs the job, or is about to.  `waiting`: the job has
        failed and will be restarted.  `finished`, `failed`, `stopped`: it is not restarted automatically.
        """
        if self.runner is not None:
            return self._running_state()
        if self.outcome is not None and self.outcome.kind == "finished":
            return "finished"
        if self.outcome is not None and self.outcome.lasting:
            return "failed"
        if self.deployment.wanted == "stopped" or self.agent is None:
            return "stopped"
        return "waiting" if self.restarts is not None else "starting"

    def _running_state(self) -> str:
        status = self.status
        if status is None or status.pid != self.runner:
            return "starting"
        if status.phase in {Phase.RUNNING.value, Phase.FINISHED.value}:
            return "running"
        return "recovering" if status.counters["snapshots"] else "starting"

    @property
    def error(self) -> FsqlError | None:
        """Return the error with which the last run ended."""
        if self.outcome is None or self.outcome.diagnostics is None:
            return None
        return error_of(self.outcome.diagnostics.encode())


def view_of(cluster: ClusterDirectory, job: JobDirectory) -> JobView:
    """Return the view of a job."""
    return JobView(
        job,
        job.deployment(),
        job.runner(),
        job.status(),
        job.outcome(),
        job.restarts(),
        cluster.agent(),
    )


def views(cluster: ClusterDirectory) -> list[JobView]:
    """Return the views of all jobs, by name."""
    return [view_of(cluster, job) for job, _ in cluster.by_name().values()]


def causes(view: JobView) -> Iterator[str]:
    """Yield the causes of the state of a job: the input that holds output back, errors, the next restart."""
    status, state = view.status, view.state
    if view.agent is None:
        cluster = view.directory.path.parent.parent
        yield f"no agent runs, which would start the job again if it ends: fsql up --dir {cluster}"
    if _is_full(view.directory.path):
        yield "its disk is full: snapshots, its status and its log are not written until there is space"
    if state == "failed" and view.error is not None:
        yield f"it failed: {_text(view.error)}"
        yield from (f"help: {each}" for each in view.error.diagnostics[0].helps)
        yield f"it is not restarted automatically: fsql restart {view.deployment.name}"
    elif state == "waiting" and view.restarts is not None:
        failures = view.restarts.failures
        yield f"it ended {_times(failures)} without progress: {view.restarts.reason}"
        seconds = max(0.0, view.restarts.next_at - time.time())
        yield f"it is started again in {seconds:.0f} s"
    elif state == "stopped" and view.deployment.wanted == "stopped":
        yield f"it was stopped, and continues with: fsql restart {view.deployment.name}"
    elif state == "finished":
        yield "all results are written"
    if view.runner is not None and status is not None and status.pid == view.runner:
        yield from _running_causes(status)
        if status.phase != Phase.RUNNING.value:
            yield from _silent_machines(view)


def _is_full(path: Path) -> bool:
    """Return whether the disk of a directory is full; False if the directory was dropped meanwhile."""
    try:
        return shutil.disk_usage(path).free < _FREE_BYTES_MIN
    except OSError:
        return False


def _silent_machines(view: JobView) -> Iterator[str]:
    """Yield the machines whose workers the job waits for."""
    cluster = view.directory.path.parent.parent
    for name, count in sorted(view.deployment.machines.items()):
        if count and not MachineDirectory(cluster, name).reports:
            workers = "a worker" if count == 1 else f"{count} workers"
            yield (
                f"it waits for {workers} of machine {name}, whose agent does not report:"
                f" fsql up --machine {name} --dir {cluster}"
            )


def _running_causes(status: JobStatus) -> Iterator[str]:
    if status.detail and status.phase == Phase.RUNNING.value:
        yield f"its last failure: {status.detail}"
    elif status.detail:
        yield f"{status.phase}: {status.detail}"
    elif status.phase != Phase.RUNNING.value:
        yield f"it is {status.phase}: no rows are released until it is running"
    yield from status.problems
    if status.phase != Phase.RUNNING.value:
        return
    if status.held_by and status.held_seconds >= _HELD_SECONDS:
        yield (
            f"output waits for {status.held_by}, of which no further rows have been processed"
            f" for {status.held_seconds:.0f} s: none have come, or they wait in queues before busy workers"
        )
    elif status.counters["rows_unreleased"]:
        behind = status.counters["behind_us"] / 1e6
        count = status.counters["rows_unreleased"]
        rows = "a row was" if count == 1 else f"{count_text(count)} rows were"
        yield f"{rows} read and not released yet; the oldest is {behind:.1f} s old"
    else:
        yield "everything that was read is released"


def _text(error: FsqlError) -> str:
    first = error.diagnostics[0]
    source = "" if error.source is None else f" ({error.source.name})"
    return f"FSQL-{first.code}: {first.message}{source}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _of_page(cluster: ClusterDirectory) -> list[int]:
    """Return the processes of the page that the agent serves."""
    page = cluster.page_address()
    if page is None or page.agent != cluster.agent():
        return []
    return [page.pid, *processes_below(page.pid)]


def processes(cluster: ClusterDirectory) -> list[ProcessView]:
    """Return the processes of the agent, of its page and statistics, of all jobs, and of other machines."""
    found = []
    agent = cluster.agent()
    service = locked_by(cluster.statistics_lock)
    of_service = [service, *processes_below(service)] if service else []
    of_page = _of_page(cluster)
    if agent:
        found += view_process(agent, "agent", None)
        running = {view.runner for view in views(cluster)}
        jobs = {below for pid in running if pid for below in (pid, *processes_below(pid))}
        for process in processes_below(agent):
            if process not in jobs and process not in {*of_service, *of_page}:
                found += view_process(process, role_of(process) or "job", None)
    for process in of_service:
        found += view_process(process, "statistics", None)
    found += [view for process in of_page for view in view_process(process, "page", None)]
    for view in views(cluster):
        if view.runner:
            found += view_process(view.runner, "job", view.deployment.name)
            for process in processes_below(view.runner):
                found += view_process(process, role_of(process) or "process", view.deployment.name)
    for machine in machines(cluster):
        status = machine.status()
        if status is not None and status.is_recent:
            found += status.processes
    return found
