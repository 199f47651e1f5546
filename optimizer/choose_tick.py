"""The choice of the next tick of a running job, from what was measured; pure, and explained.

Output never depends on it.  What is decided, each with its reason:

    owners      which workers own hash bins: level the measured cost, or give all bins to the worker beside
                the coordinator where there is little to do
    policies    folds that apply too many rows again hold them instead
    filters     no estimate: conjuncts are not measured one by one

Bins move only if the busiest worker was more than `IMBALANCE` above the mean in each of the last two
intervals, was busy for at least `BUSY_LEAST`, and the gain over `HORIZON` is more than `GAIN_LEAST` times the
cost.  Intervals count from the last tick on.  After each tick of its own, the optimizer needs twice as many
intervals for the next one, as long as it is among the last `REMEMBERED` intervals: so a load that alternates
causes few ticks, and a new one is followed at once.

A gain is in seconds that the busiest worker saves.  A cost is what a tick takes: `TICK_SECONDS`, and
`ROW_SECONDS` for each row of state that moves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.optimizer.levelling import level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsql.compiler.tick_plan import Stage, TickPlan
    from fsql.optimizer.statistics import Cost, Statistics

INTERVALS_LEAST: Final = 2
IMBALANCE: Final = 0.1
BUSY_LEAST: Final = 0.25
CONTRACT_BELOW: Final = 0.35
"""All workers together are busy for less: one of them can do it, and does not become busy."""
SPREAD_ABOVE: Final = 0.5
HORIZON: Final = 300.0
GAIN_LEAST: Final = 2.0
TICK_SECONDS: Final = 0.002
ROW_SECONDS: Final = 3e-6
"""0.8 µs to hand a key over, and about 100 bytes of state to copy at 50 MiB a second."""
REDONE_MOST: Final = 0.05
"""The part of a core that may be spent on repairs of one fold."""
REMEMBERED: Final = 60


@dataclass(frozen=True, slots=True)
class Situation:
    """What is in force: the plan with its owners, and what the optimizer must know besides.

    `since` is the interval in which the last tick was taken.  `ages` says how many intervals ago ticks were
    taken that the optimizer had proposed.  `hosted` tells whether worker 0 is beside the coordinator,
    `chooses_policies` whether none was asked for.
    """

    plan: TickPlan
    since: int = 0
    ages: tuple[int, ...] = ()
    hosted: bool = False
    chooses_policies: bool = True


@dataclass(frozen=True, slots=True)
class TickChoice:
    """What the next tick changes, if anything: owners or choices; and a reason for each decision."""

    owners: OwnerMap | None
    choices: PlanChoices
    reasons: tuple[str, ...]

    @property
    def is_change(self) -> bool:
        """Return whether there is anything to propose."""
        return self.owners is not None or self.choices != NO_CHOICES


def choose_tick(situation: Situation, statistics: Statistics) -> TickChoice:
    """Return what the next tick of a job is to change."""
    owners, reason = _owners(situation, statistics)
    policies, reasons = _policies(situation, statistics)
    filters = "filters: stay; no estimate, as conjuncts are not measured one by one"
    return TickChoice(owners, PlanChoices(policies), (reason, *reasons, filters))


def _owners(situation: Situation, statistics: Statistics) -> tuple[OwnerMap | None, str]:
    now = situation.plan.assignment.bins
    if now.workers == 1:
        return None, "owners: stay; there is one worker"
    needed = INTERVALS_LEAST << sum(age < REMEMBERED for age in situation.ages)
    history = _busy(statistics, situation.since, now.workers)
    if len(history) < needed:
        measured = f"{len(history)} of {needed} intervals since the last tick are measured"
        return None, f"owners: stay; no estimate, {measured}"
    last = history[-INTERVALS_LEAST:]
    if situation.hosted and max(map(sum, last)) < CONTRACT_BELOW:
        return _contracted(now, max(map(sum, last)))
    has_one_owner = len(set(now.owners)) == 1
    least = SPREAD_ABOVE if has_one_owner and situation.hosted else BUSY_LEAST
    imbalance, busiest = min(map(_imbalance, last)), min(map(max, last))
    measured = f"the busiest worker is busy for {busiest:.0%}, {imbalance:.2f} times the mean"
    if busiest < least or imbalance <= 1 + IMBALANCE:
        return None, f"owners: stay; {measured}"
    return _levelled(
        situation, statistics, [sum(each) / len(last) for each in zip(*last, strict=True)]
    )


def _contracted(now: OwnerMap, together: float) -> tuple[OwnerMap | None, str]:
    alone = OwnerMap((0,) * BINS, now.workers)
    measured = f"all workers together are busy for {together:.0%}"
    if alone == now:
        return None, f"owners: worker 0 keeps all bins; {measured}"
    return alone, f"owners: all bins to worker 0, without hops between processes; {measured}"


def _levelled(
    situation: Situation, statistics: Statistics, busy: list[float]
) -> tuple[OwnerMap | None, str]:
    """Return a map that levels the measured cost, if it pays; `busy` has the load of each worker."""
    now = situation.plan.assignment.bins
    costs, unknown = bin_costs(situation.plan, statistics)
    if unknown:
        return None, f"owners: stay; no estimate of the cost of {', '.join(unknown)}"
    owned = _by_owner(now, costs)
    fixed = [max(0.0, all_ - own) for all_, own in zip(busy, owned, strict=True)]
    after = level(now, costs, fixed)
    most = max(rest + own for rest, own in zip(fixed, _by_owner(after, costs), strict=True))
    moved = sum(one != other for one, other in zip(now.owners, after.owners, strict=True))
    gain = (max(busy) - most) * HORIZON
    rows = sum(each.state_rows for each in statistics.folds) * moved / BINS
    cost = TICK_SECONDS + ROW_SECONDS * rows
    numbers = (
        f"the busiest worker is busy for {max(busy):.0%}, {_imbalance(busy):.2f} times the mean,"
        f" and would be for {most:.0%} after {moved} bins have moved:"
        f" {gain:.3g} s saved in {HORIZON:.0f} s, for {cost:.2g} s"
    )
    if not moved or gain <= GAIN_LEAST * cost or most > max(busy) * (1 - IMBALANCE / 2):
        return None, f"owners: stay; {numbers}"
    return after, f"owners: {moved} bins move; {numbers}"


def bin_costs(plan: TickPlan, statistics: Statistics) -> tuple[dict[int, float], list[str]]:
    """Return the seconds that each bin takes in a second, and the operators whose cost is not known.

    The steps behind a fold go where the fold goes.  All of their time counts as that of rows, not that of
    calls: batches are of much the same size, so the two are hard to tell apart.  With too high a cost too
    few bins move, and the next tick moves others; with too low a cost too many would.
    """
    costs = {each.operator: each for each in statistics.costs}
    stages = {
        stage.head.operator: stage for stage in plan.stages if isinstance(stage.head, FoldHead)
    }
    named = Counter(name for stage in plan.stages for name in {step.origin for step in stage.steps})
    a_row: dict[str, float | None] = {
        operator: _seconds_a_row(operator, stage, costs, named)
        for operator, stage in stages.items()
    }
    found: dict[int, float] = {}
    unknown: set[str] = set()
    for load in statistics.loads:
        seconds = a_row.get(load.operator)
        if seconds is not None:
            found[load.bin] = found.get(load.bin, 0.0) + load.rows_per_second * seconds
        elif load.operator in stages:
            unknown.add(load.operator)
    return found, sorted(unknown)


def _seconds_a_row(
    operator: str, stage: Stage, costs: Mapping[str, Cost], named: Mapping[str, int]
) -> float | None:
    fold = costs.get(operator)
    if fold is None or fold.rows_per_second <= 0:
        return None
    steps = {step.origin for step in stage.steps if named[step.origin] == 1}
    behind = sum(costs[name].busy for name in sorted(steps) if name in costs)
    return (fold.busy + behind) / fold.rows_per_second


def _policies(
    situation: Situation, statistics: Statistics
) -> tuple[tuple[tuple[str, Policy], ...], list[str]]:
    """Return the policies that change, with a reason for each fold."""
    chosen, reasons = [], []
    for head in _folds(situation.plan):
        found = [
            each
            for each in statistics.folds
            if each.operator == head.operator and each.policy == head.policy.value
        ]
        costs = [each for each in statistics.costs if each.operator == head.operator]
        place = f"{head.operator}: {head.policy.value}"
        if not situation.chooses_policies:
            reasons.append(f"{place} stays, as asked for")
        elif not found or not costs:
            reasons.append(f"{place} stays; no estimate")
        elif head.policy is Policy.ORDERED:
            reasons.append(f"{place} stays; no estimate of repairs while rows wait")
        else:
            spent = costs[0].busy * found[0].redone / (1 + found[0].redone)
            numbers = (
                f"{found[0].redone:.1%} of the rows are applied again, for {spent:.1%} of a core"
            )
            if spent > REDONE_MOST:
                chosen.append((head.operator, Policy.ORDERED))
                reasons.append(f"{head.operator}: ordered, was speculative; {numbers}")
            else:
                reasons.append(f"{place} stays; {numbers}")
    return tuple(chosen), reasons


def _folds(plan: TickPlan) -> Iterator[FoldHead]:
    for stage in plan.stages:
        if isinstance(stage.head, FoldHead):
            yield stage.head


def _busy(statistics: Statistics, since: int, workers: int) -> list[list[float]]:
    """Return how busy each worker was in each interval after `since`, in order.

    Intervals of workers do not begin at the same time, so they are taken together from the newest one back.
    """
    found: list[list[float]] = [[] for _ in range(workers)]
    for each in sorted(statistics.workers):
        if each.interval > since and each.worker < workers:
            found[each.worker].append(each.busy)
    count = min(map(len, found))
    return [list(each) for each in zip(*(of[len(of) - count :] for of in found), strict=True)]


def _imbalance(busy: list[float]) -> float:
    mean = sum(busy) / len(busy)
    return max(busy) / mean if mean > 0 else 1.0


def _by_owner(owners: OwnerMap, costs: Mapping[int, float]) -> list[float]:
    found = [0.0] * owners.workers
    for number, cost in sorted(costs.items()):
        found[owners.owners[number]] += cost
    return found
