"""Chooses how much of a table other workers process than those that read it, from statistics.

If fewer workers read than there are, those that do run the first stage for all rows, and limit the job.  What
the stage takes is measured for each worker.  A part of it can go to others, for what it takes to send and to
receive the rows.  The percentage is the one for which the busiest worker would take the least, in steps of
`STEP`.  It changes if the busiest worker is clearly above the mean, and would take clearly less: twice as
clearly if the table is rebalanced already, since what is measured varies.

Rows that several workers process come to folds in another order than they were read in, so folds behind the
table become ORDERED: a speculative one would apply most rows again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from fsql.compiler.plan_choices import speculative_folds_behind
from fsql.compiler.reasons import Reason
from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import Policy, SourceHead
from fsql.optimizer.owner_choice import (
    BUSY_MIN,
    GAIN_MIN,
    HORIZON,
    NOISE_MIN,
    noise_of,
    reason_to_wait,
    residuals_of,
)
from fsql.optimizer.replay import IMBALANCE, INTERVALS_MIN, over_mean
from fsql.optimizer.tick_costs import busy_fractions, intervals_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsql.compiler.tick_plan import Stage, TickPlan
    from fsql.optimizer.choose_tick import Situation
    from fsql.optimizer.statistics import Statistics

STEP: Final = 5
BYTE_SECONDS: Final = 1e-9
"""The time to send a byte of rows, and also the time to receive one."""
READ: Final = "read"
"""The operator as which reading is measured."""


@dataclass(frozen=True, slots=True)
class Rebalancing:
    """The tables that are rebalanced otherwise from now on, the folds whose policies change, and reasons."""

    tables: tuple[tuple[str, int], ...] = ()
    policies: tuple[tuple[str, Policy], ...] = ()
    reasons: tuple[Reason, ...] = ()


def choose_rebalancing(situation: Situation, statistics: Statistics) -> Rebalancing:
    """Return how much of which table to rebalance; of one table in a tick, because it changes all loads."""
    plan = situation.plan
    waits = _reason_to_wait(situation, statistics)
    tables: list[tuple[str, int]] = []
    policies: list[tuple[str, Policy]] = []
    reasons = []
    for number, stage in enumerate(plan.stages):
        if not isinstance(stage.head, SourceHead):
            continue
        table, now = stage.head.table.name, stage.head.rebalanced
        label = f"rows of {table}"
        stays = f"{now} % to other workers, stays" if now else "stay"
        if waits or tables:
            text = f"{stays}; {waits or 'another table is rebalanced first'}"
            reasons.append(Reason(label, text))
            continue
        percent, text = _choose(situation, statistics, number)
        if percent != now:
            behind = speculative_folds_behind(plan, table) if percent else []
            if behind and not situation.chooses_policies:
                text += f"; but {', '.join(behind)} stays speculative, as requested"
                percent = now
            else:
                policies += [(operator, Policy.ORDERED) for operator in behind]
                text += "".join(f"; {operator} becomes ordered" for operator in behind)
        if percent == now:
            reasons.append(Reason(label, f"{stays}; {text}"))
        else:
            tables.append((table, percent))
            text = f"{percent} % to other workers; {text}"
            reasons.append(Reason(label, text, changes=True))
    return Rebalancing(tuple(tables), tuple(policies), tuple(reasons))


def _reason_to_wait(situation: Situation, statistics: Statistics) -> str:
    """Return why nothing is rebalanced otherwise, whatever the stages take; "" if there is no such reason."""
    workers = situation.plan.workers
    if workers == 1:
        return "there is one worker"
    intervals = intervals_of(statistics, situation.since, workers)
    if reason := reason_to_wait(situation, len(intervals)):
        return reason
    last = intervals[-INTERVALS_MIN:]
    busy = [sum(each.busy for each in loads) for loads in zip(*last, strict=True)]
    busiest = busy.index(max(busy))
    load = min(loads[busiest].busy for loads in last)
    imbalance = min(over_mean([each.busy for each in loads], busiest) for loads in last)
    if load < BUSY_MIN or imbalance <= 1 + IMBALANCE:
        return f"worker {busiest} works for {load:.0%}, at {imbalance:.2f} times the mean"
    return ""


def _choose(situation: Situation, statistics: Statistics, stage: int) -> tuple[int, str]:
    """Return the percentage of the rows of a stage's table that should go to other workers, and why."""
    head = situation.plan.stages[stage].head
    assert isinstance(head, SourceHead)
    loads = _loads(situation, statistics, stage)
    if isinstance(loads, str):
        return head.rebalanced, loads
    busiest = max(loads.busy)
    most, percent = min((max(loads.at(each)), each) for each in range(0, 101, STEP))
    text = (
        f"its first stage takes {sum(loads.stage):.0%} of a core; the busiest worker takes {busiest:.0%},"
        f" {over_mean(loads.busy):.2f} times the mean, and would take {most:.0%} with {percent} %"
    )
    count = len(intervals_of(statistics, situation.since, situation.plan.workers))
    saved, lasts = busiest - most, min(HORIZON, count * situation.seconds)
    least = max(
        (IMBALANCE if head.rebalanced else IMBALANCE / 2) * busiest, NOISE_MIN * loads.noise
    )
    pays = saved >= least and saved * lasts > GAIN_MIN * situation.least_cost
    return (percent if pays else head.rebalanced), text


@dataclass(frozen=True, slots=True)
class _Loads:
    """What workers take, as fractions of a core: in all, for a stage, and by their share of what is read.

    `sending` is what it would take to send all rows of the table, and the same again to receive them.
    `receivers` are the workers that get rows from others.  `noise` is by how much a load may be wrong.
    """

    busy: tuple[float, ...]
    stage: tuple[float, ...]
    shares: tuple[float, ...]
    sending: float
    receivers: frozenset[int]
    noise: float

    def at(self, percent: int) -> list[float]:
        """Return what each worker would take if that percentage of the rows went to other workers."""
        part, total = percent / 100, sum(self.stage)
        loads = [busy - of_stage for busy, of_stage in zip(self.busy, self.stage, strict=True)]
        for reader, share in enumerate(self.shares):
            others = self.receivers - {reader}
            sent = part if others else 0.0
            loads[reader] += share * ((1 - sent) * total + sent * self.sending)
            for other in others:
                loads[other] += share * sent * (total + self.sending) / len(others)
        return loads


def _loads(situation: Situation, statistics: Statistics, stage: int) -> _Loads | str:
    """Return what is known of a stage and its workers, or what is not."""
    plan = situation.plan
    head = plan.stages[stage].head
    assert isinstance(head, SourceHead)
    workers = range(plan.workers)
    intervals = intervals_of(statistics, situation.since, plan.workers)
    busy = [sum(each.busy for each in of) / len(intervals) for of in zip(*intervals, strict=True)]
    residuals = residuals_of([[each.busy for each in of] for of in intervals])
    spent = busy_fractions(statistics, situation.since, len(intervals))
    reading = [spent.get(READ, {}).get(worker, 0.0) for worker in workers]
    if not sum(reading):
        return "no estimate of who reads how much"
    shares = [of / sum(reading) for of in reading]
    idle = [worker for worker in workers if not shares[worker]] if not head.rebalanced else []
    of_stage = [sum(of[worker] for of in _of_stage(plan, stage, spent, idle)) for worker in workers]
    if not sum(of_stage):
        return "no estimate of what its first stage takes"
    names = plan.exchanges.values()
    maps = [plan.assignment.owners.of(name) for name in names] or [plan.assignment.owners.every]
    receivers = frozenset(owner for of in maps for owner, _, _ in of.ranges)
    if len(receivers) == 1:
        return f"worker {min(receivers)} owns all bins"
    rate = sum(each.bytes_per_second for each in statistics.fronts if each.table == head.table.name)
    sending = rate * BYTE_SECONDS
    noise = noise_of(max(busy), residuals)
    return _Loads(tuple(busy), tuple(of_stage), tuple(shares), sending, receivers, noise)


def _of_stage(
    plan: TickPlan, number: int, spent: Mapping[str, Mapping[int, float]], idle: list[int]
) -> Iterator[list[float]]:
    """Yield what each operator of a stage takes on each worker.

    Other stages may have steps of the same operator.  Their part is what workers take that do not run this
    stage (`idle`); without such workers it is not known, and the operator is left out.
    """
    names = Counter(name for stage in plan.stages for name in _names(stage))
    for name in sorted(_names(plan.stages[number])):
        of = [spent.get(name, {}).get(worker, 0.0) for worker in range(plan.workers)]
        if names[name] > 1:
            others = sum(of[worker] for worker in idle) / len(idle) if idle else max(of)
            of = [max(0.0, each - others) for each in of]
        yield of


def _names(stage: Stage) -> set[str]:
    return {step.origin for step in stage.steps}
