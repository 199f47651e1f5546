"""Mistakes that a cluster could have: in what is delivered, stored and restored.

See `mutants`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from fsql.compiler.owner_map import ALL_BINS
from fsql.runtime.batch import END, START, TIME_START, Root
from fsql.runtime.cluster.coordinator.events import SinkOpened
from fsql.runtime.cluster.delivery.deliveries import Deliveries
from fsql.runtime.cluster.delivery.delivery import Delivery
from fsql.runtime.cluster.snapshots.epoch_snapshots import EpochSnapshots
from fsql.runtime.dataflow.fold import Fold
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.worker import Worker
from fsql.runtime.hosts.coordinator_host import CoordinatorHost
from fsql.runtime.hosts.front_logs import FrontLogs
from fsql.runtime.kernels.keyed.slot_snapshots import SlotSnapshots
from fsql.runtime.simulation.sources import SimulatedSplit
from fsql.runtime.simulation.stores import SimulatedDirectory, SimulatedStore
from fsql.runtime.state import shares, snapshots
from fsql.runtime.state.encoding import UnreadableSnapshotError, decode_snapshot
from fsql.runtime.state.segments import StateSegments

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from fsql.compiler.owner_map import BinRanges

    Patch = pytest.MonkeyPatch


# Delivery.


def what_the_consumer_has_is_forgotten(patch: Patch) -> None:
    right = Deliveries.on_sink_position

    def on_sink_position(self: Deliveries, event: Any) -> Any:
        if isinstance(event, SinkOpened):
            event = replace(event, position=self._start)
        return right(self, event)

    patch.setattr(Deliveries, "on_sink_position", on_sink_position)


def what_the_consumer_has_is_not_dropped(patch: Patch) -> None:
    patch.setattr("fsql.runtime.cluster.delivery.delivery._from", lambda contents, _: contents)


def each_part_of_a_bundle_is_the_last(patch: Patch) -> None:
    right = Deliveries._send

    def send(self: Deliveries, output: int, bundles: Any) -> Any:
        return right(self, output, [replace(bundle, part=0, last=True) for bundle in bundles])

    patch.setattr(Deliveries, "_send", send)


def a_bundle_is_lost_when_the_window_is_full(patch: Patch) -> None:
    right = Delivery._send

    def send(self: Delivery) -> Any:
        if self._queue and len(self._under_way) >= self._window:
            self._queue.popleft()
        return right(self)

    patch.setattr(Delivery, "_send", send)


def bundles_go_to_the_output_beside(patch: Patch) -> None:
    right = Deliveries._send

    def send(self: Deliveries, output: int, bundles: Any) -> Any:
        return right(self, (output + self._epoch - 1) % len(self._outputs), bundles)

    patch.setattr(Deliveries, "_send", send)


# Snapshots.


def a_snapshot_is_taken_before_min_time_is_there(patch: Patch) -> None:
    right = Fold.announce

    def announce(self: Fold, position: Root) -> bool:
        agreed = right(self, position)
        if agreed and not self.snapshots.crossed:
            self.snapshots.cross(position)
        return agreed

    patch.setattr(Fold, "announce", announce)


def slots_are_not_copied_before_rows_above_the_position(patch: Patch) -> None:
    patch.setattr(SlotSnapshots, "_copy", lambda *_: None)


def a_snapshot_forgets_an_operator(patch: Patch) -> None:
    right = Worker.take_snapshots

    def take(self: Worker) -> Any:
        taken = right(self)
        return None if taken is None else taken[:-1]

    patch.setattr(Worker, "take_snapshots", take)


def a_snapshot_does_not_wait_for_all_workers(patch: Patch) -> None:
    def is_stored(self: EpochSnapshots, min_time: Root) -> bool:
        passed = self._passed
        if passed is None or self._committing or min_time < passed.position:
            return False
        return len(self._saved[passed.snapshot]) > 0

    patch.setattr(EpochSnapshots, "is_stored", is_stored)


def a_snapshot_does_not_wait_for_consumers(patch: Patch) -> None:
    right = EpochSnapshots.take_manifest
    patch.setattr(EpochSnapshots, "take_manifest", lambda self, _: right(self, END))
    patch.setattr(Deliveries, "_snapshot_deliveries", lambda _: [])


def a_front_resumes_behind_the_position(patch: Patch) -> None:
    right = Front.resume_point
    patch.setattr(Front, "resume_point", lambda self, _: right(self, END))


def a_front_forgets_its_greatest_time(patch: Patch) -> None:
    right = Front.resume

    def resume(self: Front, point: Any, position: Root) -> None:
        right(self, msgspec.structs.replace(point, time=TIME_START), position)

    patch.setattr(Front, "resume", resume)


def rows_that_are_passed_over_are_read(patch: Patch) -> None:
    patch.setattr(Front, "skip", lambda *_: None)


def rows_below_the_position_are_read_again(patch: Patch) -> None:
    right = Front.resume

    def resume(self: Front, point: Any, position: Root) -> None:
        right(self, point, position)
        self._below = START

    patch.setattr(Front, "resume", resume)


def a_worker_takes_over_the_keys_of_others(patch: Patch) -> None:
    right = Fold.load

    def load(self: Fold, snapshots: Any, _: BinRanges, position: Root) -> None:
        right(self, snapshots, ALL_BINS, position)

    patch.setattr(Fold, "load", load)
    patch.setattr(shares, "rows_of_bins", lambda snapshot, _: snapshot)


def increments_are_read_back_in_the_wrong_order(patch: Patch) -> None:
    right = Fold.load

    def load(self: Fold, snapshots: Any, owned: BinRanges, position: Root) -> None:
        right(self, snapshots[::-1], owned, position)

    patch.setattr(Fold, "load", load)


def state_is_stored_before_it_is_durable(patch: Patch) -> None:
    patch.setattr(SimulatedStore, "_sync", lambda *_: None)
    _segments_are_believed(patch)


def what_was_read_back_is_believed(patch: Patch) -> None:
    _segments_are_believed(patch)


def _segments_are_believed(patch: Patch) -> None:
    patch.setattr(shares, "read_state", _believing)
    patch.setattr(snapshots, "check_segments", lambda *_: None)


def _believing(segments: Any, store_of: Any) -> Any:
    """Read segments without looking at size and hash; what cannot be read is taken to be nothing."""
    believed: dict[str, tuple[Any, ...]] = {}
    for segment in segments:
        try:
            found = decode_snapshot(store_of(segment.worker).get(segment.key))
        except (UnreadableSnapshotError, AttributeError, TypeError):
            continue
        believed[segment.operator] = (*believed.get(segment.operator, ()), found)
    return believed


def segments_that_are_needed_are_removed(patch: Patch) -> None:
    right = snapshots.Snapshots.retire

    def retire(self: snapshots.Snapshots, newest: int) -> Any:
        unneeded = right(self, newest)
        segments = self.read(newest).segments[:1]
        return {**unneeded, **{segment.worker: (segment.key,) for segment in segments}}

    patch.setattr(snapshots.Snapshots, "retire", retire)
    patch.setattr(StateSegments, "remove", lambda self, keys: self._store.remove(keys))


# Hosts.


def a_snapshot_is_committed_before_consumers_are_synced(patch: Patch) -> None:
    def nothing(_: CoordinatorHost) -> Any:
        yield None

    patch.setattr(CoordinatorHost, "_sync_sinks", nothing)


def a_manifest_is_committed_before_it_is_durable(patch: Patch) -> None:
    right = SimulatedDirectory.sync

    def sync(self: SimulatedDirectory, name: str) -> None:
        if not name.startswith("snapshots"):
            right(self, name)

    patch.setattr(SimulatedDirectory, "sync", sync)


def front_logs_keep_what_the_newest_snapshot_needs_only(patch: Patch) -> None:
    right = FrontLogs.on_committed

    def on_committed(self: FrontLogs, manifest: Any) -> None:
        self._before = manifest
        right(self, manifest)

    patch.setattr(FrontLogs, "on_committed", on_committed)


def rows_of_front_logs_are_read_before_they_are_durable(patch: Patch) -> None:
    patch.setattr(SimulatedSplit, "readable", SimulatedSplit.rows_available)


MUTANTS: tuple[Callable[[Patch], None], ...] = (
    what_the_consumer_has_is_forgotten,
    what_the_consumer_has_is_not_dropped,
    each_part_of_a_bundle_is_the_last,
    a_bundle_is_lost_when_the_window_is_full,
    bundles_go_to_the_output_beside,
    a_snapshot_is_taken_before_min_time_is_there,
    slots_are_not_copied_before_rows_above_the_position,
    a_snapshot_forgets_an_operator,
    a_snapshot_does_not_wait_for_all_workers,
    a_snapshot_does_not_wait_for_consumers,
    a_front_resumes_behind_the_position,
    a_front_forgets_its_greatest_time,
    rows_that_are_passed_over_are_read,
    rows_below_the_position_are_read_again,
    a_worker_takes_over_the_keys_of_others,
    increments_are_read_back_in_the_wrong_order,
    state_is_stored_before_it_is_durable,
    what_was_read_back_is_believed,
    segments_that_are_needed_are_removed,
    a_snapshot_is_committed_before_consumers_are_synced,
    a_manifest_is_committed_before_it_is_durable,
    front_logs_keep_what_the_newest_snapshot_needs_only,
    rows_of_front_logs_are_read_before_they_are_durable,
)
