"""The plan of a job after its ticks, from its description and the records of ticks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.assignment import Assignment
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import fault_of_choices, with_choices
from fsql.compiler.reasons import Reason
from fsql.compiler.tick_plan import FoldHead
from fsql.optimizer.choose import HASH_BINS, subject_of_stage
from fsql.optimizer.choose_tick import Situation
from fsql.optimizer.collectors.bin_history import INTERVALS
from fsql.optimizer.owner_choice import REMEMBERED
from fsql.optimizer.replay import PastTick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.description import JobDescription
    from fsql.optimizer.load_history import LoadHistory
    from fsql.runtime.coordination.ticks import TickRecord


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
        plan = _with_policies_explained(plan, with_choices(plan, proposal.choices))
    if not proposal.owners:
        return plan
    owners = Owners.of_ranges(proposal.owners, proposal.exchanges, proposal.workers_of_tick)
    reasons = tuple(each for each in plan.reasons if each.subject != HASH_BINS)
    return replace(plan, assignment=Assignment(owners, plan.assignment.readers), reasons=reasons)


def _with_policies_explained(before: TickPlan, after: TickPlan) -> TickPlan:
    """Return the second plan, with other reasons for the policies that are not those of the first."""
    reasons = list(after.reasons)
    for number, (was, now) in enumerate(zip(before.stages, after.stages, strict=True)):
        if isinstance(was.head, FoldHead) and isinstance(now.head, FoldHead):
            subject = subject_of_stage(number)
            if was.head.policy is not now.head.policy:
                changed = Reason(subject, f"{now.head.policy.value}, changed by a tick")
                reasons = [changed if each.subject == subject else each for each in reasons]
    return replace(after, reasons=tuple(reasons))


def situation_of(
    plan: TickPlan,
    job: JobDescription,
    records: Sequence[TickRecord],
    history: LoadHistory,
    *,
    hosted: bool,
    now: float,
) -> Situation:
    """Return the input of the optimizer after some ticks, of which the newest is first.

    `plan` is the one with which the job was started, `now` is in seconds since 1970, and `hosted` says
    whether worker 0 is in the process of the coordinator.
    """
    taken, every = taken_ticks(job, records), job.tick_seconds or 1.0
    ended = [each.proposal.proposed_at + each.seconds for each in taken]
    ages = [int((now - at) / every) for at in ended]
    by_itself = [each for each in records if each.proposal.automatic is not None]
    plan_now = plan_after(plan, taken[0]) if taken else plan
    workers, first = plan_now.workers, plan.assignment.owners
    return Situation(
        plan_now,
        since=_interval_of_tick(ended[0], every, history) if ended else 0,
        ages=tuple(int((now - each.proposal.proposed_at) / every) for each in by_itself),
        hosted=hosted,
        chooses_policies=job.policy is None,
        first=first if first.workers == workers else Owners.of_equal_ranges(workers),
        past=_past_ticks(plan, taken, ages, workers),
        seconds=every,
        history=history,
        over_estimate=_over_estimate(taken, ages),
    )


def _interval_of_tick(ended: float, every: float, history: LoadHistory) -> int:
    """Return the last interval in which owners were those before a tick, at some worker.

    Workers begin their intervals at other times than multiples of their length, by which they are numbered.
    So if it is not known when they began, one more interval is left out.
    """
    begun = history.last_begun_before(ended)
    return int(ended / every) + 1 if begun is None else begun


def _over_estimate(taken: Sequence[TickRecord], ages: Sequence[int]) -> float:
    """Return how many seconds more than estimated the automatic ticks of a job took.

    A tick counts half as much as one that is `REMEMBERED` intervals newer, and if all are old, the mean
    becomes less, too: the machine may have been busy then.
    """
    total = weights = 0.0
    for record, age in zip(taken, ages, strict=True):
        if (choice := record.proposal.automatic) is not None:
            weight = 0.5 ** (max(0, age) / REMEMBERED)
            total += weight * max(0.0, record.seconds - choice.cost)
            weights += weight
    return total / max(1.0, weights)


def _past_ticks(
    plan: TickPlan, taken: Sequence[TickRecord], ages: Sequence[int], workers: int
) -> tuple[PastTick, ...]:
    """Return the ticks in the intervals of the history since which a job has this number of workers."""
    found: list[PastTick] = []
    for number, age in enumerate(ages):
        before = plan if number + 1 == len(taken) else plan_after(plan, taken[number + 1])
        if before.workers != workers:
            break
        found.append(PastTick(max(0, age), before.assignment.owners))
        if age >= INTERVALS:
            break
    return tuple(found)
