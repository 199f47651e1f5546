"""What keeps a run on processes from starting is said once, by its own code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
CREATE TABLE numbers (n BIGINT, line STRING) WITH (
  'connector' = 'words', 'count' = '1500', 'rate' = '1000', 'seed' = '1',
  'vocabulary' = '10', 'words_per_line' = '1'
);
CREATE TABLE out (n BIGINT) WITH ('connector' = 'file', 'path' = 'out.ndjson', 'format' = 'json');
INSERT INTO out SELECT n FROM numbers;
"""


def script(directory: Path) -> Path:
    """Write a script that runs for a second and a half."""
    path = directory / "script.sql"
    path.write_text(SCRIPT)
    return path


def test_an_address_elsewhere(tmp_path: Path) -> None:
    said = fsql(
        "run", "--quiet", "--workers", "2", "--listen", "tcp://0.0.0.0:5000", script(tmp_path)
    )
    assert said.code == 1
    assert said.err.count("FSQL-E") == 1
    assert "FSQL-E601" in said.err


def test_a_lost_coordination_file_is_no_beginning(tmp_path: Path) -> None:
    run = ("run", "--quiet", "--snapshot-ms", "200", "--state", tmp_path / "state")
    assert fsql(*run, script(tmp_path)).code == 0
    assert list((tmp_path / "state" / "snapshots").iterdir())
    (tmp_path / "state" / "coordination.sqlite").unlink()
    said = fsql(*run, script(tmp_path))
    assert said.code == 1
    assert said.err.count("FSQL-") == 1
    assert "FSQL-E615" in said.err


def test_snapshots_whose_job_is_not_known_are_no_beginning(tmp_path: Path) -> None:
    (tmp_path / "state" / "snapshots").mkdir(parents=True)
    said = fsql("run", "--quiet", "--state", tmp_path / "state", script(tmp_path))
    assert said.code == 1
    assert "FSQL-E621" in said.err
    assert 'no "job.json"' in said.err
