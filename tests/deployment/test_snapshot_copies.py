"""Snapshots taken on demand, copied, and restored: output goes on exactly-once from where it is."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql
from fsql.tests.cluster.twin import OUTPUTS, expected, script

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.deployment.cluster import TestCluster

pytestmark = pytest.mark.cluster


@pytest.fixture
def copy(cluster: TestCluster, tmp_path: Path) -> Path:
    """Deploy a job, copy a snapshot of it while it runs, and stop it later."""
    path = tmp_path / "work" / "job.sql"
    path.parent.mkdir()
    path.write_text(script(200, None))
    cluster.call("deploy", path, "--name", "words", "-w", "2", "--snapshot-ms", "300")
    rows = cluster.wait_for_rows("words", 100)["counters"]["rows_out"]
    taken = cluster.call("snapshot", "take", "words", "--to", tmp_path / "copy", "--json")
    assert json.loads(taken.err)["copy"] == str(tmp_path / "copy")
    cluster.wait_for_rows("words", rows + 500)
    cluster.call("stop", "words")
    return tmp_path / "copy"


def written(tmp_path: Path) -> dict[str, bytes]:
    return {name: (tmp_path / "work" / name).read_bytes() for name in OUTPUTS}


def test_a_copy_verifies(copy: Path) -> None:
    said = fsql("snapshot", "verify", "--state", copy, "--json")
    assert said.code == 0
    assert [each["ok"] for each in json.loads(said.out)["snapshots"]] == [True, True]


def test_a_job_goes_back_to_a_copy(cluster: TestCluster, copy: Path, tmp_path: Path) -> None:
    cluster.call("snapshot", "restore", copy, "words")
    cluster.call("restart", "words")
    lines = cluster.drain_later("words", tmp_path / "work" / "lines.txt")
    assert written(tmp_path) == expected(tmp_path, lines)


def test_a_lost_state_directory_is_restored(
    cluster: TestCluster, copy: Path, tmp_path: Path
) -> None:
    [job] = list(cluster.directory.jobs())
    shutil.rmtree(job.state)
    cluster.call("snapshot", "restore", copy, "words")
    cluster.call("restart", "words")
    lines = cluster.drain_later("words", tmp_path / "work" / "lines.txt")
    assert written(tmp_path) == expected(tmp_path, lines)


def test_a_copy_of_another_plan_is_refused(cluster: TestCluster, copy: Path) -> None:
    [job] = list(cluster.directory.jobs())
    description = json.loads((job.state / "job.json").read_bytes())
    (job.state / "job.json").write_text(json.dumps({**description, "plan": "0" * 64}))
    assert cluster.say("snapshot", "restore", copy, "words").err.splitlines()[0] == (
        "error[FSQL-E639]: the copy is of another plan than the job"
    )


def test_nothing_is_copied_over(cluster: TestCluster, copy: Path) -> None:
    cluster.call("restart", "words")
    cluster.wait_for_state("words", "running")
    assert cluster.say("snapshot", "take", "words", "--to", copy).err.splitlines()[0] == (
        f'error[FSQL-E639]: "{copy}" is not empty'
    )
    said = cluster.say("snapshot", "restore", copy, "words")
    assert said.err.startswith("error[FSQL-E621]")


def test_a_job_that_does_not_run_takes_no_snapshot(cluster: TestCluster, copy: Path) -> None:
    assert copy.exists()
    assert cluster.say("snapshot", "take", "words").err.startswith("error[FSQL-E637]")
