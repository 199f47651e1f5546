"""Rows that share a position: they are released in the order of their columns, on any number of workers."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.jobs import Job
from fsql.tests.cluster.leading import LedRun

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.nursery import Nursery

pytestmark = pytest.mark.cluster

PARTS = """
(SELECT a.k, s.x, s.y FROM a CROSS JOIN LATERAL
    (SELECT a.v, 'a' UNION ALL SELECT x, 'tag' FROM UNNEST(a.tags) AS u (x)) AS s (x, y))
"""
"""The parts of the UNION ALL are computed from one row, so their rows have its position."""
QUERIES = {
    "released": f"SELECT k, x, y FROM {PARTS} AS p",
    "ranked": f"SELECT k, y, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) AS n FROM {PARTS} AS p",
    "summed": f"SELECT k, y, SUM(x) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING) AS n FROM {PARTS} AS p",
    "joined": f"SELECT p.k, p.y, q.y AS other FROM {PARTS} AS p JOIN {PARTS} AS q ON p.x = q.k",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("workers", [2, 3])
def test_parts_of_one_row(query: str, workers: int, nursery: Nursery, tmp_path: Path) -> None:
    random = Random(1)
    (tmp_path / "a").mkdir()
    for split in range(3):
        rows = [
            {
                "k": random.randrange(4),
                "v": random.randrange(4),
                "tags": random.choices(range(4), k=2),
            }
            for _ in range(30)
        ]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / "a" / f"{split}.jsonl").write_text(text)
    path = tmp_path / "job.sql"
    path.write_text(f"""
        CREATE TABLE a (k BIGINT, v BIGINT, tags ARRAY<BIGINT>)
            WITH ('connector' = 'file', 'path' = 'a', 'format' = 'json');
        {query};
    """)
    job = Job.of(path)
    assert LedRun(nursery, job, job.description(workers)).written() == job.written_here()
