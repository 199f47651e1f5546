"""Releases the results of an epoch: as min time advances, from the barrier to the deliveries of outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.delivery.deliveries import Deliveries
from fsql.runtime.dataflow.barrier import Barrier, DeadLetters, LateRows, Stopped
from fsql.runtime.dataflow.messages import Address, Parcel, PortKind
from fsql.runtime.dataflow.metrics import Metrics, merge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.runtime.batch import Batch
    from fsql.runtime.cluster.coordinator.events import Deliver
    from fsql.runtime.cluster.delivery.delivery import Contents
    from fsql.runtime.cluster.delivery.shard_writers import ShardWriters
    from fsql.runtime.cluster.job_spec import JobSpec, Settings
    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation


class OutputRelease:
    """Barrier and deliveries of one epoch."""

    def __init__(
        self,
        spec: JobSpec,
        writers: ShardWriters,
        epoch: int,
        manifest: Manifest | None,
        settings: Settings,
        instrument: Instrumentation,
    ) -> None:
        """Begin at the position of `manifest`, before anything is released; `writers` write shards."""
        start = START if manifest is None else manifest.root
        rows_left = (
            spec.insert_limits if manifest is None else manifest.rows_left_of(spec.insert_limits)
        )
        self.deliveries = Deliveries(spec.outputs, writers, epoch, start, settings.bundle_rows_max)
        self.metrics = Metrics()
        """The metrics that are counted here: late rows and dead letters."""
        self.stopped: Stopped | None = None
        """The error that ends the job, once it is released."""
        windows = len(spec.plan.late_windows)
        difference = spec.difference
        moves = {} if difference is None else difference.moves(start)
        self._barrier = Barrier(
            spec.plan.sinks,
            windows,
            start,
            spec.encodings,
            rows_left,
            spec.plan.rejecting,
            moves,
        )
        self._advance = instrument("barrier", self._barrier.advance)
        if difference is not None:
            self._accept_difference(spec, difference.rows_of(start), writers)
        self._tables = spec.plan.tables
        self._sinks = spec.plan.sinks
        self._snapshot: Root | None = None
        """The position of the announced snapshot, if rows are counted."""
        self._rows_left: dict[Root, tuple[int, ...]] = {}
        """How many rows each INSERT has from the positions of snapshots on that are not stored yet."""
        self._ended = False
        """Whether the deliveries have been told that the results are complete."""
        self._min_time: Root | None = None
        """Min time at the barrier if not everything below it is released yet, which requires the lease."""

    def _accept_difference(
        self, spec: JobSpec, rows: Mapping[int, Batch], writers: ShardWriters
    ) -> None:
        """Accept the rows that INSERTs get at the first position, except for those that workers write."""
        of_workers = {spec.outputs[number].insert for number in writers.outputs}
        for insert, batch in rows.items():
            if insert in of_workers or not len(batch):
                continue
            to = Address(len(spec.plan.stages), insert, PortKind.SINK)
            encoding = spec.encodings.get(insert)
            for part in [batch] if encoding is None else encoding.encode(batch):
                # As repairs, so that they are consolidated with the rows of the same root.
                self._barrier.accept(Parcel(to, part, repairs=True))

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

    @property
    def complete(self) -> bool:
        """Return whether all rows that the INSERTs can have are released, so that the job ends."""
        return self._barrier.complete

    def rows_left_at(self, snapshot: Root) -> tuple[int, ...]:
        """Return how many rows each INSERT has from the position of a snapshot on, if they have a maximum."""
        if not self._barrier.rows_left:
            return ()
        self._rows_left = {root: rows for root, rows in self._rows_left.items() if root >= snapshot}
        # The barrier passes no position once it has released all rows.
        assert snapshot in self._rows_left or self.complete
        return self._rows_left.get(snapshot, self._barrier.rows_left)

    def count_at(self, snapshot: Root | None) -> None:
        """Count the rows that are left at the position of the announced snapshot, if there is one."""
        self._snapshot = snapshot if self._barrier.rows_left else None
        if self._snapshot is not None and self._snapshot == self.min_time:
            self._rows_left[self._snapshot] = self._barrier.rows_left

    def release(self, below: Root | None = None) -> list[Deliver]:
        """Release what min time allows, but nothing at or above `below`; return the bundles to deliver."""
        if self.complete and not self._ended:
            return self._end([])
        min_time = self._min_time
        if min_time is None:
            return []
        if below is None or min_time <= below:
            self._min_time = None
        elif self.min_time < below:
            min_time = below
        else:
            return []
        outputs = self._outputs(min_time)
        if self.stopped is not None or self._ended:
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
        return self._end(released) if self.complete else self.deliveries.release(released, bound)

    def _outputs(self, min_time: Root) -> list[Contents | Stopped]:
        """Advance the barrier; count the rows that are left when it passes the position of a snapshot."""
        snapshot = self._snapshot
        if snapshot is None or not self.min_time < snapshot <= min_time:
            return self._advance(min_time)
        outputs = self._advance(snapshot)
        self._rows_left[snapshot] = self._barrier.rows_left
        return outputs + self._advance(min_time)

    def _end(self, released: list[Contents]) -> list[Deliver]:
        """Release the last rows."""
        self._ended = True
        return self.deliveries.release(released, END)

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
        return self.deliveries.out_below(END if self._ended else self.min_time)

    def complete_below(self) -> Root:
        """Return the position below which a snapshot may rely on every sink."""
        released = self.min_time if self.stopped is None else self.stopped.root
        return self.deliveries.complete_below(released)

    def is_over(self) -> bool:
        """Return whether all output of the job is released and stored."""
        end = END if self.stopped is None else self.stopped.root
        released = self._ended or self.min_time >= end
        return released and self.deliveries.are_complete(end)
