"""PROCTIME() is the time of the row's position, on every way, from snapshots and under faults.

Every table of a case has a column of it.  Some tables have event time as well, others the arrival that the
input says.  Windows, joins with a time range, ranks and running aggregates go by that column.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.logical import AssignWindows, TimeKind, operators
from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.property.cases import Case, case_of
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.ways import by_oracle
from fsql.tests.seeds import chosen_seeds
from fsql.tests.simulation.workloads import workload_of

if TYPE_CHECKING:
    from fsql.tests.property.inputs import Splits


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


WATERMARKS = """
CREATE TABLE t (id BIGINT NOT NULL, at {type}, WATERMARK FOR at AS at - INTERVAL '{delay}' SECOND)
WITH ('connector' = 'file', 'path' = 't.jsonl', 'grain_ms' = '{grain}');
CREATE TABLE behind (id BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE others (id BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE sorted (id BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO behind SELECT id FROM t WHERE at <= CURRENT_WATERMARK(at);
INSERT INTO others SELECT id FROM t WHERE CURRENT_WATERMARK(at) IS NULL OR at > CURRENT_WATERMARK(at);
INSERT INTO sorted SELECT id FROM t ORDER BY at;
"""


def test_rows_behind_the_watermark_are_those_that_a_sort_drops() -> None:
    """ORDER BY drops the rows behind the watermark as late, so CURRENT_WATERMARK must tell the same rows."""
    met: Counter[str] = Counter()
    for seed in chosen_seeds(60):
        random = Random(seed)
        type_, unit = random.choice(
            (
                ("TIMESTAMP", 1),
                ("TIMESTAMP(3)", 1_000),
                ("TIMESTAMP_LTZ(3)", 1_000),
                ("TIMESTAMP(0)", 1_000_000),
            )
        )
        text = WATERMARKS.format(
            type=type_,
            delay=random.choice(("0", "0.000002", "2")),
            grain=random.choice((1, 3, 1000)),
        )
        job = compile_script(SourceText("watermarks.sql", text), DECLARED).logical
        step = random.choice((unit, max(unit, 500_000)))
        times = [random.randrange(-9, 9) * step // unit * unit for _ in range(20)]
        splits: Splits = [
            [(i, times[i]) for i in range(10)],
            [(i, times[i]) for i in range(10, 20)],
        ]
        case = Case(f"watermarks {seed}", text, job, {0: splits})
        behind, others, released = (
            Counter(line for _, line in lines) for lines in case.expected.released
        )
        assert behind + others == Counter(f'{{"id":{number}}}' for number in range(20)), text
        assert others == released, text
        met["behind"] += len(behind)
        met["out of order in time"] += step == unit and len(others) > 2
        if seed % 10 == 0:
            check(case, schedules=1)
    assert all(met[name] for name in ("behind", "out of order in time")), met


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
