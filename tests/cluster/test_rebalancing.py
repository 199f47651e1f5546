"""Other workers process what the only reader reads, while workers join, leave and are killed."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from fsql.tests.cli.commands import fsql
from fsql.tests.cluster.test_tick_commands import take
from fsql.tests.cluster.twin import end_later, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster


def script(limit: str) -> str:
    """Return a job that reads one table with one split, whose words are only unnested in its first stage."""
    return f"""
CREATE TABLE lines (id BIGINT, line STRING) WITH ('connector' = 'words', 'seed' = '3',
    'vocabulary' = '90', 'words_per_line' = '3', {limit});
CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
CREATE TABLE copies (line STRING) WITH ('connector' = 'file', 'path' = 'lines.txt', 'format' = 'text');
INSERT INTO counts
SELECT word, COUNT(*) AS n FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word) GROUP BY word;
INSERT INTO copies SELECT UPPER(line) AS line FROM lines;
"""


def plan_with(twin: Twin, path: Path, percent: int) -> Path:
    """Write the choices of a run that rebalance a percentage of its table."""
    said = fsql("tick", "plan", "--state", twin.state)
    assert said.code == 0, said.err
    plan: dict[str, Any] = json.loads(said.out)
    plan["folds"][0]["policy"] = "ordered"
    plan["rebalanced"] = [{"table": "lines", "percent": percent}]
    path.write_text(json.dumps(plan))
    return path


def unnesting(twin: Twin) -> set[int]:
    """Return the workers that have unnested rows, by the statistics of all intervals."""
    found = set()
    for path in sorted((twin.state / "statistics" / "operators").glob("[0-9]*.parquet")):
        for row in pq.read_table(path).to_pylist():
            if row["operator"] == "Unnest" and row["rows_in"]:
                found.add(row["worker"])
    return found


def test_rows_of_one_reader_go_to_all_workers(twin: Twin, tmp_path: Path) -> None:
    twin.start(2, "--no-contract", "--tick", "0.5")
    wait_until(lambda: unnesting(twin) == {0}, "statistics")
    path = tmp_path / "plan.json"
    changes = take(twin, "--plan", plan_with(twin, path, 100), "--equal")["changes"]
    assert changes[-1] == "rows of lines: 100 % to other workers, was: not rebalanced"
    wait_until(lambda: unnesting(twin) == {0, 1}, "rows on another worker")
    take(twin, "--workers", "3")
    wait_until(lambda: unnesting(twin) == {0, 1, 2}, "rows on the worker that has joined")
    os.kill(twin.worker_with_store(), signal.SIGKILL)
    wait_until(twin.advances, "output after a worker was killed")
    [coordinator] = twin.pids("coordinator")
    os.kill(coordinator, signal.SIGKILL)
    take(twin, "--workers", "2")
    take(twin, "--plan", plan_with(twin, path, 50))
    assert end_later(twin, tmp_path / "right", script) == ""
