"""`fsql run`: from the script to the summary and the exit code."""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.console import exit_codes, summary
from fsql.console.before_run import (
    print_input_notes,
    print_listening,
    print_profile_problem,
    print_warnings,
)
from fsql.console.broken_pipe import discard_standard_output, is_broken_pipe
from fsql.console.explained_run import ExplainedRun
from fsql.console.inspections import print_inspections
from fsql.console.interrupt import Interrupt, Interrupted
from fsql.console.progress import choose_progress_display
from fsql.console.standard_output import open_standard_output
from fsql.console.time_warnings import TimeWarnings
from fsql.console.unused_parameters import warn_unused_parameters
from fsql.job.compilation import compile_job
from fsql.job.open_files import raise_open_files_limit
from fsql.job.overview import describe_job
from fsql.job.run import open_run
from fsql.job.sources import open_splits
from fsql.job.stop import stop_error
from fsql.runtime.drivers.memory import collect_less_often, keep_freed_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.console.progress import Progress
    from fsql.console.reporter import Reporter
    from fsql.job.compilation import Compiled
    from fsql.job.planning import RunOptions
    from fsql.job.script import Script
    from fsql.runtime.dataflow.metrics import Metrics


def run_script(
    script: Script,
    options: RunOptions,
    reporter: Reporter,
    form: str | None = None,
    explain_to: Path | None = None,
) -> int:
    """Run a script, print its progress, and return the exit code.

    `form` is the output format of a bare SELECT: see `open_standard_output`.  `explain_to` is the file for
    the plan with the rows of its operators, which is also written if the job stops or is interrupted.

    Raises:
        FsqlError: for an error in the script or in a file that it names.
    """
    print_profile_problem(options, reporter)
    keep_freed_memory()
    raise_open_files_limit()
    result = compile_job(script, may_be_empty=True)
    warn_unused_parameters([script], reporter)
    explained = ExplainedRun(explain_to)
    explained.check(result)
    if not print_inspections(result, options, form, reporter):
        return exit_codes.OK
    notes: deque[str] = deque()
    splits = open_splits(result, on_notice=notes.append)
    print_warnings(result, splits, reporter)
    stdout = open_standard_output(result.job, form, reporter) if sys.stdout is not None else None
    times = TimeWarnings(result, splits, reporter)
    metrics: Metrics | None = None
    status, code = summary.FINISHED, exit_codes.OK
    try:
        display = choose_progress_display(
            result.job, describe_job(result.job, splits), script.source.name, reporter
        )
        with (
            Interrupt() as interrupt,
            open_run(result, splits, options, stdout) as run,
        ):
            metrics = run.metrics
            with display as progress:
                collect_less_often()
                run.run(_progress_printer(result, progress, times, interrupt, reporter, notes))
        if run.stopped is not None:
            status, code = summary.STOPPED, exit_codes.STOPPED
            reporter.error(stop_error(run.stopped, result, splits, metrics.rows_out))
    except Interrupted as interrupted:
        status, code = summary.INTERRUPTED, interrupted.exit_code
    except FsqlError as error:
        if not is_broken_pipe(error):
            raise
        discard_standard_output()
        return exit_codes.OK
    assert metrics is not None
    print_input_notes(notes, reporter)
    explained.write(result, run)
    summary.print_summary(status, metrics, reporter, result, splits)
    return code


def _progress_printer(
    result: Compiled,
    progress: Progress,
    times: TimeWarnings,
    interrupt: Interrupt,
    reporter: Reporter,
    notes: deque[str],
) -> Callable[[Metrics], None]:
    """Return the function that is called after every chunk."""
    listening = False

    def on_progress(metrics: Metrics) -> None:
        nonlocal listening
        if not listening:  # The splits are open now.
            listening = True
            print_listening(result, reporter)
        progress.update(metrics)
        times.print_new(metrics, progress)
        print_input_notes(notes, reporter, progress)
        interrupt.check()

    return on_progress
