"""The samples of `fsql top`: all jobs, and the details of one of them.

All data is in the cluster directory, so a job is not affected by being watched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.console.job_status import job_json
from fsql.console.last_ticks import LastTicks
from fsql.console.stats import statistics_fields
from fsql.deployment.views import views
from fsql.optimizer.collectors.written_results import newest_collected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.deployment.directory import ClusterDirectory, JobStatus
    from fsql.deployment.views import JobView
    from fsql.optimizer.collectors.written_results import Collected
    from fsql.optimizer.statistics import Statistics

RATES: Final = ("rows_in", "rows_out")
"""The counters whose rates per second are shown."""


@dataclass(frozen=True, slots=True)
class Details:
    """A job with the measurements of its workers, and its last ticks."""

    collected: Collected
    ticks: LastTicks

    @property
    def statistics(self) -> Statistics:
        """Return the measurements."""
        return self.collected.statistics


@dataclass(frozen=True, slots=True)
class Sample:
    """All jobs by name, rates by job id, and the details of the job `chosen`, if there is one."""

    jobs: tuple[JobView, ...]
    rates: Mapping[str, Mapping[str, float]]
    chosen: JobView | None
    details: Details | None

    def fields(self) -> dict[str, object]:
        """Return the sample as a JSON object."""
        jobs = [job_json(job) | {"rates": self.rates.get(job.deployment.id)} for job in self.jobs]
        if self.chosen is None or self.details is None:
            return {
                "jobs": jobs,
                "job": None,
                "statistics": None,
                "collector": None,
                "age": None,
                "ticks": None,
            }
        return {
            "jobs": jobs,
            "job": self.chosen.deployment.name,
            "statistics": statistics_fields(self.details.statistics),
            "collector": self.details.collected.collector,
            "age": self.details.collected.age,
            "ticks": self.details.ticks.fields(),
        }


class Sampler:
    """Takes samples of a cluster directory, and rates from one report of a job to the next."""

    def __init__(self, cluster: ClusterDirectory) -> None:
        self._cluster = cluster
        self._reports: dict[str, JobStatus] = {}
        self._rates: dict[str, dict[str, float]] = {}

    def take(self, name: str | None = None) -> Sample:
        """Return all jobs, with the details of the named one; without a name, of the first one.

        Raises:
            FsqlError: E633, if there is no job with that name.
        """
        if name is not None:
            self._cluster.find_job(name)
        jobs, rates = self.take_jobs()
        chosen = next((job for job in jobs if name in {None, job.deployment.name}), None)
        details = None if chosen is None else details_of(chosen)
        return Sample(jobs, rates, chosen, details)

    def take_jobs(self) -> tuple[tuple[JobView, ...], dict[str, dict[str, float]]]:
        """Return all jobs by name, and their rates by job id."""
        jobs = tuple(views(self._cluster))
        for job in jobs:
            self._measure(job)
        return jobs, dict(self._rates)

    def _measure(self, job: JobView) -> None:
        """Compute the rates of a job from its last two reports; they remain until there is a newer one."""
        job_id, report = job.deployment.id, job.status
        if report is None or job.runner is None or report.pid != job.runner:
            self._reports.pop(job_id, None)
            self._rates.pop(job_id, None)
            return
        before = self._reports.get(job_id)
        if before is None or before.pid != report.pid:
            self._rates.pop(job_id, None)
        elif before.updated < report.updated:
            seconds = report.updated - before.updated
            self._rates[job_id] = {
                name: max(0, report.counters[name] - before.counters[name]) / seconds
                for name in RATES
            }
        self._reports[job_id] = report


def details_of(job: JobView) -> Details:
    """Return the details of a job."""
    state = job.directory.state
    return Details(newest_collected(state), LastTicks.of(state))
