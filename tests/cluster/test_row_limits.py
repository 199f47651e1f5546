"""Runs over endless input end when LIMIT has all its rows, whatever is killed; the next run is a no-op."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.twin import difference, wait_until
from fsql.tests.command_server import run_command

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster

LINES = 600


def script(_: str) -> str:
    """Return a job over lines without an end, 100 a second."""
    return f"""
CREATE TABLE lines (id BIGINT, line STRING) WITH (
    'connector' = 'words', 'seed' = '17', 'vocabulary' = '200', 'words_per_line' = '4', 'rate' = '100');
CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
CREATE TABLE copies (line STRING) WITH ('connector' = 'file', 'path' = 'lines.txt', 'format' = 'text');
INSERT INTO counts
SELECT word, COUNT(*) OVER (PARTITION BY word ROWS UNBOUNDED PRECEDING) AS n
FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word) LIMIT {3 * LINES};
INSERT INTO copies SELECT UPPER(line) AS line FROM lines LIMIT {LINES};
"""


def test_a_run_ends_with_its_last_rows(twin: Twin, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "job.sql").write_text(script(""))
    run_command(["run", "--quiet", str(alone / "job.sql")], check=True)
    right = {name: (alone / name).read_bytes() for name in ("counts.jsonl", "lines.txt")}
    assert right["lines.txt"].count(b"\n") == LINES
    random = Random(17)
    twin.start(2)
    for role in ("worker", "coordinator"):
        wait_until(twin.advances, "output")
        assert twin.kill(random, role)
    assert twin.ended() == 0, twin.errors()
    assert difference(twin.written(), right) == ""
    twin.start(3)
    assert twin.ended() == 0, twin.errors()
    assert "this job has already finished" in twin.errors()
    assert difference(twin.written(), right) == ""
