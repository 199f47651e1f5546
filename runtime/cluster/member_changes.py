"""Lets workers join a running epoch, and leave it; see `epoch_members`.

Contract.  As many of the idle workers join as a proposed tick needs.  A worker that is lost before it is
ready has no effect, and another one joins in its place.  Workers that are neither in the proposal nor in the
layout leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.runtime.cluster.control_messages import ControlMessages
    from fsql.runtime.cluster.coordinator_epoch import CoordinatorEpoch
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.manifest import Manifest
    from fsql.runtime.cluster.members import Members
    from fsql.runtime.cluster.node import Transmit
    from fsql.runtime.cluster.proposed_ticks import ProposedTicks


class MemberChanges:
    """The workers that join and leave the epochs of one coordinator."""

    def __init__(
        self,
        members: Members,
        ticks: ProposedTicks,
        messages: ControlMessages,
        settings: Settings,
    ) -> None:
        self._members = members
        self._ticks = ticks
        self._messages = messages
        self._begin_every = settings.hello_every
        self._next_begin = 0.0

    def advance(
        self, epoch: CoordinatorEpoch, manifest: Manifest | None, now: float
    ) -> list[Transmit]:
        """Let workers begin, join and leave an epoch, which starts from `manifest`."""
        if not epoch.running:
            return self._begin(epoch, manifest, now)
        members = epoch.members
        missing = self._ticks.workers_wanted - len(members.numbers) - len(members.joining)
        effects: list[Transmit] = []
        if missing > 0 and not epoch.snapshots.is_committing:
            # A manifest that is being committed does not know their stores.
            joining = self._members.assign_idle(missing, members.next_number, now)
            members.join(joining, now)
            if joining:
                self._next_begin = now
        for number in members.joining[missing:] if missing < 0 else members.silent(now):
            effects += self.drop(epoch, number)
        if members.joining:
            effects += self._begin(epoch, manifest, now)
        # Workers that are ready wait until all that the tick needs are ready.
        may_leave = missing < 0 and not epoch.ticks.is_under_way
        for number, address in members.take_left() if may_leave else ():
            self._members.release(number)
            effects += self._messages.end_epoch([address], epoch.number, number)
        return effects

    def next_timer(self, epoch: CoordinatorEpoch) -> float:
        """Return the latest time at which to call `advance`, infinity for never."""
        is_needed = epoch.members.joining or not epoch.running
        return self._next_begin if is_needed else float("inf")

    def begin_at(self, now: float) -> None:
        """Let workers begin from now on."""
        self._next_begin = now

    def _begin(
        self, epoch: CoordinatorEpoch, manifest: Manifest | None, now: float
    ) -> list[Transmit]:
        if now < self._next_begin:
            return []
        self._next_begin = now + self._begin_every
        return self._messages.begin(epoch, manifest, self._members.names)

    def drop(self, epoch: CoordinatorEpoch, number: int) -> list[Transmit]:
        """Remove a worker that is not ready yet."""
        address = epoch.addresses[number]
        epoch.members.drop(number)
        self._members.release(number)
        return self._messages.end_epoch([address], epoch.number, number)
