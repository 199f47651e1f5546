"""What is seen while a job runs: a panel on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import sys
import time
from collections import deque
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Protocol, Self

from fsql.compiler.diagnostics.numbers import bytes_text, count_text, rate_text, seconds_text
from fsql.console.reporter import print_message
from fsql.runtime.dataflow.stage_pipeline import uninstrumented

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from fsql.compiler.logical import Job
    from fsql.console.reporter import Reporter
    from fsql.job.overview import JobOverview
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation
    from fsql.runtime.metrics import RunMetrics

LINE_SECONDS: Final = 10.0
HELD_SECONDS: Final = 2.0
"""What holds output back for less is not worth a word."""
_RATE_SECONDS: Final = 2.0
"""Rates are those of the last two seconds: steady enough to read, fresh enough to believe."""


class Progress(Protocol):
    """Shows how far a run has come while it is entered."""

    @property
    def instrumentation(self) -> Instrumentation:
        """Return what measures the operators of a run in this process."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take away what does not stay."""

    def begin(self, doing: str) -> None:
        """Show what is done before the first row."""

    def update(self, counters: RunMetrics) -> None:
        """Show the counters; called often, so it returns fast."""

    def tell(self, line: str) -> None:
        """Write a line that stays, where it does not disturb what is shown."""


class Rates:
    """Rows a second of late, from counters that are looked at now and then."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int]] = deque([(0.0, 0, 0)])

    def add(self, counters: RunMetrics) -> None:
        """Look at the counters."""
        self._samples.append((counters.seconds, counters.rows_in, counters.rows_out))
        while len(self._samples) > 2 and counters.seconds - self._samples[1][0] >= _RATE_SECONDS:
            self._samples.popleft()

    @property
    def seconds(self) -> float:
        """Return the time that the rates are measured over."""
        return self._samples[-1][0] - self._samples[0][0]

    @property
    def rows_in(self) -> str:
        """Return rows in a second."""
        return rate_text(self._samples[-1][1] - self._samples[0][1], self.seconds)

    @property
    def rows_out(self) -> str:
        """Return rows out a second."""
        return rate_text(self._samples[-1][2] - self._samples[0][2], self.seconds)


class NoProgress:
    """Shows nothing."""

    instrumentation: Instrumentation = staticmethod(uninstrumented)

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Do nothing."""

    def begin(self, doing: str) -> None:
        """Do nothing."""

    def update(self, counters: RunMetrics) -> None:
        """Do nothing."""

    def tell(self, line: str) -> None:
        """Write it."""
        print_message(f"{line}\n")


class ProgressLines(NoProgress):
    """Writes a line now and then, where there is no terminal."""

    def __init__(
        self,
        reporter: Reporter,
        overview: JobOverview,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reporter = reporter
        self._overview = overview
        self._clock = clock
        self._next = clock() + LINE_SECONDS
        self._rates = Rates()

    def update(self, counters: RunMetrics) -> None:
        """Write a line if it is time."""
        if self._clock() < self._next:
            return
        self._next += LINE_SECONDS
        self._rates.add(counters)
        if self._reporter.json:
            self._reporter.event("progress", asdict(counters))
        else:
            print_message(progress_line(counters, self._rates, self._overview))


def progress_line(counters: RunMetrics, rates: Rates, overview: JobOverview) -> str:
    """Return how far a run is, in one line."""
    parts = [
        seconds_text(counters.seconds),
        f"in {count_text(counters.rows_in)} ({rates.rows_in})",
        f"out {count_text(counters.rows_out)} ({rates.rows_out})",
        f"freshness {seconds_text(counters.seconds_behind)}",
        f"state {count_text(counters.rows_state)}",
        f"late {count_text(counters.rows_late)}",
        f"rejected {count_text(counters.rows_rejected)}",
    ]
    share = read_share(counters, overview)
    if share is not None:
        parts.insert(1, f"{share:.0%} of {bytes_text(overview.input_bytes or 0)}")
    if counters.held_by and counters.min_time is not None:
        min_time = overview.min_time_text(counters.held_by, counters.min_time)
        parts += [f"min time {min_time}"] if min_time else []
    if counters.held_seconds >= HELD_SECONDS:
        parts.append(f"waiting for {counters.held_by} for {seconds_text(counters.held_seconds)}")
    return "  ".join(parts) + "\n"


def read_share(counters: RunMetrics, overview: JobOverview) -> float | None:
    """Return which part of its input a job has read, None if that cannot be known."""
    if overview.input_bytes is None:
        return None
    return min(1.0, counters.bytes_in / overview.input_bytes)


def choose_progress_display(
    job: Job, overview: JobOverview, title: str, reporter: Reporter
) -> Progress:
    """Return what to show: a panel where there is a terminal that no data is written to."""
    if reporter.quiet or sys.stderr is None:
        return NoProgress()
    if reporter.json or not sys.stderr.isatty() or _data_on_terminal(job):
        return ProgressLines(reporter, overview)
    # Drawing needs rich, which takes longer to import than everything else here.
    from fsql.console.panel import Panel

    return Panel(title, overview, coloured=reporter.coloured)


def _data_on_terminal(job: Job) -> bool:
    connectors = {dict(insert.sink.options)["connector"] for insert in job.inserts}
    return "stdout" in connectors and sys.stdout is not None and sys.stdout.isatty()
