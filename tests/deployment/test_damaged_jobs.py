"""A deployed job whose state was damaged while it was stopped: what its agent says, and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.test_damaged_state import damage_newest, flip, tables
from fsql.tests.cluster.twin import OUTPUTS, difference, expected, script

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.deployment.cluster import TestCluster

pytestmark = pytest.mark.cluster


def deploy_and_stop(cluster: TestCluster, directory: Path) -> Path:
    """Deploy a job that lasts as long as a test needs, and stop it; return its state directory."""
    path = directory / "work" / "job.sql"
    path.parent.mkdir()
    path.write_text(script(300, None))
    cluster.call("deploy", path, "--name", "words", "--workers", "2", "--quiet")
    [job] = cluster.directory.jobs()
    cluster.wait_until(lambda: len(list((job.state / "snapshots").glob("*.json"))) >= 2)
    cluster.call("stop", "words")
    return job.state


def test_a_job_resumes_from_the_snapshot_before_a_damaged_one(
    cluster: TestCluster, tmp_path: Path
) -> None:
    state = deploy_and_stop(cluster, tmp_path)
    number = damage_newest(state)
    said = cluster.say("snapshot", "verify", "words")
    assert said.code == 1
    assert f"snapshot {number} is damaged" in said.err
    cluster.call("restart", "words")
    cluster.wait_for_state("words", "running")
    lines = cluster.drain_later("words", tmp_path / "work" / "lines.txt")
    assert f"snapshot {number} (" in cluster.call("logs", "words").out
    written = {name: (tmp_path / "work" / name).read_bytes() for name in OUTPUTS}
    (tmp_path / "twin").mkdir()
    assert difference(written, expected(tmp_path / "twin", lines)) == ""


def test_a_job_without_a_whole_snapshot_fails_for_good_and_names_the_remedy(
    cluster: TestCluster, tmp_path: Path
) -> None:
    state = deploy_and_stop(cluster, tmp_path)
    for table in tables(state):
        flip(table, 20)
    cluster.call("restart", "words")
    cluster.wait_until(lambda: cluster.status("words")["state"] == "failed")
    why = cluster.call("status", "words", "--why").out
    assert "it failed: FSQL-E612: snapshot" in why
    assert f": fsql snapshot salvage --state {state}\n" in why
    said = cluster.say("snapshot", "salvage", "words")
    assert said.code == 0, said
    assert "no snapshot can be restored: restore the directory from a backup" in said.out
