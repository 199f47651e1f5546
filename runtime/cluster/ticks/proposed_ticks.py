"""The ticks that are proposed to a coordinator, across its epochs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.assignment import Assignment, spread_fronts
from fsql.compiler.explain.choices import changed_choices
from fsql.compiler.owners import fault_of_ranges
from fsql.compiler.plan_choices import (
    NO_CHOICES,
    choices_of,
    fault_of_choices,
    with_choices,
)
from fsql.runtime.batch import START
from fsql.runtime.cluster.ticks.contraction import Contraction
from fsql.runtime.cluster.ticks.epoch_ticks import TickPhase
from fsql.runtime.cluster.ticks.events import Layout, TickEnded

if TYPE_CHECKING:
    from fsql.compiler.owners import Owners
    from fsql.compiler.plan_choices import PlanChoices
    from fsql.runtime.cluster.coordinator.epoch import CoordinatorEpoch
    from fsql.runtime.cluster.coordinator.events import CoordinatorEffect, EpochTaken
    from fsql.runtime.cluster.job_spec import JobSpec, Settings
    from fsql.runtime.cluster.ticks.events import TickProposed

NUMBERS_MAX: Final = 4000
"""The limit of the numbers of workers in one epoch; see `messages.link_number`."""

EPOCHS_MAX: Final = 2
"""A tick during which this many epochs were lost is refused, because it may be the cause."""


class ProposedTicks:
    """Keeps the owner map across epochs, and a proposed tick until it is taken or refused."""

    def __init__(self, spec: JobSpec, settings: Settings, address: str = "") -> None:
        """Begin with the owner map of the job's plan.

        If the settings say so, ticks are proposed by load while worker 0 is at `address`, the address of the
        coordinator.
        """
        self._spec = spec
        self._begun_with = spec
        self._loading = settings.loading_at_most
        self._contraction = Contraction(spec.plan.workers)
        self._contracts_at = address if settings.contracts else None
        self._is_first = True
        self._proposal: TickProposed | None = None
        self._proposed_at = 0.0
        self._epochs_lost = 0
        self._ended = 0
        """The number of the last tick that was taken or refused."""
        self._refused: list[TickEnded] = []
        self._owners: Owners | None = None
        """The owners in the tick that is under way, with workers numbered from 0 without a gap."""
        self._choices = NO_CHOICES
        """The choices of that tick."""
        self._readers: tuple[int, ...] = ()
        """The owners of fronts of that tick, in the same numbers."""

    @property
    def workers(self) -> int:
        """Return how many workers the layout has."""
        return self._spec.plan.workers

    @property
    def workers_wanted(self) -> int:
        """Return how many workers the current and the proposed layout need."""
        return max(self.workers, 0 if self._proposal is None else self._workers_of(self._proposal))

    def on_proposal(self, proposal: TickProposed, now: float) -> None:
        """Accept a proposal, unless it is known already; refuse it while another tick is under way."""
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
        """Return the job with the owner map at the start of an epoch.

        A new coordinator continues with the map of the last tick that was taken, which may be newer than the
        manifest; otherwise with that of the manifest, unless the number of workers has changed.
        """
        self._contraction.reset()
        manifest = taken.manifest
        is_first, self._is_first = self._is_first, False
        if not is_first:
            return self._spec
        self._spec = self._begun_with
        owners, choices = self._owners_now, NO_CHOICES
        readers: tuple[int, ...] = ()
        if (last := taken.last) is not None:
            if last.owners:
                owners = owners.change(last.owners, last.exchanges, last.workers)
            choices, readers = last.choices, last.readers
        elif manifest is not None:
            if manifest.owners and manifest.workers == self.workers:
                owners = manifest.compact_owners
            choices = manifest.choices
        if fault_of_choices(self._spec.plan, choices):
            choices = NO_CHOICES  # they are of another plan than this version compiles
        owners = owners.of_plan(self._spec.operators)
        self._set_layout(owners, choices, readers)
        return self._spec

    def on_load(self, busy: float, epoch: CoordinatorEpoch, now: float) -> list[CoordinatorEffect]:
        """Return the tick to propose, if the load requires one and none is under way."""
        is_with_coordinator = self._contracts_at == epoch.addresses[0]
        if not is_with_coordinator or not epoch.running or self._proposal is not None:
            return []
        proposal = self._contraction.on_load(busy, epoch.worker_metrics, self._owners_now, now)
        return [] if proposal is None else [proposal]

    def advance(self, epoch: CoordinatorEpoch, now: float) -> list[TickEnded]:
        """Begin the proposed tick if none is under way; return the ticks that have ended."""
        ended, self._refused = self._refused, []
        proposal, tick = self._proposal, epoch.ticks.current
        if proposal is None:
            return ended
        if tick is None or tick.number != proposal.tick:
            refused = self._fault(proposal, epoch, now)
            if refused:
                ended.append(TickEnded(proposal.tick, START, now - self._proposed_at, refused))
                self._proposal, self._ended = None, proposal.tick
            elif len(epoch.members.numbers) >= self._workers_of(proposal):
                workers = self._workers_of(proposal)
                self._owners = self._owners_now.change(proposal.owners, proposal.exchanges, workers)
                self._choices = choices_of(with_choices(self._spec.plan, proposal.choices))
                readers = self._readers_now
                if workers != self.workers:
                    readers = spread_fronts(readers, workers)
                self._readers = proposal.readers or readers
                tick_plan = self._owners, self._choices, self._readers
                epoch.ticks.propose(proposal.tick, *tick_plan)
            return ended
        if tick.phase is TickPhase.COMPLETED:
            assert tick.position is not None
            assert self._owners is not None
            moved, before = self._moved_bins(self._owners), self._spec.plan
            moves = self._moves_of_fronts(self._readers)
            self._set_layout(self._owners, self._choices, self._readers)
            ended.append(
                TickEnded(
                    tick.number,
                    tick.position,
                    now - self._proposed_at,
                    moved_bins=moved,
                    layout=Layout(
                        *(self._owners.ranges, self._owners.workers, self._choices, self._readers),
                        self._owners.exchange_ranges,
                    ),
                    changes=(*changed_choices(before, self._spec.plan), *moves),
                )
            )
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
        if proposal is None:
            return
        tick, members = epoch.ticks.current, epoch.members
        has_begun = tick is not None and tick.number == proposal.tick
        if not has_begun and members.numbers == [*members.layout]:
            return
        self._epochs_lost += 1
        if self._epochs_lost >= EPOCHS_MAX:
            why = f"{EPOCHS_MAX} epochs were lost while it was under way"
            self._refused.append(TickEnded(proposal.tick, START, 0.0, refused=why))
            self._proposal, self._ended = None, proposal.tick

    @property
    def _owners_now(self) -> Owners:
        """Return the current owners, with workers numbered from 0 without a gap."""
        return self._spec.plan.assignment.owners

    def _workers_of(self, proposal: TickProposed) -> int:
        """Return the number of workers after a tick."""
        return proposal.workers if proposal.owners and proposal.workers else self.workers

    def _fault(self, proposal: TickProposed, epoch: CoordinatorEpoch, now: float) -> str:
        """Return why a tick can never be taken, "" if it can be taken, now or later."""
        workers, present = self._workers_of(proposal), len(epoch.members.numbers)
        operators = self._spec.operators
        if wrong := fault_of_ranges(proposal.owners, proposal.exchanges, workers, operators):
            return wrong
        if epoch.writers.count > workers:
            return f"worker {epoch.writers.count - 1} writes shards, and would leave"
        if present + epoch.members.next_number > NUMBERS_MAX:
            return "too many workers have joined and left since the job was started again"
        if present < workers and now - self._proposed_at > self._loading:
            return f"it needs {workers} workers, and only {present} came in {self._loading:g} s"
        return ""

    def _moved_bins(self, owners: Owners) -> int:
        return self._owners_now.moved_bins(owners, self._spec.operators)

    @property
    def _readers_now(self) -> tuple[int, ...]:
        """Return the current owners of fronts, by number."""
        return self._spec.plan.assignment.readers_of(self._spec.fronts)

    def _moves_of_fronts(self, readers: tuple[int, ...]) -> list[str]:
        """Describe which fronts have moved, one line each."""
        tables, before = self._spec.plan.tables, self._readers_now
        return [
            f"worker {readers[task.number]} reads split {task.split} of table"
            f' "{tables[task.ordinal].name}", before worker {before[task.number]}'
            for task in self._spec.fronts
            if readers[task.number] != before[task.number]
        ]

    def _set_layout(self, owners: Owners, choices: PlanChoices, readers: tuple[int, ...]) -> None:
        if owners.workers != self.workers:
            self._contraction = Contraction(owners.workers)
        plan = with_choices(self._spec.plan, choices)
        plan = replace(plan, assignment=Assignment(owners, readers))
        self._spec = replace(self._spec, plan=plan)
