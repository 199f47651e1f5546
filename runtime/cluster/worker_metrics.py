"""Measurements of a worker in one epoch: metrics for the coordinator, statistics for the optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.worker_statistics import OutputCounts, WorkerStatistics
from fsql.runtime.dataflow.freshness import Freshness
from fsql.runtime.dataflow.metrics import MeasuredOperator, Metrics
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.frames import Begin
    from fsql.runtime.cluster.link import Link
    from fsql.runtime.cluster.local_fronts import LocalFronts
    from fsql.runtime.cluster.tick_events import RecordStatistics
    from fsql.runtime.cluster.worker_events import ChunkRead, Loaded
    from fsql.runtime.dataflow.bin_loads import BinLoads
    from fsql.runtime.dataflow.front import Front
    from fsql.runtime.dataflow.worker import Worker


class WorkerMetrics:
    """Counts what a worker and its fronts do, and reports it at intervals."""

    def __init__(self, begin: Begin, loaded: Loaded, fronts: LocalFronts, now: float) -> None:
        """Count from zero; the first report is due immediately."""
        self.instrumentation = loaded.settings.instrument()
        self.next_timer = now
        """When the next report is due."""
        self._every = loaded.settings.metrics_every
        self._fronts = fronts
        self._statistics = WorkerStatistics(begin, loaded, now)
        self._messages = 0
        self._reading = MeasuredOperator()
        self._freshness = Freshness()
        self._behind: float | None = None
        """The lag of the output at the last update; None if no update came since the last report."""

    @property
    def loads(self) -> BinLoads | None:
        """Return the counter of the rows that go into folds; None if they are not counted."""
        return self._statistics.loads

    def on_message(self) -> None:
        """Count a message of another worker."""
        self._messages += 1

    def on_read(self, read: ChunkRead) -> None:
        """Add the time that a read has taken, and count those that have read a chunk."""
        self._reading.calls += isinstance(read.chunk, Chunk)
        self._reading.seconds += read.seconds
        self._reading.busy += read.busy_seconds

    def on_chunk(self, front: Front, now: float) -> None:
        """Record when a front has read a chunk."""
        self._freshness.on_chunk(front, now)

    def on_released(self, position: Root, now: float) -> None:
        """Record that everything below a position is released and stored."""
        self._behind = self._freshness.seconds_behind(position, now)

    def is_due(self, now: float) -> bool:
        """Return whether a report is due; if so, the next one is due an interval later."""
        if now < self.next_timer:
            return False
        self.next_timer = now + self._every
        return True

    def report(self, worker: Worker, now: float) -> Metrics:
        """Return the metrics of the epoch so far."""
        released = self._fronts.released
        behind, self._behind = self._behind, None
        if behind is None:
            behind = self._freshness.seconds_behind(released, now)
        self._statistics.sample(worker.folds.values(), now)
        metrics = Metrics(messages=self._messages, seconds_behind=behind)
        metrics.set_folds(worker.folds.values())
        metrics.set_fronts(self._fronts.fronts_to_report(), released)
        metrics.set_operators({"read": self._reading, **self.instrumentation.operators})
        return metrics

    def record_statistics(
        self, worker: Worker, links: Mapping[int, Link], now: float
    ) -> list[RecordStatistics]:
        """Return the statistics since the last call that returned some, if they are due."""
        behind = self._freshness.seconds_behind(self._fronts.released, now)
        folds, operators = worker.folds.values(), self.instrumentation.operators
        output = OutputCounts(behind, self._freshness, links)
        fronts = self._fronts.fronts_to_report()
        return self._statistics.record(folds, fronts, operators, self._reading, output, now)
