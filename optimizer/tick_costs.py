"""What bins cost the workers that own them, and what it costs to move them, from statistics.

The unit of the cost of bins is seconds per second.  The cost of a tick is in seconds: `TICK_SECONDS`, plus
`ROW_SECONDS` and `BYTE_SECONDS` for each row and byte of state that moves.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import graph
from fsql.compiler.owner_map import BINS
from fsql.compiler.tick_plan import FoldHead
from fsql.optimizer.levelling import by_owner
from fsql.optimizer.replay import INTERVALS_MIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.owners import Owners
    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.choose_tick import Situation
    from fsql.optimizer.load_history import SecondsOfRows
    from fsql.optimizer.statistics import Statistics, WorkerLoad

TICK_SECONDS: Final = 0.002
ROW_SECONDS: Final = 0.8e-6
"""The time to hand over a row of state."""
BYTE_SECONDS: Final = 1 / (50 << 20)
"""The time to copy a byte of state."""

_OF_KEYS: Final = graph.CombineAggregate | graph.CombineChanges | graph.CombineSlices
"""What has one row of state for each key; others keep the rows themselves."""


class KnownCosts(NamedTuple):
    """The rates of bins, the seconds that a row of each takes, and the folds for which that is unknown."""

    rates: Mapping[str, Mapping[int, float]]
    seconds: SecondsOfRows
    unknown: tuple[str, ...]

    @property
    def costs(self) -> dict[str, dict[int, float]]:
        """Return the cost of each bin of each exchange."""
        return {
            name: {number: rate * self.seconds[name][number] for number, rate in rates.items()}
            for name, rates in self.rates.items()
            if name in self.seconds
        }


def bin_costs(situation: Situation, statistics: Statistics) -> KnownCosts:
    """Return what bins cost.

    The time of a fold on a worker is divided among the bins of this worker by their rows; the steps after a
    fold move with it.  So rows of a frequent key count less on its worker, because batches group them, and
    the total cost of the bins of a worker is the cost that was measured there.

    With a history, the time of a row is the mean of all intervals that are known, each with the owners that
    it had: that of a few intervals varies with what else the machine does.  The rates are those of the newest
    intervals then; otherwise the smoothed ones.
    """
    rates = (
        _rows_by_fold(statistics)
        if situation.history is None
        else situation.history.rates(INTERVALS_MIN)
    )
    spent = busy_fractions(statistics, situation.since)
    known = _known_intervals(situation, statistics)
    by_interval = {
        (each.operator, each.worker, each.interval): each.busy for each in statistics.operators
    }
    seconds: dict[str, list[float]] = {}
    unknown = []
    for operator, names in sorted(_operators_of_folds(situation.plan).items()):
        owners = situation.plan.assignment.owners.of(operator)
        of_fold = rates.get(operator, {})
        if of_fold and operator not in spent:
            unknown.append(operator)
        if situation.history is not None and known:
            busy = [
                [
                    sum(
                        by_interval.get((name, each.worker, each.interval), 0.0)
                        for name in sorted(names)
                    )
                    for each in loads
                ]
                for loads in known
            ]
            ages = reversed(range(len(known)))
            in_force = [situation.owners_at(age).of(operator).owners for age in ages]
            seconds[operator] = situation.history.seconds_of_rows(operator, busy, in_force)
            continue
        of_workers = [
            sum(spent.get(name, {}).get(worker, 0.0) for name in sorted(names))
            for worker in range(owners.workers)
        ]
        rows = by_owner(owners, of_fold)
        mean = sum(of_workers) / sum(rows) if sum(rows) else 0.0
        a_row = [
            taken / total if total else mean for taken, total in zip(of_workers, rows, strict=True)
        ]
        seconds[operator] = [a_row[owner] for owner in owners.owners]
    return KnownCosts(rates, seconds, tuple(unknown))


def _known_intervals(situation: Situation, statistics: Statistics) -> list[list[WorkerLoad]]:
    """Return the loads of workers in the intervals of which the rows of bins are known, too."""
    if situation.history is None:
        return []
    known = intervals_of(statistics, 0, situation.plan.workers)
    return known[-situation.history.intervals :] if situation.history.intervals else []


def intervals_of(statistics: Statistics, since: int, workers: int) -> list[list[WorkerLoad]]:
    """Return the loads of all workers in each interval after `since`, in order.

    Intervals of workers do not begin at the same time, so they are matched backwards from the newest.
    """
    found: list[list[WorkerLoad]] = [[] for _ in range(workers)]
    for each in sorted(statistics.workers):
        if each.interval > since and each.worker < workers:
            found[each.worker].append(each)
    count = min(map(len, found))
    return [list(each) for each in zip(*(of[len(of) - count :] for of in found), strict=True)]


def folds_without_state(plan: TickPlan, statistics: Statistics) -> list[str]:
    """Return the folds that receive rows but have no statistics of their state."""
    known = {each.operator for each in statistics.folds}
    with_rows = {each.operator for each in statistics.loads if each.rows_per_second > 0}
    return sorted(set(plan.exchanges.values()) & with_rows - known)


def owners_cost(situation: Situation, statistics: Statistics, after: Owners) -> float:
    """Return what it costs by the model to change the owners, in seconds."""
    history = situation.history
    rates = _rows_by_fold(statistics) if history is None else history.rates()
    return TickCosts(situation.plan, statistics, rates).seconds(
        situation.plan.assignment.owners, after
    )


class TickCosts:
    """What changes of owners cost, given the state of folds and the rates of bins."""

    def __init__(
        self,
        plan: TickPlan,
        statistics: Statistics,
        rates: Mapping[str, Mapping[int, float]],
        over_estimate: float = 0.0,
    ) -> None:
        """Use rates of as many intervals as are known, because state is of all rows, not only of the last.

        `over_estimate` is how much more ticks of the job took than they would have by this model.
        """
        self._least = TICK_SECONDS + over_estimate
        self._folds = statistics.folds
        self._rates = rates
        self._of_keys = {
            stage.head.operator
            for stage in plan.stages
            if isinstance(stage.head, FoldHead) and isinstance(stage.head.combine, _OF_KEYS)
        }

    def seconds(self, now: Owners, after: Owners) -> float:
        """Return the cost of a tick that changes the owners.

        A fold that has a row of state for each key has about the same number in all bins.  Others keep rows,
        so a bin has a part of the state as it has of the rows.
        """
        total = self._least
        for fold in self._folds:
            part = self._moved_part(fold.operator, now, after)
            total += part * (ROW_SECONDS * fold.state_rows + BYTE_SECONDS * fold.state_bytes)
        return total

    def _moved_part(self, operator: str, now: Owners, after: Owners) -> float:
        """Return which part of the state of a fold changes its owner."""
        one, other = now.of(operator).owners, after.of(operator).owners
        moved = [number for number in range(BINS) if one[number] != other[number]]
        rates = self._rates.get(operator, {})
        total = sum(rates.values())
        if operator in self._of_keys or not total:
            return len(moved) / BINS
        return sum(rates.get(number, 0.0) for number in moved) / total


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


def busy_fractions(
    statistics: Statistics, since: int, intervals: int = INTERVALS_MIN
) -> dict[str, dict[int, float]]:
    """Return the fraction of the last intervals in which each worker was busy with each operator."""
    of_workers: dict[int, set[int]] = {}
    for each in statistics.operators:
        of_workers.setdefault(each.worker, set()).add(each.interval)
    first = {worker: sorted(of)[-intervals:][0] for worker, of in of_workers.items()}
    found: dict[str, dict[int, float]] = {}
    for each in statistics.operators:
        if each.interval > since and each.interval >= first[each.worker]:
            of_worker = found.setdefault(each.operator, {})
            busy = each.busy / intervals
            of_worker[each.worker] = of_worker.get(each.worker, 0.0) + busy
    return found
