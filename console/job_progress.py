"""How a run on processes goes, as its coordinator tells: in counters, and lines on what goes wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.console.progress import Silence
from fsql.runtime.batch import Root
from fsql.runtime.dataflow.holder import Holder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.console.progress import Progress
    from fsql.console.reporter import Reporter
    from fsql.runtime.drivers.local import Counters
    from fsql.runtime.drivers.processes.lines import ProgressReport

_RUNNING: Final = "running"
_FINISHED: Final = "finished"
_NOT_ADDED: Final = {"rows_state", "rows_unreleased"}
"""Counters that say how it is now, and not what was done."""
_AGAIN_SECONDS: Final = 30.0
"""How long is nothing said of what keeps happening, if nothing gets done in between."""


class JobProgress:
    """Shows the report of a run: counters on the panel, and each recovery and each trouble in a line."""

    def __init__(self, counters: Counters, reporter: Reporter, fronts: Sequence[str]) -> None:
        """Count in `counters`; `fronts` are the names of the fronts, by number."""
        self._fronts = fronts
        self._holder = Holder()
        self._counters = counters
        self._reporter = reporter
        self._progress: Progress = Silence()
        self._started = time.monotonic()
        self._running = False
        self._phase = ("", 0, "")
        self._troubles: tuple[str, ...] = ()
        self._reason = ""
        self._said: set[str] = set()
        self._said_at = (float("-inf"), (0, 0))
        """When what was said last was said first, and at which position its epoch began."""
        self._epoch = 0
        self._before: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def show(self, progress: Progress) -> None:
        """Show it there from now on."""
        self._progress = progress
        progress.begin("starting processes")

    def finish(self) -> None:
        """Take note that the run is over, also where the coordinator never told anything."""
        self._counters.seconds = time.monotonic() - self._started

    def on_report(self, report: ProgressReport) -> None:
        """Take note of how far the run is."""
        self._count(report)
        self._counters.seconds = time.monotonic() - self._started
        self._running |= report.phase == _RUNNING
        if self._running:
            self._progress.update(self._counters)
        else:
            self._progress.begin(report.phase)
        self._say_phase(report)
        self._say_troubles(report)

    def _count(self, report: ProgressReport) -> None:
        """Add what the epochs have done; what an epoch did last before it was lost is not known."""
        if report.epoch == 0:
            return
        if report.epoch != self._epoch:
            self._counters.recoveries += self._epoch != 0
            self._epoch = report.epoch
            for name, value in self._last.items():
                self._before[name] = self._before.get(name, 0) + value
        self._last = report.metrics
        for name, value in report.metrics.items():
            if name == "behind_us":
                self._counters.seconds_behind = value / 1e6
                continue
            before = 0 if name in _NOT_ADDED else self._before.get(name, 0)
            setattr(self._counters, name, before + value)
        held = None
        if report.held is not None:
            front, *promised = report.held
            held = self._holder.holds([(front, Root(*promised))], time.monotonic())
        self._counters.take_held(held, self._fronts)

    def _say_phase(self, report: ProgressReport) -> None:
        before, self._phase = self._phase, (report.phase, report.epoch, report.detail)
        if self._phase == before or self._reporter.quiet:
            return
        if self._reporter.json:
            phase = {"phase": report.phase, "epoch": report.epoch, "detail": report.detail}
            self._reporter.event("phase", phase)
            return
        why = report.detail or self._why(report)
        if why and report.phase != _FINISHED and self._is_news(why, report):
            self._progress.tell(f"recovery: {report.phase} ({why})")

    def _is_news(self, why: str, report: ProgressReport) -> bool:
        """Say whether a phase is not what keeps happening for the same reason: that a disk is full, say."""
        now = time.monotonic()
        since, done = self._said_at
        if why != self._reason or report.begins > done or now - since > _AGAIN_SECONDS:
            self._reason, self._said, self._said_at = why, set(), (now, report.begins)
        known = report.phase in self._said
        self._said.add(report.phase)
        return not known

    def _say_troubles(self, report: ProgressReport) -> None:
        """Say what goes wrong from now on."""
        before, self._troubles = self._troubles, report.troubles
        for trouble in report.troubles:
            if trouble in before or self._reporter.quiet:
                continue
            if self._reporter.json:
                self._reporter.event("trouble", {"trouble": trouble})
            else:
                self._progress.tell(f"warning: {trouble}")

    def _why(self, report: ProgressReport) -> str:
        """Return why there is a recovery, if it is one of which the coordinator knows nothing: its own."""
        lost = self._counters.recoveries or (report.epoch == 0 and self._epoch)
        return "the coordinator has ended" if lost else ""
