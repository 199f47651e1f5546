"""`fsql run --coordination`: a job on processes, whose coordinator and whose server are killed."""

from __future__ import annotations

import os
import random
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.coordination.commits import EPOCH, read_committed
from fsql.runtime.coordination.zookeeper.address import Credentials, parse_address
from fsql.runtime.coordination.zookeeper.driver import ZooKeeperCoordination
from fsql.runtime.drivers.zookeeper_server import ServerOptions, ZooKeeperServer
from fsql.tests.cluster.conftest import ENDLESS
from fsql.tests.cluster.test_joining import join_line
from fsql.tests.cluster.twin import Twin, difference, expected, prefixes, script, wait_until
from fsql.tests.command_server import Command, run_command
from fsql.tests.zookeeper.worlds import ServerPath, free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fsql.runtime.coordination.zookeeper.address import ZooKeeperAddress

RATE, COUNT = 100, 600
CREDENTIALS = Credentials("fsql", "secret")


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return expected(tmp_path_factory.mktemp("right"), COUNT)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    [port] = free_ports(1)  # nobody else gets it while the server is away
    started = ZooKeeperServer(ServerOptions(tmp_path / "server", port, tick_ms=200))
    started.start()
    yield started
    started.kill()


@pytest.fixture
def new_twin(tmp_path: Path) -> Iterator[Callable[[int], Twin]]:
    made: list[Twin] = []

    def new(count: int) -> Twin:
        twin = Twin(tmp_path / "job", RATE, count)
        made.append(twin)
        (twin.directory / "credentials").write_text("fsql:secret\n")
        (twin.directory / "credentials").chmod(0o600)
        return twin

    yield new
    for twin in made:
        twin.shut_down()


@pytest.fixture
def twin(new_twin: Callable[[int], Twin]) -> Twin:
    return new_twin(COUNT)


def flags(twin: Twin, server: ZooKeeperServer, path: str = "/guarded/jobs") -> tuple[str, ...]:
    credentials = str(twin.directory / "credentials")
    address = f"zookeeper://{server.address}{path}"
    return ("--coordination", address, "--coordination-credentials", credentials)


class Watching:
    """What a test sees of a job in ZooKeeper."""

    def __init__(self, server: ZooKeeperServer, path: str = "/guarded/jobs") -> None:
        self.root = parse_address(f"zookeeper://{server.address}{path}")
        self._client: ZooKeeperCoordination | None = None

    def jobs(self) -> list[str]:
        client = ZooKeeperCoordination(self.root, CREDENTIALS, create=True, answer_seconds=60.0)
        names = client._connection.call("get_children", self.root.path)
        client.close()
        return sorted(name for name in names if name not in {"entries", "sessions"})

    def job(self) -> ZooKeeperAddress:
        (name,) = self.jobs()
        return self.root.below(name)

    def client(self) -> ZooKeeperCoordination:
        if self._client is None:
            self._client = ZooKeeperCoordination(
                self.job(), CREDENTIALS, create=False, answer_seconds=60.0
            )
        return self._client

    def snapshot(self) -> int:
        found = read_committed(self.client())
        return 0 if found is None else found.snapshot

    def epoch(self) -> int:
        entry = self.client().get(EPOCH)
        return 0 if entry is None else int(entry.value)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


def test_the_coordinator_is_killed_and_the_server_restarted(
    new_twin: Callable[[int], Twin], own_server: ZooKeeperServer, right: dict[str, bytes]
) -> None:
    twin = new_twin(
        ENDLESS
    )  # however long it takes, there are rows and snapshots behind the restart
    twin.start(2, *flags(twin, own_server))
    wait_until(twin.advances, "output")
    watching = Watching(own_server)
    wait_until(lambda: watching.snapshot() > 0, "a snapshot")
    epoch = watching.epoch()

    twin.kill(random.Random(1), "coordinator")
    wait_until(lambda: watching.epoch() > epoch, "another epoch")
    wait_until(twin.advances, "output behind the kill of the coordinator")
    epoch, snapshot = watching.epoch(), watching.snapshot()
    wait_until(lambda: watching.snapshot() > snapshot, "a snapshot")

    # The lease outlives the server, and so does the epoch.
    own_server.kill()
    size = twin.written_bytes()
    wait_until(lambda: twin.written_bytes() > size, "output without a server")
    own_server.start()
    snapshot = watching.snapshot()
    wait_until(lambda: watching.snapshot() > snapshot, "a snapshot behind the restart")
    assert watching.epoch() == epoch
    watching.close()
    assert twin.end(signal.SIGINT) == 130, twin.errors()
    for name, data in twin.written().items():
        size = min(len(data), len(right[name]))
        assert (name, data[:size]) == (name, right[name][:size])


def test_a_server_that_is_away_for_longer_than_the_lease_ends_nothing(
    new_twin: Callable[[int], Twin], own_server: ZooKeeperServer, tmp_path: Path
) -> None:
    twin = new_twin(ENDLESS)  # it does not end before the server does, however busy the machine is
    twin.start(2, *flags(twin, own_server))
    wait_until(twin.advances, "output")
    watching = Watching(own_server)
    wait_until(lambda: watching.snapshot() > 0, "a snapshot")
    epoch = watching.epoch()
    own_server.kill()
    wait_until(lambda: "snapshots wait" in twin.errors(), "the message")
    # A worker that ends now cannot be replaced before there is a server.
    assert twin.kill(random.Random(2), "worker")
    own_server.start()
    wait_until(lambda: watching.epoch() > epoch, "another epoch")
    wait_until(twin.advances, "output behind the kill of the worker")
    snapshot = watching.snapshot()
    wait_until(lambda: watching.snapshot() > snapshot, "a snapshot behind the restart")
    watching.close()
    assert twin.end(signal.SIGINT) == 130, twin.errors()
    oracle = prefixes(tmp_path / "right", partial(script, None), twin.written())
    assert difference(twin.written(), oracle) == ""


def test_a_run_is_continued_by_another_one_whose_launcher_was_killed(
    twin: Twin, server: ZooKeeperServer, right: dict[str, bytes]
) -> None:
    path = ServerPath(server.address).address.path.replace("/fsql/", "/guarded-")
    twin.start(2, *flags(twin, server, path))
    wait_until(twin.advances, "output")
    watching = Watching(server, path)
    wait_until(lambda: watching.snapshot() > 0, "a snapshot")
    assert twin.process is not None
    twin.process.kill()
    twin.ended()
    twin.start(3, *flags(twin, server, path))
    watching.close()
    assert twin.ended() == 0, twin.errors()
    assert difference(twin.written(), right) == ""


def test_a_worker_joins_by_the_address_of_the_job(
    twin: Twin, server: ZooKeeperServer, right: dict[str, bytes]
) -> None:
    path = ServerPath(server.address).address.path.replace("/fsql/", "/guarded-")
    twin.start(2, "--joining", "1", *flags(twin, server, path))
    command = join_line(twin)
    assert command[1:3] == ["--join", str(Watching(server, path).job())]
    joined = Command(command, env={**os.environ, "FSQL_ZOOKEEPER_CREDENTIALS": "fsql:secret"})
    assert twin.ended() == 0, twin.errors()
    assert joined.wait() == 0
    assert difference(twin.written(), right) == ""


def test_nothing_is_left_of_a_job_without_a_state_directory(
    twin: Twin, server: ZooKeeperServer, right: dict[str, bytes]
) -> None:
    path = ServerPath(server.address).address.path.replace("/fsql/", "/guarded-")
    twin.start(2, *flags(twin, server, path), "--no-state")
    wait_until(twin.advances, "output")
    assert len(Watching(server, path).jobs()) == 1
    assert twin.ended() == 0, twin.errors()
    assert Watching(server, path).jobs() == []
    assert difference(twin.written(), right) == ""


def test_snapshots_are_listed_and_another_coordination_is_refused(
    twin: Twin, server: ZooKeeperServer
) -> None:
    path = ServerPath(server.address).address.path.replace("/fsql/", "/guarded-")
    twin.start(1, *flags(twin, server, path))
    wait_until(twin.advances, "output")
    watching = Watching(server, path)
    wait_until(lambda: watching.snapshot() > 0, "a snapshot")
    watching.close()
    twin.end(signal.SIGTERM)
    listing = ["snapshot", "verify", "--state", str(twin.state)]
    credentials = {**os.environ, "FSQL_ZOOKEEPER_CREDENTIALS": "fsql:secret"}
    listed = run_command(listing, capture_output=True, text=True, check=True, env=credentials)
    assert "newest" in listed.stdout
    recorded = run_command(listing, capture_output=True, text=True, check=True)
    assert recorded.stdout == listed.stdout
    wrong = {**os.environ, "FSQL_ZOOKEEPER_CREDENTIALS": "fsql:wrong"}
    refused = run_command(listing, capture_output=True, text=True, check=False, env=wrong)
    assert "error[FSQL-E643]" in refused.stderr
    twin.start(1)
    assert twin.ended() == 1
    assert (
        f'error[FSQL-E621]: the state directory "{twin.state}" cannot be used:'
        f" its job is coordinated by zookeeper://{server.address}{path}\n"
        f"  = help: run it with --coordination zookeeper://{server.address}{path}\n"
        "  = help: or name another directory\n"
    ) in twin.errors()
