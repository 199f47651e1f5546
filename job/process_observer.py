"""The observer of a run on processes: the console, a deployed job, or the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from fsql.job.auto_ticks import AutoChoice
    from fsql.job.description import PreparedJob
    from fsql.job.process_metrics import ProcessMetrics
    from fsql.runtime.drivers.processes.lines import ProgressReport, TickReport


class ProcessObserver(Protocol):
    """Observes a run on processes.  All calls are made by the thread that runs the job."""

    def on_ready(self, job: PreparedJob) -> None:
        """The sources of the job have been opened; nothing has been read."""

    def on_already_finished(self, state: Path) -> None:
        """The job of this state directory finished in an earlier run."""

    def on_listening(self, job: PreparedJob) -> None:
        """The tables with server sockets are listening."""

    def on_waiting(self, workers: int, address: str, key: Path, keys: Path | None) -> None:
        """The run waits for workers that are started by hand."""

    def show(self, job: PreparedJob, *, resumed: bool) -> AbstractContextManager[object]:
        """Return a context in which the progress of the run is shown; `resumed` if it was started before."""

    def on_report(self, report: ProgressReport, metrics: ProcessMetrics) -> None:
        """Record a report of the coordinator, which is in the metrics already."""

    def on_tick(self, tick: TickReport) -> None:
        """Record a tick that was taken or refused."""

    def on_choice(self, choice: AutoChoice) -> None:
        """Record a tick that was chosen from statistics and proposed, or the problem that prevented that."""

    def on_input_note(self, note: str) -> None:
        """Record a notice about followed files."""

    def on_drained(self) -> None:
        """Record that the run ended at a committed position because that was requested."""

    def check(self) -> None:
        """Raise to end the run; called several times a second."""
