"""A worker's part in the snapshots of one epoch.

The coordinator announces a snapshot at a position.  When all folds of the worker have returned their changes
below it, these are stored, one snapshot after the other, because each builds on those before.  State that a
tick reads back waits its turn among them, because it must include every snapshot that was taken before.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from fsql.runtime.cluster.frames import SnapshotAcknowledged, SnapshotAnswer, SnapshotDeclined
from fsql.runtime.cluster.worker.events import Store, Stored

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import AnnounceSnapshot, PrepareTick
    from fsql.runtime.cluster.ticks.events import BinsCopied, BinsNotCopied, CopyBins
    from fsql.runtime.cluster.ticks.worker_ticks import WorkerTicks
    from fsql.runtime.cluster.worker.events import NotStored
    from fsql.runtime.cluster.worker.local_fronts import LocalFronts
    from fsql.runtime.dataflow.front import Front
    from fsql.runtime.dataflow.outbox import Effect
    from fsql.runtime.dataflow.worker import Worker


class WorkerSnapshots:
    """The snapshots that a worker has accepted, until they are on disk."""

    def __init__(self, epoch: int, worker: Worker, fronts: LocalFronts, ticks: WorkerTicks) -> None:
        """Start without accepted snapshots."""
        self._ticks = ticks
        self._epoch = epoch
        self._worker = worker
        self._fronts = fronts
        self._pending: AnnounceSnapshot | None = None
        """The accepted snapshot for which the worker has not returned its state."""
        self._storing: deque[Store | CopyBins] = deque()
        """What is done with the store: the first is under way, the others wait."""
        self._fronts_of: dict[int, tuple[Front, ...]] = {}
        """The fronts that the worker had when it accepted a snapshot: their resume points are its part."""

    def on_announcement(self, announce: AnnounceSnapshot) -> SnapshotAnswer:
        """Accept a snapshot if its position is above everything that was applied; return the answer."""
        promised = [front.promised for front in self._fronts if not front.ended]
        reached = max([self._worker.reached, *promised])
        if announce.tick:
            reached = max([reached, *(front.read_up_to for front in self._fronts)])
            owners, choices = self._ticks.prepared
            leaving = self._ticks.leaving(self._fronts)
            accepted = self._worker.announce_change(
                announce.position, owners, self._fronts, choices, leaving
            )
        else:
            accepted = self._worker.announce(announce.position)
        if accepted:
            self._pending = announce
            self._fronts_of[announce.snapshot] = tuple(self._fronts)
        return SnapshotAnswer(announce.snapshot, accepted, reached)

    def on_cancellation(self, snapshot: int) -> list[Effect]:
        """Cancel a snapshot; changes that folds have returned for it are stored, as a base for the next.

        A snapshot at which bins change owners is not cancelled once the change is decided.
        """
        pending = self._pending
        if pending is None or pending.snapshot != snapshot or self._worker.has_switched:
            return []
        self._pending = None
        del self._fronts_of[snapshot]
        if pending.tick:
            return self._worker.cancel_change(self._fronts)
        self._worker.cancel()
        return []

    def take(self) -> list[Store | CopyBins]:
        """Store the pending snapshot once all folds have returned their changes, and fronts have reached it.

        A front that had not reached the position would skip rows when it resumes.
        """
        pending = self._pending
        if pending is None or (pending.tick and not self._worker.has_switched):
            return []
        position = pending.position
        if any(front.promised < position for front in self._fronts_of[pending.snapshot]):
            return []
        state = self._worker.take_snapshots()
        if state is None:
            return []
        self._pending = None
        ownership = self._ticks.take_ownership()
        if pending.tick:
            unstored = [each.changes for each in self._storing if isinstance(each, Store)]
            self._ticks.on_last_snapshot([*unstored, tuple(state)])
        return self._enqueue(
            Store(self._epoch, pending.snapshot, position, tuple(state), ownership)
        )

    def on_stored(
        self, event: Stored | NotStored
    ) -> SnapshotAcknowledged | SnapshotDeclined | None:
        """Return the item for the coordinator; None if the event is about another epoch's snapshot."""
        store = self._storing[0] if self._storing else None
        if not isinstance(store, Store) or store.snapshot != event.snapshot:
            return None
        self._storing.popleft()
        self._ticks.on_stored(store.changes)
        fronts = self._fronts_of.pop(event.snapshot)
        if not isinstance(event, Stored):
            return SnapshotDeclined(event.snapshot, event.reason)
        points = tuple(front.resume_point(store.position) for front in fronts)
        return SnapshotAcknowledged(event.snapshot, event.segments, points)

    def on_preparation(self, prepare: PrepareTick) -> list[Store | CopyBins]:
        """Have the state of the bins that move read back once the snapshots taken so far are stored."""
        copy = self._ticks.on_preparation(prepare)
        return [] if copy is None else self._enqueue(copy)

    def on_copied(self, event: BinsCopied | BinsNotCopied, now: float) -> None:
        """Pass the state that was read back to its tick."""
        self._storing.popleft()
        self._ticks.on_copied(event, now)

    def _enqueue(self, work: Store | CopyBins) -> list[Store | CopyBins]:
        """Queue work for the store; return it if the store is idle."""
        self._storing.append(work)
        return [work] if len(self._storing) == 1 else []

    def next_work(self) -> list[Store | CopyBins]:
        """Return the next work for the store, if there is any."""
        return list(islice(self._storing, 1))
