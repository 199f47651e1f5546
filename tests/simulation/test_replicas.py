"""Joins that are replicated on simulated clusters under faults: nothing of it is seen.

Ticks replicate them and end that, workers join and leave, and nodes fail.  Finds replicas that are not handed
over whole, or twice; rows that a new owner does not wait with; bins that no worker stores, or several.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from fsql.compiler.plan_choices import choices_of
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.property.cases import case_of
from fsql.tests.property.ways import replicating
from fsql.tests.seeds import chosen_seeds
from fsql.tests.simulation.workloads import workload_of

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import Policy, TickPlan
    from fsql.runtime.simulation.workload import Workload

PLAN = Plan(seconds=30)


def _replicated_plan(workload: Workload, workers: int, policy: Policy | None) -> TickPlan:
    plan = workload.plan_of(workers, policy)
    assert choices_of(plan).replicated
    return replicating(plan, replicated=True)


def test_nodes_fail_while_joins_are_replicated() -> None:
    failures = {}
    for seed in chosen_seeds(3):
        workload = workload_of(case_of("join-once", seed))
        replicated = replace(workload, plan_of=partial(_replicated_plan, workload))
        failure = run(seed, replicated, workload.outcome(), PLAN).failure
        if failure:
            failures[seed] = failure
    assert failures == {}
