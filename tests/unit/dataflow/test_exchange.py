"""The exchange: positions that a worker agrees to, and heavy keys of rows that were pre-aggregated."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fsql.compiler.plan_choices import PlanChoices, choices_of, with_choices
from fsql.compiler.tick_plan import TickPlan, ToFold
from fsql.runtime.batch import Batch, Root
from fsql.runtime.dataflow.bin_loads import BinLoads
from fsql.runtime.dataflow.exchange import Exchange
from fsql.runtime.dataflow.layout_change import Routing
from fsql.runtime.dataflow.stage_pipeline import uninstrumented
from fsql.runtime.dataflow.stage_pipelines import StagePipelines
from fsql.tests.unit.optimizer.test_hot_keys import SUMS

ROWS = 1000


def pre_aggregating() -> TickPlan:
    [(operator, _)] = choices_of(SUMS).pre_aggregations
    return with_choices(SUMS, PlanChoices(pre_aggregations=((operator, 100),)))


def sent(exchange: Exchange, plan: TickPlan, first: int) -> Batch:
    """Send rows at times from `first` on; of ten, six have the same key."""
    [to] = [send.to for send in plan.stages[0].sends if isinstance(send.to, ToFold)]
    keys = ["hot" if row % 10 < 6 else f"k{row}" for row in range(ROWS)]
    bound = pa.array([0] * ROWS).cast(pa.timestamp("us", "UTC"))
    columns = [pa.array(keys), pa.array(range(ROWS)), bound, bound]
    rows = np.arange(first, first + ROWS)
    batch, parts, errors = exchange.parts(
        Routing(plan.assignment.owners, plan.exchanges), 0, to, Batch(columns, rows, rows, ())
    )
    assert errors is None
    assert sum(len(batch) if part.rows is None else len(part.rows) for part in parts) == len(batch)
    return batch


def test_rows_on_two_sides_of_a_position_never_become_one() -> None:
    plan = pre_aggregating()
    exchange = Exchange(StagePipelines(plan, uninstrumented, {}), None, 0)
    assert exchange.agrees_to(Root(500, 0))
    assert len(sent(exchange, plan, 0)) == ROWS
    assert len(sent(exchange, plan, 2000)) < ROWS / 2
    assert exchange.reached == Root(2995, 2995)
    assert not exchange.agrees_to(Root(2995, 2995))
    assert exchange.agrees_to(Root(2995, 2996))


def test_a_heavy_key_stays_one_when_its_rows_are_few() -> None:
    plan = pre_aggregating()
    loads = BinLoads(plan)
    batch = sent(Exchange(StagePipelines(plan, uninstrumented, {}), loads, 0), plan, 0)
    [load] = loads.take()
    assert load.rows.sum() == len(batch) < ROWS / 2
    assert load.heavy[0].key.startswith("hot, ")
    assert load.heavy[0].rows == round(len(batch) * 0.6)
