"""`fsql run` on several processes: prints the reports of the job layer and returns the exit code."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.console import exit_codes, summary
from fsql.console.before_run import (
    print_join_command,
    print_listening,
    print_warnings,
)
from fsql.console.broken_pipe import discard_standard_output, is_broken_pipe
from fsql.console.inspections import print_inspections
from fsql.console.interrupt import Interrupt, Interrupted
from fsql.console.job_progress import JobProgress
from fsql.console.progress import choose_progress_display
from fsql.console.standard_output import open_standard_output
from fsql.console.time_warnings import TimeWarnings
from fsql.console.unused_parameters import warn_unused_parameters
from fsql.job.compilation import compile_job
from fsql.job.overview import describe_job
from fsql.job.process_metrics import ProcessMetrics
from fsql.job.process_run import run_on_processes
from fsql.job.state_directory import with_begun_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.console.progress import Progress
    from fsql.console.reporter import Reporter
    from fsql.job.auto_ticks import AutoChoice
    from fsql.job.description import PreparedJob
    from fsql.job.planning import RunOptions
    from fsql.job.process_options import ProcessOptions
    from fsql.job.script import Script
    from fsql.job.sources import Splits
    from fsql.runtime.drivers.processes.lines import ProgressReport, TickReport


class _ConsoleObserver:
    """Prints the reports of a run on processes; see `fsql.job.process_observer.ProcessObserver`."""

    def __init__(self, title: str, reporter: Reporter, interrupt: Interrupt) -> None:
        self._title = title
        self._reporter = reporter
        self._job_progress = JobProgress(reporter)
        self._progress: Progress | None = None
        self._times: TimeWarnings | None = None
        self.splits: Splits | None = None
        """The splits of the job, once it is prepared."""
        self.check = interrupt.check

    def on_ready(self, job: PreparedJob) -> None:
        print_warnings(job.compiled, job.splits, self._reporter)
        self._times = TimeWarnings(job.compiled, job.splits, self._reporter)
        self.splits = job.splits

    def on_already_finished(self, state: Path) -> None:
        text = (
            "this job has already finished: only rows that its outputs lack are written\n"
            f"  to read its input again, use another directory than --state {state}\n"
        )
        self._reporter.inform("over", {"state": str(state)}, text)

    def on_listening(self, job: PreparedJob) -> None:
        print_listening(job.compiled, self._reporter)

    def on_waiting(self, workers: int, address: str, key: Path, keys: Path | None) -> None:
        print_join_command(workers, address, key, keys, self._reporter)

    @contextmanager
    def show(self, job: PreparedJob, *, resumed: bool) -> Iterator[None]:
        overview = describe_job(job.compiled.job, job.splits)
        del resumed
        with choose_progress_display(
            job.compiled.job, overview, self._title, self._reporter
        ) as progress:
            self._job_progress.show(progress)
            self._progress = progress
            yield

    def on_tick(self, tick: TickReport) -> None:
        self._job_progress.on_tick(tick)

    def on_choice(self, choice: AutoChoice) -> None:
        self._job_progress.on_choice(choice)

    def on_input_note(self, note: str) -> None:
        self._reporter.inform("input", {"note": note}, f"note: {note}\n")

    def on_drained(self) -> None:
        self._reporter.inform("drained", {}, "the job is stopped at a committed position\n")

    def on_report(self, report: ProgressReport, metrics: ProcessMetrics) -> None:
        self._job_progress.on_report(report, metrics)
        if self._times is not None and self._progress is not None:
            self._times.print_new(metrics.total, self._progress)


def run_script_on_processes(
    script: Script,
    options: RunOptions,
    process_options: ProcessOptions,
    reporter: Reporter,
    form: str | None = None,
) -> int:
    """Run a script, print its progress, and return the exit code.

    `form` is the output format of a bare SELECT: see `open_standard_output`.

    Raises:
        FsqlError: for an error in the script, a file that it names, or the state directory.
    """
    script = with_begun_columns(script, process_options.state)
    result = compile_job(script, may_be_empty=True)
    warn_unused_parameters([script], reporter)
    if not print_inspections(result, options, form, reporter):
        return exit_codes.OK
    stdout = open_standard_output(result.job, form, reporter) if sys.stdout is not None else None
    metrics = ProcessMetrics()
    status, code = summary.FINISHED, exit_codes.OK
    observer: _ConsoleObserver | None = None
    try:
        with Interrupt() as interrupt:
            observer = _ConsoleObserver(script.source.name, reporter, interrupt)
            error = run_on_processes(result, options, process_options, observer, metrics, stdout)
        if error is not None:
            reporter.error(error)
            status, code = summary.STOPPED, exit_codes.STOPPED
    except Interrupted as interrupted:
        status, code = summary.INTERRUPTED, interrupted.exit_code
    except FsqlError as error:
        if not is_broken_pipe(error):
            raise
        discard_standard_output()
        return exit_codes.OK
    splits = None if observer is None else observer.splits
    summary.print_summary(status, metrics.total, reporter, result, splits)
    return code
