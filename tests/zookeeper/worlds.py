"""Clients of real servers."""

from __future__ import annotations

import secrets
import socket
from typing import TYPE_CHECKING

from kazoo.client import KazooClient

from fsql.runtime.coordination.zookeeper.address import ZooKeeperAddress
from fsql.runtime.coordination.zookeeper.driver import ZooKeeperCoordination
from fsql.runtime.drivers.zookeeper_server import HOST

if TYPE_CHECKING:
    from fsql.runtime.coordination.zookeeper.address import Credentials


_PORTS = range(20_000, 30_000)
"""Below those that the kernel gives to connections."""


_KEPT: list[socket.socket] = []
"""Sockets that keep ports, as in `kept_port`, until the process ends."""


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens at; other tests that call this get others."""
    found: list[int] = []
    while len(found) < count:
        port, kept = secrets.choice(_PORTS), socket.socket()
        try:
            kept.bind((HOST, port))
        except OSError:  # somebody listens there, or keeps it
            kept.close()
            continue
        # Only now: of sockets that share addresses from the beginning, several can be bound to one port.
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _KEPT.append(kept)
        found.append(port)
    return found


class ServerPath:
    """A path of its own on some servers; `close` ends the clients."""

    def __init__(self, *servers: str, credentials: Credentials | None = None) -> None:
        self.address = ZooKeeperAddress(servers, f"/fsql/{secrets.token_hex(8)}")
        self.credentials = credentials
        self._clients: list[ZooKeeperCoordination] = []

    def client(self, *, create: bool = True) -> ZooKeeperCoordination:
        client = ZooKeeperCoordination(
            self.address, self.credentials, create=create, answer_seconds=60.0
        )
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()


def expire(client: ZooKeeperCoordination, session: int) -> None:
    """Let the server end a session of a client, as if its time were over."""
    kazoo = client._session_connections[session]._client
    other = KazooClient(
        hosts=kazoo.hosts[0][0] + f":{kazoo.hosts[0][1]}", client_id=kazoo.client_id
    )
    other.start()
    other.stop()
    other.close()
    while not client._session_connections[session]._expired:
        pass


class TimedServerPath(ServerPath):
    """A `World` of the conformance suite: time is moved by hand, and ends sessions of the real server."""

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self._now = 100.0
        self._sessions: dict[int, tuple[TimedClient, float, float]] = {}

    def client(self, *, create: bool = True) -> TimedClient:
        client = TimedClient(self, create=create)
        self._clients.append(client)
        return client

    def keep(self, client: TimedClient, session: int, ttl_seconds: float) -> None:
        self._sessions[session] = (client, ttl_seconds, self._now + ttl_seconds)

    def keep_again(self, session: int) -> None:
        client, ttl_seconds, _ = self._sessions[session]
        self.keep(client, session, ttl_seconds)

    def advance(self, seconds: float) -> None:
        self._now += seconds
        for session, (client, _, ends) in list(self._sessions.items()):
            if ends <= self._now and session in client._session_connections:
                expire(client, session)
                del self._sessions[session]

    def now(self) -> float:
        return self._now


class TimedClient(ZooKeeperCoordination):
    """A client that tells its world until when sessions live."""

    def __init__(self, place: TimedServerPath, *, create: bool) -> None:
        super().__init__(place.address, create=create, answer_seconds=60.0)
        self._place = place

    def open_session(self, ttl_seconds: float) -> int:
        session = super().open_session(ttl_seconds)
        self._place.keep(self, session, ttl_seconds)
        return session

    def keep_alive(self, session: int) -> None:
        super().keep_alive(session)
        self._place.keep_again(session)
