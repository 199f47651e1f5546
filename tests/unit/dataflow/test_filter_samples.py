"""Conditions of filters are measured one by one and in pairs, on all rows of one in some batches."""

from __future__ import annotations

import numpy as np

from fsql.compiler.plan_choices import FilterOrder, PlanChoices, choices_of, with_choices
from fsql.compiler.statistics import SAMPLED_EVERY
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import Batch
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
