"""Frontier updates: which worker is sent which min time, and when.

Contract.  When min time at a stage advances, it is sent in the same step

* to a worker whose fold there holds something below it: waiting rows, or a window to close,
* to a worker that still owes its state for a snapshot whose position min time has passed,
* to all workers, if it is the end.

To every other worker it is sent with a later frame, at most every `UPDATE_EVERY` seconds.

Nothing waits for a late update.  A fold that may still send something has a hold, whose entry arrives no
later than the acknowledgement that lets min time advance beyond it.  To all other folds, min time only says
which state they can drop.  A worker with state to drop has sent an acknowledgement of the rows.  Its link
acknowledges that frame within `LinkSettings.acknowledge_after`, as it does every `Metrics`, and the update
goes with this frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import END
from fsql.runtime.dataflow.messages import Kind, MinTime

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.messages import AckEntry, Acknowledgement


UPDATE_EVERY: Final = 0.1
"""The minimum seconds between two late updates of a worker; each costs its folds some work."""


class FrontierUpdates:
    """Min time at each stage, and the min times that each worker was sent."""

    def __init__(self, stages: Sequence[int], workers: Iterable[int], start: Root) -> None:
        """Start with min time `start`, which all workers know."""
        self._start = start
        self._min_times = dict.fromkeys(stages, start)
        self._sent: dict[int, dict[int, Root]] = {}
        self._holds: dict[int, dict[int, AckEntry]] = {stage: {} for stage in stages}
        self._changed: set[int] = set()
        self._requested: Root | None = None
        self._behind: dict[int, bool] = {}
        self._next_update: dict[int, float] = {}
        for worker in workers:
            self.add(worker)

    def add(self, worker: int) -> None:
        """Add a worker, which knows min time as of the start."""
        self._sent[worker] = dict.fromkeys(self._min_times, self._start)
        self._behind[worker] = self._sent[worker] != self._min_times
        self._next_update[worker] = 0.0

    def remove(self, worker: int) -> None:
        """Remove a worker that has left."""
        del self._sent[worker], self._behind[worker], self._next_update[worker]
        for holds in self._holds.values():
            holds.pop(worker, None)

    def on_acknowledgement(self, worker: int, acknowledgement: Acknowledgement) -> None:
        """Record the new holds of a worker's folds, from its acknowledgement."""
        for entry in acknowledgement.entries:
            if entry.kind is Kind.HOLD:
                holds = self._holds[entry.stage]
                held = holds.get(worker)
                if held is not None and held.id == entry.id:
                    del holds[worker]
                else:
                    holds[worker] = entry
                    self._changed.add(entry.stage)

    def on_advance(self, stage: int, root: Root) -> None:
        """Record min time at a stage; a value below the known one is ignored."""
        if root > self._min_times[stage]:
            self._min_times[stage] = root
            self._changed.add(stage)
            self._behind = dict.fromkeys(self._behind, True)

    def request(self, position: Root | None) -> None:
        """Record the position for which a snapshot needs the workers' state; None for none."""
        if position != self._requested:
            self._requested = position
            self._changed.update(self._min_times)

    def take_urgent(self) -> Iterator[tuple[int, MinTime]]:
        """Yield the updates that must be sent now, each with its worker."""
        changed, self._changed = self._changed, set()
        for stage in sorted(changed):
            root = self._min_times[stage]
            holds = self._holds[stage]
            requested = self._requested is not None and self._requested <= root
            for worker in list(self._sent) if requested or root == END else list(holds):
                sent, held = self._sent[worker][stage], holds.get(worker)
                lacks = root == END or (
                    self._requested is not None and sent < self._requested <= root
                )
                if sent < root and (lacks or (held is not None and held.root < root)):
                    self._sent[worker][stage] = root
                    yield worker, MinTime(stage, root)

    def take_updates(self, worker: int, now: float) -> list[MinTime]:
        """Return late updates for a frame to a worker; none if its last are newer than `UPDATE_EVERY`."""
        if not self._behind.get(worker) or now < self._next_update[worker]:
            return []
        return self.take_all_updates(worker, now)

    def take_all_updates(self, worker: int, now: float) -> list[MinTime]:
        """Return all updates that a worker was not sent; it is blocked until it receives them."""
        self._next_update[worker] = now + UPDATE_EVERY
        self._behind[worker] = False
        sent = self._sent[worker]
        updates = [MinTime(s, root) for s, root in self._min_times.items() if sent[s] < root]
        sent.update(self._min_times)
        return updates
