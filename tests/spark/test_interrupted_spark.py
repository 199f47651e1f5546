"""Signals end commands that use Spark, whatever it does: no process and no temporary file is left."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from fsql.runtime.drivers.spark.folders import session_folder
from fsql.tests.cli.commands import process
from fsql.tests.spark.processes import is_running, slow_script_in, started_by, wait_until

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    import pytest


def start(folder: Path, *command: str | Path) -> subprocess.Popen[bytes]:
    """Start a command with its own folder for temporary files."""
    flags = ("--functions", folder / "functions", "--quiet")
    return process(*command, *flags, TMPDIR=str(folder / "temporary"))


def test_ctrl_c_ends_a_run_while_tasks_compute(tmp_path: Path) -> None:
    run = start(tmp_path, "run", slow_script_in(tmp_path), "--engine=spark", "--master=local[1]")
    wait_until(lambda: (tmp_path / "marker").exists() or run.poll() is not None)
    processes = started_by(run.pid)
    assert len(processes) >= 3  # Java, and two of Python
    run.send_signal(signal.SIGINT)
    assert (run.communicate(), run.returncode) == ((b"", b""), 130)
    assert list((tmp_path / "temporary").iterdir()) == []
    assert (tmp_path / "out.jsonl").read_bytes() == b""
    wait_until(lambda: not any(map(is_running, processes)))


def test_sigterm_ends_a_profile_while_spark_starts(tmp_path: Path) -> None:
    profile = start(tmp_path, "stats", "profile", slow_script_in(tmp_path), "--spark")
    wait_until(lambda: [*tmp_path.glob("temporary/*/spark.log")] or profile.poll() is not None)
    processes = started_by(profile.pid)
    profile.send_signal(signal.SIGTERM)
    assert (profile.communicate(), profile.returncode) == ((b"", b""), 128 + signal.SIGTERM)
    assert list((tmp_path / "temporary").iterdir()) == []
    wait_until(lambda: not any(map(is_running, processes)))


def test_the_next_session_removes_what_a_killed_one_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(tmp_path, "run", slow_script_in(tmp_path), "--engine=spark", "--master=local[1]")
    wait_until(lambda: (tmp_path / "marker").exists() or run.poll() is not None)
    processes = started_by(run.pid)
    temporary = tmp_path / "temporary"
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    (left,) = temporary.iterdir()
    with session_folder() as folder:  # it is in use, as long as its process lives
        assert {*temporary.iterdir()} == {left, folder}
    run.kill()
    run.communicate()
    wait_until(lambda: not any(map(is_running, processes)))
    assert [*temporary.iterdir()] == [left]
    with session_folder() as folder:
        assert [*temporary.iterdir()] == [folder]
    assert [*temporary.iterdir()] == []


def test_other_folders_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("fsql-spark-failed-1", "fsql-spark-of-another-version", "spark-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spark.log").touch()
    (tmp_path / "fsql-spark-a-link").symlink_to(tmp_path / "spark-1")
    (tmp_path / "fsql-spark-linked-lock").mkdir()
    (tmp_path / "fsql-spark-linked-lock" / "lock").symlink_to(tmp_path / "spark-1" / "spark.log")
    before = sorted(tmp_path.rglob("*"))
    with session_folder():
        pass
    assert sorted(tmp_path.rglob("*")) == before
