"""Which folds may get pre-aggregated rows, what they read of them, and how a plan shows the choice."""

from __future__ import annotations

from typing import Final

import pytest

from fsql.compiler.explain.choices import changed_choices
from fsql.compiler.explain.tick import tick_json, tick_text
from fsql.compiler.plan_choices import PlanChoices, choices_of, fault_of_choices, with_choices
from fsql.compiler.pre_aggregation import ArgumentColumns, pre_aggregations_of, read_columns
from fsql.compiler.tick_plan import FoldHead, TickPlan
from fsql.compiler.verify.tick_plan import verify_tick_plan
from fsql.tests.unit.optimizer.jobs import plan_of

TABLES: Final = """
CREATE TABLE t (
    k STRING, n BIGINT, i INT, d DOUBLE, dec DECIMAL(9, 2), b BOOLEAN, at TIMESTAMP(3) NOT NULL,
    WATERMARK FOR at AS at
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE o (k STRING, v {type}) WITH ('connector' = 'blackhole'{more});
"""
WINDOWS: Final = "FROM TUMBLE({rows}, at, INTERVAL '1' DAY) GROUP BY {keys}"


def plan(
    call: str,
    kind: str = "BIGINT",
    *,
    keys: str = "k, window_start, window_end",
    rows: str = "t",
) -> TickPlan:
    text = TABLES.format(type=kind, more="")
    select = (
        f"INSERT INTO o SELECT CAST({keys.split(',', maxsplit=1)[0]} AS STRING) AS k, {call} AS v "
    )
    return plan_of(text + select + WINDOWS.format(keys=keys, rows=rows) + ";", 2)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("COUNT(*)", "BIGINT"),
        ("COUNT(d)", "BIGINT"),
        ("SUM(n)", "BIGINT"),
        ("SUM(i)", "BIGINT"),
        ("AVG(i)", "DOUBLE"),
        ("MIN(d)", "DOUBLE"),
        ("MAX(b)", "BOOLEAN"),
        ("MAX(at)", "TIMESTAMP(3)"),
    ],
)
def test_aggregates_of_which_a_few_rows_have_all(call: str, kind: str) -> None:
    assert list(pre_aggregations_of(plan(call, kind)).values()) == [0]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("COUNT(DISTINCT n)", "BIGINT"),
        ("SUM(DISTINCT n)", "BIGINT"),
        ("SUM(d)", "DOUBLE"),
        ("SUM(dec)", "DECIMAL(38, 2)"),
        ("SUM(n * 2)", "BIGINT"),
        ("MIN(k)", "STRING"),
        ("VAR_POP(n)", "DOUBLE"),
        ("BIT_XOR(n)", "BIGINT"),
        ("COUNT(*) FILTER (WHERE n > 1)", "BIGINT"),
    ],
)
def test_aggregates_that_read_more(call: str, kind: str) -> None:
    assert pre_aggregations_of(plan(call, kind)) == {}


def test_keys_that_are_equal_but_not_the_same() -> None:
    assert pre_aggregations_of(plan("COUNT(*)", keys="d, window_start, window_end")) == {}


def test_rows_of_a_fold_may_be_undone() -> None:
    text = TABLES.format(type="BIGINT", more="") + (
        "INSERT INTO o WITH s AS (SELECT k, at, LAG(n) OVER (PARTITION BY k ORDER BY at) AS n FROM t) "
        "SELECT k, SUM(n) AS v FROM TUMBLE(s, at, INTERVAL '1' DAY) GROUP BY k, window_start, window_end;"
    )
    assert pre_aggregations_of(plan_of(text, 2)) == {}


def test_an_updating_aggregate_shows_each_change() -> None:
    text = TABLES.format(type="BIGINT", more=", 'changes' = 'retract'")
    assert (
        pre_aggregations_of(
            plan_of(text + "INSERT INTO o SELECT k, SUM(n) AS v FROM t GROUP BY k;", 2)
        )
        == {}
    )


def fold_of(of: TickPlan) -> FoldHead:
    return next(each.head for each in of.stages if isinstance(each.head, FoldHead))


def test_what_is_read_of_the_rows() -> None:
    found = read_columns(fold_of(plan("SUM(n) + MIN(n) + COUNT(d) + MAX(i)")))
    [(schema, _)] = fold_of(plan("SUM(n) + MIN(n) + COUNT(d) + MAX(i)")).inputs
    assert found is not None
    names = [column.name for column in schema]
    assert [[names[index] for index in each] for each in (found.keys, found.summed)] == [
        ["k", "window_start", "window_end"],
        ["n"],
    ]
    assert [[names[index] for index in each] for each in (found.compared, found.counted)] == [
        ["i"],
        ["d"],
    ]
    assert isinstance(found, ArgumentColumns)


def test_the_plan_shows_it_and_its_folds_stay_the_same() -> None:
    before = plan("SUM(n)")
    [(operator, _)] = choices_of(before).pre_aggregations
    after = with_choices(before, PlanChoices(pre_aggregations=((operator, 256),)))
    verify_tick_plan(after)
    assert [stage.head for stage in after.stages] == [stage.head for stage in before.stages]
    line = "exchanged by k, window_start, window_end"
    assert f"{line}\n" in tick_text(before)
    assert f"{line}, pre-aggregated from 256 of a key on\n" in tick_text(after)
    assert '"pre_aggregates": 256' in tick_json(after)
    assert list(changed_choices(before, after)) == [
        f"rows for {operator}: pre-aggregated from 256 of a key on, was: not pre-aggregated"
    ]
    assert with_choices(after, choices_of(before)) == before


def test_choices_that_the_plan_cannot_have() -> None:
    of = plan("SUM(n)")
    [(operator, _)] = choices_of(of).pre_aggregations
    faults = [
        fault_of_choices(of, PlanChoices(pre_aggregations=given))
        for given in ((("join-1", 5),), ((operator, -1),), ((operator, 1), (operator, 2)))
    ]
    assert faults == [
        "rows for join-1 cannot be pre-aggregated",
        f"rows for {operator} cannot be pre-aggregated from -1 rows on",
        "a fold has two pre-aggregations",
    ]
    other = plan("SUM(DISTINCT n)")
    fold = fold_of(other).operator
    wrong = PlanChoices(pre_aggregations=((fold, 5),))
    assert fault_of_choices(other, wrong) == f"rows for {fold} cannot be pre-aggregated"
