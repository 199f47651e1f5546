"""The choice of the next tick of a running job, from measurements: a pure function, with reasons.

Output never depends on it.  These are chosen, each with its reason:

owners      which workers own hash bins: they level the measured cost of each exchange and of all together,
            or the worker in the process of the coordinator owns all bins while the load is low
policies    folds that apply too many rows again become ORDERED
filters     conditions that drop many rows at a low cost come first (`filter_orders`)
hot keys    rows of hot keys are pre-aggregated if a single key makes a worker the busiest

Bins move only if, in each of the last two intervals, the same worker was the busiest, was more than
`IMBALANCE` above the mean, and was busy for at least `BUSY_MIN` of the time; and if the gain over `HORIZON`
is more than `GAIN_MIN` times the cost.  They do not move in a tick that begins to pre-aggregate, which
changes all loads.  Pre-aggregation never ends by itself: if no key is hot, it only examines some hashes of
each batch.

Loads are compared by processor time, because by elapsed time a worker also seems busy while other programs
use its core.  Whether the load is high is decided by elapsed time: a worker that waits for a core has no time
left.  Only intervals after the last tick count.  After each tick that the optimizer has proposed, it needs
twice as many intervals for the next one, as long as that tick is among the last `REMEMBERED` intervals: so an
alternating load causes few ticks, and a new load is followed immediately.

A gain is in seconds that the busiest worker saves.  The cost of a tick is `TICK_SECONDS`, plus `ROW_SECONDS`
and `BYTE_SECONDS` for each row and byte of state that moves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.optimizer.filter_orders import choose_filter_orders
from fsql.optimizer.hot_keys import choose_pre_aggregations
from fsql.optimizer.levelling import by_owner, by_owners, level_exchanges
from fsql.optimizer.local_exchanges import exchanges_in_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.statistics import Statistics, WorkerLoad

INTERVALS_MIN: Final = 2
IMBALANCE: Final = 0.1
BUSY_MIN: Final = 0.25
CONTRACT_BELOW: Final = 0.35
"""If the total load of all workers is below this, one worker can take all of it."""
SPREAD_ABOVE: Final = 0.5
HORIZON: Final = 300.0
GAIN_MIN: Final = 2.0
TICK_SECONDS: Final = 0.002
ROW_SECONDS: Final = 0.8e-6
"""The time to hand over a row of state."""
BYTE_SECONDS: Final = 1 / (50 << 20)
"""The time to copy a byte of state."""
REDONE_MAX: Final = 0.05
"""The maximum fraction of a core for repairs of one fold."""
REMEMBERED: Final = 60


@dataclass(frozen=True, slots=True)
class Situation:
    """The current plan with its owners, and further input of the optimizer.

    `since` is the interval of the last tick.  `ages` are the ages, in intervals, of the ticks that the
    optimizer has proposed.  `hosted` says whether worker 0 runs in the process of the coordinator,
    `chooses_policies` whether no policy was requested.
    """

    plan: TickPlan
    since: int = 0
    ages: tuple[int, ...] = ()
    hosted: bool = False
    chooses_policies: bool = True


@dataclass(frozen=True, slots=True)
class TickChoice:
    """The changes of the next tick, if any: owners or choices; and a reason for each decision."""

    owners: Owners | None
    choices: PlanChoices
    reasons: tuple[str, ...]

    @property
    def is_change(self) -> bool:
        """Return whether there is a change to propose."""
        return self.owners is not None or self.choices != NO_CHOICES


def choose_tick(situation: Situation, statistics: Statistics) -> TickChoice:
    """Return the changes that the next tick of a job should make."""
    owners, reason = _owners(situation, statistics)
    policies, reasons = _policies(situation, statistics)
    least_rows, of_hot_keys = choose_pre_aggregations(situation.plan, statistics, situation.since)
    if least_rows and owners is not None:
        owners, reason = None, "owners: stay; the pre-aggregation changes the loads"
    filters, of_filters = choose_filter_orders(situation.plan, statistics)
    choices = PlanChoices(policies, filters, least_rows)
    return TickChoice(owners, choices, (reason, *reasons, *of_hot_keys, *of_filters))


def _owners(situation: Situation, statistics: Statistics) -> tuple[Owners | None, str]:
    now = situation.plan.assignment.owners
    if now.workers == 1:
        return None, "owners: stay; there is one worker"
    needed = INTERVALS_MIN << sum(age < REMEMBERED for age in situation.ages)
    history = _history(statistics, situation.since, now.workers)
    if len(history) < needed:
        measured = f"{len(history)} of {needed} intervals since the last tick are measured"
        return None, f"owners: stay; no estimate, {measured}"
    last = history[-INTERVALS_MIN:]
    together = max(sum(each.elapsed for each in loads) for loads in last)
    if situation.hosted and together < CONTRACT_BELOW:
        return _contract(now, together)
    exchanges = situation.plan.exchanges.values()
    has_one_owner = len({owner for name in exchanges for owner in now.of(name).owners}) == 1
    least = SPREAD_ABOVE if has_one_owner and situation.hosted else BUSY_MIN
    busy = [sum(each.busy for each in loads) / len(last) for loads in zip(*last, strict=True)]
    busiest = busy.index(max(busy))
    imbalance = min(over_mean([each.busy for each in loads], busiest) for loads in last)
    elapsed = min(loads[busiest].elapsed for loads in last)
    if elapsed < least or imbalance <= 1 + IMBALANCE:
        measured = f"worker {busiest} works for {elapsed:.0%}, at {imbalance:.2f} times the mean"
        return None, f"owners: stay; {measured}"
    return _level_owners(situation, statistics, busy)


def _contract(now: Owners, together: float) -> tuple[Owners | None, str]:
    alone = Owners(OwnerMap((0,) * BINS, now.workers))
    measured = f"all workers together are busy for {together:.0%}"
    if alone == now:
        return None, f"owners: worker 0 keeps all bins; {measured}"
    return alone, f"owners: all bins to worker 0, without hops between processes; {measured}"


def _level_owners(
    situation: Situation, statistics: Statistics, busy: list[float]
) -> tuple[Owners | None, str]:
    """Return owners that level the measured cost, if worthwhile; `busy` has the load of each worker."""
    now = situation.plan.assignment.owners
    costs, unknown = bin_costs(situation, statistics)
    if unknown:
        return None, f"owners: stay; no estimate of the cost of {', '.join(unknown)}"
    if unknown := _without_state(situation.plan, statistics):
        return None, f"owners: stay; no estimate of the state of {', '.join(unknown)}"
    owned = by_owners(now, costs)
    fixed = [max(0.0, total - own) for total, own in zip(busy, owned, strict=True)]
    exchanges = [*situation.plan.exchanges.values()]
    after = level_exchanges(now, costs, fixed, exchanges_in_groups(situation.plan))
    most = max(rest + own for rest, own in zip(fixed, by_owners(after, costs), strict=True))
    moved = now.moved_bins(after, exchanges)
    gain = (max(busy) - most) * HORIZON
    moves = {name: now.moved_bins(after, [name]) / BINS for name in exchanges}
    rows = sum(each.state_rows * moves.get(each.operator, 0.0) for each in statistics.folds)
    size = sum(each.state_bytes * moves.get(each.operator, 0.0) for each in statistics.folds)
    cost = TICK_SECONDS + ROW_SECONDS * rows + BYTE_SECONDS * size
    numbers = (
        f"the busiest worker takes {max(busy):.0%} of a core, {over_mean(busy):.2f} times the mean,"
        f" and would take {most:.0%} after {moved} bins have moved:"
        f" {gain:.3g} s saved in {HORIZON:.0f} s, for {cost:.2g} s"
    )
    if not moved or gain <= GAIN_MIN * cost or most > max(busy) * (1 - IMBALANCE / 2):
        return None, f"owners: stay; {numbers}"
    return after, f"owners: {moved} bins move; {numbers}"


def _without_state(plan: TickPlan, statistics: Statistics) -> list[str]:
    """Return the folds that receive rows but have no statistics of their state."""
    known = {each.operator for each in statistics.folds}
    with_rows = {each.operator for each in statistics.loads if each.rows_per_second > 0}
    return sorted({head.operator for head in _folds(plan)} & with_rows - known)


def bin_costs(
    situation: Situation, statistics: Statistics
) -> tuple[dict[str, dict[int, float]], list[str]]:
    """Return the load of each bin of each exchange, and the operators whose cost is unknown.

    The unit is seconds per second.  The time of a fold on a worker is divided among the bins of this worker
    by their rows; the steps after a fold move with it.  So rows of a frequent key count less on its worker,
    because batches group them, and the total cost of the bins of a worker is the cost that was measured
    there.
    """
    rows, spent = _rows_by_fold(statistics), _busy_fractions(statistics, situation.since)
    found: dict[str, dict[int, float]] = {}
    unknown = []
    for operator, names in sorted(_operators_of_folds(situation.plan).items()):
        owners = situation.plan.assignment.owners.of(operator)
        rates = rows.get(operator, {})
        if rates and operator not in spent:
            unknown.append(operator)
        a_row = [
            sum(spent.get(name, {}).get(worker, 0.0) for name in sorted(names)) / total
            if total
            else 0.0
            for worker, total in enumerate(by_owner(owners, rates))
        ]
        found[operator] = {
            number: rate * a_row[owners.owners[number]] for number, rate in rates.items()
        }
    return found, unknown


def _rows_by_fold(statistics: Statistics) -> dict[str, dict[int, float]]:
    """Return the rows per second of each bin of each fold, over all sides."""
    rows: dict[str, dict[int, float]] = {}
    for load in statistics.loads:
        of_fold = rows.setdefault(load.operator, {})
        of_fold[load.bin] = of_fold.get(load.bin, 0.0) + load.rows_per_second
    return rows


def _operators_of_folds(plan: TickPlan) -> dict[str, set[str]]:
    """Return the operators that move with the bins of a fold: the fold, and the steps of its stage."""
    named = Counter(name for stage in plan.stages for name in {step.origin for step in stage.steps})
    return {
        stage.head.operator: {stage.head.operator}
        | {step.origin for step in stage.steps if named[step.origin] == 1}
        for stage in plan.stages
        if isinstance(stage.head, FoldHead)
    }


def _busy_fractions(statistics: Statistics, since: int) -> dict[str, dict[int, float]]:
    """Return the fraction of the last intervals in which each worker was busy with each operator."""
    found: dict[str, dict[int, float]] = {}
    for each in statistics.operators:
        if each.interval > since:
            of_worker = found.setdefault(each.operator, {})
            busy = each.busy / INTERVALS_MIN
            of_worker[each.worker] = of_worker.get(each.worker, 0.0) + busy
    return found


def _policies(
    situation: Situation, statistics: Statistics
) -> tuple[tuple[tuple[str, Policy], ...], list[str]]:
    """Return the changed policies, and a reason for each fold."""
    chosen, reasons = [], []
    for head in _folds(situation.plan):
        found = [
            each
            for each in statistics.folds
            if each.operator == head.operator and each.policy == head.policy.value
        ]
        costs = [each for each in statistics.costs if each.operator == head.operator]
        label = f"{head.operator}: {head.policy.value}"
        if not situation.chooses_policies:
            reasons.append(f"{label} stays, as requested")
        elif not found or not costs or (redone := found[0].redone) is None:
            reasons.append(f"{label} stays; no estimate of repairs")
        elif head.policy is Policy.ORDERED:
            reasons.append(f"{label} stays; no estimate of repairs while rows wait")
        else:
            spent = costs[0].busy * redone / (1 + redone)
            numbers = f"{redone:.1%} of the rows are applied again, for {spent:.1%} of a core"
            if spent > REDONE_MAX:
                chosen.append((head.operator, Policy.ORDERED))
                reasons.append(f"{head.operator}: ordered, was speculative; {numbers}")
            else:
                reasons.append(f"{label} stays; {numbers}")
    return tuple(chosen), reasons


def _folds(plan: TickPlan) -> Iterator[FoldHead]:
    for stage in plan.stages:
        if isinstance(stage.head, FoldHead):
            yield stage.head


def _history(statistics: Statistics, since: int, workers: int) -> list[list[WorkerLoad]]:
    """Return the loads of all workers in each interval after `since`, in order.

    Intervals of workers do not begin at the same time, so they are matched backwards from the newest.
    """
    found: list[list[WorkerLoad]] = [[] for _ in range(workers)]
    for each in sorted(statistics.workers):
        if each.interval > since and each.worker < workers:
            found[each.worker].append(each)
    count = min(map(len, found))
    return [list(each) for each in zip(*(of[len(of) - count :] for of in found), strict=True)]


def over_mean(busy: list[float], worker: int | None = None) -> float:
    """Return the load of a worker, by default the busiest one, divided by the mean."""
    mean = sum(busy) / len(busy)
    load = max(busy) if worker is None else busy[worker]
    return load / mean if mean > 0 else 1.0
