"""The statistics of one worker in one epoch, each about the time since the last ones.

They are for the optimizer; no released row depends on them.  The host writes them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fsql.runtime.cluster.tick_events import RecordStatistics
from fsql.runtime.dataflow.bin_loads import BinLoads
from fsql.runtime.dataflow.state_size import state_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fsql.runtime.cluster.frames import Begin
    from fsql.runtime.cluster.link import Link
    from fsql.runtime.cluster.worker_events import Loaded
    from fsql.runtime.dataflow.fold import Fold
    from fsql.runtime.dataflow.freshness import Freshness
    from fsql.runtime.dataflow.front import Front
    from fsql.runtime.dataflow.metrics import MeasuredOperator

    Counters = tuple[int, ...]
    Rows = list[tuple[object, ...]]


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
