"""The exchange: positions that a worker agrees to, batches that they divide, and heavy keys of these."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.holdings import Holdings
from fsql.compiler.plan_choices import PlanChoices, choices_of, with_choices
from fsql.compiler.tick_plan import TickPlan, ToFold
from fsql.runtime.batch import START, Batch, Root
from fsql.runtime.dataflow.bin_loads import BinLoads
from fsql.runtime.dataflow.exchange import Exchange
from fsql.runtime.dataflow.routing import Routing
from fsql.runtime.dataflow.stage_pipeline import uninstrumented
from fsql.runtime.dataflow.stage_pipelines import StagePipelines
from fsql.runtime.order import below
from fsql.tests.unit.optimizer.test_hot_keys import SUMS

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS = 1000


def pre_aggregating(least: int = 100) -> TickPlan:
    [(operator, _)] = choices_of(SUMS).pre_aggregations
    return with_choices(SUMS, PlanChoices(pre_aggregations=((operator, least),)))


def sent(
    exchange: Exchange, plan: TickPlan, first: int, order: Sequence[int] = range(ROWS)
) -> Batch:
    """Send rows at times from `first` on, in some order; of ten, six have the same key."""
    [to] = [send.to for send in plan.stages[0].sends if isinstance(send.to, ToFold)]
    keys = ["hot" if row % 10 < 6 else f"k{row}" for row in range(ROWS)]
    bound = pa.array([0] * ROWS).cast(pa.timestamp("us", "UTC"))
    columns = [pa.array(keys), pa.array(range(ROWS)), bound, bound]
    times = np.arange(first, first + ROWS)
    rows = Batch(columns, times, times, ()).take(np.array(order))
    batch, parts, errors = exchange.parts(
        Routing(Holdings.of_plan(plan), plan.exchanges), 0, to, rows
    )
    assert errors is None
    assert sum(len(batch) if part.rows is None else len(part.rows) for part in parts) == len(batch)
    return batch


def hot_rows(batch: Batch, position: Root) -> tuple[list[int], list[int]]:
    """Return the weights of the rows of the hot key below a position, and of those at or above it."""
    under = below(batch, position).tolist()
    keys, weights = batch.columns[0].to_pylist(), batch.weights().tolist()
    hot = [
        (side, each) for key, side, each in zip(keys, under, weights, strict=True) if key == "hot"
    ]
    return [each for side, each in hot if side], [each for side, each in hot if not side]


def exchange_of(plan: TickPlan, position: Root) -> Exchange:
    """Return an exchange whose worker has agreed to a position."""
    exchange = Exchange(StagePipelines(plan, uninstrumented, {}), None, 0)
    assert exchange.agrees_to(position)
    return exchange


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_batch_is_divided_at_a_position(seed: int | None) -> None:
    plan, position, order = pre_aggregating(), Root(500, 500), list(range(ROWS))
    if seed is not None:
        Random(seed).shuffle(order)
    exchange = exchange_of(plan, position)
    batch = sent(exchange, plan, 0, order)
    assert hot_rows(batch, position) == ([1, 1, 149, 149], [1, 1, 149, 149])
    assert len(batch) == ROWS * 4 // 10 + 8
    assert exchange.reached == Root(995, 995)


@pytest.mark.parametrize(
    ("position", "reached", "below_and_above"),
    [
        (Root(100, 100), Root(995, 995), ([1] * 60, [1, 1, 269, 269])),
        (Root(900, 900), Root(895, 895), ([1, 1, 269, 269], [1] * 60)),
        (Root(995, 995), Root(994, 994), ([1, 1, 198, 399], [1])),
        (Root(995, 996), Root(995, 995), ([1, 1, 299, 299], [])),
    ],
)
def test_a_part_with_few_rows_is_left_alone(
    position: Root, reached: Root, below_and_above: tuple[list[int], list[int]]
) -> None:
    plan = pre_aggregating()
    exchange = exchange_of(plan, position)
    assert hot_rows(sent(exchange, plan, 0), position) == below_and_above
    assert exchange.reached == reached


def test_a_batch_of_which_both_parts_have_few_rows_is_left_alone() -> None:
    plan, position = pre_aggregating(400), Root(500, 500)
    exchange = exchange_of(plan, position)
    batch = sent(exchange, plan, 0)
    assert (len(batch), batch.weight) == (ROWS, None)
    assert exchange.reached == START
    assert exchange.agrees_to(position)


def test_no_position_is_agreed_to_that_rows_were_combined_across() -> None:
    plan, position = pre_aggregating(), Root(500, 500)
    exchange = exchange_of(plan, position)
    sent(exchange, plan, 0)
    for refused in (Root(2, 2), position, Root(995, 995)):
        assert not exchange.agrees_to(refused)
    assert exchange.agrees_to(Root(995, 996))


def test_a_batch_with_lower_rows_lowers_no_limit() -> None:
    plan, position = pre_aggregating(), Root(500, 500)
    exchange = exchange_of(plan, position)
    sent(exchange, plan, 2000)
    sent(exchange, plan, 0)
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
