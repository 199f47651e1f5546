"""The order of filters: what is cheap and drops much comes first, if that is known and pays."""

from __future__ import annotations

from itertools import combinations, permutations
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.plan_choices import (
    PlanChoices,
    choices_of,
    condition_names,
    fault_of_choices,
    filter_runs,
    with_choices,
)
from fsql.compiler.statistics import SAMPLED_EVERY
from fsql.optimizer.choose_tick import Situation, choose_tick
from fsql.optimizer.filter_orders import (
    COPY_SECONDS,
    Conditions,
    Measured,
    best_order,
    choose_filter_orders,
    cost_of,
)
from fsql.optimizer.statistics import ConditionPair, Cost, Statistics, WorkerLoad
from fsql.tests.unit.optimizer.jobs import plan_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.optimizer.filter_orders import Groups

SCRIPT = """
CREATE TABLE t (a STRING, b BIGINT) WITH ('connector' = 'stdin');
CREATE TABLE kept (a STRING) WITH ('connector' = 'stdout');
INSERT INTO kept SELECT a FROM t WHERE {};
"""
SLOW, QUICK = "REGEXP_LIKE(a, '(x+y)+$')", "b > 2"
EXPENSIVE, CHEAP = Measured(1e-6, 0.5), Measured(2e-9, 0.1)


def measured(where: str, rows: float = 1e6, intervals: int = 2) -> tuple[Situation, Statistics]:
    """Return a plan, and what was measured of its two conditions."""
    plan = plan_of(SCRIPT.format(where))
    [(stage, run)] = [(s, each) for s in plan.stages for each in filter_runs(s)]
    costs = []
    for name, condition in zip(condition_names(stage, 0), run.conjuncts, strict=True):
        seconds, selectivity = EXPENSIVE if "regexp" in repr(condition).lower() else CHEAP
        rate = rows / SAMPLED_EVERY
        costs.append(Cost(name, rate, 1.0, rate * seconds, None, None, selectivity))
    loads = tuple(
        WorkerLoad(interval, worker, 0.1, 0.1)
        for interval in range(1, intervals + 1)
        for worker in range(plan.workers)
    )
    return Situation(plan), Statistics(costs=tuple(costs), workers=loads)


@pytest.mark.parametrize("where", [f"{SLOW} AND {QUICK}", f"{QUICK} AND {SLOW}"])
def test_an_expensive_condition_is_evaluated_last_wherever_it_is_written(where: str) -> None:
    situation, statistics = measured(where)
    choice = choose_tick(situation, statistics)
    assert not fault_of_choices(situation.plan, choice.choices)
    plan = with_choices(situation.plan, choice.choices)
    [stage] = [each for each in plan.stages if filter_runs(each)]
    [run] = filter_runs(stage)
    texts = [repr(stage.steps[step].function).lower() for step in run.steps]
    assert ["regexp" in text for text in texts] == [False, True]
    again = choose_tick(Situation(plan), statistics)
    assert (again.choices, "stay" in again.lines[-1]) == (PlanChoices(), True)


def test_what_is_not_known_or_does_not_pay_changes_nothing() -> None:
    situation, statistics = measured(f"{SLOW} AND {QUICK}")
    _, rare = measured(f"{SLOW} AND {QUICK}", rows=1000.0)
    assert choose_filter_orders(situation.plan, rare)[0] == ()
    for left in (statistics.costs[:1], statistics.costs[1:], ()):
        chosen, [reason] = choose_filter_orders(situation.plan, Statistics(costs=left))
        assert (chosen, "stay; no estimate of" in str(reason)) == ((), True)


def test_one_interval_does_not_change_the_order_of_conditions() -> None:
    """In one interval, other programs may have made a condition slow."""
    choice = choose_tick(*measured(f"{SLOW} AND {QUICK}", intervals=1))
    assert choice.choices.filters == ()
    [line] = [line for line in choice.lines if line.startswith("filter-")]
    assert line.endswith(": stay; no estimate, 1 of 2 intervals are measured")


def test_names_of_conditions_do_not_depend_on_the_order_in_force() -> None:
    situation, statistics = measured(f"{SLOW} AND {QUICK}")
    before = situation.plan
    after = with_choices(before, choose_tick(situation, statistics).choices)
    assert choices_of(before) != choices_of(after)
    names = [
        [condition_names(stage, 0) for stage in plan.stages if filter_runs(stage)]
        for plan in (before, after)
    ]
    assert names[0] == names[1]


def test_no_other_order_is_much_better_than_the_best() -> None:
    random = Random(1)
    for _ in range(200):
        conditions = [
            Measured(random.choice((1e-9, 1e-8, 1e-7, 1e-6)), random.random())
            for _ in range(random.randint(2, 5))
        ]
        run = Conditions(conditions)
        best = cost_of(best_order(run), run)
        together = cost_of((tuple(range(len(conditions))),), run)
        assert best <= together * 1.000001
        order = list(range(len(conditions)))
        random.shuffle(order)
        apart = cost_of(tuple((number,) for number in order), run)
        assert best <= apart * 1.2  # copies are not regarded when conditions are sorted


def conditions_over(
    rows: Sequence[tuple[bool, ...]], seconds: Sequence[float], *, pairs: bool = True
) -> Conditions:
    """Return what a worker measures of conditions: each alone, and each pair if `pairs`."""
    true = [sum(row[number] for row in rows) for number in range(len(seconds))]
    given = {
        (one, other): sum(row[one] and row[other] for row in rows) / true[one]
        for one, other in combinations(range(len(seconds)), 2)
        if pairs and true[one]
    }
    parts = [each / len(rows) for each in true]
    return Conditions([Measured(*each) for each in zip(seconds, parts, strict=True)], given)


def seconds_over(
    rows: Sequence[tuple[bool, ...]], seconds: Sequence[float], groups: Groups
) -> float:
    """Return what filters take for a row, row by row."""
    spent = 0.0
    for row in rows:
        for group in groups:
            spent += sum(seconds[number] for number in group)
            if not all(row[number] for number in group):
                break
            spent += COPY_SECONDS
    return spent / len(rows)


def best_by_trial(rows: Sequence[tuple[bool, ...]], seconds: Sequence[float]) -> float:
    """Return the least time of one filter for each condition, over all orders."""
    orders = permutations(range(len(seconds)))
    return min(seconds_over(rows, seconds, tuple((each,) for each in order)) for order in orders)


def test_a_condition_behind_its_equals_drops_nothing() -> None:
    """Three conditions are true for the same rows; the fourth drops more, and costs twice as much."""
    rows = [(n % 2 == 0,) * 3 + (n % 20 < 2,) for n in range(20)]
    seconds = (1e-6, 1.1e-6, 1.2e-6, 2.3e-6)
    independent = best_order(conditions_over(rows, seconds, pairs=False))
    assert independent == ((0,), (1,), (2,), (3,))
    run = conditions_over(rows, seconds)
    assert best_order(run) == ((0,), (3,), (1, 2))
    right, wrong = (seconds_over(rows, seconds, each) for each in (best_order(run), independent))
    assert (f"{right * 1e9:.1f}", f"{wrong * 1e9:.1f}") == ("2283.0", "3346.5")
    assert cost_of(best_order(run), run) == pytest.approx(right)
    assert cost_of(independent, run) == pytest.approx(wrong)


def test_conditions_that_exclude_each_other_come_first() -> None:
    """No row passes the first two, which the statistics of each alone do not show."""
    rows = [(n % 2 == 0, n % 2 == 1, n % 10 < 4) for n in range(20)]
    seconds = (1e-6, 1e-6, 1.1e-6)
    assert best_order(conditions_over(rows, seconds, pairs=False)) == ((2,), (0,), (1,))
    run = conditions_over(rows, seconds)
    assert run.rows_left((0, 1, 2)) == [1.0, 0.5, 0.0, 0.0]
    assert run.rows_left((2, 0, 1)) == pytest.approx([1.0, 0.4, 0.2, 0.0])
    assert best_order(run)[0] == (2,)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_lead_to_better_orders(seed: int) -> None:
    """Conditions that share what decides them; over many drawings, pairs come closer to the best order."""
    random = Random(seed)
    with_pairs = without = best = 0.0
    for _ in range(40):
        count, shared = random.randint(3, 4), random.random()
        causes = [random.random() for _ in range(count)]
        rows = []
        for _ in range(100):
            common = random.random()
            own = [common if random.random() < shared else random.random() for _ in range(count)]
            rows.append(tuple(part < cause for part, cause in zip(own, causes, strict=True)))
        seconds = [random.choice((1e-7, 3e-7, 1e-6)) for _ in range(count)]
        groups = [best_order(conditions_over(rows, seconds, pairs=each)) for each in (True, False)]
        for each in groups:
            assert sorted(number for group in each for number in group) == list(range(count))
        with_pairs += seconds_over(rows, seconds, groups[0])
        without += seconds_over(rows, seconds, groups[1])
        best += min(best_by_trial(rows, seconds), seconds_over(rows, seconds, groups[0]))
    assert with_pairs < without
    assert with_pairs <= best * 1.05


THREE = "REGEXP_LIKE(a, '(x+y)+$') AND REGEXP_LIKE(a, 'y$') AND b > 2"


def test_reasons_have_the_numbers_of_pairs() -> None:
    plan = plan_of(SCRIPT.format(THREE))
    [(_, names)] = [(each, condition_names(each, 0)) for each in plan.stages if filter_runs(each)]
    label, rate = names[0].partition("#")[0], 1e6 / SAMPLED_EVERY
    costs = tuple(
        Cost(name, rate, 1.0, rate * seconds, None, None, part)
        for name, seconds, part in zip(names, (1e-6, 1e-6, 1.8e-6), (0.5, 0.5, 0.1), strict=True)
    )
    pairs = (ConditionPair(label, 0, 1, 0.5, 0.99), ConditionPair(label, 0, 2, 0.1, 0.1))
    [order], [reason] = choose_filter_orders(plan, Statistics(costs=costs, pairs=pairs))
    assert order.groups == ((0,), (2,), (1,))
    assert str(reason) == (
        f"{label}: other order; #1 and #2 and #0 takes 3.8e+03 ns a row"
        " and #0, then #2, then #1 1.97e+03 ns, which saves 183.4% of a core;"
        " #1 is true for 50% of the rows, for 99% where #0 is;"
        " no estimate of 1 of 3 pairs, taken as independent"
    )
