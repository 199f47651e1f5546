"""The choice of pre-aggregation: hot keys, little to do, what is not known, and a load that alternates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.assignment import Assignment
from fsql.compiler.owner_map import BINS
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import choices_of, with_choices
from fsql.compiler.reasons import Reason
from fsql.optimizer.choose_tick import Situation, choose_tick
from fsql.optimizer.hot_keys import ROWS_MIN, advise_divisions, choose_pre_aggregations
from fsql.optimizer.statistics import HeavyKey, Load, OperatorLoad, Statistics, WorkerLoad
from fsql.tests.unit.optimizer.jobs import plan_of

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import TickPlan

SCRIPT = """
CREATE TABLE t (k STRING, n BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at)
WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE o (k STRING, v BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT k, {call} AS v FROM TUMBLE(t, at, INTERVAL '1' DAY)
GROUP BY k, window_start, window_end;
"""
SUMS = plan_of(SCRIPT.format(call="SUM(n)"), 2)
[(OPERATOR, _)] = choices_of(SUMS).policies
PLACE = f"hot keys of {OPERATOR}"


def measured(share: float, busy: float = 0.3, intervals: int = 2) -> Statistics:
    """Return what is found if one key has a share of the rows, and its worker all of the cost."""
    return Statistics(
        loads=(Load(OPERATOR, 0, 5, share, 0.0), Load(OPERATOR, 0, BINS - 1, 1 - share, 0.0)),
        heavy=(HeavyKey(OPERATOR, 0, 7, "a", share, 0.0), HeavyKey(OPERATOR, 0, 9, "b", 0.01, 0.0)),
        workers=tuple(
            WorkerLoad(1 + at, worker, load, load)
            for at in range(intervals)
            for worker, load in enumerate((busy + 0.1, 0.1))
        ),
        operators=tuple(OperatorLoad(1 + at, 0, OPERATOR, busy) for at in range(intervals)),
    )


def test_a_hot_key_is_pre_aggregated_and_the_owners_stay() -> None:
    choice = choose_tick(Situation(SUMS), measured(0.6))
    assert choice.choices.pre_aggregations == ((OPERATOR, ROWS_MIN),)
    assert choice.owners is None
    assert (
        f"{PLACE}: pre-aggregated from 256 rows on; key 'a' has 60% of the rows, so its worker gets"
        " 1.20 times the mean or more; the fold takes 30% of a core on its busiest worker"
    ) in choice.lines


@pytest.mark.parametrize(
    ("statistics", "reason"),
    [
        (
            measured(0.5),
            "stay; key 'a' has 50% of the rows, so its worker gets 1.00 times the mean",
        ),
        (measured(0.6, busy=0.04), "the fold takes 4% of a core on its busiest worker"),
        (Statistics(), "stay; no estimate of its rows"),
        (measured(0.5)._replace(heavy=()), "stay; no key has many of the rows"),
        (measured(0.6)._replace(operators=()), "no estimate of what the fold takes"),
    ],
)
def test_what_does_not_pay(statistics: Statistics, reason: str) -> None:
    chosen, [told] = choose_pre_aggregations(SUMS, statistics, 0)
    assert chosen == ()
    assert str(told).startswith(f"{PLACE}: ")
    assert reason in str(told)


def test_intervals_before_the_last_tick_do_not_count() -> None:
    assert choose_pre_aggregations(SUMS, measured(0.6), 2)[0] == ()


def test_one_worker_has_nothing_to_level() -> None:
    alone = replace(SUMS, assignment=Assignment(Owners.of_equal_ranges(1)))
    assert choose_pre_aggregations(alone, measured(0.6), 0) == (
        (),
        [Reason(PLACE, "stay; there is one worker")],
    )


def test_folds_that_need_more_of_their_rows_are_left_out() -> None:
    plan = plan_of(SCRIPT.format(call="COUNT(DISTINCT n)"), 2)
    assert choose_pre_aggregations(plan, measured(0.6), 0) == ((), [])


def test_a_load_that_alternates_causes_one_tick() -> None:
    plan: TickPlan = SUMS
    ticks = 0
    for share in (0.6, 0.1) * 10:
        choice = choose_tick(Situation(plan), measured(share))
        ticks += bool(choice.choices.pre_aggregations)
        plan = with_choices(plan, choice.choices)
    assert ticks == 1
    _, [reason] = choose_pre_aggregations(plan, measured(0.1), 0)
    assert (
        str(reason)
        == f"{PLACE}: pre-aggregated from 256 rows on, stays; key 'a' has 10% of the rows"
    )


JOIN = """
CREATE TABLE t (k STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE u (k STRING, m BIGINT) WITH ('connector' = 'file', 'path' = 'u.jsonl');
CREATE TABLE o (n BIGINT, m BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT {hint} t.n, u.m FROM t {kind}JOIN u ON t.k = u.k;
"""


def joined(plan: TickPlan, of_left: float) -> Statistics:
    """Return what is found of a join whose left side has 9 of 10 rows; its only key on the right is hot."""
    [(operator, _)] = choices_of(plan).policies
    return Statistics(
        loads=(Load(operator, 0, 5, 90.0, 0.0), Load(operator, 1, 5, 10.0, 0.0)),
        heavy=(
            HeavyKey(operator, 0, 7, "a", of_left, 0.0),
            HeavyKey(operator, 1, 7, "a", 1.0, 0.0),
        ),
    )


def test_the_hint_is_advised_for_a_hot_key_of_a_join() -> None:
    plan = plan_of(JOIN.format(hint="", kind=""), 2)
    [(operator, _)] = choices_of(plan).policies
    told = (
        f"hot keys of {operator}: stay; key 'a' has 72% of the rows, on the left, so its worker gets"
        " 1.44 times the mean or more; the hint SKEW can divide them"
    )
    assert [*map(str, advise_divisions(plan, joined(plan, 0.8)))] == [told]
    assert told in choose_tick(Situation(plan), joined(plan, 0.8)).lines
    assert advise_divisions(plan, joined(plan, 0.6)) == []
    unknown = f"hot keys of {operator}: stay; no estimate of its rows"
    assert [*map(str, advise_divisions(plan, Statistics()))] == [unknown]
    assert advise_divisions(plan_of(JOIN.format(hint="", kind=""), 1), Statistics()) == []


@pytest.mark.parametrize(("hint", "kind"), [("", "LEFT "), ("/*+ SKEW('t', 'k', 'a') */", "")])
def test_no_hint_is_advised_where_it_is_given_or_has_no_effect(hint: str, kind: str) -> None:
    plan = plan_of(JOIN.format(hint=hint, kind=kind), 2)
    assert advise_divisions(plan, joined(plan, 0.8)) == []
    assert advise_divisions(plan, Statistics()) == []
