"""The choice of ticks: loads that are even, skewed, drifting, jumping and alternating; what is not known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.assignment import Assignment
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.plan_choices import NO_CHOICES
from fsql.compiler.tick_plan import FoldHead
from fsql.optimizer.choose_tick import Situation, choose_tick
from fsql.optimizer.levelling import level
from fsql.optimizer.replay import IMBALANCE
from fsql.optimizer.statistics import Cost, FoldLoad, Load, OperatorLoad, Statistics, WorkerLoad
from fsql.tests.unit.optimizer.jobs import plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.owners import Owners
    from fsql.compiler.tick_plan import TickPlan

SCRIPT = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'stdin', 'format' = 'text');
CREATE TABLE counts (line STRING, n BIGINT) WITH ('connector' = 'stdout');
INSERT INTO counts SELECT line, COUNT(*) AS n FROM lines GROUP BY line;
"""
SECONDS_A_ROW = 1e-6


def fold_of(plan: TickPlan) -> FoldHead:
    return next(each.head for each in plan.stages if isinstance(each.head, FoldHead))


def busy_of(owners: Owners, rates: Sequence[float]) -> list[float]:
    """Return how busy each worker is with the rows of its bins."""
    busy = [0.0] * owners.workers
    for number, rate in enumerate(rates):
        busy[owners.every.owners[number]] += rate * SECONDS_A_ROW
    return busy


def measured(
    plan: TickPlan, rates: Sequence[float], busy: Sequence[Sequence[float]], first: int = 1
) -> Statistics:
    """Return what a collector finds: rates of bins, and the load of each worker in each interval."""
    operator, total = fold_of(plan).operator, sum(rates)
    return Statistics(
        loads=tuple(Load(operator, 0, bin_, rate, 0.0) for bin_, rate in enumerate(rates) if rate),
        costs=(Cost(operator, total, 1.0, total * SECONDS_A_ROW, SECONDS_A_ROW, None, 1.0),),
        folds=(FoldLoad(operator, fold_of(plan).policy.value, 0.0, 0.0, 10_000, 1_000_000, 0.0),),
        workers=tuple(
            WorkerLoad(first + interval, worker, share, share)
            for interval, shares in enumerate(busy)
            for worker, share in enumerate(shares)
        ),
        operators=tuple(
            OperatorLoad(first + interval, worker, operator, share)
            for interval, shares in list(enumerate(busy))[-2:]
            for worker, share in enumerate(shares)
        ),
    )


@cache
def skewed(seed: int, total: float = 800_000.0) -> list[float]:
    """Return rates of bins as keys of a Zipf distribution have them."""
    random, rates = Random(seed), [0.0] * BINS
    for rank in range(1, 2000):
        # Half of the rows go to a quarter of the bins, another one with each seed.
        first = seed % 4 * BINS // 4 if rank % 2 else 0
        rates[first + random.randrange(BINS // 4 if rank % 2 else BINS)] += 1 / rank
    return [rate * total / sum(rates) for rate in rates]


def followed(
    rates_at: Callable[[int], Sequence[float]], intervals: int, workers: int = 4
) -> tuple[list[int], list[float]]:
    """Follow a load by ticks; return the intervals in which owners changed, and the imbalance in each."""
    plan = plan_of(SCRIPT, workers)
    history: list[list[float]] = []
    smooth, since, ticks, imbalances = [0.0] * BINS, 0, list[int](), list[float]()
    for interval in range(1, intervals + 1):
        rates = rates_at(interval)
        weight = 1.0 if interval == 1 else 0.3
        smooth = [was + (now - was) * weight for was, now in zip(smooth, rates, strict=True)]
        busy = busy_of(plan.assignment.owners, rates)
        history.append(busy)
        imbalances.append(max(busy) / (sum(busy) / workers))
        ages = tuple(interval - each for each in ticks)
        choice = choose_tick(Situation(plan, since, ages), measured(plan, smooth, history))
        assert choice.choices == NO_CHOICES
        if choice.owners is not None:
            plan = replace(plan, assignment=Assignment(choice.owners))
            ticks.append(interval)
            since = interval
    return ticks, imbalances


def test_an_even_load_changes_nothing() -> None:
    ticks, _ = followed(lambda _: [200.0] * BINS, 20)
    assert ticks == []


@pytest.mark.parametrize("seed", range(2))
def test_a_skewed_load_is_level_after_two_ticks(seed: int) -> None:
    rates = skewed(seed)
    ticks, imbalances = followed(lambda _: rates, 40)
    assert ticks[:1] == [2]
    assert len(ticks) <= 2
    heaviest = max(rates) * 4 / sum(rates)
    assert imbalances[-1] <= max(1 + IMBALANCE, heaviest) + 1e-9


def test_a_load_that_jumps_is_followed() -> None:
    ticks, imbalances = followed(lambda at: skewed(1 if at <= 20 else 2), 80)
    assert len(ticks) <= 4
    assert any(20 < tick <= 30 for tick in ticks)
    assert imbalances[-1] < imbalances[20]


@pytest.mark.parametrize("period", [1, 2, 5])
def test_a_load_that_alternates_causes_few_ticks(period: int) -> None:
    ticks, _ = followed(lambda at: skewed(1 + at // period % 2), 48)
    assert len(ticks) <= 7


def test_a_load_that_drifts_causes_few_ticks() -> None:
    def rates(at: int) -> list[float]:
        one, other, part = skewed(1), skewed(2), at / 48
        return [a * (1 - part) + b * part for a, b in zip(one, other, strict=True)]

    ticks, _ = followed(rates, 48)
    assert len(ticks) <= 7


def test_little_to_do_goes_to_one_worker_and_back() -> None:
    plan = plan_of(SCRIPT, 2)
    idle = [50_000.0 / BINS] * BINS
    now = plan.assignment.owners
    choice = choose_tick(
        Situation(plan, hosted=True), measured(plan, idle, [busy_of(now, idle)] * 2)
    )
    assert choice.owners is not None
    assert set(choice.owners.every.owners) == {0}
    alone = replace(plan, assignment=Assignment(choice.owners))
    for total, is_spread in ((50_000.0, False), (450_000.0, False), (700_000.0, True)):
        rates = [total / BINS] * BINS
        busy = [busy_of(alone.assignment.owners, rates)] * 2
        then = choose_tick(Situation(alone, hosted=True), measured(alone, rates, busy))
        assert (then.owners is not None) == is_spread


def test_what_is_not_known_is_no_reason_for_a_change() -> None:
    plan = plan_of(SCRIPT, 2)
    operator = fold_of(plan).operator
    nothing = choose_tick(Situation(plan), Statistics())
    assert not nothing.is_change
    assert nothing.lines == (
        "owners: stay; no estimate, 0 of 2 intervals since the last tick are measured",
        f"{operator}: stays speculative; no estimate of repairs",
        "rows of lines: stay; no estimate, 0 of 2 intervals since the last tick are measured",
        "linger of lines: none, stays; no estimate, 0 of 2 intervals since the last tick are measured",
    )
    known = measured(plan, skewed(1), [[0.9, 0.1]] * 2)
    without = choose_tick(Situation(plan), known._replace(operators=()))
    assert without.lines[0] == f"owners: stay; no estimate of the cost of {operator}"
    assert choose_tick(Situation(plan_of(SCRIPT)), known).owners is None


def test_what_a_worker_does_besides_its_bins_stays() -> None:
    plan, rates = plan_of(SCRIPT, 2), [1.2e6 / BINS] * BINS
    known = measured(plan, rates, [[0.8, 0.6]] * 8)
    folds = tuple(each._replace(busy=0.6) for each in known.operators)
    choice = choose_tick(Situation(plan), known._replace(operators=folds))
    assert choice.owners is not None
    assert busy_of(choice.owners, rates) == pytest.approx([0.5, 0.7], rel=0.02)
    assert choose_tick(Situation(plan), known).owners != choice.owners


def test_a_worker_whose_core_others_have_is_no_busier() -> None:
    plan, rates = plan_of(SCRIPT, 2), [200.0] * BINS
    even = measured(plan, rates, [busy_of(plan.assignment.owners, rates)] * 2)
    waits = tuple(each._replace(elapsed=0.9) if each.worker else each for each in even.workers)
    assert choose_tick(Situation(plan), even._replace(workers=waits)).owners is None


def test_elapsed_time_is_no_load() -> None:
    plan, rates = plan_of(SCRIPT, 2), skewed(1, 100_000.0)
    known = measured(plan, rates, [busy_of(plan.assignment.owners, rates)] * 2)
    assert choose_tick(Situation(plan), known).owners is None
    waits = tuple(each._replace(elapsed=each.busy * 5) for each in known.workers)
    assert choose_tick(Situation(plan), known._replace(workers=waits)).owners is None


def test_workers_that_are_the_busiest_in_turn_keep_their_bins() -> None:
    plan, rates = plan_of(SCRIPT, 2), [200.0] * BINS
    assert (
        choose_tick(Situation(plan), measured(plan, rates, [[0.8, 0.4], [0.4, 0.8]])).owners is None
    )
    assert choose_tick(Situation(plan), measured(plan, rates, [[0.8, 0.4]] * 2)).owners is not None


def test_a_frequent_key_whose_rows_cost_less_stays() -> None:
    plan, rates = plan_of(SCRIPT, 2), [400_000.0 / BINS] * BINS
    rates[7] += 400_000.0
    busy = [[0.43, 0.37]] * 2  # by rows it would be 0.6 and 0.2
    assert busy_of(plan.assignment.owners, rates) == pytest.approx([0.6, 0.2], rel=1e-3)
    choice = choose_tick(Situation(plan), measured(plan, rates, busy))
    assert choice.owners is None
    assert choice.lines[0].startswith("owners: stay; worker 0 works for 43%, at 1.07 times")
    clear = choose_tick(Situation(plan), measured(plan, rates, [[0.5, 0.3]] * 2))
    assert clear.owners is not None
    assert clear.owners.every.owners[7] == 0
    moved = [
        number
        for number, owner in enumerate(clear.owners.every.owners)
        if owner and number < BINS // 2
    ]
    by_rows = sum(rates[number] for number in moved) * SECONDS_A_ROW
    assert by_rows * 0.5 / 0.6 == pytest.approx(
        0.1, rel=0.05
    )  # half of the difference, as measured


def test_intervals_before_the_last_tick_do_not_count() -> None:
    plan = plan_of(SCRIPT, 2)
    rates = skewed(1)
    busy = [busy_of(plan.assignment.owners, rates)] * 2
    assert choose_tick(Situation(plan), measured(plan, rates, busy)).owners is not None
    assert choose_tick(Situation(plan, since=1), measured(plan, rates, busy)).owners is None


def test_after_many_ticks_the_next_one_waits_until_they_are_older() -> None:
    """Twice as many intervals for each tick would soon be more than collectors read."""
    plan, rates = plan_of(SCRIPT, 2), skewed(1)
    known = measured(plan, rates, [busy_of(plan.assignment.owners, rates)] * 12)
    for ages, since, reason in (
        ((59, 58, 60), 5, "no estimate, 7 of 8 intervals since the last tick are measured"),
        (
            (59, 20, 15),
            0,
            "3 ticks are among the last 60 intervals, and the next one waits until one of them is older",
        ),
    ):
        waits = choose_tick(Situation(plan, since=since, ages=ages), known)
        assert waits.owners is None
        assert [each for each in waits.lines if "intervals" in each] == [
            f"owners: stay; {reason}",
            f"rows of lines: stay; {reason}",
            f"linger of lines: none, stays; {reason}",
        ]
        older = choose_tick(Situation(plan, ages=tuple(age + 1 for age in ages)), known)
        assert older.owners is not None


def test_what_was_not_measured_is_no_estimate() -> None:
    plan = plan_of(SCRIPT, 2)
    operator, rates = fold_of(plan).operator, skewed(1)
    busy = [busy_of(plan.assignment.owners, rates)] * 2
    known = measured(plan, rates, busy)
    without_state = choose_tick(Situation(plan), known._replace(folds=()))
    assert without_state.owners is None
    assert without_state.lines[:2] == (
        f"owners: stay; no estimate of the state of {operator}",
        f"{operator}: stays speculative; no estimate of repairs",
    )
    nothing_applied = known._replace(
        folds=(FoldLoad(operator, "speculative", None, None, 100, 9000, 0.0),)
    )
    choice = choose_tick(Situation(plan), nothing_applied)
    assert choice.owners is not None
    assert choice.lines[1] == f"{operator}: stays speculative; no estimate of repairs"


def test_levelling_moves_few_bins_and_takes_what_is_fixed_into_account() -> None:
    now = OwnerMap.of_equal_ranges(2)
    even = dict.fromkeys(range(BINS), 1.0)
    assert level(now, even, [0.0, 0.0]) == now
    after = level(now, even, [1000.0, 0.0])
    moved = sum(one != other for one, other in zip(now.owners, after.owners, strict=True))
    assert 450 <= moved <= 500
    alone = {7: 100.0}
    assert level(now, alone, [0.0, 0.0]) == now


def test_a_plan_for_1000_workers() -> None:
    random = Random(5)
    costs = {number: random.random() for number in range(BINS)}
    after = level(OwnerMap.of_equal_ranges(1000), costs, [0.0] * 1000)
    loads = [0.0] * 1000
    for number, cost in costs.items():
        loads[after.owners[number]] += cost
    assert max(loads) <= 1.2 * sum(loads) / 1000
