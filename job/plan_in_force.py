"""The plan of a job after its ticks, from its description and the records of ticks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.assignment import Assignment
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import fault_of_choices, with_choices
from fsql.optimizer.choose import HASH_BINS
from fsql.optimizer.choose_tick import Situation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.description import JobDescription
    from fsql.runtime.coordination.ticks import TickRecord

AUTO: Final = "auto: "
"""The prefix of the reasons of automatic ticks."""


def taken_ticks(job: JobDescription, records: Sequence[TickRecord]) -> list[TickRecord]:
    """Return the ticks, of which the newest is first, that apply to the plan of a job."""
    return [
        each
        for each in records
        if not each.refused
        and (each.proposal.graph, each.proposal.workers) == (job.plan, job.workers)
    ]


def plan_after(plan: TickPlan, tick: TickRecord) -> TickPlan:
    """Return the plan after a tick, given the one with which the job was started."""
    proposal = tick.proposal
    if not fault_of_choices(plan, proposal.choices):
        plan = with_choices(plan, proposal.choices)
    if not proposal.owners:
        return plan
    owners = Owners.of_ranges(proposal.owners, proposal.exchanges, proposal.workers_of_tick)
    reasons = tuple(each for each in plan.reasons if not each.startswith(HASH_BINS))
    return replace(plan, assignment=Assignment(owners, plan.assignment.readers), reasons=reasons)


def situation_of(
    plan: TickPlan, job: JobDescription, records: Sequence[TickRecord], *, hosted: bool, now: float
) -> Situation:
    """Return the input of the optimizer after some ticks, of which the newest is first.

    `plan` is the one with which the job was started, `now` is in seconds since 1970, and `hosted` says
    whether worker 0 is in the process of the coordinator.
    """
    taken, every = taken_ticks(job, records), job.tick_seconds or 1.0
    ended = [each.proposal.proposed_at + each.seconds for each in taken]
    by_itself = [each for each in records if each.proposal.reason.startswith(AUTO)]
    return Situation(
        plan_after(plan, taken[0]) if taken else plan,
        since=int(ended[0] / every) + 1 if ended else 0,
        ages=tuple(int((now - each.proposal.proposed_at) / every) for each in by_itself),
        hosted=hosted,
        chooses_policies=job.policy is None,
    )
