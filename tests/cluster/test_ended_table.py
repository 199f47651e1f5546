"""A table that has come to its end keeps a job that goes on with others from no snapshot."""

from __future__ import annotations

import subprocess
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.twin import FSQL, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster


def script(pace: str = "") -> str:
    """Return a job that counts the words of 20 lines and copies many others."""
    few, many = (
        f"(id BIGINT, line STRING) WITH ('connector' = 'words', 'seed' = '17',"
        f" 'vocabulary' = '200', 'words_per_line' = '4', {rest})"
        for rest in ("'count' = '20'", f"'count' = '2400'{pace}")
    )
    return f"""
CREATE TABLE few {few};
CREATE TABLE lines {many};
CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
CREATE TABLE copies (line STRING) WITH ('connector' = 'file', 'path' = 'lines.txt', 'format' = 'text');
INSERT INTO counts SELECT word, COUNT(*) AS n
FROM few CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word) GROUP BY word;
INSERT INTO copies SELECT line FROM lines;
"""


def test_snapshots_go_on_when_one_of_two_tables_has_ended(new_twin: Callable[[], Twin]) -> None:
    twin = new_twin()
    job = twin.directory / "job.sql"
    job.write_text(script())
    subprocess.run([*FSQL, "run", "--quiet", str(job)], check=True)
    right = twin.written()
    counts = twin.directory / "counts.jsonl"
    counts.unlink()
    job.write_text(script(", 'rate' = '400'"))
    twin.start(2)
    wait_until(lambda: has(counts, right[counts.name]), "the end of the first table")
    assert twin.running()
    before = newest(twin)
    wait_until(lambda: newest(twin) > before, "another snapshot")
    twin.kill(Random(1), "worker")
    wait_until(twin.goes_on, "output")
    assert twin.ended() == 0, twin.errors()
    assert twin.written() == right


def has(path: Path, data: bytes) -> bool:
    return path.exists() and path.read_bytes() == data


def newest(twin: Twin) -> int:
    found = [int(path.stem) for path in (twin.state / "snapshots").glob("*.json")]
    return max(found, default=0)
