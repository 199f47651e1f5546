"""Rebalancing: which worker gets the batches that a front has read."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fsql.compiler.assignment import Assignment
from fsql.compiler.holdings import Holdings
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import PlanChoices, with_choices
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import Batch, Root
from fsql.runtime.dataflow.rebalancing import Rebalancing
from fsql.runtime.dataflow.routing import LayoutChange, Routing
from fsql.runtime.dataflow.stage_pipeline import uninstrumented
from fsql.runtime.dataflow.stage_pipelines import StagePipelines

SCRIPT = """
CREATE TABLE t (a BIGINT) WITH ('connector' = 'stdin');
CREATE TABLE counts (a BIGINT, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts');
INSERT INTO counts SELECT a, COUNT(*) AS n FROM t GROUP BY a;
"""
PLAN = choose(compile_job(script_of_text(SCRIPT, {})).graph)
[EXCHANGE] = PLAN.exchanges.values()
OWN = 1


def owned_by(*workers: int) -> Owners:
    """Return owners of whom each has bins."""
    return Owners(OwnerMap(tuple(workers[n % len(workers)] for n in range(BINS)), 8))


def batch(first: int, end: int) -> Batch:
    times = np.arange(first, end)
    columns = [to_arrow(times.tolist(), column.type) for column in PLAN.tables[0].columns]
    return Batch(columns, times, np.zeros(end - first, np.int64), ())


class Reader:
    """Reads one batch after the other, as worker `OWN`."""

    def __init__(self, owners: Owners, percent: int) -> None:
        plan = with_choices(PLAN, PlanChoices(rebalanced=(("t", percent),)))
        plan = replace(plan, assignment=Assignment(owners))
        self.pipelines = StagePipelines(plan, uninstrumented, {})
        self.routing = Routing(Holdings(owners), plan.exchanges)
        self.rebalancing = Rebalancing(self.pipelines, OWN)

    def read(self, first: int, end: int) -> list[tuple[int, list[int]]]:
        """Return the receivers of a batch, and the times of the rows of each."""
        parts = self.rebalancing.parts(0, batch(first, end), self.routing)
        return [(part.worker, part.batch.time.tolist()) for part in parts]

    def rows_of(self, sizes: list[int]) -> Counter[int]:
        """Return how many rows each worker gets of batches with these sizes."""
        found: Counter[int] = Counter()
        for size in sizes:
            for worker, times in self.read(0, size):
                found[worker] += len(times)
        return found


@pytest.mark.parametrize(
    ("owners", "percent", "expected"),
    [
        (owned_by(0, 1), 0, {1: 1000}),
        (owned_by(0, 1), 40, {0: 400, 1: 600}),
        (owned_by(0, 1), 100, {0: 1000}),
        (owned_by(0, 1, 2, 3), 75, {0: 250, 1: 250, 2: 250, 3: 250}),
        (owned_by(0, 3), 100, {0: 500, 3: 500}),
    ],
)
def test_workers_get_their_shares(owners: Owners, percent: int, expected: dict[int, int]) -> None:
    assert Reader(owners, percent).rows_of([10] * 100) == expected


def test_shares_are_of_rows_not_of_batches() -> None:
    assert Reader(owned_by(0, 1), 50).rows_of([90, 10, 10, 10, 30, 30]) == {1: 90, 0: 90}


def test_no_worker_without_bins_gets_rows() -> None:
    assert Reader(owned_by(OWN), 100).rows_of([10] * 5) == {OWN: 50}
    assert Reader(owned_by(4), 100).rows_of([10] * 5) == {4: 50}


def test_owners_of_any_exchange_get_rows() -> None:
    one = OwnerMap((2,) * BINS, 8)
    owners = Owners.of_maps(OwnerMap((OWN,) * BINS, 8), {EXCHANGE: one})
    assert Reader(owners, 100).rows_of([10] * 5) == {2: 50}


def test_from_a_position_on_rows_go_to_the_owners_and_by_the_choice_of_the_next_plan() -> None:
    reader = Reader(owned_by(1, 2), 100)
    choices = PlanChoices(rebalanced=(("t", 0),))
    change = LayoutChange(
        Root(5, 0), reader.routing.holdings, Holdings(owned_by(1, 3)), OWN, choices
    )
    reader.routing.change = change
    assert reader.read(0, 4) == [(2, [0, 1, 2, 3])]
    change.switched = True
    reader.pipelines.change(change.position, choices)
    assert reader.read(3, 7) == [(2, [3, 4]), (1, [5, 6])]
    assert reader.read(7, 9) == [(1, [7, 8])]


def test_from_a_position_on_no_rows_go_to_a_worker_that_leaves() -> None:
    reader = Reader(owned_by(1, 2), 100)
    reader.routing.change = change = LayoutChange(
        Root(5, 0), reader.routing.holdings, Holdings(owned_by(1, 3)), OWN
    )
    change.switched = True
    assert reader.read(3, 7) == [(2, [3, 4]), (3, [5, 6])]
