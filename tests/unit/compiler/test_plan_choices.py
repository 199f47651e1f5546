"""The choices of a plan: what a tick may change of it, and what it may not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsql.compiler.explain.choices import changed_choices, filter_texts
from fsql.compiler.explain.tick import tick_json, tick_text
from fsql.compiler.graph import Select
from fsql.compiler.logical import TimeKind
from fsql.compiler.plan_choices import (
    FilterOrder,
    PlanChoices,
    choices_of,
    fault_of_choices,
    filter_runs,
    with_choices,
)
from fsql.compiler.tick_plan import Policy, SourceHead, Stage, Step, TickPlan
from fsql.compiler.verify.tick_plan import verify_tick_plan
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose

SCRIPT = """
CREATE TABLE t (a BIGINT, b BIGINT, c STRING) WITH ('connector' = 'stdin');
CREATE TABLE kept (a BIGINT, c STRING) WITH ('connector' = 'file', 'path' = 'kept');
CREATE TABLE counts (c STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts');
INSERT INTO kept SELECT a, c FROM t WHERE a / b > 1 AND b / a > 1;
INSERT INTO counts SELECT c, COUNT(*) AS n FROM t WHERE b > 2 AND a > 3 GROUP BY c;
"""
SPLIT = ((2,), (0, 1))


@pytest.fixture(scope="module")
def plan() -> TickPlan:
    return choose(compile_job(script_of_text(SCRIPT, {})).graph)


def selects(stage: Stage) -> list[Step]:
    return [step for step in stage.steps if isinstance(step.function, Select)]


def only_fold(plan: TickPlan) -> str:
    [(operator, _)] = choices_of(plan).policies
    return operator


def test_a_plan_has_its_own_choices(plan: TickPlan) -> None:
    choices = choices_of(plan)
    assert fault_of_choices(plan, choices) == ""
    assert with_choices(plan, choices) == plan
    assert [filter_texts(plan, order) for order in choices.filters] == [(("b > 2", "a > 3"),)]


def test_filters_that_can_fail_stay_where_they_are(plan: TickPlan) -> None:
    [run] = filter_runs(plan.stages[0])
    assert len(selects(plan.stages[0])) == 2
    assert len(run.steps) == 1


def test_filters_part_and_join_again(plan: TickPlan) -> None:
    [order] = choices_of(plan).filters
    [group] = order.groups
    parted = PlanChoices(filters=(FilterOrder(order.stage, order.run, ((group[1],), (group[0],))),))
    other = with_choices(plan, parted)
    verify_tick_plan(other)
    assert len(selects(other.stages[0])) == 3
    assert choices_of(other).filters == parted.filters
    assert list(changed_choices(plan, other)) == [
        "filters of stage 0: (a > 3), then (b > 2); was (b > 2) AND (a > 3)"
    ]
    assert with_choices(other, choices_of(plan)) == plan


def test_policies_change(plan: TickPlan) -> None:
    operator = only_fold(plan)
    other = with_choices(plan, PlanChoices(((operator, Policy.ORDERED),)))
    assert list(changed_choices(plan, other)) == [f"policy of {operator}: ordered, was speculative"]
    assert with_choices(other, choices_of(plan)) == plan


@pytest.mark.parametrize(
    ("filters", "fault"),
    [
        ([FilterOrder(7, 0, ())], "stage 7 has no filter run 0"),
        ([FilterOrder(0, -1, ((0, 1),))], "stage 0 has no filter run -1"),
        *(
            ([FilterOrder(0, 0, groups)], "the filters of stage 0 do not have each conjunct once")
            for groups in ((), ((0,),), ((0, 0),), ((0,), (1,), ()), ((0, 1, 2),), ((0, 1), (1,)))
        ),
        ([FilterOrder(0, 0, ((0, 1),))] * 2, "a filter run has two orders"),
    ],
)
def test_filters_that_the_plan_cannot_have(
    filters: list[FilterOrder], fault: str, plan: TickPlan
) -> None:
    assert fault_of_choices(plan, PlanChoices(filters=tuple(filters))) == fault


@pytest.mark.parametrize(
    ("rebalanced", "fault"),
    [
        ((("u", 1),), "the plan does not read a table u"),
        ((("t", 101),), "101 percent of the rows of t cannot be rebalanced"),
        ((("t", -1),), "-1 percent of the rows of t cannot be rebalanced"),
        ((("t", 1), ("t", 2)), "a table is rebalanced twice"),
    ],
)
def test_tables_that_the_plan_cannot_rebalance(
    rebalanced: tuple[tuple[str, int], ...], fault: str, plan: TickPlan
) -> None:
    assert fault_of_choices(plan, PlanChoices(rebalanced=rebalanced)) == fault


def test_a_choice_of_what_is_rebalanced_is_shown(plan: TickPlan) -> None:
    after = with_choices(plan, PlanChoices(rebalanced=(("t", 60),)))
    assert choices_of(after).rebalanced == (("t", 60),)
    assert "  rows: 60 % to other workers\n" in tick_text(after)
    assert [*changed_choices(plan, after)] == [
        "rows of t: 60 % to other workers, was: not rebalanced"
    ]
    verify_tick_plan(after)


@pytest.mark.parametrize(
    ("lingers", "fault"),
    [
        ((("u", 1),), "the plan does not read a table u"),
        ((("t", 1_001),), "t cannot have a linger of 1001 ms; the maximum is 1,000 ms"),
        ((("t", -1),), "t cannot have a linger of -1 ms; the maximum is 1,000 ms"),
        ((("t", 1), ("t", 2)), "a table has two lingers"),
    ],
)
def test_lingers_that_the_plan_cannot_have(
    lingers: tuple[tuple[str, int], ...], fault: str, plan: TickPlan
) -> None:
    assert fault_of_choices(plan, PlanChoices(lingers=lingers)) == fault


def test_a_linger_is_shown(plan: TickPlan) -> None:
    after = with_choices(plan, PlanChoices(lingers=(("t", 20),)))
    assert choices_of(after).lingers == (("t", 20),)
    assert choices_of(after).rebalanced == choices_of(plan).rebalanced
    assert "  linger: 20 ms\n" in tick_text(after)
    assert '"linger_ms": 20' in tick_json(after)
    assert "linger" not in tick_text(plan) + tick_json(plan)
    assert [*changed_choices(plan, after)] == ["linger of t: 20 ms, was: none"]
    assert [*changed_choices(after, plan)] == ["linger of t: none, was: 20 ms"]
    verify_tick_plan(after)


def test_rows_with_the_times_of_their_arrival_have_no_linger(plan: TickPlan) -> None:
    stages = [
        replace(
            stage,
            head=replace(stage.head, table=replace(stage.head.table, time=TimeKind.ARRIVAL)),
        )
        if isinstance(stage.head, SourceHead)
        else stage
        for stage in plan.stages
    ]
    arriving = replace(plan, stages=tuple(stages))
    assert choices_of(arriving).lingers == ()
    assert fault_of_choices(arriving, choices_of(arriving)) == ""
    assert fault_of_choices(arriving, PlanChoices(lingers=(("t", 5),))) == (
        "t cannot have a linger: its rows have the times of their arrival"
    )


def test_policies_that_the_plan_cannot_have(plan: TickPlan) -> None:
    twice = ((only_fold(plan), Policy.ORDERED),) * 2
    assert fault_of_choices(plan, PlanChoices(twice)) == "a fold has two policies"
    unknown = PlanChoices((("join-1", Policy.ORDERED),))
    assert fault_of_choices(plan, unknown) == "the plan has no fold join-1"
