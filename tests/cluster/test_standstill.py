"""Tables that stand still, for good or for a while, keep a job from no snapshot."""

from __future__ import annotations

import signal
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.twin import (
    HANGS_AFTER_SECONDS,
    difference,
    for_an_hour,
    prefixes,
    wait_until,
)
from fsql.tests.command_server import run_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster


def script(limit: str) -> str:
    """Return a job that counts the words of 20 lines and copies others."""
    few, many = (
        f"(id BIGINT, line STRING) WITH ('connector' = 'words', 'seed' = '17',"
        f" 'vocabulary' = '200', 'words_per_line' = '4', {rest})"
        for rest in ("'count' = '20'", limit)
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


def test_snapshots_go_on_when_one_of_two_tables_has_ended(
    new_twin: Callable[[], Twin], tmp_path: Path
) -> None:
    twin = new_twin()
    job = twin.directory / "job.sql"
    job.write_text(script("'count' = '1'"))
    run_command(["run", "--quiet", str(job)], check=True)
    counts = twin.directory / "counts.jsonl"
    all_counts = counts.read_bytes()
    counts.unlink()
    job.write_text(script(for_an_hour(400)))
    twin.start(2, "--overwrite")
    wait_until(lambda: has(counts, all_counts), "the end of the first table")
    before = newest(twin)
    wait_until(lambda: newest(twin) > before, "another snapshot")
    assert twin.kill(Random(1), "worker")
    wait_until(twin.advances, "output")
    assert twin.end(signal.SIGINT) == 130, twin.errors()
    right = prefixes(tmp_path / "right", lambda n: script(f"'count' = '{n}'"), twin.written())
    assert difference(twin.written(), right) == ""


def has(path: Path, data: bytes) -> bool:
    return path.exists() and path.read_bytes() == data


def newest(twin: Twin) -> int:
    found = [int(path.stem) for path in (twin.state / "snapshots").glob("*.json")]
    return max(found, default=0)


def test_a_source_that_a_full_log_holds_back_goes_on_when_snapshots_make_room(
    tmp_path: Path,
) -> None:
    """All that fits in the log is read at once; then nothing moves until a snapshot behind it does."""
    job = tmp_path / "job.sql"
    job.write_text("""
CREATE TABLE lines (line STRING) WITH ('connector' = 'stdin', 'format' = 'text', 'log_mib' = '1');
CREATE TABLE counts (line STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
INSERT INTO counts SELECT line, COUNT(*) AS n FROM lines GROUP BY line;
""")
    written = []
    for flags in ((), ("--state", str(tmp_path / "state"), "--snapshot-ms", "50")):
        run_command(
            ["run", "--quiet", "--overwrite", str(job), *flags],
            input=(b"x" * 99 + b"\n") * 30_000,
            check=True,
            timeout=HANGS_AFTER_SECONDS,
        )
        written.append((tmp_path / "counts.jsonl").read_bytes())
    assert written[0] == written[1]
