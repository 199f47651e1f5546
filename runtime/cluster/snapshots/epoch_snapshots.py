"""The coordinator's part in snapshots: when to take one, at which position, and when it is complete.

Contract.  `docs/internals/distribution.md`, section 4.  One snapshot at a time is announced; when min time
has passed its position it is stored, and the next may be announced meanwhile.  Its manifest is written when
every worker has stored its part, and every output that must not lose rows has stored everything below its
position.  So an epoch that starts from a manifest sends no rows below its position.

The workers that take part in a snapshot are the members at its announcement.  A worker that joins later owns
nothing below the position.

Positions are as far ahead of the input as `SnapshotDistance` says.  A snapshot whose position the input does
not reach in time is cancelled, and one with a nearer position is announced.

A snapshot that is nearly due is taken early if the sinks have just stored all rows: its processor time then
delays no row.

Not promised: that a snapshot completes.  If the input has passed its position, it stays pending until all
workers have stored their parts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from fsql.compiler.plan_choices import PlanChoices, choices_of
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.coordinator.events import ManifestCommitted
from fsql.runtime.cluster.frames import (
    AnnounceSnapshot,
    CancelSnapshot,
    SnapshotAcknowledged,
    SnapshotAnswer,
)
from fsql.runtime.cluster.snapshots.manifest import KEPT, Manifest
from fsql.runtime.cluster.ticks.copied_state import SNAPSHOTS_OF_COMPARISON

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.compiler.owners import Owners
    from fsql.runtime.cluster.coordinator.events import ManifestNotCommitted, SnapshotRequested
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.snapshots.manifest import SkippedRange


EARLY_SECONDS: Final = 0.05
"""How many seconds early a snapshot may be taken, limited to half an interval."""

FREQUENT_AT_FIRST: Final = 4 * SNAPSHOTS_OF_COMPARISON
"""The number of snapshots that show whether the state of a tick changes faster than it is sent."""

FREQUENT_SECONDS: Final = 0.05
"""The maximum seconds from one snapshot to the next while a tick is prepared."""

NUMBERS_OF_AN_EPOCH: Final = 1_000_000_000
"""Snapshot numbers increase from epoch to epoch, even if those of the previous one were not committed.

With one snapshot each millisecond, the numbers of an epoch last for 11 days; with one each second, 31 years.
"""


def first_number(epoch: int) -> int:
    """Return the number of the manifests that an epoch commits before its first snapshot."""
    return epoch * NUMBERS_OF_AN_EPOCH


class EpochSnapshots:
    """The snapshots of one epoch."""

    def __init__(self, spec: JobSpec, epoch: int, every: float | None, now: float) -> None:
        """Take one every `every` seconds, or none if that is None."""
        self._spec = spec
        self._epoch = epoch
        self._every = every
        difference = spec.difference
        self._least = START if difference is None else difference.snapshots_from
        """The least position of a snapshot."""
        self._early = min(EARLY_SECONDS, (every or 0.0) / 2)
        self._next_at = now + (every or 0.0)
        self._number = first_number(epoch) + 1
        self._has_tick = False
        """Whether a tick waits for snapshots."""
        self._frequent_count = 0.0
        """How many of the next snapshots are taken at short intervals."""
        self._pending: AnnounceSnapshot | None = None
        self._distance = SnapshotDistance(every)
        self.owners, self.choices = spec.plan.assignment.owners, choices_of(spec.plan)
        """Owners of hash bins and choices: a snapshot has those of its announcement."""
        self.members: tuple[int, ...] = tuple(range(spec.plan.workers))
        self.present = self.members
        self._owners: dict[int, tuple[Owners, PlanChoices]] = {}
        self._members: dict[int, tuple[int, ...]] = {}
        self._last_of: dict[int, int] = {}
        self._bound: AnnounceSnapshot | None = None
        self._answers: dict[int, SnapshotAnswer] = {}
        self._passed: AnnounceSnapshot | None = None
        """The snapshot that is being stored: min time has passed it, and all workers have accepted it."""
        self._saved: dict[int, dict[int, SnapshotAcknowledged]] = {}
        self._committing = False
        self._kept_at: tuple[Root, ...] = ()
        self._asked_without = 0
        self.requested = RequestedSnapshot()
        self.committed = 0
        self._newest = 0
        self.skipped: tuple[SkippedRange, ...] = ()

    def begin_frequent(self, snapshots: float = math.inf) -> bool:
        """Take a number of snapshots at short intervals for a tick; return whether any are taken."""
        if self._every is None:
            return False
        self._frequent_count = snapshots
        self._has_tick = True
        self._next_at = 0.0
        return True

    def end_frequent(self) -> None:
        """Take snapshots at the usual interval again."""
        self._frequent_count = 0
        self._has_tick = False

    @property
    def _interval(self) -> float | None:
        return (
            min(self._every, FREQUENT_SECONDS)
            if self._every and self._frequent_count
            else self._every
        )

    @property
    def position(self) -> Root | None:
        """Return the position of the announced snapshot."""
        return None if self._pending is None else self._pending.position

    def next_timer(self) -> float | None:
        """Return when a snapshot is due; None if none will be."""
        if self._pending is not None:
            return self._distance.timeout_at
        return None if self._every is None else self._next_at

    def idle(self, now: float) -> bool:
        """Return whether no snapshot is in progress, and none may be taken early."""
        if self._pending is not None or self._passed is not None:
            return False
        if self.requested.is_due or self._is_asked:
            return False
        return self._every is None or now < self._next_at - self._early

    def on_min_time(self, min_time: Root) -> None:
        """Record min time at the barrier; workers have been sent it as far as the position requires."""
        pending = self._pending
        if pending is None or self._passed is not None or min_time < pending.position:
            return
        if self._has_all_answers():
            self._passed, self._pending = pending, None
            self._distance.stop_waiting()

    def _has_all_answers(self) -> bool:
        return self._pending is not None and len(self._answers) == len(
            self._members[self._pending.snapshot]
        )

    @property
    def is_committing(self) -> bool:
        """Return whether a manifest is being committed."""
        return self._committing

    def is_without(self, worker: int) -> bool:
        """Return whether the newest committed snapshot is later than all in which a worker takes part."""
        last = self._last_of.get(worker)
        return last is None or self._newest > last

    def ask_without(self, worker: int) -> None:
        """Request a snapshot, as soon as possible, that is later than all in which a worker takes part."""
        self._asked_without = max(self._asked_without, self._last_of.get(worker, 0))

    @property
    def _is_asked(self) -> bool:
        """Return whether a snapshot is due immediately because of `ask_without`."""
        stored = 0 if self._passed is None else self._passed.snapshot
        return self._pending is None and max(stored, self._newest) <= self._asked_without != 0

    def announce_tick(
        self, tick: int, members: Sequence[int], promises: Iterable[Root]
    ) -> AnnounceSnapshot | None:
        """Return the announcement of a snapshot at which a tick begins, if there is a position for it."""
        greatest = max(promises, default=START)
        self.end_frequent()
        position = self._distance.position(greatest)
        if self._pending is not None or greatest == START or position < self._least:
            return None
        return self._announce(greatest, position, tuple(members), tick)

    def cancel_if_undecided(self, now: float) -> CancelSnapshot | None:
        """Return the cancellation of an announced snapshot that a tick need not wait for.

        This is a snapshot to whose position not all workers have agreed, and that was not requested.
        """
        pending = self._pending
        if pending is None or self._has_all_answers() or self.requested.is_of(pending):
            return None
        return self._cancel(now)

    @property
    def agreed(self) -> AnnounceSnapshot | None:
        """Return the announced snapshot, once all workers have accepted it."""
        return self._pending if self._pending is not None and self._has_all_answers() else None

    def bind(self) -> None:
        """Rule out that the announced snapshot is cancelled: owners change at its position."""
        self._distance.stop_waiting()
        self._bound = self._pending

    def cancel(self, now: float) -> CancelSnapshot:
        """Cancel the announced snapshot."""
        return self._cancel(now)

    def due(
        self,
        promises: Iterable[Root],
        now: float,
        *,
        caught_up: bool = False,
        stored_below: Root = START,
    ) -> AnnounceSnapshot | CancelSnapshot | None:
        """Return the announcement of a snapshot, if it is time and there is a position for it.

        Return the cancellation of the announced one instead, if the input takes too long to reach it.
        The last snapshot of a run is not below `stored_below`, the greatest position of a sink.
        """
        greatest = max(promises, default=START)
        if self._pending is not None:
            unreachable = self._pending is not self._bound and self._distance.is_unreachable(
                self._pending.position, greatest, now
            )
            return self._cancel(now) if unreachable else None
        asked = self.requested.is_due or self._is_asked
        every = self._interval
        if not asked and (
            every is None or now < self._next_at - (self._early if caught_up else 0.0)
        ):
            return None
        if every is not None:
            # An early or late snapshot does not shift the following ones; missed ones are skipped.
            self._next_at = max(self._next_at, now - every / 2) + every
            self._frequent_count = max(0, self._frequent_count - 1)
        position = self._distance.position(greatest)
        wanted = asked or self._has_tick
        if greatest == START or (not wanted and self._kept_at == (position,) * KEPT):
            return None
        if position < self._least and not asked:
            return None
        position = max(position, self._least)
        if asked and self.requested.is_last:
            position = max(position, stored_below)
        announced = self._announce(greatest, position, self.members)
        self.requested.on_announced(announced)
        return announced

    def _announce(
        self, greatest: Root, position: Root, members: tuple[int, ...], tick: int = 0
    ) -> AnnounceSnapshot:
        self._number += 1
        self._distance.on_announced(greatest)
        self._pending = AnnounceSnapshot(self._number, position, tick)
        self._answers = {}
        self._saved[self._number] = {}
        self._owners[self._number] = self.owners, self.choices
        self._members[self._number] = members
        self._last_of |= dict.fromkeys(members, self._number)
        return self._pending

    def members_of(self, snapshot: int) -> tuple[int, ...]:
        """Return the workers that take part in a snapshot, which is announced or being stored."""
        return self._members[snapshot]

    def on_answer(self, worker: int, answer: SnapshotAnswer, now: float) -> CancelSnapshot | None:
        """Record a worker's answer; return the cancellation if it refuses."""
        pending = self._pending
        if pending is None or answer.snapshot != pending.snapshot:
            return None
        self._answers[worker] = answer
        if answer.accepted:
            if self._has_all_answers():
                reached = max(answer.reached for answer in self._answers.values())
                self._distance.on_agreed(reached, now)
            return None
        self._distance.on_refused(max(answer.reached, pending.position))
        return self._cancel(now)

    def _cancel(self, now: float) -> CancelSnapshot:
        assert self._pending is not None
        cancel = CancelSnapshot(self._pending.snapshot)
        self.requested.on_cancelled(cancel.snapshot)
        self._forget(self._pending.snapshot)
        self._pending = None
        self._distance.stop_waiting()
        self._next_at = now
        return cancel

    def on_acknowledged(self, worker: int, saved: SnapshotAcknowledged) -> None:
        """Record that a worker has stored its part."""
        if saved.snapshot in self._saved:
            self._saved[saved.snapshot][worker] = saved

    def on_declined(self, snapshot: int, now: float) -> CancelSnapshot | None:
        """Record that a worker could not store its part; the next snapshot is a new attempt."""
        cancel: CancelSnapshot | None = None
        if self._passed is not None and snapshot == self._passed.snapshot:
            cancel = CancelSnapshot(snapshot)
            self.requested.on_cancelled(snapshot)
            self._forget(snapshot)
            self._passed = None
        elif self._pending is not None and snapshot == self._pending.snapshot:
            cancel = self._cancel(now)
        if cancel is not None:
            self._next_at = now + (self._every or 0.0)
        return cancel

    def is_stored(self, min_time: Root) -> bool:
        """Return whether all workers have stored their parts, and `min_time` has passed the position."""
        passed = self._passed
        if passed is None or self._committing or min_time < passed.position:
            return False
        return len(self._saved[passed.snapshot]) == len(self._members[passed.snapshot])

    def take_manifest(self, complete_below: Root) -> Manifest | None:
        """Return a manifest, once, when workers and sinks have stored everything below its position."""
        passed = self._passed
        if passed is None or not self.is_stored(complete_below):
            return None
        self._committing = True
        saved = self._saved[passed.snapshot]
        parts = [saved[worker] for worker in sorted(saved)]
        points = [point for part in parts for point in part.fronts]
        owners, choices = self._owners[passed.snapshot]
        return Manifest(
            job=self._spec.job,
            tick=self._spec.tick,
            epoch=self._epoch,
            snapshot=passed.snapshot,
            position=(passed.position.time, passed.position.origin),
            workers=len(self._members[passed.snapshot]),
            members=self._members[passed.snapshot],
            present=self.present,
            owners=owners.ranges,
            choices=choices,
            exchanges=owners.exchange_ranges,
            segments=tuple(segment for part in parts for segment in part.segments),
            fronts=tuple(sorted(points, key=lambda point: point.front)),
            skipped=tuple(each for each in self.skipped if Root(*each.end) > passed.position),
            graph=self._spec.graph,
        )

    def on_manifest_outcome(
        self, event: ManifestCommitted | ManifestNotCommitted
    ) -> AnnounceSnapshot | None:
        """Record whether a manifest was committed; return its announcement."""
        passed = self._passed
        if passed is None or event.snapshot != passed.snapshot:
            return None
        self._passed = None
        self._forget(passed.snapshot)
        self._distance.on_stored()
        self._committing = False
        if isinstance(event, ManifestCommitted):
            self.requested.on_committed(event.snapshot)
            self.committed += 1
            self._newest = event.snapshot
            self._kept_at = (*self._kept_at, passed.position)[-KEPT:]
        else:
            self.requested.on_cancelled(event.snapshot)
        return passed

    def _forget(self, snapshot: int) -> None:
        del self._saved[snapshot], self._owners[snapshot], self._members[snapshot]


# A requested snapshot, until it is committed.


class RequestedSnapshot:
    """At most one request, and the snapshot that was announced for it.

    The last snapshot of a run is a drain: nothing at or above its position is released once it is announced,
    and the run ends when it is committed and every sink has stored everything below its position.
    """

    def __init__(self) -> None:
        self._request: SnapshotRequested | None = None
        self._announced: AnnounceSnapshot | None = None
        self.drained_at: Root | None = None
        """The position of the last snapshot of the run, once it is committed."""

    def ask(self, request: SnapshotRequested) -> None:
        """Accept a request; a repeated one has no effect."""
        if self._request is None or self._request.request != request.request:
            self._request, self._announced = request, None

    @property
    def is_due(self) -> bool:
        """Return whether a snapshot is to be announced for the request."""
        return self._request is not None and self._announced is None

    def is_of(self, announced: AnnounceSnapshot) -> bool:
        """Return whether an announced snapshot is that of the request."""
        return self._announced is announced

    @property
    def is_last(self) -> bool:
        """Return whether the requested snapshot is the last one of the run."""
        return self._request is not None and self._request.last

    @property
    def release_bound(self) -> Root | None:
        """Return the position at or above which nothing may be released; None if there is none."""
        if self.drained_at is not None:
            return self.drained_at
        return self._announced.position if self.is_last and self._announced is not None else None

    def on_announced(self, announced: AnnounceSnapshot) -> None:
        """Record that a snapshot was announced; it is that of the request if one is due."""
        if self.is_due:
            self._announced = announced

    def on_cancelled(self, snapshot: int) -> None:
        """Record that a snapshot has failed: another one is due if it was that of the request."""
        if self._announced is not None and self._announced.snapshot == snapshot:
            self._announced = None

    def answers(self, snapshot: int) -> str:
        """Return the id of the request that a snapshot answers, "" for none."""
        if self._request is None or self._announced is None:
            return ""
        return self._request.request if self._announced.snapshot == snapshot else ""

    def on_committed(self, snapshot: int) -> None:
        """Record that a snapshot is committed."""
        if not self.answers(snapshot):
            return
        assert self._announced is not None
        if self.is_last:
            self.drained_at = self._announced.position
        self._request = self._announced = None


# How far ahead of the input snapshots are announced, and how long the input may take to reach one.
#
# In a burst of input, rows are far ahead of min time, and the position is chosen correspondingly far ahead.
# If all workers have accepted it, but the input will not reach it within two intervals at its current rate,
# the burst is over, and a nearer position is needed.  Slow workers cannot be told from the end of a burst,
# so the wait doubles each time.  Eventually the position is the greatest promise itself.  So when no more
# rows arrive, the kept snapshots soon include all rows, and no older one is needed to resume.


TIMEOUT_SECONDS: Final = 1.0
"""How many seconds to wait for the input to reach a position, in a job without periodic snapshots."""


class SnapshotDistance:
    """The distance between the greatest promise and the position of the next snapshot, in time."""

    def __init__(self, every: float | None) -> None:
        """Begin without a distance; a snapshot is taken every `every` seconds, or none if that is None."""
        self.timeout_at: float | None = None
        """When to look whether the input will reach the announced position; None if that does not matter."""
        self._timeout_usual = every or TIMEOUT_SECONDS
        self._timeout = self._timeout_usual
        self._margin = 0
        self._announced_at = START
        self._looked_at = START

    def position(self, greatest: Root) -> Root:
        """Return the position to announce, where `greatest` is the greatest promise."""
        return Root(greatest.time + self._margin, START.origin) if self._margin else greatest

    def on_announced(self, greatest: Root) -> None:
        """Record the greatest promise at an announcement."""
        self._announced_at = self._looked_at = greatest

    def on_agreed(self, reached: Root, now: float) -> None:
        """Record that all workers have accepted the position; `reached` is the greatest root among them."""
        # A shorter distance is enough when input is slow; in a burst it grows again.
        less = self._margin - self._margin // 8
        self._margin = max(less, min(self._margin, self._with_room(reached)))
        self.timeout_at = now + self._timeout

    def on_refused(self, reached: Root) -> None:
        """Record that a worker has refused the position because its rows had reached `reached`."""
        self._margin = self._with_room(reached)

    def is_unreachable(self, position: Root, greatest: Root, now: float) -> bool:
        """Return whether the input takes too long to reach `position`, and a nearer one can be announced."""
        if self.timeout_at is None or now < self.timeout_at:
            return False
        if greatest.time - self._looked_at.time >= position.time - greatest.time > 0:
            self._looked_at, self.timeout_at = greatest, now + self._timeout
            return False  # the input will reach it soon
        self.timeout_at = None
        if greatest == START or greatest >= position:
            return False
        moved = max(0, greatest.time - self._announced_at.time)
        self._margin = min(self._margin, moved) // 2
        self._timeout *= 2
        return True

    def stop_waiting(self) -> None:
        """Record that the input has reached the position, or need not."""
        self.timeout_at = None

    def on_stored(self) -> None:
        """Reset the wait for the next position to its usual length."""
        self._timeout = self._timeout_usual

    def _with_room(self, reached: Root) -> int:
        """Return the distance at which rows up to `reached` would have been below the position."""
        ahead = reached.time - self._announced_at.time
        return ahead + ahead // 2 + 1
