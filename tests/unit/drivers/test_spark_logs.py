"""The logs that failed Spark sessions leave."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fsql.runtime.drivers.spark.folders import FAILED_MAX, FAILED_PREFIX, keep_log

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_only_the_newest_logs_of_failures_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    running = tmp_path / "fsql-spark-runs"
    running.mkdir()
    kept = []
    for number in range(FAILED_MAX + 3):
        folder = tmp_path / "session"
        folder.mkdir(exist_ok=True)
        (folder / "spark.log").write_text(f"failure {number}")
        kept.append(keep_log(folder))
        os.utime(kept[-1].parent, ns=(number, number))
    folder.rmdir()
    found = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert found == sorted(path.relative_to(tmp_path) for path in kept[-FAILED_MAX:])
    texts = [path.read_text() for path in kept[-FAILED_MAX:]]
    assert texts == [f"failure {number}" for number in range(3, FAILED_MAX + 3)]
    folders = {path.name for path in tmp_path.iterdir()}
    assert {name for name in folders if not name.startswith(FAILED_PREFIX)} == {running.name}
