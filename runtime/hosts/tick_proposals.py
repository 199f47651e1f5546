"""Passes proposals of ticks from coordination to the coordinator, and records their outcomes there."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.assignment import are_readers
from fsql.compiler.owners import OwnerRanges, fault_of_ranges
from fsql.compiler.plan_choices import fault_of_choices
from fsql.runtime.cluster.ticks.events import Layout, TickProposed
from fsql.runtime.coordination.port import CoordinationError
from fsql.runtime.coordination.ticks import (
    TickProposal,
    TickRecord,
    TickUnderWayError,
    last_taken,
    open_proposal,
    propose_tick,
    put_record,
)

if TYPE_CHECKING:
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.ticks.events import TickEnded
    from fsql.runtime.coordination.lease import Lease
    from fsql.runtime.coordination.port import Coordination
    from fsql.runtime.hosts.ports import Clock, Work

JOB_ENDED: Final = "the job has ended before it was taken"


class TickProposals:
    """The proposals of one job in one coordinator.

    `advance` is called by the executor that renews the lease, while it is held.
    """

    def __init__(
        self, coordination: Coordination, lease: Lease, spec: JobSpec, wall_clock: Clock
    ) -> None:
        """Take the client of the lease; `wall_clock` shows the seconds since 1970."""
        self._coordination = coordination
        self._lease = lease
        self._spec = spec
        self._wall_clock = wall_clock
        self._proposal: TickProposal | None = None
        """The proposal that the node was given last."""
        self._unwritten: list[TickRecord] = []

    def on_lease_lost(self) -> None:
        """Forget the proposal: another coordinator may have taken it."""
        self._proposal = None
        self._unwritten = []

    def on_ended(self, ended: TickEnded) -> None:
        """Keep the outcome of a proposal, for `advance` to record."""
        proposal = self._proposal
        if proposal is None or proposal.tick != ended.tick:
            return
        position = None
        if ended.layout is not None:
            position, layout = (ended.position.time, ended.position.origin), ended.layout
            proposal = msgspec.structs.replace(
                proposal,
                owners=layout.owners,
                workers_after=layout.workers,
                choices=layout.choices,
                readers=layout.readers,
                exchanges=layout.exchanges,
            )
        seconds, moved, refused = ended.seconds, ended.moved_bins, ended.refused
        record = TickRecord(proposal, position, seconds, moved, refused, ended.changes)
        self._unwritten.append(record)

    def propose(self, owners: OwnerRanges, reason: str, workers: int) -> Work:
        """Propose a tick, unless another one is open or coordination does not answer."""
        spec = self._spec
        proposal = TickProposal(
            0, spec.graph, spec.plan.workers, owners, reason, self._wall_clock(), workers
        )
        with suppress(TickUnderWayError, CoordinationError):
            propose_tick(self._coordination, self._lease.session, proposal)
            yield from self.advance()

    def advance(self) -> Work:
        """Record what has ended, and yield the open proposal in each call: the node may have lost it.

        If coordination does not answer, the next call tries again.
        """
        try:
            self._write_records()
            proposal = open_proposal(self._coordination)
            if proposal is None:
                return
            wrong = _fault(proposal, self._spec)
            if wrong:
                record = TickRecord(proposal, None, 0.0, refused=wrong)
                put_record(self._coordination, self._lease.session, record)
                return
        except CoordinationError:
            return
        self._proposal = proposal
        yield TickProposed(
            *(proposal.tick, proposal.owners, proposal.workers_of_tick, proposal.choices),
            *(proposal.readers, proposal.exchanges),
        )

    def end_job(self) -> Work:
        """If a proposal is open, record that the job has ended before it was taken."""
        with suppress(CoordinationError):
            self._write_records()
            proposal = open_proposal(self._coordination)
            if proposal is not None:
                record = TickRecord(proposal, None, 0.0, refused=JOB_ENDED)
                put_record(self._coordination, self._lease.session, record)
        yield None

    def _write_records(self) -> None:
        while self._unwritten:
            put_record(self._coordination, self._lease.session, self._unwritten[0])
            del self._unwritten[:1]


def last_layout(coordination: Coordination, spec: JobSpec) -> Layout | None:
    """Return the layout of the last tick; None if there is none for this plan and number of workers.

    Raises:
        CoordinationError: if coordination does not answer.
    """
    record = last_taken(coordination)
    if record is None or _fault(record.proposal, spec):
        return None
    taken = record.proposal
    return Layout(
        *(taken.owners, taken.workers_of_tick, taken.choices, taken.readers, taken.exchanges)
    )


def _fault(proposal: TickProposal, spec: JobSpec) -> str:
    """Return why a proposal cannot be taken, "" if it can."""
    workers = spec.plan.workers
    if proposal.graph != spec.graph:
        return "it was proposed for another plan than the job has now"
    if proposal.workers != workers:
        return f"it was proposed for a run with {proposal.workers} workers, and this has {workers}"
    wrong = fault_of_choices(spec.plan, proposal.choices)
    if wrong:
        return wrong
    after, readers = proposal.workers_of_tick, proposal.readers
    if readers and not are_readers(readers, len(spec.fronts), after):
        return "it does not give each part of the input to a worker"
    return fault_of_ranges(proposal.owners, proposal.exchanges, after, spec.operators)
