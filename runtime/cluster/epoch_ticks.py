"""The ticks of one epoch, as the coordinator knows them: one at a time, between the epoch's snapshots.

Contract.  `docs/internals/distribution.md`, section 9.  `LayoutTick` has the phases of a tick.  This part
exchanges the items of ticks with workers, and alternates with ordinary snapshots: a tick begins at the
position of a snapshot, and no other snapshot is announced while bins move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.plan_choices import choices_of
from fsql.runtime.cluster.frames import (
    AbandonTick,
    AdoptFront,
    BinsAdopted,
    BinsReleased,
    FrontReleased,
    TickCompleted,
    TickCopied,
    TickDeclined,
    TickPrepared,
)
from fsql.runtime.cluster.layout_tick import LayoutTick, TickPhase
from fsql.runtime.cluster.snapshots import FREQUENT_AT_FIRST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.owners import Owners
    from fsql.compiler.plan_choices import PlanChoices
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.epoch_members import EpochMembers
    from fsql.runtime.cluster.frames import CancelSnapshot, TickItem
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.links import Links
    from fsql.runtime.cluster.snapshots import EpochSnapshots
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
        self._exchanges = spec.plan.exchanges
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
            *(number, self._epoch, self.owners, owners, choices, self._exchanges),
            readers=moving,
            layout=layout,
            members=members,
        )
        hurries = self._snapshots.begin_frequent(FREQUENT_AT_FIRST)
        preparation = tick.preparation(self.readers, snapshots=hurries)
        self._links.put_each(members, preparation)

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
