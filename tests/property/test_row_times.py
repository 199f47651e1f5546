"""PROCTIME() is the time of the row's position, on every way, from snapshots and under faults.

Every table of a case has a column of it.  Some tables have event time as well, others the arrival that the
input says.  Windows, joins with a time range, ranks and running aggregates go by that column.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.logical import AssignWindows, TimeKind, operators
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.property.cases import Case, case_of
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.ways import by_oracle
from fsql.tests.seeds import chosen_seeds
from fsql.tests.simulation.workloads import workload_of


def cases(seeds: range) -> list[Case]:
    """Return the cases of the seeds whose scripts the binder takes."""
    found = []
    for seed in seeds:
        try:
            found.append(case_of("row-time", seed))
        except FsqlError:
            continue
    return found


def over_row_time(case: Case) -> bool:
    """Return whether a window is over PROCTIME() as a table has it."""
    plans = [plan for insert in case.job.inserts for plan in operators(insert.query)]
    return any(
        isinstance(plan, AssignWindows) and plan.input.schema[plan.time_column].name == "p"
        for plan in plans
    )


@pytest.mark.slow
def test_all_ways_release_the_same() -> None:
    met: Counter[str] = Counter()
    for seed, case in enumerate(cases(chosen_seeds(6))):
        outcome = by_oracle(case.job, case.inputs)
        check(case, schedules=2)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
        times = {table.time for table in case.job.tables if table.row_time}
        met["arrival"] += TimeKind.ARRIVAL in times
        met["both"] += TimeKind.EVENT in times
        met["window"] += over_row_time(case) and bool(outcome.released[0])
    assert all(met[name] for name in ("arrival", "both", "window", "rows restored")), met


@pytest.mark.slow
@pytest.mark.usefixtures("no_garbage")
def test_faults_change_nothing() -> None:
    failures = {}
    for seed, case in enumerate(cases(range(1000, 1002))):
        workload = workload_of(case)
        result = run(seed, workload, workload.outcome(), Plan(seconds=60))
        if result.failure:
            failures[case.name] = result.failure
    assert failures == {}
