"""Latency on several processes, as in `fsql run --workers N`, from a generator to a TCP consumer.

Document i is due at `start + i / rate` of the machine's monotonic clock, whether or not the run is ready:
the start is fixed before the run, and a run whose processes are not ready by then is repeated.  The document
is done when the consumer, in this process, has all its change records.  The latency is the difference, so a
stall or a recovery counts for every document that is due during it.  The first fifth warms up.  The generator
creates documents before they are due.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.benchmarks.arrivals import Arrivals
from fsql.benchmarks.job_process import JobFailedError, JobProcess
from fsql.connectors.generated.pace import Pace, Peak
from fsql.runtime.cluster.snapshots.manifest import manifest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.benchmarks.arrivals import Arrival, Floats
SCRIPT: Final = Path(__file__).resolve().parents[1] / "queries" / "benchmarks" / "paced_index.sql"
_LEAD_SECONDS: Final = 2.0
"""So long after the run is started the first document falls due; twice as long, if it was late for that."""
_WARM_UP: Final = 0.2
QUANTILES: Final = (50, 75, 95, 99)


@dataclass(frozen=True, slots=True)
class Paced:
    """The parameters of a run: documents per second, duration, workers, delivery guarantee."""

    rate: int
    seconds: float
    workers: int
    delivery: str = "exactly-once"
    snapshot_ms: int = 1000
    policy: str | None = None
    backlog: int = 0
    """The number of documents that are due before the first that is measured."""
    backlog_rate: int = 1000
    """The documents of a backlog that fall due in a second; all are processed in about that time."""
    script: Path = SCRIPT
    parameters: tuple[tuple[str, int], ...] = (("shelves", 1),)
    """Further parameters of the script."""
    contracts: bool = True
    """Whether keys may move by load."""
    peak: Peak | None = None
    """The part of `seconds` with another rate, if there is one."""

    @property
    def documents(self) -> int:
        """Return how many documents there are."""
        return self.backlog + max(1, self.pace.rows_due(self.seconds) - 1)

    @property
    def pace(self) -> Pace:
        """Return when documents fall due that are no backlog."""
        return Pace(self.rate, self.peak)


@dataclass(frozen=True, slots=True)
class PacedRun:
    """The measurements of a run."""

    paced: Paced
    start: float
    """When the first document was due that is no backlog."""
    arrived: Floats
    """When each document was out that is no backlog."""
    lines: bytes
    arrivals: list[Arrival]
    job: JobProcess
    state_bytes: int
    """The size of the state in the newest snapshot."""

    @property
    def due(self) -> Floats:
        """Return when each document was due."""
        pace = self.paced.pace
        return self.start + np.array([pace.due(row) for row in range(len(self.arrived))])

    @property
    def late_ms(self) -> Floats:
        """Return the latency of each document in milliseconds."""
        return (self.arrived - self.due) * 1000

    def latency_ms(self) -> dict[str, float]:
        """Return the percentiles of the documents after the warm-up."""
        return percentiles(self.late_ms[int(len(self.arrived) * _WARM_UP) :])

    def late_ms_between(self, begin: float, end: float) -> Floats:
        """Return the latency of the documents that were due in a time, in milliseconds."""
        return self.late_ms[(self.due >= begin) & (self.due < end)]

    def longest_gap(self, begin: float, end: float) -> tuple[float, float]:
        """Return the longest time between two releases in milliseconds, and its middle in seconds."""
        times = [each.at for each in self.arrivals if begin <= each.at <= end]
        gap, middle = max(
            ((later - earlier, (later + earlier) / 2) for earlier, later in pairwise(times)),
            default=(end - begin, (begin + end) / 2),
        )
        return round(gap * 1000, 1), middle

    def fields(self) -> dict[str, Any]:
        """Return it as the fields of one JSON object."""
        summary = self.job.summary()
        last = float(self.arrived[-1]) - self.start
        latency = {f"latency_ms_{name}": ms for name, ms in self.latency_ms().items()}
        return {
            "workers": self.paced.workers,
            "delivery": self.paced.delivery,
            "snapshot_ms": None if self.paced.delivery == "none" else self.paced.snapshot_ms,
            "rate": self.paced.rate,
            "documents": len(self.arrived),
            "words_per_second": round(_words(self.lines) / max(last, 1e-9)),
            **latency,
            "peak_bytes": self.job.peak_bytes,
            "snapshots": summary["snapshots"],
            "recoveries": summary["recoveries"],
            "cpu_ms_per_document": {
                name: round(seconds * 1000 / len(self.arrived), 3)
                for name, seconds in self.job.seconds_by_process().items()
            },
        }


def percentiles(late_ms: Floats) -> dict[str, float]:
    """Return the percentiles of latencies."""
    return {f"p{q}": round(float(np.percentile(late_ms, q)), 3) for q in QUANTILES}


def run_paced(
    paced: Paced, meanwhile: Callable[[JobProcess, float], None] | None = None
) -> PacedRun:
    """Run it; `meanwhile` is called with the run and its start, and may kill processes.

    Raises:
        JobFailedError: if the run does not come to its end, or documents are missing.
    """
    lead = _LEAD_SECONDS
    while (run := _run_in_time(paced, lead, meanwhile)) is None:
        lead *= 2
    return run


def _run_in_time(
    paced: Paced, lead: float, meanwhile: Callable[[JobProcess, float], None] | None
) -> PacedRun | None:
    """Run it, `lead` seconds before its start; return None if it is late for that."""
    with ExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fsql-bench-")))
        arrivals = Arrivals()
        stack.callback(arrivals.close)
        start = time.monotonic() + lead + paced.backlog / paced.backlog_rate
        start_ms = int(start * 1000)
        parameters = {
            **dict(paced.parameters),
            "count": paced.documents,
            "rate": paced.rate,
            "start_ms": start_ms,
            "consumer": arrivals.address,
        }
        if paced.peak is None:
            parameters |= _with_backlog(paced, start_ms)
        flags = _flags(paced)
        job = stack.enter_context(
            JobProcess(paced.script, parameters, paced.workers, *flags, state=state)
        )
        if not job.running.wait(start_ms / 1000 - time.monotonic()) and job.is_running():
            return None
        time.sleep(max(0.0, start_ms / 1000 - time.monotonic()))
        job.forget_seconds()
        if meanwhile is not None:
            meanwhile(job, start_ms / 1000)
        job.wait()
        arrived = arrivals.at(paced.documents)[paced.backlog :]
        if np.isnan(arrived).any():
            raise JobFailedError("documents are missing")
        return PacedRun(
            paced,
            start_ms / 1000,
            arrived,
            arrivals.lines,
            arrivals.arrivals,
            job,
            _state_bytes(state),
        )


def _with_backlog(paced: Paced, start_ms: int) -> dict[str, int]:
    """Return the parameters with which a backlog falls due at its rate, until the start."""
    lasts = paced.backlog * 1000 // paced.backlog_rate if paced.backlog else 1000
    rate = paced.backlog_rate if paced.backlog else paced.rate
    ends = Pace(paced.rate, Peak(rate, 0.0, lasts / 1000)).due(paced.backlog)
    return {
        "start_ms": start_ms - round(ends * 1000),
        "backlog_rate": rate,
        "backlog_ms": lasts,
    }


def _flags(paced: Paced) -> Iterator[str]:
    yield from ("--delivery", paced.delivery)
    yield from ("--snapshot-ms", str(paced.snapshot_ms))
    if paced.policy is not None:
        yield from ("--policy", paced.policy)
    if not paced.contracts:
        yield "--no-contract"


def _state_bytes(state: Path) -> int:
    """Return the size of all segments of the newest snapshot, 0 if there is none."""
    manifests = sorted((state / "snapshots").glob("*.json"), key=lambda path: int(path.stem))
    if not manifests:
        return 0
    return sum(segment.size for segment in manifest_of(manifests[-1].read_bytes()).segments)


def _words(lines: bytes) -> int:
    """Return how many positions the change records have: for each record, its commas less two."""
    return lines.count(b",") - 2 * lines.count(b"\n")
