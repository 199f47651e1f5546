"""Jobs that end when each INSERT has its maximum of rows, on simulated clusters under faults.

Their input goes on: late and malformed rows that come after the last row are in no output.  Finds rows that
are counted twice or not at all after a recovery, jobs that end too early or never, and ones that do not end
again after a coordinator was lost at the end.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from fsql.compiler.analysis.row_limits import rows_at_most
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose
from fsql.runtime.cluster.snapshots.manifest import Manifest
from fsql.runtime.ports import DeadLetter
from fsql.runtime.simulation.coverage import Coverage
from fsql.runtime.simulation.run import Plan, run
from fsql.runtime.simulation.workload import Workload
from fsql.tests.property.values import NOON, SECOND
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    import pytest

    from fsql.compiler.tick_plan import Policy, TickPlan
    from fsql.runtime.drivers.in_memory import Outcome

PLAN = Plan(seconds=20)
ROWS = 150

SCRIPT = """
CREATE TABLE events (at TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR at AS at - INTERVAL '2' SECOND)
WITH ('connector' = 'file', 'path' = 'events', 'on_error' = 'reject');
CREATE TABLE first (v BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE counts (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO first SELECT v FROM events LIMIT {first} OFFSET 3;
INSERT INTO counts
SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '5' SECOND))
GROUP BY k, window_start, window_end LIMIT {counts};
"""


def limited(seed: int) -> tuple[Workload, Outcome]:
    """Return a job that ends in the middle of its input, and what it releases."""
    random = Random(seed)
    text = SCRIPT.format(first=random.choice((0, 1, 20, 60)), counts=random.choice((1, 10, 30)))
    job = compile_job(script_of_text(text, {}))
    splits = random.choice((1, 2, 3))

    def plan_of(workers: int, policy: Policy | None) -> TickPlan:
        return choose(job.graph, workers=workers, fronts={0: splits}, policy=policy)

    known = [rows_at_most(insert.query) for insert in job.bound.inserts]
    insert_limits = tuple(rows for rows in known if rows is not None)
    assert len(insert_limits) == len(known)
    inputs = {0: [[row(random, number) for number in range(ROWS)] for _ in range(splits)]}
    workload = Workload(f"limits {insert_limits}", plan_of, inputs, insert_limits)
    outcome = workload.outcome()
    assert tuple(map(len, outcome.released)) == insert_limits
    return workload, outcome


def row(random: Random, number: int) -> tuple[int, str, int] | DeadLetter:
    """Return a row, one in five late or malformed."""
    if random.random() < 0.1:
        return DeadLetter(number, number + 1, 0, 513, "", "malformed", "")
    late = 20 if random.random() < 0.1 else 0
    return (NOON + (number - late) * SECOND, random.choice("abc"), number)


def failures(seeds: range, coverage: Coverage) -> dict[int, str]:
    found = {}
    for seed in seeds:
        result = run(seed, *limited(seed), PLAN)
        coverage.add(result.coverage)
        if result.failure:
            found[seed] = f"{result.workload}: {result.failure}"
    return found


def test_jobs_end_with_their_last_rows() -> None:
    coverage = Coverage()
    assert failures(chosen_seeds(12), coverage) == {}
    assert "recovered from a snapshot" not in coverage.unmet_probes()


def test_the_rest_of_the_input_is_not_read() -> None:
    workload, expected = limited(2)
    endless = replace(workload, insert_limits=())
    ended, read = run(2, workload, expected, PLAN), run(2, endless, endless.outcome(), PLAN)
    assert not ended.failure
    assert not read.failure
    assert ended.rows_read < read.rows_read


def test_a_count_that_snapshots_lack_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tester's test: each recovery begins to count again."""
    monkeypatch.setattr(Manifest, "rows_left_of", lambda _, insert_limits: insert_limits)
    assert any(failures(range(seed, seed + 1), Coverage()) for seed in range(40))
