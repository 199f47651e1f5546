"""The owners of several exchanges: each is level, all together are, and rows stay where they can."""

from __future__ import annotations

import pytest

from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.optimizer.choose_tick import Situation, choose_tick
from fsql.optimizer.levelling import by_owner, by_owners, level_exchanges
from fsql.optimizer.local_exchanges import exchanges_in_groups
from fsql.optimizer.statistics import Cost, FoldLoad, Load, OperatorLoad, Statistics, WorkerLoad
from fsql.tests.unit.optimizer.jobs import plan_of

TABLES = """
CREATE TABLE t (k STRING, n BIGINT) WITH ('connector' = 'stdin', 'format' = 'csv');
CREATE TABLE u (k STRING, m BIGINT) WITH ('connector' = 'file', 'path' = 'u.csv', 'format' = 'csv');
CREATE TABLE o (k STRING, v BIGINT) WITH ('connector' = 'blackhole', 'changes' = 'retract');
"""
TWO_KEYS = """
SELECT k, MAX(v) AS v FROM (SELECT k, n, COUNT(*) AS v FROM t GROUP BY k, n) GROUP BY k
"""
HALF = BINS // 2


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        (TWO_KEYS, [["aggregate"], ["aggregate"]]),
        (
            "SELECT a.k, a.v FROM (SELECT k, COUNT(*) AS v FROM t GROUP BY k) a JOIN u ON a.k = u.k",
            [["aggregate", "join"]],
        ),
        (
            "SELECT k, SUM(m) AS v FROM (SELECT u.k, m + 1 AS m FROM t JOIN u ON t.k = u.k) GROUP BY k",
            [["join", "aggregate"]],
        ),
        (
            "SELECT k, SUM(n) AS v FROM (SELECT u.k, t.n FROM t JOIN u ON t.n = u.m) GROUP BY k",
            [["join"], ["aggregate"]],
        ),
    ],
)
def test_exchanges_by_the_same_key_have_one_map(query: str, groups: list[list[str]]) -> None:
    found = exchanges_in_groups(plan_of(f"{TABLES}INSERT INTO o {query};"))
    assert [[name.partition("-")[0] for name in group] for group in found] == groups


def test_each_exchange_is_level_and_so_is_their_sum() -> None:
    plan = plan_of(f"{TABLES}INSERT INTO o {TWO_KEYS};", 2)
    first, second = plan.exchanges.values()
    equal = OwnerMap.of_equal_ranges(2)
    costs = {
        first: {number: 6e-4 if number < HALF // 2 else 1e-5 for number in range(BINS)},
        second: {number: 2e-5 if number < HALF else 1e-4 for number in range(BINS)},
    }
    after = level_exchanges(Owners(equal), costs, [0.1, 0.0], [[first], [second]])
    assert after.of(first) != after.of(second)
    own = by_owner(after.of(first), costs[first])
    assert own[1] - own[0] == pytest.approx(0.1, abs=0.02 * sum(own))  # worker 0 reads, too
    for_second = by_owner(after.of(second), costs[second])
    assert max(for_second) <= 1.1 * sum(for_second) / 2
    busy = by_owners(after, costs)
    assert busy[0] + 0.1 == pytest.approx(busy[1], rel=0.03)
    shared = level_exchanges(Owners(equal), costs, [0.1, 0.0], [[first, second]])
    assert shared.exchanges == ()


def test_a_tick_moves_the_bins_of_each_exchange_that_is_not_level() -> None:
    plan = plan_of(f"{TABLES}INSERT INTO o {TWO_KEYS};", 2)
    names = list(plan.exchanges.values())
    busy = {names[0]: [0.6, 0.1], names[1]: [0.1, 0.2]}
    statistics = Statistics(
        loads=tuple(
            Load(name, 0, number, busy[name][number // HALF] * 1e6 / HALF, 0.0)
            for name in names
            for number in range(BINS)
        ),
        costs=tuple(Cost(name, 1e6, 1.0, 0.5, 1e-6, None, 1.0) for name in names),
        folds=tuple(
            FoldLoad(name, "speculative", 0.0, 0.0, 10_000, 1_000_000, 0.0) for name in names
        ),
        workers=tuple(
            WorkerLoad(interval, worker, share, share)
            for interval in (1, 2)
            for worker, share in enumerate((0.7, 0.3))
        ),
        operators=tuple(
            OperatorLoad(interval, worker, name, busy[name][worker])
            for interval in (1, 2)
            for worker in range(2)
            for name in names
        ),
    )
    choice = choose_tick(Situation(plan), statistics)
    assert choice.owners is not None
    for name in names:
        rates = {number: busy[name][number // HALF] / HALF for number in range(BINS)}
        loads = by_owner(choice.owners.of(name), rates)
        assert max(loads) <= 1.1 * sum(loads) / 2
    assert choice.lines[0].startswith("owners: ")
