"""What a run on processes has done, added up over its epochs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import Root
from fsql.runtime.dataflow.holder import Holder
from fsql.runtime.metrics import RunMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.drivers.processes.lines import ProgressReport

_NOT_ADDED: Final = {"rows_state", "rows_unreleased"}
"""Counters of the current state, which are not added up over epochs."""


class ProcessCounters:
    """Adds up the reports of a run's coordinators; `total` has the sums."""

    def __init__(self) -> None:
        self.total = RunMetrics()
        self.epoch = 0
        """The epoch of the last report, 0 before the first one has begun."""
        self._fronts: Sequence[str] = ()
        self._holder = Holder()
        self._started = time.monotonic()
        self._before: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def name_fronts(self, names: Sequence[str]) -> None:
        """Take the names of the fronts, by number."""
        self._fronts = names

    def finish(self) -> None:
        """Take the time at the end of the run."""
        self.total.seconds = time.monotonic() - self._started

    def add(self, report: ProgressReport) -> None:
        """Add a report; what an epoch did after its last report is not known."""
        self.total.seconds = time.monotonic() - self._started
        if report.epoch == 0:
            return
        if report.epoch != self.epoch:
            self.total.recoveries += self.epoch != 0
            self.epoch = report.epoch
            for name, value in self._last.items():
                self._before[name] = self._before.get(name, 0) + value
        self._last = report.metrics
        for name, value in report.metrics.items():
            if name == "behind_us":
                self.total.seconds_behind = value / 1e6
                continue
            before = 0 if name in _NOT_ADDED else self._before.get(name, 0)
            setattr(self.total, name, before + value)
        held = None
        if report.held is not None:
            front, *promised = report.held
            held = self._holder.holds([(front, Root(*promised))], time.monotonic())
        self.total.take_held(held, self._fronts)
