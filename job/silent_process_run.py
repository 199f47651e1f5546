"""A run on processes for the library, which reports nothing."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from fsql.job.process_metrics import ProcessMetrics
from fsql.job.process_run import run_on_processes

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from fsql.job.auto_ticks import AutoChoice
    from fsql.job.compilation import Compiled
    from fsql.job.description import PreparedJob
    from fsql.job.planning import RunOptions
    from fsql.job.process_options import ProcessOptions
    from fsql.runtime.dataflow.metrics import Metrics
    from fsql.runtime.drivers.processes.lines import ProgressReport, TickReport


class SilentObserver:
    """Shows nothing of a run; see `fsql.job.process_observer.ProcessObserver`."""

    def on_ready(self, job: PreparedJob) -> None: ...
    def on_already_finished(self, state: Path) -> None: ...
    def on_listening(self, job: PreparedJob) -> None: ...
    def on_waiting(self, workers: int, address: str, key: Path, keys: Path | None) -> None: ...
    def on_report(self, report: ProgressReport, metrics: ProcessMetrics) -> None: ...
    def on_tick(self, tick: TickReport) -> None: ...
    def on_choice(self, choice: AutoChoice) -> None: ...
    def on_input_note(self, note: str) -> None: ...
    def on_drained(self) -> None: ...
    def check(self) -> None: ...
    def show(self, job: PreparedJob, *, resumed: bool) -> AbstractContextManager[None]:
        del job, resumed
        return nullcontext()


def run_silently_on_processes(
    compiled: Compiled, options: RunOptions, process_options: ProcessOptions
) -> Metrics:
    """Run a job on processes; return its metrics.

    Raises:
        FsqlError: if a source, a sink, the state directory or a row fails.
    """
    metrics = ProcessMetrics()
    stdout = None if sys.stdout is None else sys.stdout.buffer
    error = run_on_processes(compiled, options, process_options, SilentObserver(), metrics, stdout)
    if error is not None:
        raise error
    return metrics.total
