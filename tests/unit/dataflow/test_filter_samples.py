"""Conditions of filters are measured one by one and in pairs, on all rows of one in some batches."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fsql.compiler.explain.choices import conjunct_texts
from fsql.compiler.plan_choices import FilterOrder, PlanChoices, choices_of, with_choices
from fsql.compiler.statistics import SAMPLED_EVERY
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import Batch
from fsql.runtime.dataflow.filter_samples import PAIRS_MAX
from fsql.runtime.dataflow.stage_pipeline import StagePipeline
from fsql.runtime.drivers.operator_times import OperatorTimes
from fsql.tests.unit.optimizer.jobs import plan_of

SCRIPT = """
CREATE TABLE t (a BIGINT, b BIGINT) WITH ('connector' = 'stdin');
CREATE TABLE kept (a BIGINT) WITH ('connector' = 'stdout');
INSERT INTO kept SELECT a FROM t WHERE a < 10 AND b >= 500;
"""
ROWS = 1000


def batch() -> Batch:
    numbers = np.arange(ROWS)
    column = to_arrow(numbers.tolist(), plan_of(SCRIPT).tables[0].columns[0].type)
    return Batch([column, column], numbers, numbers, ())


def test_each_condition_sees_all_rows_of_a_sampled_batch_in_any_order() -> None:
    plan = plan_of(SCRIPT)
    [order] = choices_of(plan).filters
    apart = FilterOrder(order.stage, order.run, ((1,), (0,)))
    for each in (plan, with_choices(plan, PlanChoices(filters=(apart,)))):
        watch = OperatorTimes()
        pipeline = StagePipeline(each.stages[order.stage], len(each.stages), watch)
        for _ in range(2 * SAMPLED_EVERY):
            pipeline.run(batch())
        found = {
            name.partition("#")[2]: (seen.calls, seen.rows, seen.rows_out)
            for name, seen in watch.operators.items()
            if "#" in name
        }
        pair = found.pop("0&1")
        assert sorted(found.values()) == [(2, 2 * ROWS, 20), (2, 2 * ROWS, ROWS)]
        assert sorted(found) == ["0", "1"]
        assert pair == (2, found["0"][2], 0)  # no row has both


def test_all_pairs_are_counted_in_one_batch() -> None:
    plan = plan_of(SCRIPT.replace("b >= 500", "b >= 5 AND b < 8"))
    [order] = choices_of(plan).filters
    watch = OperatorTimes()
    StagePipeline(plan.stages[order.stage], len(plan.stages), watch).run(batch())
    names = dict(enumerate(conjunct_texts(plan, order.stage, order.run)))
    true = {"a < 10": set(range(10)), "b >= 5": set(range(5, ROWS)), "b < 8": set(range(8))}
    for first, second in combinations(range(3), 2):
        one, other = true[names[first]], true[names[second]]
        [seen] = [
            each for name, each in watch.operators.items() if name.endswith(f"#{first}&{second}")
        ]
        assert (seen.calls, seen.rows, seen.rows_out) == (1, len(one), len(one & other))


def test_many_pairs_are_counted_in_turn() -> None:
    conditions = " AND ".join(f"b <> {number}" for number in range(13))
    plan = plan_of(SCRIPT.replace("b >= 500", conditions))
    [order] = choices_of(plan).filters
    watch = OperatorTimes()
    pipeline = StagePipeline(plan.stages[order.stage], len(plan.stages), watch)
    pairs = 14 * 13 // 2
    for _ in range(SAMPLED_EVERY + 1):
        pipeline.run(batch())
    calls = [each.calls for name, each in watch.operators.items() if "&" in name]
    assert (len(calls), sum(calls), min(calls)) == (pairs, 2 * PAIRS_MAX, 1)
