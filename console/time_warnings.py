"""Warnings about event times, each printed once while a job runs, after the rows have been read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.job.input_warnings import first_row_warnings, time_warnings

if TYPE_CHECKING:
    from fsql.console.progress import Progress
    from fsql.console.reporter import Reporter
    from fsql.job.compilation import Compiled
    from fsql.job.sources import Splits
    from fsql.runtime.dataflow.metrics import Metrics


class TimeWarnings:
    """The warnings of one run, and which of them have been printed."""

    def __init__(self, compiled: Compiled, splits: Splits, reporter: Reporter) -> None:
        self._compiled = compiled
        self._splits = splits
        self._reporter = reporter
        before = first_row_warnings(compiled, splits)
        self._printed = {
            ("W504", table.name)
            for table in compiled.job.tables
            for each in before
            if each.code == "W504" and f'table "{table.name}"' in each.message
        }

    def print_new(self, metrics: Metrics, progress: Progress) -> None:
        """Print the warnings that are new, when they do not disturb the display."""
        if self._reporter.quiet:
            return
        for warning, table in time_warnings(self._compiled, self._splits, metrics):
            if (warning.code, table) in self._printed:
                continue
            self._printed.add((warning.code, table))
            if self._reporter.json:
                self._reporter.diagnostics([warning], None)
            else:
                text = "; ".join((warning.message, *warning.notes))
                progress.print_line(f"warning[FSQL-{warning.code}]: {text}")
