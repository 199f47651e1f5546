"""A job stopped at a committed position: outputs, snapshot and answer are of one position."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fsql.job.coordination import state_coordination
from fsql.runtime.coordination.snapshot_requests import REQUEST
from fsql.tests.cli.commands import process
from fsql.tests.cluster.twin import OUTPUTS, expected, freeze, script
from fsql.tests.deployment.cluster import kill

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.deployment.cluster import TestCluster

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_drained_job_goes_on(cluster: TestCluster, tmp_path: Path, workers: str) -> None:
    path = tmp_path / "work" / "job.sql"
    path.parent.mkdir()
    path.write_text(script(200, None))
    cluster.call("deploy", path, "--name", "words", "-w", workers, "--snapshot-ms", "60000")
    cluster.wait_for_rows("words", 100)
    cluster.call("stop", "words", "--drain")
    [job] = list(cluster.directory.jobs())
    outcome = job.outcome()
    assert outcome is not None
    assert outcome.kind == "drained"
    # The time of a row of `words` is its number: what is below the position is written, and no more.
    assert (path.parent / "lines.txt").read_bytes().count(b"\n") == cluster.position("words")
    cluster.call("restart", "words")
    lines = cluster.drain_later("words", path.parent / "lines.txt")
    written = {name: (path.parent / name).read_bytes() for name in OUTPUTS}
    assert written == expected(tmp_path, lines)


def test_a_stopped_job_cannot_be_drained(cluster: TestCluster, tmp_path: Path) -> None:
    path = tmp_path / "job.sql"
    path.write_text(script(100, None))
    cluster.call("deploy", path)
    cluster.wait_for_rows("job", 1)
    cluster.call("stop", "job")
    assert cluster.say("stop", "job", "--drain").err.splitlines()[0] == (
        'error[FSQL-E637]: the job "job" is not running'
    )


def test_a_drain_outlives_the_coordinator(cluster: TestCluster, tmp_path: Path) -> None:
    path = tmp_path / "work" / "job.sql"
    path.parent.mkdir()
    path.write_text(script(200, None))
    cluster.call("deploy", path, "--name", "words", "--snapshot-ms", "60000")
    cluster.wait_for_rows("words", 100)
    [job] = list(cluster.directory.jobs())
    [coordinator] = cluster.processes("coordinator")
    freeze(coordinator, job.state)  # it would take the snapshot before it is killed
    draining = process("stop", "words", "--drain", "--dir", cluster.path)
    cluster.wait_until(lambda: is_requested(job.state) or draining.poll() is not None)
    kill(coordinator)
    _, said = draining.communicate()
    assert draining.returncode == 0, said
    outcome = job.outcome()
    assert outcome is not None
    assert outcome.kind == "drained"
    assert (path.parent / "lines.txt").read_bytes().count(b"\n") == cluster.position("words")
    cluster.call("restart", "words")
    lines = cluster.drain_later("words", path.parent / "lines.txt")
    written = {name: (path.parent / name).read_bytes() for name in OUTPUTS}
    assert written == expected(tmp_path, lines)


def is_requested(state: Path) -> bool:
    with closing(state_coordination(state)) as coordination:
        return coordination.get(REQUEST) is not None
