"""The jobs as the page shows them: the samples of `fsql top`, once a second, and how they were before.

One sampler serves all pages, so rates and numbers are the same on each, and those of `fsql top`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.console.job_status import job_json
from fsql.console.stats import statistics_fields
from fsql.console.top.sample import Sampler
from fsql.deployment.processes import ProcessView, view_process
from fsql.optimizer.collectors.files import newest_interval
from fsql.optimizer.collectors.written_results import newest_collected
from fsql.runtime.drivers.processes.process_role import processes_below, role_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.deployment.directory import ClusterDirectory
    from fsql.deployment.views import JobView
    from fsql.optimizer.collectors.files import Kept
    from fsql.optimizer.collectors.written_results import Collected

SAMPLE_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 5.0
HISTORY: Final = 900
"""The number of samples of a job that are kept."""
_BINS: Final = frozenset({"loads", "pairs"})
"""Tables of statistics that the page does not draw: they have a row for each bin."""
_INTERVALS: Final = 30

Fields = dict[str, Any]
Point = tuple[float, float | None, float | None, float, int, float | None, float | None]
"""Of a job at a time: rows in and out per second, seconds behind, rows of state, median and p99 latency."""


@dataclass(frozen=True, slots=True)
class JobsNow:
    """All jobs at one time; `number` counts the samples."""

    number: int
    at: float
    jobs: tuple[Fields, ...]
    problem: str = ""


class Watch:
    """Samples the jobs of a cluster directory, and keeps what was before."""

    def __init__(self, cluster: ClusterDirectory, clock: Callable[[], float] = time.time) -> None:
        self._cluster = cluster
        self._clock = clock
        self._sampler = Sampler(cluster)
        self._kept: dict[str, Kept] = {}
        self._collected: dict[str, tuple[int, Collected]] = {}
        self._history: dict[str, deque[Point]] = {}
        self._changed = asyncio.Condition()
        self._asked = asyncio.Event()
        self._asked_at = float("-inf")
        self.now = JobsNow(0, clock(), ())

    async def run(self) -> None:
        """Take samples until this is cancelled, fewer while nobody asks for them."""
        loop = asyncio.get_running_loop()
        while True:
            self._asked.clear()
            await asyncio.to_thread(self.take)
            async with self._changed:
                self._changed.notify_all()
            await asyncio.sleep(SAMPLE_SECONDS)
            if loop.time() - self._asked_at > IDLE_SECONDS:
                with suppress(TimeoutError):
                    async with asyncio.timeout(IDLE_SECONDS):
                        await self._asked.wait()

    async def after(self, number: int) -> JobsNow:
        """Return the first sample after one with a number."""
        self._asked_at = asyncio.get_running_loop().time()
        self._asked.set()
        async with self._changed:
            await self._changed.wait_for(lambda: self.now.number > number)
        return self.now

    def take(self) -> None:
        """Take a sample; what cannot be read is reported in it."""
        at, problem = self._clock(), ""
        try:
            views, rates = self._sampler.take_jobs()
            jobs = tuple(
                self._fields(at, view, rates.get(view.deployment.id) or {}) for view in views
            )
        except FsqlError as error:
            jobs, problem = self.now.jobs, error.diagnostics[0].message
        names = {job["id"] for job in jobs}
        for known in (self._kept, self._collected, self._history):
            for name in known.keys() - names:
                del known[name]
        self.now = JobsNow(self.now.number + 1, at, jobs, problem)

    def history(self, job: str) -> list[Point]:
        """Return the samples of a job, the oldest first."""
        return list(self._history.get(job, ()))

    def statistics(self, job: str) -> Fields | None:
        """Return the tables of statistics of a job that the page shows, and where they are from."""
        found = self._collected.get(job)
        if found is None:
            return None
        collected = found[1]
        tables = statistics_fields(collected.statistics)
        newest = {"workers": _INTERVALS, "operators": 1, "disorder": 1}
        for name, count in newest.items():
            rows: Any = tables[name]
            last = max((row["interval"] for row in rows), default=0)
            tables[name] = [row for row in rows if row["interval"] > last - count]
        return {
            **{name: rows for name, rows in tables.items() if name not in _BINS},
            "collector": collected.collector,
            "age": collected.age,
            "interval": collected.interval,
        }

    def _fields(self, at: float, view: JobView, rates: dict[str, float]) -> Fields:
        job = view.deployment.id
        self._collect(view)
        collected = self._collected.get(job)
        latency = () if collected is None else collected[1].statistics.latency
        slowest = max(latency, key=lambda row: row.p99, default=None)
        median, p99 = (None, None) if slowest is None else (slowest.median, slowest.p99)
        fields = {
            **job_json(view),
            "rates": rates or None,
            "latency": None if slowest is None else {"median": median, "p99": p99},
        }
        counters = view.status.counters if view.status is not None else {}
        if view.runner is None:
            median = p99 = None
        point = (
            round(at, 2),
            rates.get("rows_in"),
            rates.get("rows_out"),
            counters.get("behind_us", 0) / 1e6,
            counters.get("rows_state", 0),
            median,
            p99,
        )
        self._history.setdefault(job, deque(maxlen=HISTORY)).append(point)
        return fields

    def _collect(self, view: JobView) -> None:
        """Read the statistics of a job if there are newer ones."""
        job, state = view.deployment.id, view.directory.state
        newest = newest_interval(state)
        known = self._collected.get(job)
        if newest < 0 or (known is not None and known[0] == newest):
            return
        collected = newest_collected(state, self._kept.setdefault(job, {}))
        self._collected[job] = (newest, collected)


def processes_of(view: JobView) -> list[ProcessView]:
    """Return the processes of a job."""
    if not view.runner:
        return []
    name = view.deployment.name
    found = list(view_process(view.runner, "job", name))
    for process in processes_below(view.runner):
        found += view_process(process, role_of(process) or "process", name)
    return found
