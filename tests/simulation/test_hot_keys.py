"""Windows whose rows are pre-aggregated, on simulated clusters under faults: nothing of it is seen.

The first window of the workload gets rows pre-aggregated from one row of a key on; ticks choose otherwise and
back.  Finds rows that become one across the position of a snapshot or a tick where nodes fail.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.plan_choices import choices_of
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.property.ways import pre_aggregating
from fsql.tests.seeds import chosen_seeds
from fsql.tests.simulation.workloads import generated

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import Policy, TickPlan

PLAN = Plan(seconds=60)


def test_nodes_fail_while_rows_are_pre_aggregated() -> None:
    workload, expected = generated(7)
    assert workload.name == "windows over windows"
    choose = workload.plan_of

    def plan_of(workers: int, policy: Policy | None) -> TickPlan:
        plan = pre_aggregating(choose(workers, policy), 1)
        assert choices_of(plan).pre_aggregations
        return plan

    hot = replace(workload, plan_of=plan_of)
    failures = {seed: run(seed, hot, expected, PLAN).failure for seed in chosen_seeds(4)}
    assert {seed: failure for seed, failure in failures.items() if failure} == {}
