"""The order of filters: what is cheap and drops much comes first, if that is known and pays."""

from __future__ import annotations

from random import Random

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
    Measured,
    best_order,
    choose_filter_orders,
    cost_of,
)
from fsql.optimizer.statistics import Cost, Statistics
from fsql.tests.unit.optimizer.jobs import plan_of

SCRIPT = """
CREATE TABLE t (a STRING, b BIGINT) WITH ('connector' = 'stdin');
CREATE TABLE kept (a STRING) WITH ('connector' = 'stdout');
INSERT INTO kept SELECT a FROM t WHERE {};
"""
SLOW, QUICK = "REGEXP_LIKE(a, '(x+y)+$')", "b > 2"
EXPENSIVE, CHEAP = Measured(1e-6, 0.5), Measured(2e-9, 0.1)


def measured(where: str, rows: float = 1e6) -> tuple[Situation, Statistics]:
    """Return a plan, and what was measured of its two conditions."""
    plan = plan_of(SCRIPT.format(where))
    [(stage, run)] = [(s, each) for s in plan.stages for each in filter_runs(s)]
    costs = []
    for name, condition in zip(condition_names(stage, 0), run.conjuncts, strict=True):
        seconds, selectivity = EXPENSIVE if "regexp" in repr(condition).lower() else CHEAP
        rate = rows / SAMPLED_EVERY
        costs.append(Cost(name, rate, 1.0, rate * seconds, None, None, selectivity))
    return Situation(plan), Statistics(costs=tuple(costs))


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
    assert (again.choices, "stay" in again.reasons[-1]) == (PlanChoices(), True)


def test_what_is_not_known_or_does_not_pay_changes_nothing() -> None:
    situation, statistics = measured(f"{SLOW} AND {QUICK}")
    _, rare = measured(f"{SLOW} AND {QUICK}", rows=1000.0)
    assert choose_filter_orders(situation.plan, rare)[0] == ()
    for left in (statistics.costs[:1], statistics.costs[1:], ()):
        chosen, [reason] = choose_filter_orders(situation.plan, Statistics(costs=left))
        assert (chosen, "stay; no estimate of" in reason) == ((), True)


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
        best = cost_of(best_order(conditions), conditions)
        together = cost_of((tuple(range(len(conditions))),), conditions)
        assert best <= together * 1.000001
        order = list(range(len(conditions)))
        random.shuffle(order)
        apart = cost_of(tuple((number,) for number in order), conditions)
        assert best <= apart * 1.2  # copies are not regarded when conditions are sorted
