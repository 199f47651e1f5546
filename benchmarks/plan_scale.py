"""Plans for more workers than this machine has: how even owners can be, and how long it takes to choose.

The histograms of bins are those of keys by Zipf's law, counted as an exchange counts them; the workers are
numbers.  `best_possible` is the heaviest bin over the mean, or 1: a bin has one owner, so no map of owners is
more even.  Then two exchanges are levelled, with one map for both and with one for each.  Their skew is
opposite: the frequent keys of the second are in the bins where the first has rare ones.  At last a tick is
chosen for a plan of many stages, from statistics of all its bins and workers.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.benchmarks.zipf import ZipfKeys, busiest_over_mean
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.tick_plan import FoldHead
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose
from fsql.optimizer.choose_tick import Situation, choose_tick
from fsql.optimizer.levelling import by_owners, level, level_exchanges
from fsql.optimizer.replay import INTERVALS_MIN, over_mean
from fsql.optimizer.statistics import Cost, FoldLoad, Load, OperatorLoad, Statistics, WorkerLoad

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.tick_plan import TickPlan

_ROWS: Final = 1_000_000
_SECONDS_A_ROW: Final = 1e-6
_TABLES: Final = """
CREATE TABLE events (key STRING, item BIGINT) WITH ('connector' = 'stdin', 'format' = 'csv');
CREATE TABLE counts (key STRING, n BIGINT) WITH ('connector' = 'blackhole', 'changes' = 'retract');
"""
_BUSIEST: Final = 0.9
"""How busy the busiest worker is in the statistics from which a tick is chosen."""


@dataclass(frozen=True, slots=True)
class PlanScale:
    """The parameters: numbers of workers, exponents, stages of the plan, and how many draws of keys."""

    workers: Sequence[int]
    exponents: Sequence[float]
    stages: int
    draws: int


def measure_plans(scale: PlanScale) -> Iterator[dict[str, Any]]:
    """Yield how even plans are for each exponent and number of workers, then what it takes to choose one."""
    for exponent in scale.exponents:
        drawn = [ZipfKeys(exponent, _ROWS, seed).bins() for seed in range(scale.draws)]
        for workers in scale.workers:
            yield _evenness(exponent, drawn, workers)
            yield _two_exchanges(exponent, drawn, workers)
    first = ZipfKeys(scale.exponents[0], _ROWS).bins()
    yield _choice(max(scale.workers), scale.stages, first)


def _evenness(exponent: float, drawn: Sequence[NDArray[Any]], workers: int) -> dict[str, Any]:
    """Return how even owners are, the median of the draws."""
    equal = OwnerMap.of_equal_ranges(workers)
    before, after, best, moved = [], [], [], []
    for bins in drawn:
        costs = {number: float(rows) for number, rows in enumerate(bins.tolist())}
        levelled = level(equal, costs, [0.0] * workers)
        before.append(busiest_over_mean(equal, bins))
        after.append(busiest_over_mean(levelled, bins))
        best.append(max(1.0, float(bins.max()) * workers / float(bins.sum())))
        moved.append(
            sum(one != other for one, other in zip(equal.owners, levelled.owners, strict=True))
        )
    return {
        "benchmark": "plan-scale",
        "exponent": exponent,
        "workers": workers,
        "equal_over_mean": round(statistics.median(before), 3),
        "levelled_over_mean": round(statistics.median(after), 3),
        "best_possible": round(statistics.median(best), 3),
        "moved_bins": round(statistics.median(moved)),
    }


def _two_exchanges(exponent: float, drawn: Sequence[NDArray[Any]], workers: int) -> dict[str, Any]:
    """Return how even the owners of two exchanges are, the median of the draws.

    The second has 1.5 times the rows.
    "each" is the busiest worker over the mean in the exchange where this is greater, "sum" in both together.
    """
    equal = Owners.of_equal_ranges(workers)
    found: dict[str, list[float]] = {}
    for bins in drawn:
        ordered = np.sort(bins)
        rows = {"first": ordered, "second": 1.5 * ordered[::-1]}
        costs = {name: dict(enumerate(of.tolist())) for name, of in rows.items()}
        shared, own = (
            level_exchanges(equal, costs, [0.0] * workers, groups)
            for groups in ([list(rows)], [[name] for name in rows])
        )
        for plan, owners in (("equal", equal), ("one_map", shared), ("own_maps", own)):
            each = max(busiest_over_mean(owners.of(name), of) for name, of in rows.items())
            loads = by_owners(owners, costs)
            found.setdefault(f"{plan}_each_over_mean", []).append(each)
            found.setdefault(f"{plan}_sum_over_mean", []).append(over_mean(loads))
    return {
        "benchmark": "plan-scale",
        "exponent": exponent,
        "workers": workers,
        "exchanges": 2,
        **{name: round(statistics.median(values), 3) for name, values in found.items()},
    }


def _choice(workers: int, stages: int, bins: NDArray[Any]) -> dict[str, Any]:
    """Return the seconds in which a tick is chosen; the rows of all stages have the same keys."""
    plan = _plan(workers, stages)
    measured = _statistics(plan, bins)
    started = time.perf_counter()
    choice = choose_tick(Situation(plan), measured)
    seconds = time.perf_counter() - started
    return {
        "benchmark": "plan-scale",
        "workers": workers,
        "stages": len(_folds(plan)),
        "loads": len(measured.loads),
        "seconds_to_choose": round(seconds, 3),
        "reason": str(choice.reasons[0]),
    }


def _plan(workers: int, stages: int) -> TickPlan:
    """Return the plan of a script that groups one table in as many ways as there are stages."""
    insert = (
        "INSERT INTO counts SELECT key, COUNT(*) AS n FROM events WHERE item > %d GROUP BY key;"
    )
    inserts = [insert % number for number in range(stages)]
    text = "\n".join([_TABLES, *inserts])
    return choose(compile_job(script_of_text(text, {})).graph, workers=workers)


def _folds(plan: TickPlan) -> list[FoldHead]:
    return [stage.head for stage in plan.stages if isinstance(stage.head, FoldHead)]


def _statistics(plan: TickPlan, bins: NDArray[Any]) -> Statistics:
    """Return what a collector finds where the workers are busy with the rows of their bins."""
    owners, folds = plan.assignment.owners.every, _folds(plan)
    busy_mean = _BUSIEST / busiest_over_mean(owners, bins)
    rates = bins * (busy_mean * owners.workers / _SECONDS_A_ROW / len(folds) / float(bins.sum()))
    total = float(rates.sum())
    busy = [0.0] * owners.workers
    for number in range(BINS):
        busy[owners.owners[number]] += float(rates[number]) * _SECONDS_A_ROW * len(folds)
    names = sorted(fold.operator for fold in folds)
    return Statistics(
        loads=tuple(
            Load(name, 0, number, rate, 0.0)
            for name in names
            for number, rate in enumerate(rates.tolist())
            if rate
        ),
        costs=tuple(
            Cost(name, total, 1.0, total * _SECONDS_A_ROW, _SECONDS_A_ROW, None, 1.0)
            for name in names
        ),
        folds=tuple(
            FoldLoad(name, "speculative", 0.0, 0.0, 10_000, 1_000_000, 0.0) for name in names
        ),
        workers=tuple(
            WorkerLoad(interval, worker, share, share)
            for interval in range(1, INTERVALS_MIN + 1)
            for worker, share in enumerate(busy)
        ),
        operators=tuple(
            OperatorLoad(interval, worker, name, share / len(names))
            for interval in range(1, INTERVALS_MIN + 1)
            for worker, share in enumerate(busy)
            for name in names
        ),
    )
