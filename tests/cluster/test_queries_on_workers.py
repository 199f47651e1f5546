"""Every query of the case files and the examples, on real worker processes: the same bytes as in one process.

The queries of the case files run ten at a time, as one job.  Each runs on 1, 2 or 3 workers two of which are
killed in the middle, and some of them on 2 or 3 that nothing disturbs: moments and numbers of workers take
turns.  Chunks have four rows and the read-ahead is sixteen, so that there is a middle.  Late rows, rejects
and standard output are compared as well, and where a job stops.

Catches what is lost, doubled or disordered between processes or in state that was saved and loaded, and
contents that cannot be sent.  Cannot catch what depends on large inputs; `test_twin.py` is for that.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.tests.cluster.case_jobs import common_of, joined_job
from fsql.tests.cluster.jobs import Job, Written
from fsql.tests.cluster.leading import MOMENTS, Kill, LedRun
from fsql.tests.property.test_case_queries import queries
from fsql.tests.queries.examples import EXAMPLES
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.tests.cluster.nursery import Nursery

pytestmark = pytest.mark.cluster

WORKERS: Final = (1, 2, 3)
ROWS_MAX: Final = 40
LIVE: Final = re.compile(r"'?connector'? = '(stdin|socket|kafka)'")
Query: TypeAlias = tuple[str, str]
"""A query of a case file: its file and line, and the text with the tables."""

QUERIES: Final = [(name, text) for name, text in queries() if not LIVE.search(text)]
"""Those whose tables can be files.

`tests/cli/test_live_input.py` and `tests/kafka` kill runs over the others.
"""


JOINED: Final = 10
"""How many queries are one job."""


def _groups() -> list[list[Query]]:
    """Return the queries, of which those of a group become one job."""
    groups: dict[tuple[str, bool], list[Query]] = {}
    for name, text in QUERIES:
        groups.setdefault(common_of(text), []).append((name, text))
    return [
        each[start : start + JOINED]
        for each in groups.values()
        for start in range(0, len(each), JOINED)
    ]


GROUPS: Final = _groups()


def kills_of(number: int) -> tuple[int, list[Kill]]:
    """Return on how many workers job number `number` runs with kills, and which."""
    first, second = MOMENTS[number % len(MOMENTS)], MOMENTS[(3 * number + 2) % len(MOMENTS)]
    kills = [Kill(first, 1 + number // 7 % 3, worker=number // 5), Kill(second, 5, worker=number)]
    return WORKERS[number % len(WORKERS)], kills


def check(job: Job, expected: Written, nursery: Nursery, number: int) -> None:
    """Run a job with kills, and each eighth undisturbed first."""
    if number % 8 == 0:
        count = (2, 3)[number // 8 % 2]
        run = LedRun(nursery, job, job.description(count))
        assert run.written() == expected, f"{count} workers"
        job.forget_state()
    count, kills = kills_of(number)
    run = LedRun(nursery, job, job.description(count), kills)
    assert run.written() == expected, f"{count} workers, {', '.join(map(str, kills))}"


def separated(group: list[Query], directory: Path) -> list[list[Query]]:
    """Return the queries of each job: those that cannot be joined are alone, the others together.

    A query that stops would stop the others.
    """
    together, alone = [], []
    for number, query in enumerate(group):
        try:
            job = joined_job([query], directory / f"{number}", ROWS_MAX, prints=False)
            is_joined = job.written_here().stopped is None
        except FsqlError:  # it can only be printed: its columns have the same name
            is_joined = False
        if is_joined:
            together.append(query)
        else:
            alone.append([query])
    return [together, *alone]


def jobs_of(group: list[Query], directory: Path) -> Iterator[tuple[list[Query], Job, Written]]:
    """Yield the jobs of a group: the queries, the job, and what it writes."""
    with suppress(FsqlError):
        job = joined_job(group, directory / "joined", ROWS_MAX)
        written = job.written_here()
        if written.stopped is None:
            yield group, job, written
            return
    for number, part in enumerate(separated(group, directory / "separated")):
        job = joined_job(part, directory / f"part-{number}", ROWS_MAX)
        yield part, job, job.written_here()


@pytest.mark.parametrize("seed", chosen_seeds(1))
@pytest.mark.parametrize("group", range(len(GROUPS)), ids=[group[0][0] for group in GROUPS])
def test_every_query_of_the_case_files(
    group: int, seed: int, nursery: Nursery, tmp_path: Path
) -> None:
    """Run the queries of a group as one job; if it fails, run each of them, which names it."""
    number = group + len(GROUPS) * seed
    for part, job, written in jobs_of(GROUPS[group], tmp_path):
        try:
            check(job, written, nursery, number)
        except AssertionError:
            for index, query in enumerate(part):
                again = joined_job([query], tmp_path / f"again-{index}", ROWS_MAX)
                check(again, again.written_here(), nursery, number)
            raise


@pytest.mark.parametrize("seed", chosen_seeds(1))
@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=list(EXAMPLES))
def test_examples_killed_at_any_moment(
    number: int, seed: int, nursery: Nursery, tmp_path: Path
) -> None:
    """Kill a worker at three of the moments, and when several bundles are delivered."""
    example = list(EXAMPLES.values())[number]
    job = Job.of(example.copy_to(tmp_path), example.functions)
    expected = job.written_here()
    assert {name: data.decode() for name, data in expected.files.items() if name != "stdout"} == (
        example.expected
    )
    moments = {MOMENTS[(number + seed + 3 * turn) % len(MOMENTS)] for turn in range(3)}
    kills = [
        *(Kill(moment, 1, worker=number + index) for index, moment in enumerate(sorted(moments))),
        Kill("delivered", 4, worker=number + 1),
    ]
    run = LedRun(nursery, job, job.description(2, chunk_rows=1, read_ahead_rows=4), kills)
    assert run.written() == expected
    # A short run may end before its first snapshot, or with it.
    assert run.killed or moments <= {"saved", "answered", "committing", "committed"}
