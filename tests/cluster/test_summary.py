"""What a run comes to is the same on processes: rows, what is wrong with them, what is left of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.tests.command_server import run_command

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cluster

SCRIPT = """
CREATE TABLE seen (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'file', 'path' = 'input', 'on_error' = 'reject');
CREATE TABLE counts (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE closed (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO counts SELECT k, COUNT(*) AS n FROM seen GROUP BY k;
INSERT INTO closed SELECT k, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE seen, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end;
"""
SAME = (
    "rows_in",
    "bytes_in",
    "rows_out",
    "rows_late",
    "rows_rejected",
    "unknown_fields",
    "rows_state",
    "seconds_behind",
    "rows_unreleased",
)


def line(number: int) -> str:
    """Return a row with a field that no column is for; some are late, some malformed."""
    if number % 97 == 5:
        return '{"k": 1}\n'
    seconds = number // 10 - (20 if number % 31 == 30 else 0)
    at = f"2026-01-01T00:{max(seconds, 0) // 60:02}:{max(seconds, 0) % 60:02}Z"
    return json.dumps({"k": f"k{number % 7}", "ts": at, "else": number}) + "\n"


def summary(script: Path, workers: int) -> dict[str, object]:
    flags = ("--json", "--overwrite", "--workers", str(workers))
    command = ["run", *flags, str(script)]
    done = run_command(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stderr.splitlines()[-1])
    return found


def test_the_summary_of_two_workers_is_that_of_one(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    for split in range(2):
        lines = "".join(line(2 * number + split) for number in range(1000))
        (tmp_path / "input" / f"{split}.jsonl").write_text(lines)
    script = tmp_path / "job.sql"
    script.write_text(SCRIPT)
    one, two = summary(script, 1), summary(script, 2)
    assert one.keys() == two.keys()
    assert {name: two[name] for name in SAME} == {name: one[name] for name in SAME}
    assert all(one[name] for name in SAME[:-2])
