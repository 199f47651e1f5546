"""Hot keys on simulated clusters under faults: nothing of what is done for them is seen.

The first window of a workload gets rows pre-aggregated from one row of a key on; ticks choose otherwise and
back.  Finds rows that become one across the position of a snapshot or a tick where nodes fail.

The keys of a join are divided by the hint SKEW, and the result is that of the join without it.  Finds parts
whose state is lost, doubled or mixed up when nodes fail and bins move.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.plan_choices import choices_of
from fsql.console.sim_queries import SIM_QUERIES
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose
from fsql.runtime.kernels.maps import parts
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.property.ways import pre_aggregating
from fsql.tests.seeds import chosen_seeds
from fsql.tests.simulation.workloads import generated

if TYPE_CHECKING:
    import pytest

    from fsql.compiler.tick_plan import Policy, TickPlan

PLAN = Plan(seconds=60)


def test_nodes_fail_while_rows_are_pre_aggregated() -> None:
    workload, expected = generated(7)
    assert workload.name == "windows over windows"
    plan_before = workload.plan_of

    def plan_of(workers: int, policy: Policy | None) -> TickPlan:
        plan = pre_aggregating(plan_before(workers, policy), 1)
        assert choices_of(plan).pre_aggregations
        return plan

    hot = replace(workload, plan_of=plan_of)
    failures = {seed: run(seed, hot, expected, PLAN).failure for seed in chosen_seeds(4)}
    assert {seed: failure for seed, failure in failures.items() if failure} == {}


def test_nodes_fail_while_the_keys_of_a_join_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_BLOCK_BITS", 0)  # there are few rows
    workload, expected = generated(9)
    assert workload.name == "a join with itself"
    [text] = [each.text for each in SIM_QUERIES if each.name == workload.name]
    hinted = text.replace("SELECT a.k", "SELECT /*+ SKEW('b', 'k', 'a', 'c', 'e') */ a.k")
    graph = compile_job(script_of_text(hinted, {})).graph
    fronts = {ordinal: len(splits) for ordinal, splits in workload.inputs.items()}

    def plan_of(workers: int, policy: Policy | None) -> TickPlan:
        return choose(graph, workers=workers, fronts=fronts, policy=policy)

    divided = replace(workload, plan_of=plan_of)
    failures = {seed: run(seed, divided, expected, PLAN).failure for seed in chosen_seeds(4)}
    assert {seed: failure for seed, failure in failures.items() if failure} == {}
