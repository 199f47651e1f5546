"""The choice of how much of a table goes to other workers: who reads, what its stage takes, unknowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from fsql.compiler.assignment import Assignment
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import PlanChoices, with_choices
from fsql.compiler.tick_plan import Policy, TickPlan
from fsql.optimizer.choose_tick import Situation, choose_tick
from fsql.optimizer.rebalancing import Rebalancing, choose_rebalancing
from fsql.optimizer.statistics import FrontLoad, OperatorLoad, Statistics, WorkerLoad
from fsql.tests.unit.optimizer.jobs import plan_of

SCRIPT = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'stdin', 'format' = 'text');
CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'stdout');
INSERT INTO counts SELECT word, COUNT(*) AS n
FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS found (word) GROUP BY word;
"""
PROJECTED_TWICE = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'stdin', 'format' = 'text');
CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'stdout');
INSERT INTO counts SELECT UPPER(word), n + 1 FROM (
    SELECT word, COUNT(*) AS n FROM (SELECT LOWER(line) AS word FROM lines) GROUP BY word
);
"""
TWO = """
CREATE TABLE a (line STRING) WITH ('connector' = 'file', 'path' = 'a', 'format' = 'text');
CREATE TABLE b (line STRING) WITH ('connector' = 'file', 'path' = 'b', 'format' = 'text');
CREATE TABLE kept (line STRING) WITH ('connector' = 'stdout');
INSERT INTO kept SELECT word FROM a CROSS JOIN UNNEST(SPLIT(line, ' ')) AS found (word)
UNION ALL SELECT UPPER(line) FROM b;
"""
Spent = Mapping[str, Sequence[float]]
"""What operators take on each worker, as fractions of a core."""


def names_of(plan: TickPlan) -> tuple[str, str]:
    """Return the name of the stage's step that takes time, and that of the fold."""
    return "Unnest", next(iter(plan.exchanges.values()))


def measured(spent: Spent, bytes_per_second: float = 0.0, table: str = "lines") -> Statistics:
    """Return what a collector finds in two intervals that are alike."""
    workers = len(next(iter(spent.values())))
    totals = [sum(of[worker] for of in spent.values()) for worker in range(workers)]
    return Statistics(
        workers=tuple(
            WorkerLoad(interval, worker, total, total)
            for interval in (1, 2)
            for worker, total in enumerate(totals)
        ),
        operators=tuple(
            OperatorLoad(interval, worker, name, of[worker])
            for interval in (1, 2)
            for name, of in spent.items()
            for worker in range(workers)
        ),
        fronts=(FrontLoad(table, 0, 0.0, bytes_per_second, 0.0, None, 0.0),),
    )


def chosen(
    spent: Spent, *, plan: TickPlan | None = None, bytes_per_second: float = 0.0
) -> Rebalancing:
    workers = len(next(iter(spent.values())))
    plan = plan or plan_of(SCRIPT, workers)
    return choose_rebalancing(Situation(plan), measured(spent, bytes_per_second))


def by_one(*, workers: int, read: float, stage: float, fold: float) -> Spent:
    """Return the load if worker 0 reads all, and the fold is spread evenly."""
    others = (0.0,) * (workers - 1)
    [unnest, over] = names_of(plan_of(SCRIPT))
    return {"read": (read, *others), unnest: (stage, *others), over: (fold / workers,) * workers}


@pytest.mark.parametrize(
    ("workers", "read", "percent"), [(2, 0.001, 50), (2, 0.2, 65), (4, 0.001, 75), (4, 0.2, 100)]
)
def test_the_busiest_worker_takes_the_least(workers: int, read: float, percent: int) -> None:
    found = chosen(by_one(workers=workers, read=read, stage=0.6, fold=0.2))
    assert found.tables == (("lines", percent),)


def test_the_reason_has_the_loads_and_the_folds_that_become_ordered() -> None:
    found = chosen(by_one(workers=2, read=0.1, stage=0.6, fold=0.2))
    [_, fold] = names_of(plan_of(SCRIPT))
    assert found.policies == ((fold, Policy.ORDERED),)
    [reason] = map(str, found.reasons)
    assert reason == (
        "rows of lines: 60 % to other workers; its first stage takes 60% of a core; the busiest worker takes"
        f" 80%, 1.78 times the mean, and would take 46% with 60 %; {fold} becomes ordered"
    )


def test_the_reasons_of_folds_agree_with_the_rebalancing() -> None:
    spent = by_one(workers=2, read=0.1, stage=0.6, fold=0.2)
    [_, fold] = names_of(plan_of(SCRIPT))
    choice = choose_tick(Situation(plan_of(SCRIPT, 2)), measured(spent, 0.0))
    assert choice.choices.policies == ((fold, Policy.ORDERED),)
    [reason] = [each for each in choice.lines if each.startswith(f"{fold}: ")]
    assert reason == f"{fold}: ordered, was speculative; rows before it are rebalanced"


def test_readers_that_are_as_busy_as_others_keep_their_rows() -> None:
    even = {"read": (0.1, 0.1), "Unnest": (0.4, 0.4)}
    [reason] = map(str, chosen(even).reasons)
    assert reason == "rows of lines: stay; worker 0 works for 50%, at 1.00 times the mean"


def test_a_worker_that_is_busy_with_keys_is_not_relieved_of_rows_that_others_read_too() -> None:
    [_, fold] = names_of(plan_of(SCRIPT))
    skewed = {"read": (0.1, 0.1), "Unnest": (0.2, 0.2), fold: (0.4, 0.1)}
    assert chosen(skewed).tables == ()


def test_rows_are_not_sent_if_that_takes_as_much_as_their_stage() -> None:
    spent = by_one(workers=2, read=0.1, stage=0.3, fold=0.2)
    assert chosen(spent, bytes_per_second=50e6).tables == (("lines", 65),)
    assert chosen(spent, bytes_per_second=500e6).tables == ()


def test_what_is_rebalanced_stays_where_loads_are_even_and_changes_where_they_are_not() -> None:
    plan = with_choices(plan_of(SCRIPT, 2), PlanChoices(rebalanced=(("lines", 50),)))
    even = {"read": (0.2, 0.0), "Unnest": (0.3, 0.3), "rest": (0.0, 0.15)}
    assert chosen(even, plan=plan).tables == ()
    uneven = {"read": (0.3, 0.0), "Unnest": (0.3, 0.3)}
    assert chosen(uneven, plan=plan).tables == (("lines", 75),)
    slightly = {"read": (0.2, 0.0), "Unnest": (0.3, 0.3), "rest": (0.0, 0.1)}
    assert chosen(slightly, plan=plan).tables == ()
    back = {"read": (0.3, 0.3), "Unnest": (0.1, 0.1), "rest": (0.0, 0.3)}
    assert chosen(back, plan=plan).tables == ()


def test_steps_that_other_stages_have_too_count_as_far_as_the_reader_takes_more() -> None:
    plan = plan_of(PROJECTED_TWICE, 2)
    [twice] = {s.origin for s in plan.stages[0].steps} & {s.origin for s in plan.stages[1].steps}
    spent = {"read": (0.1, 0.0), twice: (0.5, 0.1)}
    [reason] = map(str, chosen(spent, plan=plan).reasons)
    assert "its first stage takes 40% of a core" in reason
    both = {"read": (0.1, 0.1), twice: (0.5, 0.1)}
    assert "no estimate of what its first stage takes" in str(chosen(both, plan=plan).reasons[0])


def test_one_owner_of_all_bins_gets_no_rows_from_itself() -> None:
    plan = plan_of(SCRIPT, 2)
    alone = replace(plan, assignment=Assignment(Owners(OwnerMap((0,) * BINS, 2))))
    [reason] = map(
        str, chosen(by_one(workers=2, read=0.1, stage=0.6, fold=0.2), plan=alone).reasons
    )
    assert reason == "rows of lines: stay; worker 0 owns all bins"


def test_folds_whose_policy_was_requested_stay_speculative() -> None:
    spent = by_one(workers=2, read=0.1, stage=0.6, fold=0.2)
    situation = Situation(plan_of(SCRIPT, 2), chooses_policies=False)
    found = choose_rebalancing(situation, measured(spent))
    assert (found.tables, found.policies) == ((), ())
    assert str(found.reasons[0]).endswith(" stays speculative, as requested")


def test_what_is_not_measured_changes_nothing() -> None:
    plan = plan_of(SCRIPT, 2)
    [reason] = map(str, choose_rebalancing(Situation(plan), Statistics()).reasons)
    assert reason == (
        "rows of lines: stay; no estimate, 0 of 2 intervals since the last tick are measured"
    )
    spent = by_one(workers=2, read=0.1, stage=0.6, fold=0.2)
    known = measured(spent)
    [waits] = map(str, choose_rebalancing(Situation(plan, ages=(3,)), known).reasons)
    assert waits == (
        "rows of lines: stay; no estimate, 2 of 4 intervals since the last tick are measured"
    )
    without = {name: of for name, of in spent.items() if name != "read"}
    assert [*map(str, chosen(without).reasons)] == [
        "rows of lines: stay; no estimate of who reads how much"
    ]
    [reason] = map(str, choose_rebalancing(Situation(plan_of(SCRIPT)), Statistics()).reasons)
    assert reason == "rows of lines: stay; there is one worker"


def test_one_table_is_rebalanced_in_a_tick() -> None:
    plan = plan_of(TWO, 2)
    names = [{step.origin for step in stage.steps} for stage in plan.stages]
    [one, other] = (max(each) for each in (names[0] - names[1], names[1] - names[0]))
    spent = {"read": (0.1, 0.0), one: (0.3, 0.0), other: (0.3, 0.0)}
    found = choose_rebalancing(Situation(plan), measured(spent, table="a"))
    assert [table for table, _ in found.tables] == ["a"]
    assert str(found.reasons[1]) == "rows of b: stay; another table is rebalanced first"


def test_owners_stay_in_a_tick_that_rebalances() -> None:
    plan = plan_of(SCRIPT, 2)
    choice = choose_tick(
        Situation(plan), measured(by_one(workers=2, read=0.1, stage=0.6, fold=0.2))
    )
    assert choice.owners is None
    assert choice.choices.rebalanced == (("lines", 60),)
    assert [operator for operator, _ in choice.choices.policies] == [names_of(plan)[1]]
