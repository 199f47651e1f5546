"""Deployed jobs whose coordination is ZooKeeper, with CURVE keys: ticks, drains and changes go on as ever."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.deployment.connections import Connections, check_same_coordination
from fsql.runtime.coordination.zookeeper.address import Credentials, parse_address
from fsql.runtime.coordination.zookeeper.driver import ZooKeeperCoordination
from fsql.runtime.drivers.curve.keys import create_keys
from fsql.runtime.drivers.zookeeper_server import ServerOptions, ZooKeeperServer
from fsql.tests.cli.commands import fsql
from fsql.tests.cluster.twin import OUTPUTS, expected, script
from fsql.tests.deployment.cluster import TestCluster
from fsql.tests.zookeeper.worlds import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


pytestmark = pytest.mark.cluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    [port] = free_ports(1)  # nobody else gets it while the server is away
    started = ZooKeeperServer(ServerOptions(tmp_path / "server", port, tick_ms=200))
    started.start()
    yield started
    started.kill()


@pytest.fixture
def guarded(server: ZooKeeperServer, tmp_path: Path) -> Iterator[TestCluster]:
    """Return a cluster whose jobs use the server, with credentials and keys."""
    credentials, keys = tmp_path / "credentials", tmp_path / "keys"
    credentials.write_text("fsql:secret\n")
    credentials.chmod(0o600)
    create_keys(keys)
    found = TestCluster(tmp_path / "cluster")
    address = f"zookeeper://{server.address}/guarded"
    found.call(
        *("up", "--coordination", address, "--coordination-credentials", credentials),
        *("--keys", keys, "--quiet"),
    )
    yield found
    found.close()


def children(server: ZooKeeperServer) -> set[str]:
    """Return the names below the path of the cluster."""
    root = parse_address(f"zookeeper://{server.address}/guarded")
    client = ZooKeeperCoordination(root, Credentials("fsql", "secret"), create=True)
    names = client._connection.call("get_children", root.path)
    client.close()
    return set(names)


def listed(cluster: TestCluster) -> list[tuple[int, str]]:
    """Return number and state of the ticks of the job."""
    ticks = json.loads(cluster.call("tick", "list", "words", "--json").out)["ticks"]
    return [(each["tick"], each["state"]) for each in ticks]


def coordinator(cluster: TestCluster) -> int:
    [process] = cluster.processes("coordinator")
    return process


def check_output(cluster: TestCluster, written: Path, right: Path) -> int:
    """Drain the job; check that it has written what one process writes, in `right`.

    Return its position.
    """
    lines = cluster.drain("words")
    right.mkdir()
    assert {name: (written / name).read_bytes() for name in OUTPUTS} == expected(right, lines)
    return lines


def test_ticks_wait_for_zookeeper_and_are_taken(
    guarded: TestCluster, server: ZooKeeperServer, tmp_path: Path
) -> None:
    path = tmp_path / "work" / "job.sql"
    path.parent.mkdir()
    path.write_text(script(300, None))
    guarded.call("deploy", path, "--name", "words", "-w", "2", "--snapshot-ms", "500", "--quiet")
    guarded.wait_for_snapshot("words")
    [job] = guarded.directory.jobs()
    assert not (job.state / "coordination.sqlite").exists()
    guarded.call("tick", "propose", "words", "--to", "1", "--wait")

    # The proposal is stored, and nobody has read it, when the server ends.
    stopped = coordinator(guarded)
    os.kill(stopped, signal.SIGSTOP)
    guarded.call("tick", "propose", "words", "--equal")
    server.kill()
    with suppress(ProcessLookupError):  # it is killed when it has been silent for 10 s
        os.kill(stopped, signal.SIGCONT)
    said = guarded.say("tick", "list", "words")
    assert (said.code, said.err.splitlines()[0].partition(": no connection")[0]) == (
        1,
        f'error[FSQL-E642]: the coordination of "{job.state}" cannot be used',
    )
    server.start()
    guarded.wait_until(lambda: listed(guarded)[0] == (2, "taken"))

    # A drain ends the run with a tick under way, if it is faster; the next run takes it.
    guarded.call("tick", "propose", "words", "--to", "0")
    guarded.call("stop", "words", "--drain")
    guarded.call("restart", "words")
    guarded.wait_until(lambda: listed(guarded)[0] == (3, "taken"))
    guarded.wait_until(lambda: guarded.status("words")["state"] == "running")
    guarded.call("snapshot", "take", "words", "--to", tmp_path / "copy")
    drained = check_output(guarded, path.parent, tmp_path / "right")

    # The state directory is lost, what ZooKeeper keeps is not.
    shutil.rmtree(job.state)
    guarded.call("snapshot", "restore", tmp_path / "copy", "words")
    guarded.call("restart", "words")
    guarded.wait_until(lambda: guarded.position("words") > drained)
    check_output(guarded, path.parent, tmp_path / "restored")
    before = children(server)
    guarded.call("drop", "words")
    assert len(before) - len(children(server)) == 1


def test_processes_are_stopped_for_good_under_zookeeper(
    guarded: TestCluster, server: ZooKeeperServer, tmp_path: Path
) -> None:
    """The lease of a stopped coordinator is closed with its process; the server itself is named."""
    path = tmp_path / "work" / "job.sql"
    path.parent.mkdir()
    path.write_text(script(300, None))
    guarded.call("deploy", path, "--name", "words", "-w", "2", "--snapshot-ms", "500", "--quiet")
    guarded.wait_for_snapshot("words")
    [job] = guarded.directory.jobs()
    runner = job.runner()
    assert runner
    for stopped in (coordinator(guarded), runner):
        os.kill(stopped, signal.SIGSTOP)
        guarded.wait_until(lambda: stopped not in {job.runner(), *guarded.processes("coordinator")})  # noqa: B023
        guarded.wait_for_state("words", "running")
    os.kill(server.pid, signal.SIGSTOP)
    waits = f"{server.address}"
    guarded.wait("words", lambda status: waits in str(status["why"]))
    server.kill()
    server.start()
    guarded.wait_for_state("words", "running")
    check_output(guarded, path.parent, tmp_path / "right")


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (("--coordination", "127.0.0.1:2181"), "E641"),
        (("--coordination", "zookeeper://10.0.0.1:2181/jobs"), "E643"),
        (("--keys", "none"), "E646"),
        (("--listen", "tcp://10.0.0.1:7400"), "E601"),
    ],
)
def test_connections_are_checked_before_a_job_is_deployed(
    flags: tuple[str, ...], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FSQL_ZOOKEEPER_CREDENTIALS", raising=False)
    path = tmp_path / "job.sql"
    path.write_text(script(None, 1))
    said = fsql("deploy", "--quiet", path, *flags, "--dir", tmp_path / "cluster")
    assert (said.code, said.err.partition("]")[0]) == (1, f"error[FSQL-{error}")


def test_a_job_stays_coordinated_where_it_is() -> None:
    one = Connections(coordination="zookeeper://127.0.0.1:2181/jobs")
    check_same_coordination(one, Connections(coordination="zookeeper://127.0.0.1:2182/jobs"))
    with pytest.raises(FsqlError) as raised:
        check_same_coordination(one, Connections(coordination="zookeeper://127.0.0.1:2181/other"))
    [refused] = raised.value.diagnostics
    assert (refused.code, refused.message) == (
        "E638",
        f"the coordination of a job cannot be changed: that of this job is {one.coordination}",
    )
