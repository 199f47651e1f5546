"""The metrics of a run on processes, over all of its epochs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fsql.runtime.batch import Root
from fsql.runtime.dataflow.holder import Holder
from fsql.runtime.dataflow.metrics import Metrics, merge, without_current

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.drivers.processes.lines import ProgressReport


class ProcessMetrics:
    """Adds up the reports of a run's coordinators; `total` has the sums."""

    def __init__(self) -> None:
        self.total = Metrics()
        self.epoch = 0
        """The epoch of the last report, 0 before the first one has begun."""
        self._fronts: Sequence[str] = ()
        self._holder = Holder()
        self._started = time.monotonic()
        self._before = Metrics()
        self._last = Metrics()

    def name_fronts(self, names: Sequence[str]) -> None:
        """Take the names of the fronts, by number."""
        self._fronts = names

    def finish(self) -> None:
        """Record the time at the end of the run."""
        self.total.seconds = time.monotonic() - self._started

    def count_unread(self, table: str, count: int) -> None:
        """Count bytes of a table that were received, and are in no row at the end of the run."""
        self.total.count_unread(table, count)

    def add(self, report: ProgressReport) -> None:
        """Add a report; the work of an epoch after its last report is unknown."""
        now = time.monotonic()
        self.total.seconds = now - self._started
        if report.epoch == 0:
            return
        if report.epoch != self.epoch:
            self._before = merge([self._before, without_current(self._last)])
            self._before.recoveries += self.epoch != 0
            self.epoch = report.epoch
        self._last = report.metrics
        self.total = merge([self._before, self._last])
        self.total.seconds = now - self._started
        held = None
        if report.held is not None:
            front, *promised = report.held
            held = self._holder.holds([(front, Root(*promised))], now)
        self.total.set_held(held, self._fronts)
