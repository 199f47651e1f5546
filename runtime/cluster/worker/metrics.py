"""Measurements of a worker in one epoch: metrics for the coordinator, statistics for the optimizer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fsql.runtime.cluster.ticks.events import RecordStatistics
from fsql.runtime.dataflow.bin_loads import BinLoads
from fsql.runtime.dataflow.freshness import Freshness
from fsql.runtime.dataflow.metrics import MeasuredOperator, Metrics
from fsql.runtime.dataflow.state_size import state_bytes
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.frames import Begin
    from fsql.runtime.cluster.links.link import Link
    from fsql.runtime.cluster.worker.events import ChunkRead, Loaded
    from fsql.runtime.cluster.worker.local_fronts import LocalFronts
    from fsql.runtime.dataflow.fold import Fold
    from fsql.runtime.dataflow.front import Front
    from fsql.runtime.dataflow.worker import Worker

    Counters = tuple[int, ...]
    Rows = list[tuple[object, ...]]


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


# The statistics of one worker in one epoch, each about the time since the last ones.
#
# They are for the optimizer; no released row depends on them.  The host writes them.


class OutputCounts(NamedTuple):
    """The lag of the output in seconds, the ages of the released chunks, and the links by their peers."""

    behind: float
    freshness: Freshness
    links: Mapping[int, Link]


class WorkerStatistics:
    """Counts, and returns the counts at an interval in seconds."""

    def __init__(self, begin: Begin, loaded: Loaded, now: float) -> None:
        """Begin; the settings of the job have the interval."""
        self._begin = begin
        self._every = loaded.settings.statistics_every
        self._began = self._sampled = now
        self._held_seconds: dict[str, float] = {}
        self._before: dict[tuple[str, str | int], Counters] = {}
        self.loads = None if self._every is None else BinLoads(loaded.plan)
        """Counts the rows that go into folds."""

    def sample(self, folds: Iterable[Fold], now: float) -> None:
        """Add the time for which rows have waited in folds: as many since the last sample as wait now."""
        seconds, self._sampled = now - self._sampled, now
        for fold in folds:
            if fold.rows_waiting:
                held = self._held_seconds.get(fold.operator, 0.0)
                self._held_seconds[fold.operator] = held + fold.rows_waiting * seconds

    @property
    def next_timer(self) -> float:
        """Return when to record, infinity for never."""
        return math.inf if self._every is None else self._began + self._every

    def record(
        self,
        folds: Iterable[Fold],
        fronts: Iterable[Front],
        operators: Mapping[str, MeasuredOperator],
        reading: MeasuredOperator,
        output: OutputCounts,
        now: float,
    ) -> list[RecordStatistics]:
        """Return the statistics since the last record, if the interval has passed."""
        if self.loads is None or now < self.next_timer:
            return []
        seconds, self._began = now - self._began, now
        fronts = list(fronts)
        read = sum(front.rows_read for front in fronts)
        times: list[tuple[str, Counters]] = [
            ("read", (reading.calls, read, read, *_times(reading)))
        ]
        times += [
            (name, (each.calls, each.rows, each.rows_out, *_times(each)))
            for name, each in operators.items()
        ]
        tables: dict[str, Sequence[tuple[object, ...]]] = {
            "operators": [
                (name, *since)
                for name, counters in times
                if any(since := self._since(("operators", name), counters)) or name == "read"
            ],
            "folds": self._fold_rows(folds),
            "fronts": [
                (
                    front.table.name,
                    front.split,
                    *self._since(("fronts", front.number), (front.rows_read, front.bytes_read)),
                    round(output.behind * 1e6),
                    *self._since(("blocked", front.number), (round(front.blocked_seconds * 1e6),)),
                )
                for front in fronts
            ],
            "latency": [
                (table, bucket, chunks)
                for (table, bucket), chunks in sorted(output.freshness.released.items())
            ],
            "links": [
                (peer, *self._since(("links", peer), (link.frames, link.bytes_given, link.resent)))
                for peer, link in sorted(output.links.items())
            ],
        }
        output.freshness.released.clear()
        begin = self._begin
        loads = self.loads.take()
        return [
            RecordStatistics(begin.job, begin.epoch, begin.number, seconds, tables, loads),
        ]

    def _fold_rows(self, folds: Iterable[Fold]) -> Rows:
        return [
            (
                fold.operator,
                fold.policy.value,
                *self._since(
                    ("folds", fold.operator),
                    (fold.rows_applied, fold.rows_redone, fold.rows_held, fold.rewinds),
                ),
                *fold.disorder.take(),
                round(self._held_seconds.pop(fold.operator, 0.0) * 1e6),
                fold.snapshots.changed_keys(),
                fold.state_rows(),
                state_bytes(fold),
            )
            for fold in folds
        ]

    def _since(self, key: tuple[str, str | int], counters: Counters) -> Counters:
        """Return by how much counters have grown since the last call; those of a new link begin again."""
        before = self._before.get(key, (0,) * len(counters))
        if any(now < then for now, then in zip(counters, before, strict=True)):
            before = (0,) * len(counters)
        self._before[key] = counters
        return tuple(now - then for now, then in zip(counters, before, strict=True))


def _times(measured: MeasuredOperator) -> Counters:
    """Return the processor time and the elapsed time in nanoseconds."""
    return round(measured.busy * 1e9), round(measured.seconds * 1e9)
