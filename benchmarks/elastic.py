"""Load that changes: documents at a rate, with a peak, and the layout ticks that follow the load.

Either ticks move the keys automatically, or the number of workers is changed from one to two for the peak
and back.  The output is compared with that of one worker that reads the same documents as fast as it can.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.curve import latency_svg
from fsql.benchmarks.paced import SCRIPT, Paced, percentiles, run_paced
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import NO_CHOICES
from fsql.connectors.generated.pace import Peak
from fsql.console.chart import Mark, Span
from fsql.job.ticks import ProposedLayout, job_of_state, propose, read_ticks, wait_until_ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.benchmarks.job_process import JobProcess
    from fsql.benchmarks.paced import PacedRun
    from fsql.runtime.coordination.ticks import TickRecord

_SCRIPT: Final = SCRIPT.with_name("elastic_index.sql")
_AT_ONCE: Final = 10**9
"""Documents a second where the rate does not matter."""
_WAIT_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Elastic:
    """The parameters of a run; `seconds` are before the peak, and after it."""

    rate: int
    peak_rate: int
    seconds: float
    peak_seconds: float
    words: int
    snapshot_ms: int
    propose: bool
    """Whether the number of workers changes, instead of the keys by load."""

    @property
    def phases(self) -> list[tuple[str, int, float, float]]:
        """Return name, rate, begin and end of each phase, in seconds from the first document."""
        end = self.seconds + self.peak_seconds
        return [
            ("before", self.rate, 0.0, self.seconds),
            ("peak", self.peak_rate, self.seconds, end),
            ("after", self.rate, end, end + self.seconds),
        ]

    @property
    def paced(self) -> Paced:
        """Return the run."""
        peak = Peak(self.peak_rate, self.seconds, self.peak_seconds)
        return Paced(
            self.rate,
            2 * self.seconds + self.peak_seconds,
            1 if self.propose else 2,
            snapshot_ms=self.snapshot_ms,
            script=_SCRIPT,
            parameters=_parameters(self.words, peak),
            contracts=not self.propose,
            peak=peak,
        )


def _parameters(words: int, peak: Peak) -> tuple[tuple[str, int], ...]:
    return (
        ("words", words),
        ("peak_rate", peak.rate),
        ("peak_start_ms", round(peak.start * 1000)),
        ("peak_ms", round(peak.seconds * 1000)),
    )


@dataclass(slots=True)
class _Ticks:
    """Proposes other numbers of workers where that is requested, and reads what ticks there were."""

    elastic: Elastic
    records: list[TickRecord] = field(default_factory=list)

    def __call__(self, job: JobProcess, start: float) -> None:
        if self.elastic.propose:
            _, (_, _, begin, end), _ = self.elastic.phases
            with suppress(FsqlError):  # the input has ended before
                self._change_workers(job, start + begin, 2)
                self._change_workers(job, start + end, 1)
        job.wait()
        _, records = read_ticks(job.state)
        self.records = records[::-1]

    def _change_workers(self, job: JobProcess, at: float, workers: int) -> None:
        time.sleep(max(0.0, at - time.monotonic()))
        owners = Owners.of_equal_ranges(workers)
        reason = f"{workers} worker{'s' if workers > 1 else ''} proposed"
        tick = propose(
            job.state, job_of_state(job.state), ProposedLayout(owners), NO_CHOICES, reason
        )
        wait_until_ended(job.state, tick, seconds=_WAIT_SECONDS, is_running=job.is_running)


@dataclass(frozen=True, slots=True)
class ElasticRun:
    """A run, and the ticks in it, the first one first."""

    elastic: Elastic
    run: PacedRun
    records: list[TickRecord]
    bytes_equal: bool

    def fields(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of a JSON object for each phase, for each tick, and for the run."""
        start = self.run.start
        for name, rate, begin, end in self.elastic.phases:
            late = self.run.late_ms_between(start + begin, start + end)
            yield {
                "benchmark": "elastic",
                "phase": name,
                "rate": rate,
                "documents": len(late),
                **{f"latency_ms_{q}": ms for q, ms in percentiles(late).items()},
                "gap_ms": self.run.longest_gap(start + begin, start + end)[0],
            }
        for record in self.records:
            at = self._time_of_proposal(record)
            yield {
                "benchmark": "elastic",
                "tick": record.proposal.tick,
                "reason": record.proposal.reason_line,
                "refused": record.refused,
                "proposed_s": round(at, 3),
                "tick_seconds": round(record.seconds, 3),
                "workers": record.proposal.workers_of_tick,
                "moved_bins": record.moved_bins,
                "gap_ms": self.run.longest_gap(start + at, start + at + record.seconds + 1)[0],
            }
        last = float(self.run.arrived[-1])
        yield {
            "benchmark": "elastic",
            **self.run.fields(),
            "ticks": len(self.records),
            "gap_ms": self.run.longest_gap(start, last)[0],
            "bytes_equal": self.bytes_equal,
        }

    def picture(self) -> str:
        """Return the latency over time as SVG, with phases and ticks."""
        marks = []
        for record in self.records:
            at, tick = self._time_of_proposal(record), record.proposal.tick
            marks.append(Mark(at, f"tick {tick} proposed"))
            if not record.refused:
                marks.append(Mark(at + record.seconds, _text_of(record)))
        spans = [
            Span(begin, end, f"{rate:,} documents/s")
            for name, rate, begin, end in self.elastic.phases
            if name == "peak"
        ]
        workers = "1 to 2 to 1 workers" if self.elastic.propose else "2 workers"
        title = f"latency, {self.elastic.rate:,} documents/s with a peak, {workers}"
        due = self.run.due - self.run.start
        return latency_svg(title, due, self.run.late_ms, marks, spans)

    def _time_of_proposal(self, record: TickRecord) -> float:
        """Return when a tick was proposed, in seconds from the first document."""
        elapsed = time.time() - record.proposal.proposed_at
        return time.monotonic() - elapsed - self.run.start


def _text_of(record: TickRecord) -> str:
    owners = sorted({owner for owner, _, _ in record.proposal.owners})
    if not owners:
        return "other choices of the plan"
    which = ", ".join(map(str, owners))
    return f"keys to worker{'s' if len(owners) > 1 else ''} {which}"


def measure_elastic(elastic: Elastic) -> ElasticRun:
    """Run it, and compare the output.

    Raises:
        JobFailedError: if a run does not come to its end, or documents are missing.
    """
    paced, ticks = elastic.paced, _Ticks(elastic)
    run = run_paced(paced, ticks)
    at_once = replace(
        paced,
        rate=_AT_ONCE,
        seconds=(paced.documents + 0.5) / _AT_ONCE,
        workers=1,
        delivery="none",
        parameters=_parameters(elastic.words, Peak(_AT_ONCE, 0.0, 1.0)),
        contracts=False,
        peak=None,
    )
    return ElasticRun(elastic, run, ticks.records, run_paced(at_once).lines == run.lines)
