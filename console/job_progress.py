"""Shows the progress of a run on processes: metrics, and a line for each recovery, tick and problem."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.numbers import counted_text, seconds_text
from fsql.console.progress import NoProgress

if TYPE_CHECKING:
    from fsql.console.progress import Progress
    from fsql.console.reporter import Reporter
    from fsql.job.auto_ticks import AutoChoice
    from fsql.job.process_metrics import ProcessMetrics
    from fsql.runtime.drivers.processes.lines import ProgressReport, TickReport

_RUNNING: Final = "running"
_FINISHED: Final = "finished"
_AGAIN_SECONDS: Final = 30.0
"""Time for which a recurring phase is not printed again without progress in between."""


class JobProgress:
    """Updates the progress display, and prints a line for each recovery, tick and problem."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._progress: Progress = NoProgress()
        self._running = False
        self._phase = ("", 0, "")
        self._problems: tuple[str, ...] = ()
        self._reason = ""
        self._shown_phases: set[str] = set()
        self._shown_at = (float("-inf"), (0, 0))
        """The time at which the last printed phase was first printed, and the position at which its epoch
        began."""

    def show(self, progress: Progress) -> None:
        """Show progress on the given display from now on."""
        self._progress = progress
        progress.begin("starting processes")

    def on_report(self, report: ProgressReport, metrics: ProcessMetrics) -> None:
        """Show a report; the metrics include it."""
        self._running |= report.phase == _RUNNING
        if self._running:
            self._progress.update(metrics.total)
        else:
            self._progress.begin(report.phase)
        self._print_phase(report, metrics)
        self._print_problems(report)

    def on_tick(self, tick: TickReport) -> None:
        """Print the position of a tick, its changes and its cost, or why it was refused."""
        if self._reporter.quiet:
            return
        if self._reporter.json:
            self._reporter.event("tick", tick.fields())
        else:
            self._progress.print_line(_tick_text(tick))

    def on_choice(self, choice: AutoChoice) -> None:
        """Print why a tick was proposed, or why none was chosen."""
        if self._reporter.quiet:
            return
        if self._reporter.json:
            self._reporter.event("tick_chosen", choice.fields())
        else:
            for line in choice.lines():
                self._progress.print_line(line)

    def _print_phase(self, report: ProgressReport, metrics: ProcessMetrics) -> None:
        before, self._phase = self._phase, (report.phase, report.epoch, report.detail)
        if self._phase == before or self._reporter.quiet:
            return
        if self._reporter.json:
            phase = {"phase": report.phase, "epoch": report.epoch, "detail": report.detail}
            self._reporter.event("phase", phase)
            return
        why = report.detail or _recovery_reason(report, metrics)
        if why and report.phase != _FINISHED and self._is_new(why, report):
            self._progress.print_line(f"recovery: {report.phase} ({why})")

    def _is_new(self, why: str, report: ProgressReport) -> bool:
        """Return whether a phase is not a repeated one with the same reason."""
        now = time.monotonic()
        since, done = self._shown_at
        if why != self._reason or report.begins > done or now - since > _AGAIN_SECONDS:
            self._reason, self._shown_phases, self._shown_at = why, set(), (now, report.begins)
        known = report.phase in self._shown_phases
        self._shown_phases.add(report.phase)
        return not known

    def _print_problems(self, report: ProgressReport) -> None:
        """Print the problems that are not in the previous report."""
        before, self._problems = self._problems, report.problems
        for problem in report.problems:
            if problem in before or self._reporter.quiet:
                continue
            if self._reporter.json:
                self._reporter.event("problem", {"problem": problem})
            else:
                self._progress.print_line(f"warning: {problem}")


def _tick_text(tick: TickReport) -> str:
    if tick.position is None:
        return f"tick {tick.tick} was refused: {tick.refused}"
    position = ", ".join(map(str, tick.position))
    moved, took = counted_text(tick.moved_bins, "bin"), seconds_text(tick.seconds)
    taken = f"tick {tick.tick} was taken at position {position} in {took}; {moved} moved"
    return "; ".join((taken, *tick.changes))


def _recovery_reason(report: ProgressReport, metrics: ProcessMetrics) -> str:
    """Return the reason of a recovery; if the report has none, the previous coordinator was lost."""
    lost = metrics.total.recoveries or (report.epoch == 0 and metrics.epoch)
    return "the coordinator has ended" if lost else ""
