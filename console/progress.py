"""Progress of a running job: a panel on a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Protocol, Self

from fsql.compiler.diagnostics.numbers import bytes_text, count_text, seconds_text
from fsql.console.rates import HELD_SECONDS, Rates, read_share
from fsql.console.reporter import print_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from fsql.compiler.logical import Job
    from fsql.console.reporter import Reporter
    from fsql.job.overview import JobOverview
    from fsql.runtime.dataflow.metrics import Metrics

LINE_SECONDS: Final = 10.0


class Progress(Protocol):
    """Shows the progress of a run while its context is entered."""

    def __enter__(self) -> Self:
        """Start the display."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the display."""

    def begin(self, activity: str) -> None:
        """Show an activity before the first row."""

    def update(self, metrics: Metrics) -> None:
        """Show the metrics; this is called often, so it must be fast."""

    def print_line(self, line: str) -> None:
        """Print a line that stays visible."""


class NoProgress:
    """Shows nothing."""

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

    def begin(self, activity: str) -> None:
        """Do nothing."""

    def update(self, metrics: Metrics) -> None:
        """Do nothing."""

    def print_line(self, line: str) -> None:
        """Write the line."""
        print_message(f"{line}\n")


class ProgressLines(NoProgress):
    """Prints a line at intervals; used without a terminal."""

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

    def update(self, metrics: Metrics) -> None:
        """Print a line if the interval has passed."""
        if self._clock() < self._next:
            return
        self._next += LINE_SECONDS
        self._rates.add(metrics)
        if self._reporter.json:
            self._reporter.event("progress", asdict(metrics))
        else:
            print_message(progress_line(metrics, self._rates, self._overview))


def progress_line(metrics: Metrics, rates: Rates, overview: JobOverview) -> str:
    """Return the progress of a run as one line."""
    parts = [
        seconds_text(metrics.seconds),
        f"in {count_text(metrics.rows_in)} ({rates.rows_in})",
        f"out {count_text(metrics.rows_out)} ({rates.rows_out})",
        f"freshness {seconds_text(metrics.seconds_behind)}",
        f"state {count_text(metrics.rows_state)} ({bytes_text(metrics.bytes_state)})",
        f"late {count_text(metrics.rows_late)}",
        f"rejected {count_text(metrics.rows_rejected)}",
    ]
    share = read_share(metrics, overview)
    if share is not None:
        parts.insert(1, f"{share:.0%} of {bytes_text(overview.input_bytes or 0)}")
    if metrics.held_by and metrics.min_time is not None:
        min_time = overview.min_time_text(metrics.held_by, metrics.min_time)
        parts += [f"min time {min_time}"] if min_time else []
    if metrics.held_seconds >= HELD_SECONDS:
        parts.append(f"waiting for {metrics.held_by} for {seconds_text(metrics.held_seconds)}")
    return "  ".join(parts) + "\n"


def choose_progress_display(
    job: Job, overview: JobOverview, title: str, reporter: Reporter
) -> Progress:
    """Return the display: a panel if standard error is a terminal and no rows are written to it."""
    if reporter.quiet or sys.stderr is None:
        return NoProgress()
    if reporter.json or not sys.stderr.isatty() or _data_on_terminal(job):
        return ProgressLines(reporter, overview)
    # The panel needs rich, which is slow to import.
    from fsql.console.panel import Panel

    return Panel(title, overview, coloured=reporter.coloured)


def _data_on_terminal(job: Job) -> bool:
    connectors = {dict(insert.sink.options)["connector"] for insert in job.inserts}
    return "stdout" in connectors and sys.stdout is not None and sys.stdout.isatty()
