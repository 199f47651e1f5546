"""Releases the results of an epoch: as min time advances, from the barrier to the deliveries of outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.batch import END, Root
from fsql.runtime.cluster.deliveries import Deliveries
from fsql.runtime.dataflow.barrier import Barrier, DeadLetters, LateRows, Stopped
from fsql.runtime.dataflow.metrics import Metrics, merge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.runtime.cluster.coordinator_events import Deliver
    from fsql.runtime.cluster.delivery import Contents
    from fsql.runtime.cluster.job_spec import JobSpec, Settings
    from fsql.runtime.cluster.shard_writers import ShardWriters
    from fsql.runtime.dataflow.messages import Parcel
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation


class OutputRelease:
    """Barrier and deliveries of one epoch."""

    def __init__(
        self,
        spec: JobSpec,
        writers: ShardWriters,
        epoch: int,
        start: Root,
        settings: Settings,
        instrument: Instrumentation,
    ) -> None:
        """Begin at `start`, before anything is released; `writers` write shards."""
        self.deliveries = Deliveries(spec.outputs, writers, epoch, start, settings.bundle_rows_max)
        self.metrics = Metrics()
        """The metrics that are counted here: late rows and dead letters."""
        self.stopped: Stopped | None = None
        """The error that ends the job, once it is released."""
        windows = len(spec.plan.late_windows)
        self._barrier = Barrier(spec.plan.sinks, windows, start, spec.encodings)
        self._advance = instrument("barrier", self._barrier.advance)
        self._tables = spec.plan.tables
        self._sinks = spec.plan.sinks
        self._min_time: Root | None = None
        """Min time at the barrier if not everything below it is released yet, which requires the lease."""

    @property
    def min_time(self) -> Root:
        """Return the position below which everything is released."""
        return self._barrier.min_time

    def accept(self, parcel: Parcel) -> None:
        """Accept rows that a worker has sent to the barrier."""
        self._barrier.accept(parcel)

    def on_min_time(self, root: Root) -> None:
        """Record min time at the barrier."""
        self._min_time = root

    @property
    def holds_back(self) -> bool:
        """Return whether min time allows to release more than has been released."""
        return self._min_time is not None

    def release(self, below: Root | None = None) -> list[Deliver]:
        """Release what min time allows, but nothing at or above `below`; return the bundles to deliver."""
        min_time = self._min_time
        if min_time is None:
            return []
        if below is None or min_time <= below:
            self._min_time = None
        elif self.min_time < below:
            min_time = below
        else:
            return []
        outputs = self._advance(min_time)
        if self.stopped is not None:
            return []
        bound = min_time
        if outputs and isinstance(last := outputs[-1], Stopped):
            outputs = outputs[:-1]
            self.stopped, bound = last, last.root
        released: list[Contents] = []
        for contents in outputs:
            assert not isinstance(contents, Stopped)
            if isinstance(contents, LateRows):
                self.metrics.count_late(contents.window, len(contents.rows))
            elif isinstance(contents, DeadLetters):
                self.metrics.count_dead_letters(contents.dead_letters, self._tables)
            released.append(contents)
        return self.deliveries.release(released, bound)

    def all_metrics(self, nodes: Iterable[Metrics]) -> Metrics:
        """Return the merged metrics of this part and of `nodes`."""
        total = merge([self.metrics, *nodes])
        if self.out_below() == END:
            # At the end, the last counts of the workers are out of date.
            total.seconds_behind, total.rows_unreleased = 0.0, 0
        for insert, rows in self.deliveries.rows_of_inserts.items():
            total.sink(self._sinks[insert].table.name).rows += rows
            total.rows_out += rows
        total.releases = self._barrier.releases
        return total

    def out_below(self) -> Root:
        """Return the position below which everything is released and stored by every sink."""
        return self.deliveries.out_below(self.min_time)

    def complete_below(self) -> Root:
        """Return the position below which a snapshot may rely on every sink."""
        released = self.min_time if self.stopped is None else self.stopped.root
        return self.deliveries.complete_below(released)

    def is_over(self) -> bool:
        """Return whether all output of the job is released and stored."""
        end = END if self.stopped is None else self.stopped.root
        return self.min_time >= end and self.deliveries.are_complete(end)
