"""The ticks of one epoch, as the coordinator knows them: one at a time, between the epoch's snapshots.

Contract.  `docs/internals/distribution.md`, section 9.  `LayoutTick` has the phases of a tick.  This part
exchanges the items of ticks with workers, and alternates with ordinary snapshots: a tick begins at the
position of a snapshot, and no other snapshot is announced while bins move.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from fsql.compiler.holdings import Holdings, Moves
from fsql.compiler.owners import NO_BINS, all_of_sets
from fsql.compiler.plan_choices import choices_of, with_choices
from fsql.runtime.batch import END
from fsql.runtime.cluster.frames import (
    AbandonTick,
    AdoptFront,
    BinsAdopted,
    BinsReleased,
    FrontReleased,
    PrepareTick,
    Switch,
    TickCompleted,
    TickCopied,
    TickDeclined,
    TickPrepared,
)
from fsql.runtime.cluster.snapshots.epoch_snapshots import FREQUENT_AT_FIRST
from fsql.runtime.dataflow.messages import AckEntry, Acknowledgement, Ids, Kind, link_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.owners import Owners
    from fsql.compiler.plan_choices import PlanChoices
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.frames import AnnounceSnapshot, CancelSnapshot, TickItem
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.links.links import Links
    from fsql.runtime.cluster.members.epoch_members import EpochMembers
    from fsql.runtime.cluster.snapshots.epoch_snapshots import EpochSnapshots
    from fsql.runtime.dataflow.acker import Acker


class EpochTicks:
    """The current tick, if there is one, and the layout that the last one has left."""

    def __init__(
        self,
        spec: JobSpec,
        epoch: int,
        *,
        members: EpochMembers,
        snapshots: EpochSnapshots,
        links: Links,
        acker: Acker,
    ) -> None:
        """Begin with the layout of the plan."""
        self.owners, self.choices = spec.plan.assignment.owners, choices_of(spec.plan)
        """The owners of hash bins, and the choices, while no tick is under way."""
        self.readers = list(spec.plan.assignment.readers_of(spec.fronts))
        """The worker that reads for each front now, by number."""
        self.current: LayoutTick | None = None
        """The tick that is under way, or the last one."""
        self._epoch = epoch
        self._plan = spec.plan
        self._members = members
        self._snapshots = snapshots
        self._links = links
        self._acker = acker

    @property
    def is_under_way(self) -> bool:
        """Return whether a tick is under way."""
        tick = self.current
        return tick is not None and tick.phase is not TickPhase.COMPLETED and not tick.refused

    @property
    def is_moving(self) -> bool:
        """Return whether bins move."""
        return self.current is not None and self.current.phase is TickPhase.MOVING

    def propose(
        self, number: int, owners: Owners, choices: PlanChoices, readers: Sequence[int]
    ) -> None:
        """Begin a tick with other owners of hash bins and of fronts, and other choices.

        No tick may be under way.  Worker `k` of `owners` and `readers` is the member with the `k`-th least
        number, counted from 0.
        """
        members = self._members.numbers
        layout = members[: owners.workers]
        owners = owners.renumber(layout)
        moving = {
            front: layout[owner]
            for front, owner in enumerate(readers)
            if layout[owner] != self.readers[front]
        }
        tick = self.current = LayoutTick(
            *(number, self._epoch, self._holdings(self.owners, self.choices)),
            *(self._holdings(owners, choices), choices, self._plan.exchanges),
            readers=moving,
            layout=layout,
            members=members,
        )
        hurries = self._snapshots.begin_frequent(FREQUENT_AT_FIRST)
        preparation = tick.preparation(self.readers, snapshots=hurries)
        self._links.put_each(members, preparation)

    def _holdings(self, owners: Owners, choices: PlanChoices) -> Holdings:
        return Holdings(owners, with_choices(self._plan, choices).replicated)

    def on_item(self, worker: int, item: TickItem) -> None:
        """Record the report of a worker about a tick."""
        tick = self.current
        if tick is None or item.tick != tick.number:
            return
        match item:
            case TickCopied():
                if tick.on_copied(worker) and not tick.refused:
                    self._snapshots.begin_frequent()
            case TickPrepared():
                tick.on_prepared(worker)
            case TickDeclined():
                if not tick.refused:
                    tick.refused = f"worker {worker}: {item.reason}"
                    self._links.put_each(tick.members, AbandonTick(tick.number))
                    self._snapshots.end_frequent()
            case BinsReleased():
                tick.on_released(worker)
            case BinsAdopted():
                tick.on_adopted(worker)
            case FrontReleased():
                # The ack table has everything that the old owner has sent of it.
                owner = tick.on_front_released(item.point.front)
                self.readers[item.point.front] = owner
                self._links.put(owner, AdoptFront(tick.number, item.point, item.ended))

    def cancel(self, cancel: CancelSnapshot | None) -> None:
        """Have workers cancel a snapshot, if one is given, and with it the announcement of a tick."""
        if cancel is None:
            return
        self._links.put_each(self._members.numbers, cancel)
        if self.current is not None:
            self.current.on_cancelled(cancel.snapshot)

    def switch_if_agreed(self, now: float) -> None:
        """Switch to the new owners if all workers have agreed and min time has not passed the position."""
        tick = self.current
        if tick is None or tick.phase is not TickPhase.ANNOUNCED or not self._snapshots.agreed:
            return
        switches = tick.switch(self._acker)
        if switches is None:
            self.cancel(self._snapshots.cancel(now))
            return
        self._snapshots.bind()
        for worker, switch in switches.items():
            self._links.put(worker, switch)

    def advance(self, promises: Sequence[Root], min_time: Root, now: float) -> bool:
        """Advance the tick as far as possible; return whether ordinary snapshots have to wait for it.

        `min_time` is that of the barrier.
        """
        tick = self.current
        if tick is None or not self.is_under_way:
            return False
        if tick.phase is TickPhase.PREPARED:
            self.cancel(self._snapshots.cancel_if_undecided(now))
            announce = self._snapshots.announce_tick(tick.number, tick.members, promises)
            if announce is None:
                return False
            tick.on_announced(announce)
            self._links.put_each(tick.members, announce)
        if tick.complete_at(min_time):
            self.owners, self.choices = tick.owners, tick.choices
            self._snapshots.owners, self._snapshots.choices = tick.owners, tick.choices
            self._members.change_layout(tick.layout)
            self._links.put_each(tick.members, TickCompleted(tick.number))
            return False
        return tick.phase is TickPhase.MOVING


# The coordinator's part in a tick: owners and plan choices change at a position, without a pause.
#
# Contract.  `docs/internals/distribution.md`, section 9.  A tick has these phases:
#
#     PREPARING   workers send the state of the bins that move, until little is left; snapshots follow each
#                 other closely at first, and again when all have sent nearly all that was stored
#     PREPARED    a snapshot can be announced, at whose position the owners change
#     ANNOUNCED   workers answer; one that refuses takes the tick back to PREPARED
#     MOVING      all have agreed.  A hold at the position is in the ack table for the bins of each new
#                 owner; then the workers switch.  So min time downstream of an operator does not
#                 pass the position before the new owners have the state.
#     COMPLETED   all new owners have their bins and fronts, and the old owners have no holds for them any
#                 more; everything below the position is final.  So a worker may leave: the ack table has
#                 no entries of it
#
# Before MOVING a tick can be abandoned without any effect.  After that a failure ends the epoch, and the
# newest manifest is restored under the old owners.


_SENDER = 1
"""The sender in the ids of the holds: the number of the barrier, which sends no messages."""


class TickPhase(enum.Enum):
    """The phases of a tick."""

    PREPARING = "preparing"
    PREPARED = "prepared"
    ANNOUNCED = "announced"
    MOVING = "moving"
    COMPLETED = "completed"


class LayoutTick:
    """One tick of one epoch."""

    def __init__(  # noqa: PLR0913 - what a tick changes
        self,
        number: int,
        epoch: int,
        old: Holdings,
        new: Holdings,
        choices: PlanChoices,
        exchanges: Mapping[int, str],
        *,
        readers: Mapping[int, int],
        layout: Sequence[int],
        members: Sequence[int],
    ) -> None:
        """Begin the preparation.

        `exchanges` has the name of the exchange into the fold of each stage.  `readers` are the new owners of
        the fronts that move.  `members` are the workers of the epoch, and `layout` those of them that remain
        after the tick.
        """
        self.number = number
        self.owners = new.owners
        self.choices = choices
        self.phase = TickPhase.PREPARING
        self.position: Root | None = None
        self.refused = ""
        """Why it is refused."""
        self._snapshot = 0
        self._epoch = epoch
        self._exchanges = exchanges
        self.members, self.layout = tuple(members), tuple(layout)
        self._moving = dict(readers)
        """The new owners of fronts that have not come yet."""
        moves = {worker: Moves(worker, old, new) for worker in members}
        incoming = {worker: all_of_sets(of.incoming.values()) for worker, of in moves.items()}
        self._incoming = {worker: bins for worker, bins in incoming.items() if bins}
        """The bins that each worker adopts, without workers that adopt none."""
        self._adopting = set(self._incoming)
        self._releasing = {worker for worker, of in moves.items() if of.outgoing}
        self._unprepared = set(members)
        self._not_copied = set(self._releasing)

    def preparation(self, readers: Sequence[int], *, snapshots: bool) -> PrepareTick:
        """Return the item that prepares the workers; `snapshots` says whether snapshots are taken meanwhile.

        `readers` are the owners of all fronts before the tick, by number.
        """
        after = tuple(self._moving.get(front, owner) for front, owner in enumerate(readers))
        return PrepareTick(
            *(self.number, self.owners.ranges, snapshots, self.choices, after),
            self.owners.exchange_ranges,
        )

    def on_copied(self, worker: int) -> bool:
        """Record that a worker has sent nearly all stored state; return, once, whether all workers have."""
        waited = bool(self._not_copied)
        self._not_copied.discard(worker)
        return waited and not self._not_copied

    def on_prepared(self, worker: int) -> None:
        """Record that a worker has sent its stored state."""
        self._unprepared.discard(worker)
        if self.phase is TickPhase.PREPARING and not self._unprepared:
            self.phase = TickPhase.PREPARED

    def on_announced(self, announce: AnnounceSnapshot) -> None:
        """Record the snapshot at whose position the owners are to change."""
        self.phase, self.position = TickPhase.ANNOUNCED, announce.position
        self._snapshot = announce.snapshot

    def on_cancelled(self, snapshot: int) -> None:
        """Record that a snapshot was cancelled: a worker has refused it, or its position is too far ahead."""
        if self.phase is TickPhase.ANNOUNCED and snapshot == self._snapshot:
            self.phase, self.position = TickPhase.PREPARED, None

    def switch(self, acker: Acker) -> dict[int, Switch] | None:
        """Add the holds to the ack table, and return the item for each worker; None if it is too late.

        It is too late if min time has passed the position.  A stage that can have no more output needs no
        hold, nor does one whose exchange moves no bins to the worker.
        """
        assert self.position is not None
        passed = {stage: acker.min_time_downstream(stage) for stage in self._exchanges}
        if any(self.position < root < END for root in passed.values()):
            return None
        stages = [stage for stage in self._exchanges if passed[stage] != END]
        switches = {}
        entries = []
        for worker in self.members:
            ids = Ids(self._epoch, link_number(_SENDER, worker + 2), sequence=self.number << 16)
            bins = self._incoming.get(worker, NO_BINS)
            adopting = [stage for stage in stages if bins.of(self._exchanges[stage])]
            holds = tuple((stage, ids.next()) for stage in adopting)
            switches[worker] = Switch(self.number, holds)
            entries += [AckEntry(stage, Kind.HOLD, self.position, hold) for stage, hold in holds]
        acker.acknowledge(Acknowledgement(tuple(entries)))
        self.phase = TickPhase.MOVING
        return switches

    def on_released(self, worker: int) -> None:
        """Record that a worker has handed its bins over."""
        self._releasing.discard(worker)

    def on_adopted(self, worker: int) -> None:
        """Record that a worker has its bins."""
        self._adopting.discard(worker)

    def on_front_released(self, front: int) -> int:
        """Record that a front has reached the position; return the worker that continues it."""
        return self._moving.pop(front)

    def complete_at(self, min_time: Root) -> bool:
        """Return, once, whether the tick is complete; `min_time` is that of the barrier."""
        if self.phase is not TickPhase.MOVING or self._releasing or self._adopting or self._moving:
            return False
        assert self.position is not None
        if min_time < self.position:
            return False
        self.phase = TickPhase.COMPLETED
        return True
