"""Shards that real workers write: the bytes of one process, whichever writer is killed, and when."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.jobs import Job
from fsql.tests.cluster.leading import MOMENTS_OF_WRITERS, Kill, LedRun

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.jobs import Written
    from fsql.tests.cluster.nursery import Nursery

pytestmark = pytest.mark.cluster

SCRIPT = """\
CREATE TABLE t (n BIGINT, name STRING) WITH ('connector' = 'file', 'path' = 'in/*.jsonl');
CREATE TABLE totals (name STRING, n BIGINT) WITH (
    'connector' = 'file', 'path' = 'totals.jsonl', 'shards' = '5', 'changes' = 'retract'
);
CREATE TABLE packed (n BIGINT, word STRING) WITH (
    'connector' = 'file', 'path' = 'packed.jsonl.gz', 'shards' = '2'
);
INSERT INTO totals SELECT name, COUNT(*) FROM t GROUP BY name;
INSERT INTO packed SELECT n, word FROM t CROSS JOIN UNNEST(SPLIT(name, ' ')) AS u (word);
"""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "in").mkdir()
    for file in ("a", "b", "c"):
        rows = (f'{{"n": {n}, "name": "{file if n % 2 else "x"} {n % 7}"}}\n' for n in range(60))
        (tmp_path / "in" / f"{file}.jsonl").write_text("".join(rows))
    (tmp_path / "job.sql").write_text(SCRIPT)
    return Job.of(tmp_path / "job.sql")


def rows_of(written: Written) -> dict[str, bytes]:
    """Return what is in each file: compressed bytes depend on bundles."""
    return {
        name: gzip.decompress(data) if name.endswith(".gz") else data
        for name, data in written.files.items()
    }


@pytest.mark.parametrize("moment", [*MOMENTS_OF_WRITERS, "ready", "committing"])
def test_a_killed_writer_changes_no_row(moment: str, job: Job, nursery: Nursery) -> None:
    expected = rows_of(job.written_here())
    assert len([rows for rows in expected.values() if rows]) == 5 + 2
    count = 1 if moment == "ready" else 3
    # One row at a time, so that the run does not end before its third snapshot.
    description = job.description(3, chunk_rows=1, read_ahead_rows=4)
    run = LedRun(nursery, job, description, [Kill(moment, count, worker=2)])
    assert rows_of(run.written()) == expected
    assert run.killed


@pytest.mark.parametrize("delivery", ["at-least-once", "at-most-once", "none"])
def test_other_guarantees_write_all_rows_if_nothing_fails(
    delivery: str, job: Job, nursery: Nursery
) -> None:
    expected = rows_of(job.written_here())
    run = LedRun(nursery, job, job.description(4, delivery=delivery))
    assert rows_of(run.written()) == expected
