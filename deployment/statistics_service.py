"""The statistics service: computes the result tables of running jobs, and writes them to their directories.

One collector serves all jobs of a cluster directory, and keeps running.  If it fails for a job, that job uses
the built-in collector, and the service tries again at the next interval.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.deployment.directory import take_lock
from fsql.deployment.files import write_bytes
from fsql.optimizer.collectors.files import newest_interval
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
        self._seen: dict[str, int] = {}
        self._failures = 0

    def run(self, over: threading.Event) -> None:
        """Serve until `over` is set.

        Raises:
            Exception: that of the collector, if it fails repeatedly.
        """
        while not over.is_set():
            self.round()
            over.wait(ROUND_SECONDS)

    def round(self) -> None:
        """Compute the results of each running job that has a newer interval."""
        running = {job.path.name: job for job in self._cluster.jobs() if job.runner() is not None}
        for kept in (self._kept, self._seen):
            for name in kept.keys() - running.keys():
                del kept[name]
        for name, job in running.items():
            newest = newest_interval(job.state)
            seen = self._seen.get(name)
            if newest > (written_interval(job.state) if seen is None else seen):
                self._seen[name] = newest
                self._serve(name, job, newest)

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
            self._log(f"job {name}: no results of interval {interval}: {text}")
            if self._failures >= FAILURES_MAX and not isinstance(error, FsqlError):
                raise
            return
        self._failures = 0
        seconds = time.monotonic() - started
        self._log(f"job {shown}: results of interval {interval} in {seconds:.2f} s")
