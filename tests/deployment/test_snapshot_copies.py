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


def check_output(cluster: TestCluster, tmp_path: Path) -> None:
    """Drain the job; check that it has written what one process writes."""
    lines = cluster.drain_later("words", tmp_path / "work" / "lines.txt")
    written = {name: (tmp_path / "work" / name).read_bytes() for name in OUTPUTS}
    assert written == expected(tmp_path, lines)


def test_a_job_goes_back_to_a_copy(cluster: TestCluster, copy: Path, tmp_path: Path) -> None:
    def error(*arguments: str | Path) -> str:
        return cluster.say(*arguments).err.splitlines()[0]

    said = fsql("snapshot", "verify", "--state", copy, "--json")
    assert said.code == 0
    assert [each["ok"] for each in json.loads(said.out)["snapshots"]] == [True, True]
    assert error("snapshot", "take", "words").startswith("error[FSQL-E637]")

    [job] = list(cluster.directory.jobs())
    for command in ("list", "verify"):
        by_state = fsql("snapshot", command, "--state", job.state, "--json")
        assert cluster.say("snapshot", command, "words", "--json") == by_state
    assert error("snapshot", "list", "none").startswith("error[FSQL-E633]")
    description = (job.state / "job.json").read_bytes()
    (job.state / "job.json").write_text(json.dumps({**json.loads(description), "plan": "0" * 64}))
    assert error("snapshot", "restore", copy, "words") == (
        "error[FSQL-E639]: the copy is of another plan than the job"
    )
    (job.state / "job.json").write_bytes(description)

    cluster.call("snapshot", "restore", copy, "words")
    cluster.call("restart", "words")
    cluster.wait_for_state("words", "running")
    assert error("snapshot", "take", "words", "--to", copy) == (
        f'error[FSQL-E639]: "{copy}" is not empty'
    )
    assert error("snapshot", "restore", copy, "words").startswith("error[FSQL-E621]")
    check_output(cluster, tmp_path)


def test_a_lost_state_directory_is_restored(
    cluster: TestCluster, copy: Path, tmp_path: Path
) -> None:
    [job] = list(cluster.directory.jobs())
    shutil.rmtree(job.state)
    cluster.call("snapshot", "restore", copy, "words")
    cluster.call("restart", "words")
    check_output(cluster, tmp_path)
