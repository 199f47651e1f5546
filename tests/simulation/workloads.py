"""Workloads of the tests, by seed: our own queries, and the generated ones of `tests/property`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.lowering.job import lower
from fsql.console.sim import Workloads
from fsql.optimizer.choose import choose
from fsql.runtime.simulation.workload import Workload
from fsql.tests.property.cases import Case, case_of

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import Policy, TickPlan
    from fsql.runtime.drivers.in_memory import Outcome


def workload_of(case: Case) -> Workload:
    """Return a case as a workload."""
    fronts = {ordinal: len(splits) for ordinal, splits in case.inputs.items()}
    graph = lower(case.job)

    def plan_of(workers: int, policy: Policy | None) -> TickPlan:
        return choose(graph, workers=workers, fronts=fronts, policy=policy)

    return Workload(case.name, plan_of, case.inputs)


_OURS = Workloads(None)


@cache
def generated(seed: int) -> tuple[Workload, Outcome]:
    """Return the workload of a seed and what it releases: ours in half of the seeds, else generated.

    Generated ones have few rows and all that SQL has; ours have more rows.
    """
    if seed % 2:
        return _OURS.of(seed // 2)
    while True:
        try:
            workload = workload_of(case_of("script" if seed % 4 else "plan", seed))
            return workload, workload.outcome()
        except FsqlError:
            seed += 100_000
