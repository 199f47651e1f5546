"""The ticks that are proposed to a coordinator, over all epochs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.assignment import Assignment
from fsql.compiler.owner_map import OwnerMap
from fsql.runtime.batch import START
from fsql.runtime.cluster.contraction import Contraction
from fsql.runtime.cluster.layout_tick import TickPhase
from fsql.runtime.cluster.tick_events import TickEnded

if TYPE_CHECKING:
    from fsql.runtime.cluster.coordinator_epoch import CoordinatorEpoch
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.node import CoordinatorEffect, EpochTaken
    from fsql.runtime.cluster.tick_events import TickProposed

EPOCHS_MAX: Final = 2
"""A tick during which so many epochs were lost is refused, since it may be the cause."""


class ProposedTicks:
    """Keeps the owner map from epoch to epoch, and the tick that is proposed until it is taken or refused."""

    def __init__(self, spec: JobSpec, contracts_at: str | None = None) -> None:
        """Begin with the owner map of the job's plan.

        Ticks are proposed by load while worker 0 is at the address `contracts_at`, that of the coordinator.
        """
        self._spec = spec
        self._contraction = Contraction(spec.plan.workers)
        self._contracts_at = contracts_at
        self._is_first = True
        self._proposal: TickProposed | None = None
        self._proposed_at = 0.0
        self._epochs_lost = 0
        self._ended = 0
        """The number of the last tick that was taken or refused."""
        self._refused: list[TickEnded] = []

    def on_proposal(self, proposal: TickProposed, now: float) -> None:
        """Take a proposal, unless it is known; it is refused while another one is under way."""
        current = 0 if self._proposal is None else self._proposal.tick
        if proposal.tick in {current, self._ended}:
            return
        if self._proposal is not None:
            self._refused.append(TickEnded(proposal.tick, START, 0.0, "another tick is under way"))
            return
        self._proposal, self._proposed_at, self._epochs_lost = proposal, now, 0

    def on_lease_lost(self) -> None:
        """Forget the proposal and the owner map: another coordinator may change both."""
        self._is_first = True
        self._proposal = None
        self._ended = 0
        self._refused = []

    def on_epoch_taken(self, taken: EpochTaken) -> JobSpec:
        """Return the job with the owner map that an epoch begins with.

        A new coordinator continues with the map of the last tick that was taken, which may be newer than the
        manifest; or with that of the manifest, unless the number of workers has changed.
        """
        self._contraction.reset()
        manifest = taken.manifest
        workers = self._spec.plan.workers
        is_first, self._is_first = self._is_first, False
        owners = taken.owners
        if not owners and manifest is not None and manifest.workers == workers:
            owners = manifest.owners
        if is_first and owners:
            self._set_owners(OwnerMap.of_ranges(owners, workers))
        return self._spec

    def on_load(self, busy: float, epoch: CoordinatorEpoch, now: float) -> list[CoordinatorEffect]:
        """Return the tick to propose, if the load asks for one and none is under way."""
        is_at_home = self._contracts_at == epoch.addresses[0]
        if not is_at_home or not epoch.running or self._proposal is not None:
            return []
        proposal = self._contraction.on_load(busy, epoch.worker_metrics, epoch.owners, now)
        return [] if proposal is None else [proposal]

    def advance(self, epoch: CoordinatorEpoch, now: float) -> list[TickEnded]:
        """Begin the proposed tick if none is under way, and return what has ended."""
        ended, self._refused = self._refused, []
        proposal, tick = self._proposal, epoch.tick
        if proposal is None:
            return ended
        if tick is None or tick.number != proposal.tick:
            owners = OwnerMap.of_ranges(proposal.owners, self._spec.plan.workers)
            epoch.propose(proposal.tick, owners)
            return ended
        if tick.phase is TickPhase.COMPLETED:
            assert tick.position is not None
            seconds, moved = now - self._proposed_at, self._moved_bins(tick.owners)
            ended.append(TickEnded(tick.number, tick.position, seconds, moved_bins=moved))
            self._set_owners(tick.owners)
            self._proposal, self._ended = None, tick.number
        elif tick.refused:
            ended.append(
                TickEnded(tick.number, START, now - self._proposed_at, refused=tick.refused)
            )
            self._proposal, self._ended = None, tick.number
        return ended

    def on_epoch_lost(self, epoch: CoordinatorEpoch) -> None:
        """Count an epoch that was lost during the tick."""
        proposal = self._proposal
        if proposal is None or epoch.tick is None or epoch.tick.number != proposal.tick:
            return
        self._epochs_lost += 1
        if self._epochs_lost >= EPOCHS_MAX:
            why = f"{EPOCHS_MAX} epochs were lost while it was under way"
            self._refused.append(TickEnded(proposal.tick, START, 0.0, refused=why))
            self._proposal, self._ended = None, proposal.tick

    def _moved_bins(self, owners: OwnerMap) -> int:
        before = self._spec.plan.assignment.bins.owners
        return sum(one != other for one, other in zip(before, owners.owners, strict=True))

    def _set_owners(self, owners: OwnerMap) -> None:
        plan = replace(self._spec.plan, assignment=Assignment(owners))
        self._spec = replace(self._spec, plan=plan)
