"""Workers that read parts of the input leave and join while rows flow: others read on, at the same row."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.test_tick_commands import take
from fsql.tests.cluster.twin import end_later, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster


def script(limit: str) -> str:
    """Return a job that reads three tables, each with one split."""
    tables = "".join(
        f"CREATE TABLE lines{number} (id BIGINT, line STRING) WITH ('connector' = 'words',"
        f" 'seed' = '{number}', 'vocabulary' = '90', 'words_per_line' = '3', {limit});"
        for number in range(3)
    )
    return f"""{tables}
CREATE VIEW lines AS
SELECT line FROM lines0 UNION ALL SELECT line FROM lines1 UNION ALL SELECT line FROM lines2;
CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
CREATE TABLE copies (line STRING) WITH ('connector' = 'file', 'path' = 'lines.txt', 'format' = 'text');
INSERT INTO counts
SELECT word, COUNT(*) AS n FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word) GROUP BY word;
INSERT INTO copies SELECT line FROM lines;
"""


def moved(table: int, after: int, before: int) -> str:
    return f'worker {after} reads split 0 of table "lines{table}", before worker {before}'


def test_fronts_follow_the_number_of_workers(twin: Twin, tmp_path: Path) -> None:
    twin.start(3, "--no-contract")
    wait_until(twin.advances, "output")
    assert take(twin, "--workers", "1")["changes"] == [moved(1, 0, 1), moved(2, 0, 2)]
    assert take(twin, "--workers", "2")["changes"] == [moved(2, 1, 0)]
    os.kill(twin.worker_with_store(), signal.SIGKILL)
    wait_until(twin.advances, "output")
    taken = take(twin, "--workers", "3")
    assert (taken["workers"], taken["readers"]) == (3, [0, 2, 1])
    assert taken["changes"] == [moved(1, 2, 0)]
    assert take(twin, "--equal")["readers"] == [0, 2, 1]
    [coordinator] = twin.pids("coordinator")
    os.kill(coordinator, signal.SIGKILL)
    assert take(twin, "--workers", "1")["changes"] == [moved(1, 0, 2), moved(2, 0, 1)]
    assert end_later(twin, tmp_path / "right", script) == ""
