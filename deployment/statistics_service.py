"""The statistics service: computes the result tables of running jobs, and writes them to their directories.

One collector serves all jobs of a cluster directory, and keeps running.  If it fails for a job, that job uses
the built-in collector, and the service tries again at the next interval.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.secrets import without_secrets
from fsql.deployment.directory import take_lock
from fsql.deployment.files import write_bytes
from fsql.optimizer.collectors.files import have_advanced, newest_of_workers
from fsql.optimizer.collectors.written_results import (
    results_bytes,
    results_file,
    written_interval,
)

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from fsql.deployment.directory import ClusterDirectory, JobDirectory
    from fsql.optimizer.collectors.files import Kept
    from fsql.optimizer.statistics import Statistics

ROUND_SECONDS: Final = 0.5
FAILURES_MAX: Final = 3
"""After this many failures without a success, the collector itself is considered broken."""
LATE_SHARE: Final = 0.5
"""For which part of an interval the statistics of a worker are waited for when those of others are there."""


def hold_service(cluster: ClusterDirectory) -> int | None:
    """Become the service of a cluster directory; return None if another process is the service.

    Otherwise return a descriptor: this process is the service until the descriptor is closed, or it ends.

    Raises:
        FsqlError: E632, if the directory cannot be used.
    """
    cluster.create()
    return take_lock(cluster.statistics_lock)


class StatisticsService:
    """Collects for the jobs of a cluster directory."""

    def __init__(
        self,
        cluster: ClusterDirectory,
        collect: Callable[[Path, Kept], Statistics],
        log: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._collect = collect
        self._log = log
        self._kept: dict[str, Kept] = {}
        self._seen: dict[str, dict[int, int]] = {}
        self._incomplete: dict[str, int] = {}
        """For how many rounds only some workers of a job have had a newer interval."""
        self._failures = 0

    def run(self, over: threading.Event) -> None:
        """Serve until `over` is set.

        Raises:
            FsqlError: E661, if the collector fails repeatedly.
        """
        while not over.is_set():
            self.round()
            over.wait(ROUND_SECONDS)

    def round(self) -> None:
        """Compute the results of each running job that has a newer interval."""
        running = {job.path.name: job for job in self._cluster.jobs() if job.runner() is not None}
        for kept in (self._kept, self._seen, self._incomplete):
            for name in kept.keys() - running.keys():
                del kept[name]
        for name, job in running.items():
            if self._is_due(name, job):
                self._serve(name, job, max(self._seen[name].values()))

    def _is_due(self, name: str, job: JobDirectory) -> bool:
        """Return whether all workers of a job have a newer interval, or some have had one for long."""
        newest, seen = newest_of_workers(job.state), self._seen.get(name)
        last = max(newest.values(), default=0)
        if seen is None:
            is_due = last > written_interval(job.state)
        else:
            is_due = have_advanced(newest, seen)
            if not is_due and last > max(seen.values()):
                rounds = self._incomplete[name] = self._incomplete.get(name, 0) + 1
                is_due = rounds * ROUND_SECONDS > LATE_SHARE * job.deployment().tick_seconds
        if is_due:
            self._seen[name] = newest
            self._incomplete.pop(name, None)
        return is_due

    def _serve(self, name: str, job: JobDirectory, interval: int) -> None:
        started = time.monotonic()
        try:
            statistics = self._collect(job.state, self._kept.setdefault(name, {}))
            content = results_bytes(interval, statistics)
            # If a machine fails, lost results are computed again.
            write_bytes(results_file(job.state), content, durable=False)
            shown = job.deployment().name
        except Exception as error:
            self._failures += 1
            text = str(error).strip().partition("\n")[0]
            self._log(f"job {name}: no results of interval {interval}: {without_secrets(text)}")
            if self._failures >= FAILURES_MAX and not isinstance(error, FsqlError):
                raise _collector_error(text or type(error).__name__) from error
            return
        self._failures = 0
        seconds = time.monotonic() - started
        self._log(f"job {shown}: results of interval {interval} in {seconds:.2f} s")


def _collector_error(reason: str) -> FsqlError:
    message = f"Spark has failed {FAILURES_MAX} times to compute statistics, without a success"
    helps = (
        "correct the cause: the agent starts the service again, jobs use the built-in collector until then",
        "or use that collector only: fsql up --stats built-in",
    )
    notes = (f"the last time: {without_secrets(reason)}",)
    return FsqlError([Diagnostic("E661", message, notes=notes, helps=helps)])
