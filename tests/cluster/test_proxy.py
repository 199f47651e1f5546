"""The network that fails does what it is told; and links over it lose, double and reorder nothing.

The last test has two nodes' links, wire format and transport, over real sockets, and all troubles.  What
it cannot show is a node that ends.
"""

from __future__ import annotations

import random
import socket
import time
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.batch import Batch, Root
from fsql.runtime.cluster.frames import CancelSnapshot, Frame
from fsql.runtime.cluster.links.link import Link, LinkSettings
from fsql.runtime.dataflow.messages import Address, Message, Parcel
from fsql.runtime.drivers.transport import TransportSettings, ZeroMqTransport
from fsql.tests.cluster.proxy import Network, ProxyFault, schedule
from fsql.tests.kept_port import KeptPort
from fsql.tests.unit.wire.frames import same

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.cluster.frames import Item

PATIENCE_SECONDS = 300.0
"""What has not happened by then never will."""


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


class Ends:
    """A connection through a proxy, as both ends see it."""

    def __init__(self, network: Network) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.proxy = network.proxy(f"tcp://127.0.0.1:{self.listener.getsockname()[1]}")
        self.client, self.node = self.connected()

    def connected(self) -> tuple[socket.socket, socket.socket]:
        client = socket.create_connection(("127.0.0.1", int(self.proxy.address.rpartition(":")[2])))
        self.listener.settimeout(PATIENCE_SECONDS)
        node, _ = self.listener.accept()
        for end in (client, node):
            end.settimeout(PATIENCE_SECONDS)
        # A byte through it says that the proxy, too, has the connection.
        client.sendall(b"?")
        assert node.recv(1) == b"?"
        return client, node

    def close(self) -> None:
        for end in (self.client, self.node, self.listener):
            end.close()


def silent(end: socket.socket) -> bool:
    end.settimeout(0.1)
    try:
        return end.recv(1) is None
    except TimeoutError:
        return True
    finally:
        end.settimeout(PATIENCE_SECONDS)


@pytest.fixture
def ends(network: Network) -> Iterator[Ends]:
    with closing(Ends(network)) as ends:
        yield ends


@pytest.mark.parametrize("trouble", [ProxyFault.NONE, ProxyFault.DELAY])
def test_bytes_pass_in_order(network: Network, ends: Ends, trouble: ProxyFault) -> None:
    network.set(0, trouble)
    for number in range(5):
        ends.client.sendall(bytes([number]))
        ends.node.sendall(bytes([number + 100]))
    assert b"".join(ends.node.recv(1) for _ in range(5)) == bytes(range(5))
    assert b"".join(ends.client.recv(1) for _ in range(5)) == bytes(range(100, 105))
    ends.client.close()
    assert ends.node.recv(1) == b""


def test_what_stalls_waits(network: Network, ends: Ends) -> None:
    network.set(0, ProxyFault.STALL)
    ends.client.sendall(b"a")
    ends.node.sendall(b"b")
    assert silent(ends.node)
    assert silent(ends.client)
    network.set(0, ProxyFault.DEAF)
    assert ends.client.recv(1) == b"b"
    assert silent(ends.node)
    network.set(0, ProxyFault.NONE)
    assert ends.node.recv(1) == b"a"


def test_what_is_cut_is_closed_and_can_be_made_anew(network: Network, ends: Ends) -> None:
    network.set(0, ProxyFault.CUT)
    assert (ends.client.recv(1), ends.node.recv(1)) == (b"", b"")
    client, node = ends.connected()
    with client, node:
        client.sendall(b"a")
        assert node.recv(1) == b"a"


@pytest.mark.parametrize("trouble", [ProxyFault.RESET, ProxyFault.REFUSE])
def test_what_is_reset_is_reset(network: Network, ends: Ends, trouble: ProxyFault) -> None:
    network.set(0, trouble)
    for end in (ends.client, ends.node):
        with pytest.raises(ConnectionResetError):
            end.recv(1)


def test_what_is_refused_cannot_be_made_anew(network: Network, ends: Ends) -> None:
    network.set(0, ProxyFault.REFUSE)
    port = int(ends.proxy.address.rpartition(":")[2])
    # It is reset as soon as it is made, which may be before `connect` has returned.
    with (
        pytest.raises(ConnectionResetError),
        socket.create_connection(("127.0.0.1", port)) as client,
    ):
        client.recv(1)


def test_what_is_swallowed_is_half_open(network: Network, ends: Ends) -> None:
    network.set(0, ProxyFault.SWALLOW)
    assert ends.node.recv(1) == b""
    ends.client.sendall(b"a" * 100_000)
    assert silent(ends.client)
    network.set(0, ProxyFault.NONE)
    with pytest.raises(ConnectionResetError):
        ends.client.recv(1)


def test_a_schedule_is_made_of_its_seed() -> None:
    events = schedule(1, 2, 10.0)
    assert events == schedule(1, 2, 10.0) != schedule(2, 2, 10.0)
    assert {event.trouble for event in schedule(1, 2, 100.0)} == set(ProxyFault)
    assert [(each.at, each.proxy, each.trouble) for each in events[-2:]] == [
        (10.0, 0, ProxyFault.NONE),
        (10.0, 1, ProxyFault.NONE),
    ]


class Node:
    """A link, and a transport to carry its frames."""

    def __init__(self, number: int, transport: ZeroMqTransport, peer: str) -> None:
        self.link = Link("job", 1, 7, number, 1 - number, LinkSettings(window_bytes=1 << 20))
        self.transport, self.peer = transport, peer
        self.given: list[Item] = []
        self.received: list[Item] = []

    def give(self, items: list[Item]) -> None:
        self.given += items
        self._transmit(self.link.send(items, time.monotonic()))

    def turn(self) -> None:
        """Look at what has come, and do what is due."""
        for source, what in self.transport.receive(0.002):
            assert source == self.peer
            assert isinstance(what, Frame)
            items, answer = self.link.receive(what, time.monotonic())
            self.received += items
            self._transmit(answer)
        self._transmit(self.link.due(time.monotonic()))

    def _transmit(self, frames: list[Frame]) -> None:
        for frame in frames:
            self.transport.send(self.peer, frame)


def some_items(chance: random.Random, number: int) -> list[Item]:
    items: list[Item] = [CancelSnapshot(number)]
    if chance.random() < 0.2:
        rows = np.arange(chance.choice((10, 1_000, 30_000)), dtype=np.int64) + number
        batch = Batch([pa.array(rows)], rows, rows, ())
        items.append(Message(Parcel(Address(0), batch), number, Root(number, 0)))
    return items


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_links_over_a_network_that_fails_lose_nothing(network: Network, seed: int) -> None:
    chance = random.Random(seed)
    ports = [KeptPort(), KeptPort()]
    announced = [network.proxy(port.address).address for port in ports]
    key = bytes(32)
    # A connection that is dead has to be found to be so within the test.
    transports = [
        ZeroMqTransport(
            key,
            own.address,
            TransportSettings(announced=other, heartbeat_ms=100, dead_after_ms=300),
        )
        for own, other in zip(ports, announced, strict=True)
    ]
    with ports[0], ports[1], closing(transports[0]), closing(transports[1]):
        nodes = [Node(i, transports[i], announced[1 - i]) for i in (0, 1)]
        events = schedule(seed, 2, 8.0)
        began = time.monotonic()
        while events or not all(quiet(node, nodes) for node in nodes):
            now = time.monotonic() - began
            assert now < PATIENCE_SECONDS, [len(node.received) for node in nodes]
            while events and events[0].at <= now:
                event = events.pop(0)
                network.set(event.proxy, event.trouble)
            for node in nodes:
                if events and node.link.waiting < 100:
                    node.give(some_items(chance, len(node.given)))
                node.turn()
    assert same(nodes[0].received, nodes[1].given)
    assert same(nodes[1].received, nodes[0].given)
    assert all(node.link.resent for node in nodes)
    assert [node.transport.refused for node in nodes] == [{}, {}]


def quiet(node: Node, nodes: list[Node]) -> bool:
    """Say whether all that was given has come, and the link has nothing more to say."""
    other = nodes[1 - nodes.index(node)]
    return len(node.received) == len(other.given) and node.link.next_due() is None
