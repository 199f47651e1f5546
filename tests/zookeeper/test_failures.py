"""A server that stops, hangs and comes back; sessions that end; an ensemble that loses servers."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import pytest

from fsql.runtime.coordination.lease import Lease
from fsql.runtime.coordination.port import (
    CoordinationRefusedError,
    CoordinationUnavailableError,
    DamagedCoordinationError,
    EntryChangedError,
    EntryExistsError,
    SessionExpiredError,
)
from fsql.runtime.coordination.zookeeper.driver import ZooKeeperCoordination
from fsql.runtime.drivers.zookeeper_server import HOST, ServerOptions, ZooKeeperServer
from fsql.tests.zookeeper.worlds import ServerPath, free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fsql.runtime.coordination.port import Entry

_Result = TypeVar("_Result")
LONG = 30.0
"""A session that does not end while the test is about something else."""


def until(call: Callable[[], _Result | None]) -> _Result:
    """Return what a call returns when it is answered and is not None."""
    while True:
        try:
            result = call()
        except CoordinationUnavailableError:
            continue
        if result is not None:
            return result


def kept_alive(client: ZooKeeperCoordination, session: int) -> bool:
    client.keep_alive(session)
    return True


def session_with_entry(client: ZooKeeperCoordination, key: str, ttl_seconds: float) -> int:
    """Return a session that has an entry; one that ends before, on a busy machine, is not kept."""
    while True:
        session = client.open_session(ttl_seconds)
        with suppress(SessionExpiredError):
            client.create(session, key, b"1", ephemeral=True)
            return session


def written(write: Callable[[], Entry], read: Callable[[], Entry | None], value: bytes) -> Entry:
    """Return the entry that a call writes; without an answer it may have been written nevertheless."""
    while True:
        try:
            return until(write)
        except (EntryChangedError, EntryExistsError):
            entry = until(read)
            assert entry.value == value
            return entry


def impatient(place: ServerPath, seconds: float = 0.3) -> ZooKeeperCoordination:
    client = ZooKeeperCoordination(
        place.address, place.credentials, create=True, answer_seconds=seconds
    )
    place._clients.append(client)
    return client


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    """A server that a test may stop."""
    [port] = free_ports(1)  # nobody else gets it while the server is away
    started = ZooKeeperServer(ServerOptions(tmp_path / "server", port, tick_ms=100))
    started.start()
    yield started
    started.kill()


@pytest.fixture
def place(server: ZooKeeperServer) -> Iterator[ServerPath]:
    made = ServerPath(server.address)
    yield made
    made.close()


def test_a_session_that_nobody_keeps_alive_ends_although_its_process_lives(
    place: ServerPath,
) -> None:
    one, other = place.client(), place.client()
    session = session_with_entry(one, "a", 1.5)
    until(lambda: True if other.get("a") is None else None)
    for write in (lambda: kept_alive(one, session), lambda: one.create(session, "b", b"1")):
        with pytest.raises(SessionExpiredError):
            until(write)  # the server may have closed the connection first
    assert one.get("b") is None


def test_everything_outlives_a_server_that_is_killed(own_server: ZooKeeperServer) -> None:
    place = ServerPath(own_server.address)
    one = place.client()
    session = one.open_session(LONG)
    kept = one.create(session, "a", b"1")
    held = one.create(session, "leader", b"one", ephemeral=True)
    start = one.changes_since(0)
    own_server.kill()
    away = impatient(place)
    with pytest.raises(CoordinationUnavailableError):
        away.get("a")
    own_server.start()
    assert until(lambda: one.get("a")) == kept
    assert one.get("leader") == held
    until(lambda: kept_alive(one, session))
    replaced = one.replace(session, "a", b"2", kept.version)
    assert until(lambda: away.get("a")) == replaced
    assert one.changes_since(start.mark).keys == ("a",)
    place.close()


def test_a_write_without_an_answer_may_have_happened(own_server: ZooKeeperServer) -> None:
    place = ServerPath(own_server.address)
    one = impatient(place)
    lease = Lease(one, "leader", b"one", LONG, lambda: 0.0)
    session = until(lambda: one.open_session(LONG))
    os.kill(own_server.pid, signal.SIGSTOP)
    with pytest.raises(CoordinationUnavailableError):
        one.create(session, "a", b"1")
    with pytest.raises(CoordinationUnavailableError):
        lease.acquire()
    os.kill(own_server.pid, signal.SIGCONT)
    entry = until(lambda: one.get("a"))
    assert (entry.value, entry.session) == (b"1", None)
    assert until(lease.acquire)
    assert until(lease.acquire)  # one that was got without knowing is recognized
    place.close()


def test_watches_that_were_missed_are_made_up_for(own_server: ZooKeeperServer) -> None:
    place = ServerPath(own_server.address)
    watching, writing = place.client(), place.client()
    session = writing.open_session(LONG)
    entry = writing.create(session, "a", b"1")
    start = watching.changes_since(0)
    own_server.kill()
    own_server.start()
    until(lambda: kept_alive(writing, session))
    writing.replace(session, "a", b"2", entry.version)
    writing.create(session, "b", b"1")
    assert until(lambda: watching.changes_since(start.mark)).keys == ("a", "b")
    place.close()


def test_a_path_that_has_gone_is_damage(place: ServerPath) -> None:
    with pytest.raises(DamagedCoordinationError) as raised:
        place.client(create=False).get("a")
    assert str(raised.value) == f"{place.address} does not exist, although a job began there"


def test_a_server_that_grants_too_short_sessions_is_refused(place: ServerPath) -> None:
    with pytest.raises(CoordinationRefusedError) as raised:
        place.client().open_session(600.0)
    assert str(raised.value) == (
        "the ZooKeeper servers grant session timeouts of 60000 ms at most,"
        " and 900000 ms are needed (maxSessionTimeout)"
    )


# --- Ensembles ---


@pytest.fixture
def ensemble(tmp_path: Path) -> Iterator[list[ZooKeeperServer]]:
    ports = free_ports(9)
    peers = [(ports[number], ports[number + 3]) for number in range(3)]
    servers = [
        ZooKeeperServer(
            ServerOptions(tmp_path / str(number + 1), ports[6 + number], number + 1, peers)
        )
        for number in range(3)
    ]
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.kill()


def leader(servers: list[ZooKeeperServer]) -> ZooKeeperServer:
    """Return the server that leads: it alone listens for the others."""
    while True:
        for server in servers:
            peer_port = server._options.ensemble[(server._options.number or 0) - 1][0]
            with socket.socket() as connection:
                if server.runs() and connection.connect_ex((HOST, peer_port)) == 0:
                    return server


def test_an_ensemble_of_three_loses_its_leader(ensemble: list[ZooKeeperServer]) -> None:
    place = ServerPath(*(server.address for server in ensemble))
    one, other = impatient(place, 5.0), impatient(place, 5.0)
    session = until(lambda: one.open_session(LONG))
    lease = Lease(other, "leader", b"other", LONG, lambda: 0.0)
    assert until(lease.acquire)
    entry = written(lambda: one.create(session, "a", b"1"), lambda: one.get("a"), b"1")

    first = leader(ensemble)
    first.kill()
    assert until(lambda: kept_alive(one, session))
    version = entry.version
    entry = written(lambda: one.replace(session, "a", b"2", version), lambda: one.get("a"), b"2")
    assert until(lambda: other.get("a")) == entry
    assert until(lease.renew)

    # The next one leaves the last server alone, which may not decide anything.
    second = leader([server for server in ensemble if server is not first])
    second.kill()
    with pytest.raises(CoordinationUnavailableError):
        impatient(place).replace(session, "a", b"3", entry.version)

    first.start()
    assert until(lambda: other.get("a")) == entry
    assert until(lease.renew)
    last = written(
        lambda: one.replace(session, "a", b"4", entry.version), lambda: one.get("a"), b"4"
    )
    assert last.value == b"4"
    place.close()
