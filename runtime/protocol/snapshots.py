"""The coordinator's side of snapshots: when, at which position, and when one is whole.

Contract.  `docs/internals/distribution.md`, section 4.  One snapshot at a time is announced.  It
becomes a manifest when every worker has stored its part and every output that must lose nothing has all
below its position; so whoever begins again at a manifest has nothing to add to what consumers had
before it.

A position is chosen far ahead where rows run ahead, in a burst.  Where all have agreed to it and the input
has not come up to it when the next snapshot would be due, nor will have at this pace when as much time has
passed again, the burst is over: the snapshot is cancelled, and one nearer announced.  Workers that are slow
look like that too, so each time it is waited twice as long.
At last the position is the greatest promise itself.  So where no rows come any more, there are soon snapshots
behind all that came, as many as are kept, and nothing before them is needed to go on.

Not promised: that a snapshot comes to an end.  One that the input has passed stays pending until all have
stored their parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import START, Root
from fsql.runtime.protocol.frames import Announce, Answer, Cancel, Saved
from fsql.runtime.protocol.manifest import KEPT, Manifest
from fsql.runtime.protocol.node import ManifestCommitted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.runtime.protocol.job_spec import JobSpec
    from fsql.runtime.protocol.manifest import PassedOver
    from fsql.runtime.protocol.node import ManifestNotCommitted

NUMBERS_OF_AN_EPOCH: Final = 1_000_000_000
"""Snapshot numbers grow from epoch to epoch, whatever became of the snapshots of the one before.

An epoch that takes one each millisecond has enough of them for 11 days; one each second, for 31 years.
"""


def first_number(epoch: int) -> int:
    """Return the number of what an epoch notes, twice, before its first snapshot."""
    return epoch * NUMBERS_OF_AN_EPOCH


def nothing_saved(spec: JobSpec, epoch: int) -> Manifest:
    """Return the manifest from which a job goes on that has no snapshot: from the beginning."""
    return Manifest(
        job=spec.job,
        tick=spec.tick,
        epoch=epoch,
        snapshot=0,
        position=(START.time, START.origin),
        workers=spec.plan.workers,
        records=(),
        fronts=(),
    )


class Snapshots:
    """The snapshots of one epoch."""

    def __init__(self, spec: JobSpec, epoch: int, every: float | None, now: float) -> None:
        """Take one each `every` seconds; none at all if that is None."""
        self._spec = spec
        self._epoch = epoch
        self._every = every
        self._next_at = now + (every or 0.0)
        self._number = first_number(epoch) + 1
        self._margin = 0
        self._pending: Announce | None = None
        self._patience = every or 0.0
        self._patient_until: float | None = None
        self._announced_at = START
        self._looked_at = START
        self._answers: dict[int, Answer] = {}
        self._saved: dict[int, Saved] = {}
        self._committing = False
        self._kept_at: tuple[Root, ...] = ()
        self.committed = 0
        self.passed_over: tuple[PassedOver, ...] = ()

    @property
    def position(self) -> Root | None:
        """Return the position of the snapshot that is under way."""
        return None if self._pending is None else self._pending.position

    def next_timer(self) -> float | None:
        """Return when to ask what is due, None if nothing will be."""
        if self._pending is not None:
            return self._patient_until
        return None if self._every is None else self._next_at

    def idle(self, now: float) -> bool:
        """Say whether no snapshot is under way, and none to be begun."""
        return self._pending is None and (self._every is None or now < self._next_at)

    def due(self, promises: Iterable[Root], now: float) -> Announce | Cancel | None:
        """Return the announcement of a snapshot, if it is time and there is a position for it.

        Return the cancellation of the one that is pending, if the input takes too long to come up to it.
        """
        greatest = max(promises, default=START)
        if self._pending is not None:
            return self._out_of_reach(greatest, now)
        if self._every is None or now < self._next_at:
            return None
        # One that is late does not make all that follow late, nor do many that are late come at once.
        self._next_at = max(self._next_at, now - self._every / 2) + self._every
        position = greatest
        if self._margin:
            position = Root(greatest.time + self._margin, START.origin)
        if greatest == START or self._kept_at == (position,) * KEPT:
            return None
        self._number += 1
        self._announced_at = self._looked_at = greatest
        self._pending = Announce(self._number, position)
        self._answers, self._saved = {}, {}
        return self._pending

    def _out_of_reach(self, greatest: Root, now: float) -> Cancel | None:
        assert self._pending is not None
        if self._patient_until is None or now < self._patient_until:
            return None
        if greatest.time - self._looked_at.time >= self._pending.position.time - greatest.time > 0:
            self._looked_at, self._patient_until = greatest, now + self._patience
            return None  # it will soon be there
        self._patient_until = None
        if greatest == START or greatest >= self._pending.position:
            return None  # nothing nearer could be announced
        moved = max(0, greatest.time - self._announced_at.time)
        self._margin = min(self._margin, moved) // 2
        self._patience *= 2
        return self._given_up(now)

    def answered(self, worker: int, answer: Answer, now: float) -> Cancel | None:
        """Take a worker's answer; return the cancellation if it refuses."""
        pending = self._pending
        if pending is None or answer.snapshot != pending.snapshot:
            return None
        self._answers[worker] = answer
        if answer.accepted:
            if len(self._answers) == self._spec.plan.workers:
                # Less is enough in a quiet hour; in a burst, what rows ran ahead meanwhile is needed again.
                reached = max(answer.reached.time for answer in self._answers.values())
                ahead = reached - self._announced_at.time
                self._margin = max(self._margin // 2, min(self._margin, 2 * ahead))
                self._patient_until = now + self._patience
            return None
        beyond = max(0, answer.reached.time - pending.position.time)
        self._margin = 2 * (self._margin + beyond) + 1
        return self._given_up(now)

    def _given_up(self, now: float) -> Cancel:
        assert self._pending is not None
        cancel = Cancel(self._pending.snapshot)
        self._pending = self._patient_until = None
        self._next_at = now
        return cancel

    def saved(self, worker: int, saved: Saved) -> None:
        """Learn that a worker has stored its part."""
        if self._pending is not None and saved.snapshot == self._pending.snapshot:
            self._saved[worker] = saved

    def not_saved(self, snapshot: int, now: float) -> Cancel | None:
        """Learn that a worker could not store its part; the next snapshot is a new attempt."""
        if self._pending is None or snapshot != self._pending.snapshot:
            return None
        cancel = self._given_up(now)
        self._next_at = now + (self._every or 0.0)
        return cancel

    def stored_below(self, min_time: Root) -> bool:
        """Say whether all is stored and `min_time` has passed the position: only consumers lack."""
        pending = self._pending
        if pending is None or self._committing or min_time < pending.position:
            return False
        return len(self._saved) == self._spec.plan.workers

    def whole(self, settled: Root) -> Manifest | None:
        """Return the manifest, once, when all is stored and consumers have all below its position."""
        pending = self._pending
        if pending is None or not self.stored_below(settled):
            return None
        self._committing = True
        parts = [self._saved[worker] for worker in sorted(self._saved)]
        points = [point for part in parts for point in part.fronts]
        return Manifest(
            job=self._spec.job,
            tick=self._spec.tick,
            epoch=self._epoch,
            snapshot=pending.snapshot,
            position=(pending.position.time, pending.position.origin),
            workers=self._spec.plan.workers,
            records=tuple(record for part in parts for record in part.records),
            fronts=tuple(sorted(points, key=lambda point: point.front)),
            passed_over=tuple(
                passed for passed in self.passed_over if Root(*passed.end) > pending.position
            ),
        )

    def settled(self, event: ManifestCommitted | ManifestNotCommitted) -> Announce | None:
        """Learn what became of a manifest; return the announcement that it had."""
        pending = self._pending
        if pending is None or event.snapshot != pending.snapshot:
            return None
        self._pending = self._patient_until = None
        self._patience = self._every or 0.0
        self._committing = False
        if isinstance(event, ManifestCommitted):
            self.committed += 1
            self._kept_at = (*self._kept_at, pending.position)[-KEPT:]
        return pending
