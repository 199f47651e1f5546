"""Transports speak to each other, to nobody else, and never wait for anybody.

What this cannot show: what the network between processes does; `tests/cluster` has that.
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import zmq

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.batch import Batch
from fsql.runtime.cluster.frames import Frame, Heartbeat
from fsql.runtime.drivers import transport
from fsql.runtime.drivers.transport import TransportSettings, ZeroMqTransport
from fsql.runtime.wire.codec import encode
from fsql.runtime.wire.seal import Seal
from fsql.tests.kept_port import KeptPort
from fsql.tests.unit.wire.frames import DATAGRAMS, batch, frame, message, same, some_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.runtime.cluster.frames import Datagram

    Came = tuple[str, Frame | Datagram]

KEY = bytes(range(32))
PATIENCE_SECONDS = 300.0
"""How long a test waits for what has to happen; it goes on as soon as it does."""
DEAD_AFTER_MS = 600_000
"""No connection is given up for a node that a busy machine does not run: what is in it would be lost."""
SETTINGS = TransportSettings(dead_after_ms=DEAD_AFTER_MS)


@pytest.fixture
def near() -> Iterator[ZeroMqTransport]:
    with closing(ZeroMqTransport(KEY, settings=SETTINGS)) as made:
        yield made


@pytest.fixture
def far() -> Iterator[ZeroMqTransport]:
    with closing(ZeroMqTransport(KEY, settings=SETTINGS)) as made:
        yield made


def beat(number: int) -> Heartbeat:
    return Heartbeat("job", number, 0)


def received(node: ZeroMqTransport, count: int) -> list[Came]:
    """Return the first `count` things that come."""
    came: list[Came] = []
    end = time.monotonic() + PATIENCE_SECONDS
    while len(came) < count and time.monotonic() < end:
        came += node.receive(0.1)
    return came


def until(condition: Callable[[], object], node: ZeroMqTransport) -> list[Came]:
    """Return what comes until the condition holds."""
    came: list[Came] = []
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < end:
        came += node.receive(0.01)
    assert condition()
    return came


def large_frame() -> Frame:
    numbers = np.arange(1 << 17)
    return frame(message(Batch([], numbers, numbers, ())))


def test_all_kinds_travel_in_order_and_say_where_they_come_from(
    near: ZeroMqTransport, far: ZeroMqTransport
) -> None:
    large = frame(message(batch(9_000, random.Random(1))))
    sent = [*DATAGRAMS, large, *(some_frame(seed) for seed in range(20)), large_frame()]
    for what in sent:
        assert near.send(far.address, what)
    came = received(far, len(sent))
    assert {source for source, _ in came} == {near.address}
    assert same([what for _, what in came], sent)
    assert far.send(near.address, beat(1))
    assert received(near, 1) == [(far.address, beat(1))]
    assert (near.lost, near.refused, far.refused) == (0, {}, {})


def test_what_one_call_leaves_comes_with_the_next_without_a_new_signal(
    near: ZeroMqTransport,
) -> None:
    with closing(ZeroMqTransport(KEY, settings=replace(SETTINGS, receive_max=2))) as few:
        for number in range(5):
            near.send(few.address, beat(number))
        came = received(few, 5)
        assert [what for _, what in came] == [beat(number) for number in range(5)]


def test_what_was_sent_outlives_the_memory_that_it_came_in(
    near: ZeroMqTransport, far: ZeroMqTransport
) -> None:
    """Columns lie in what ZeroMQ received: it may not go before they do."""
    for _ in range(20):
        near.send(far.address, large_frame())
    kept = received(far, 20)
    for _ in range(20):
        near.send(far.address, large_frame())
    received(far, 20)
    assert all(same(what, large_frame()) for _, what in kept)


def test_a_peer_that_does_not_read_takes_no_time_and_bounded_memory() -> None:
    settings = replace(SETTINGS, queue_frames=3)
    with (
        closing(ZeroMqTransport(KEY, settings=settings)) as near,
        closing(ZeroMqTransport(KEY, settings=settings)) as sender,
    ):
        sent = [sender.send(near.address, large_frame()) for _ in range(200)]
        assert sender.lost == sent.count(False) > 100
        # What was taken comes, and then the way is free again.
        came = received(near, sent.count(True))
        assert len(came) == sent.count(True)
        until(lambda: sender.send(near.address, beat(1)), near)
        assert near.refused == {}


def test_a_peer_that_is_not_there_takes_no_time() -> None:
    settings = replace(SETTINGS, queue_frames=10)
    with KeptPort() as port, closing(ZeroMqTransport(KEY, settings=settings)) as sender:
        address = port.address
        assert [sender.send(address, beat(i)) for i in range(12)] == [True] * 10 + [False] * 2
        # It comes back, and is found.
        with closing(ZeroMqTransport(KEY, address, SETTINGS)) as back:
            assert received(back, 10) == [(sender.address, beat(i)) for i in range(10)]


def test_a_peer_that_is_started_again_at_its_address_is_found_again(near: ZeroMqTransport) -> None:
    with KeptPort() as port:
        with closing(ZeroMqTransport(KEY, port.address, SETTINGS)) as first:
            near.send(port.address, beat(1))
            assert received(first, 1) == [(near.address, beat(1))]
        with closing(ZeroMqTransport(KEY, port.address, SETTINGS)) as second:
            came: list[Came] = []
            end = time.monotonic() + PATIENCE_SECONDS
            while not came and time.monotonic() < end:
                near.send(port.address, beat(2))
                came = second.receive(0.1)
            assert came[0] == (near.address, beat(2))


def test_who_takes_the_connections_of_a_listening_socket_finds_those_that_came_before(
    near: ZeroMqTransport,
) -> None:
    """So a run keeps its port over all of its coordinators, and nobody needs to look for the next one."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        for number in range(3):
            assert near.send(address, beat(number))
            listener = os.dup(listening.fileno())
            with closing(ZeroMqTransport(KEY, settings=SETTINGS, listening=listener)) as taking:
                assert taking.address == address
                assert received(taking, 1) == [(near.address, beat(number))]


def test_last_words_come_although_the_sender_closes(
    near: ZeroMqTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_LAST_MS", int(PATIENCE_SECONDS * 1_000))
    for number in range(20):
        with closing(ZeroMqTransport(KEY, settings=SETTINGS)) as sender:
            sender.send_last(near.address, beat(number))
        assert received(near, 1) == [(sender.address, beat(number))]


def test_who_takes_no_last_words_is_not_waited_for_for_ever() -> None:
    with KeptPort() as port, closing(ZeroMqTransport(KEY)) as sender:
        sender.send_last(port.address, beat(1))


def test_who_has_no_key_is_refused_and_counted(near: ZeroMqTransport, far: ZeroMqTransport) -> None:
    with closing(ZeroMqTransport(bytes(32), settings=SETTINGS)) as stranger:
        stranger.send(near.address, beat(1))
        until(lambda: near.refused["ForeignError"], near)
    assert far.send(near.address, beat(2))
    assert received(near, 1) == [(far.address, beat(2))]
    assert near.refused == {"ForeignError": 1}


def strange(near: ZeroMqTransport, *parts: bytes) -> None:
    """Send parts to a transport from a socket that knows nothing of seals."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as peer:
        peer.connect(near.address)
        peer.send_multipart(parts)


def test_who_speaks_otherwise_is_refused_and_counted(near: ZeroMqTransport) -> None:
    strange(near, b"cos\nsystem\n(S'exit 1'\ntR.")
    strange(near, b"")
    strange(near, *[b"x" * 100] * 50)
    until(lambda: near.refused.total() == 3, near)
    assert near.refused == {"NotOursError": 3}
    sealed = [bytes(part) for part in Seal(KEY).close("tcp://127.0.0.1:1", [bytes(16)])]
    strange(near, *sealed)
    strange(near, sealed[0][:-1] + b"x")
    until(lambda: near.refused.total() == 5, near)
    assert near.refused == {"NotOursError": 3, "MalformedError": 1, "DamagedError": 1}


def test_who_speaks_another_version_is_known_by_name(near: ZeroMqTransport) -> None:
    parts = Seal(KEY, version=1).close("tcp://127.0.0.1:7", encode(beat(1)))
    strange(near, *map(bytes, parts))
    until(lambda: near.refused["VersionError"], near)
    assert near.other_versions == {"tcp://127.0.0.1:7": 1}


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 5_000, b""])
def test_other_protocols_are_cut_off(
    near: ZeroMqTransport, far: ZeroMqTransport, data: bytes
) -> None:
    port = int(near.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(data)
        far.send(near.address, beat(1))
        assert received(near, 1) == [(far.address, beat(1))]
    assert near.refused == {}


def test_a_part_that_is_too_large_is_not_taken(near: ZeroMqTransport) -> None:
    with closing(ZeroMqTransport(KEY, settings=replace(SETTINGS, part_bytes_max=1 << 19))) as small:
        near.send(small.address, large_frame())
        # The connection is cut: what is sent meanwhile is lost, what is sent later comes.
        came: list[Came] = []
        end = time.monotonic() + PATIENCE_SECONDS
        while not came and time.monotonic() < end:
            near.send(small.address, beat(1))
            came = small.receive(0.1)
        assert set(came) == {(near.address, beat(1))}


def refusal(act: Callable[[], object]) -> Diagnostic:
    with pytest.raises(FsqlError) as raised:
        act()
    [diagnostic] = raised.value.diagnostics
    return diagnostic


@pytest.mark.parametrize(
    "address",
    [
        "tcp://0.0.0.0:5555",
        "tcp://*:5555",
        "tcp://192.168.0.1:5555",
        "tcp://localhost:5555",
        "tcp://127.0.0.1.example.org:5555",
        "tcp://127.0.0.1@10.0.0.1:5555",
        "tcp://127.0.0.1:5555;10.0.0.1:5555",
        "tcp://eth0:5555",
    ],
)
def test_addresses_beyond_the_loopback_are_refused(near: ZeroMqTransport, address: str) -> None:
    expected = Diagnostic(
        "E601",
        f'address "{address}" is not on the loopback of this machine',
        notes=("connections between machines need CURVE keys, and none are given",),
        helps=(
            "make keys with fsql keys init DIR, and give --keys DIR",
            'or use an address such as "tcp://127.0.0.1:5555"',
        ),
    )
    assert refusal(lambda: ZeroMqTransport(KEY, address)) == expected
    assert refusal(lambda: near.send(address, beat(1))) == expected


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:5555",
        "tcp://127.0.0.1",
        "tcp://127.0.0.1:",
        "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:65536",
        "tcp://127.0.0.1:\u0665\u0665",
        "pgm://127.0.0.1:5555",
        "",
    ],
)
def test_what_is_no_address_is_refused(near: ZeroMqTransport, address: str) -> None:
    expected = Diagnostic(
        "E601",
        f'address "{address}" is not of the form tcp://127.0.0.1:PORT',
        helps=('use an address such as "tcp://127.0.0.1:5555"',),
    )
    assert refusal(lambda: ZeroMqTransport(KEY, address)) == expected
    assert refusal(lambda: near.send(address, beat(1))) == expected


def test_an_address_in_use_is_refused(near: ZeroMqTransport) -> None:
    diagnostic = refusal(lambda: ZeroMqTransport(KEY, near.address))
    expected = f'the node cannot listen on "{near.address}": address already in use'
    assert (diagnostic.code, diagnostic.message) == ("E603", expected)


def test_only_the_address_itself_is_listened_on(near: ZeroMqTransport) -> None:
    port = int(near.address.rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port))


def test_waking_ends_the_wait(near: ZeroMqTransport) -> None:
    for _ in range(3):
        thread = threading.Thread(target=near.wake)
        thread.start()
        assert near.receive(PATIENCE_SECONDS) == []
        thread.join()
    for _ in range(100_000):
        near.wake()
    assert near.receive(PATIENCE_SECONDS) == []


def test_connections_to_nodes_that_are_gone_are_given_up(near: ZeroMqTransport) -> None:
    with closing(ZeroMqTransport(KEY, settings=replace(SETTINGS, peers_max=2))) as sender:
        for port in range(1, 20):
            sender.send(f"tcp://127.0.0.1:{port}", beat(port))
        for number in range(3):
            sender.send(near.address, beat(number))
        assert received(near, 3) == [(sender.address, beat(number)) for number in range(3)]


def test_the_connection_that_is_used_all_the_time_is_not_given_up(near: ZeroMqTransport) -> None:
    """The coordinator is the first that a worker sends to, and workers that ended may be many."""
    with closing(ZeroMqTransport(KEY, settings=replace(SETTINGS, peers_max=3))) as sender:
        sender.send(near.address, beat(0))
        first = sender._peers[near.address]
        for port in range(1, 20):
            sender.send(f"tcp://127.0.0.1:{port}", beat(port))
            sender.send(near.address, beat(port))
        assert sender._peers[near.address] is first
        assert received(near, 20) == [(sender.address, beat(number)) for number in range(20)]


def test_waiting_ends_for_what_else_is_waited_for(near: ZeroMqTransport) -> None:
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        theirs.send(b"x")
        assert near.receive(1e6, [ours.fileno()]) == []  # or it would wait for days
