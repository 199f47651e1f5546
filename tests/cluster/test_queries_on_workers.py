"""Every query of the case files and the examples, on real worker processes: the same bytes as in one process.

Each runs on 1, 2 or 3 workers with one that is killed in the middle, and some of them on 2 or 3 that nothing
disturbs: moments and numbers of workers take turns.  Chunks have four rows and the read-ahead is sixteen, so
that there is a middle.  Late rows, rejects and standard output are compared as well, and where a job stops.

Catches what is lost, doubled or disordered between processes or in state that was saved and loaded, and
contents that cannot be sent.  Cannot catch what depends on large inputs; `test_twin.py` is for that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from fsql.tests.cluster.case_jobs import case_job
from fsql.tests.cluster.jobs import Job
from fsql.tests.cluster.leading import MOMENTS, Kill, LedRun
from fsql.tests.property.test_case_queries import queries
from fsql.tests.queries.examples import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.nursery import Nursery

pytestmark = pytest.mark.cluster

WORKERS: Final = (1, 2, 3)
ROWS_MAX: Final = 40
LIVE: Final = re.compile(r"'connector' = '(stdin|socket)'")
QUERIES: Final = [(name, text) for name, text in queries() if not LIVE.search(text)]
"""Those whose tables can be files.  `tests/cli/test_live_input.py` kills runs over the others."""


def kill_of(number: int) -> tuple[int, Kill]:
    """Return on how many workers query number `number` runs with a kill, and which."""
    moment = MOMENTS[number // len(WORKERS) % len(MOMENTS)]
    count = 1 + number // 7 % 3 if moment == "delivered" else 1
    return WORKERS[number % len(WORKERS)], Kill(moment, count, worker=number // 5)


def check(job: Job, nursery: Nursery, number: int) -> None:
    """Run a job with a kill, and each eighth undisturbed first."""
    expected = job.written_here()
    if number % 8 == 0:
        count = (2, 3)[number // 8 % 2]
        run = LedRun(nursery, job, job.description(count))
        assert run.written() == expected, f"{count} workers"
        job.forget_state()
    count, kill = kill_of(number)
    run = LedRun(nursery, job, job.description(count), [kill])
    assert run.written() == expected, f"{count} workers, {kill}"


@pytest.mark.parametrize("number", range(len(QUERIES)), ids=[name for name, _ in QUERIES])
def test_every_query_of_the_case_files(number: int, nursery: Nursery, tmp_path: Path) -> None:
    check(case_job(*QUERIES[number], tmp_path, ROWS_MAX), nursery, number)


KILLED: Final = [
    pytest.param(number, MOMENTS[(number + 3 * turn) % len(MOMENTS)], id=f"{name}-{turn}")
    for number, name in enumerate(EXAMPLES)
    for turn in range(3)
]
"""Examples with three of the moments each."""


@pytest.mark.parametrize(("number", "moment"), KILLED)
def test_examples_killed_at_any_moment(
    number: int, moment: str, nursery: Nursery, tmp_path: Path
) -> None:
    example = list(EXAMPLES.values())[number]
    job = Job.of(example.copy_to(tmp_path), example.functions)
    expected = job.written_here()
    assert {name: data.decode() for name, data in expected.files.items() if name != "stdout"} == (
        example.expected
    )
    kills = [Kill(moment, 1, worker=number), Kill("delivered", 4, worker=number + 1)]
    run = LedRun(nursery, job, job.description(2, chunk_rows=1, read_ahead_rows=4), kills)
    assert run.written() == expected
    # A short run may end before its first snapshot, or with it.
    assert run.killed or moment in {"saved", "answered", "committing", "committed"}
