"""Transports with CURVE keys: nodes of the list speak to each other, and all others are refused and reported.

What this cannot show: addresses off the loopback; `tests/cluster/test_machines.py` has these.
"""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import zmq

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.cluster.frames import Heartbeat
from fsql.runtime.drivers.curve.keys import NodeKeys, authorize_key, create_keys, rotate_keys
from fsql.runtime.drivers.transport import TransportSettings, ZeroMqTransport
from fsql.runtime.wire.codec import encode
from fsql.runtime.wire.seal import Seal
from fsql.tests.unit.descriptors import left_open, open_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fsql.runtime.cluster.frames import Datagram, Frame

KEY = bytes(range(32))
PATIENCE_SECONDS = 300.0
"""How long a test waits for what has to happen; it goes on as soon as it does."""
HANDSHAKE_FAILED = "connection refused: handshake failed: no CURVE, or another key of this node"
HANDSHAKE_ENDED = "connection ended in its handshake: the peer was stopped, or does not use CURVE"
SETTINGS = TransportSettings(dead_after_ms=600_000)
"""No handshake is given up, and no connection, for a thread that a busy machine does not run."""
RETRYING = TransportSettings(dead_after_ms=1_000, heartbeat_ms=600_000)
"""A node that is refused hears nothing, and tries again; a connection that it gets is not given up."""


class Machine:
    """A node with a key directory of its own."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        create_keys(directory)
        self.directory = directory
        self.warnings: list[str] = []
        self._stack = stack
        self.transport = self.open()

    @property
    def public(self) -> str:
        return NodeKeys(self.directory).own.public.hex()

    def open(self, key: bytes = KEY, settings: TransportSettings = SETTINGS) -> ZeroMqTransport:
        keys = NodeKeys(self.directory)
        transport = ZeroMqTransport(key, settings=settings, curve=keys, warn=self.warnings.append)
        self._stack.callback(transport.close)
        return transport

    def trust(self, other: Machine) -> None:
        authorize_key(self.directory, other.directory.name, other.public)


@pytest.fixture
def new_machine(tmp_path: Path) -> Iterator[Callable[[str], Machine]]:
    with ExitStack() as stack:
        yield lambda name: Machine(tmp_path / name, stack)


def beat(number: int) -> Heartbeat:
    return Heartbeat("job", number, 0)


def until(
    condition: Callable[[], object], transport: ZeroMqTransport
) -> list[tuple[str, Frame | Datagram]]:
    """Return what comes until the condition holds."""
    came: list[tuple[str, Frame | Datagram]] = []
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < end:
        came += transport.receive(0.01)
    assert condition()
    return came


def reported(machine: Machine) -> str:
    """Return why a node that tries again is refused; meanwhile nothing comes."""

    def reasons() -> list[str]:
        # One that tries again has ended the handshake before.
        return [warning for warning in machine.warnings if warning != HANDSHAKE_ENDED]

    assert until(reasons, machine.transport) == []
    [reason] = reasons()
    return reason


def first(transport: ZeroMqTransport) -> tuple[str, Frame | Datagram]:
    """Return the first thing that comes."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        came = transport.receive(0.1)
        if came:
            return came[0]
    raise AssertionError("nothing came")


def test_machines_of_each_others_lists_speak(new_machine: Callable[[str], Machine]) -> None:
    near, far = new_machine("near"), new_machine("far")
    near.trust(far)
    far.trust(near)
    assert near.transport.send(far.transport.address, beat(1))
    assert first(far.transport) == (near.transport.address, beat(1))
    assert far.transport.send(near.transport.address, beat(2))
    assert first(near.transport) == (far.transport.address, beat(2))
    assert (near.warnings, far.warnings) == ([], [])


def test_processes_of_one_machine_need_no_list(new_machine: Callable[[str], Machine]) -> None:
    machine = new_machine("machine")
    other = machine.open()
    other.send(machine.transport.address, beat(1))
    assert first(machine.transport) == (other.address, beat(1))


def test_a_key_that_is_not_in_the_list_is_refused_and_reported(
    new_machine: Callable[[str], Machine],
) -> None:
    near, stranger = new_machine("near"), new_machine("stranger")
    stranger.trust(near)
    refused = stranger.open(settings=RETRYING)
    refused.send(near.transport.address, beat(1))
    fingerprint = NodeKeys(stranger.directory).own.fingerprint
    listed = near.directory / "authorized"
    assert reported(near) == (
        f"connection from 127.0.0.1 refused: its key {fingerprint} is not in {listed}"
    )
    # The list is read again, and the refused side tries again.
    near.trust(stranger)
    assert first(near.transport) == (refused.address, beat(1))


def test_nothing_is_sent_to_a_key_that_is_not_in_the_list(
    new_machine: Callable[[str], Machine],
) -> None:
    near, stranger = new_machine("near"), new_machine("stranger")
    stranger.trust(near)
    for _ in range(2):
        assert not near.transport.send(stranger.transport.address, beat(1))
    fingerprint = NodeKeys(stranger.directory).own.fingerprint
    place = stranger.transport.address.rpartition("/")[0]
    listed = near.directory / "authorized"
    assert near.warnings == [f"no connection to {place}: its key {fingerprint} is not in {listed}"]
    near.trust(stranger)
    assert near.transport.send(stranger.transport.address, beat(2))
    assert first(stranger.transport) == (near.transport.address, beat(2))


def test_a_peer_without_curve_is_refused_and_reported(
    new_machine: Callable[[str], Machine],
) -> None:
    near = new_machine("near")
    place = near.transport.address.rpartition("/")[0]
    with zmq.Context() as context, context.socket(zmq.DEALER) as peer:
        peer.setsockopt(zmq.LINGER, 0)
        peer.connect(place)
        peer.send_multipart(Seal(KEY).close(place, encode(beat(1))))
        assert until(lambda: near.warnings, near.transport) == []
    # Which one depends on which side closes the connection first.
    assert set(near.warnings) <= {HANDSHAKE_FAILED, HANDSHAKE_ENDED}
    assert near.transport.refused == {}


def test_who_takes_this_node_for_another_is_refused_and_reported(
    new_machine: Callable[[str], Machine],
) -> None:
    near, far, other = new_machine("near"), new_machine("far"), new_machine("other")
    near.trust(far)
    far.trust(other)
    place = near.transport.address.rpartition("/")[0]
    wrong = NodeKeys(other.directory).own.fingerprint
    far.transport.send(f"{place}/{wrong}", beat(1))
    assert until(lambda: near.warnings, near.transport) == []
    assert near.warnings == [HANDSHAKE_FAILED]


def test_a_node_cannot_send_as_another(new_machine: Callable[[str], Machine]) -> None:
    near, far, other = new_machine("near"), new_machine("far"), new_machine("other")
    for machine in (far, other):
        near.trust(machine)
        machine.trust(near)
    claims = far.open(settings=replace(SETTINGS, announced=other.transport.address))
    claims.send(near.transport.address, beat(1))
    assert until(lambda: near.transport.refused, near.transport) == []
    assert near.transport.refused == {"ForeignError": 1}
    fingerprint = NodeKeys(far.directory).own.fingerprint
    assert near.warnings == [
        f"frame refused: the node with key {fingerprint} is not {other.transport.address}"
    ]
    far.transport.send(near.transport.address, beat(2))
    assert first(near.transport) == (far.transport.address, beat(2))


def test_curve_does_not_replace_the_key_of_the_cluster(
    new_machine: Callable[[str], Machine],
) -> None:
    machine = new_machine("machine")
    other = machine.open(bytes(32))
    other.send(machine.transport.address, beat(1))
    assert until(lambda: machine.transport.refused, machine.transport) == []
    assert machine.transport.refused == {"ForeignError": 1}


def test_after_a_rotation_running_processes_and_new_ones_speak(
    new_machine: Callable[[str], Machine],
) -> None:
    machine, far = new_machine("machine"), new_machine("far")
    far.trust(machine)
    machine.trust(far)
    rotate_keys(machine.directory)
    far.trust(machine)
    new = machine.open()
    assert new.address.rpartition("/")[2] != machine.transport.address.rpartition("/")[2]
    for sender in (machine.transport, new):
        sender.send(far.transport.address, beat(1))
        assert first(far.transport) == (sender.address, beat(1))
        assert far.transport.send(sender.address, beat(2))
        assert first(sender) == (far.transport.address, beat(2))
    new.send(machine.transport.address, beat(3))
    assert far.warnings == []


def test_a_list_that_is_damaged_refuses_everybody_else(
    new_machine: Callable[[str], Machine],
) -> None:
    near, far = new_machine("near"), new_machine("far")
    near.trust(far)
    far.trust(near)
    listed = near.directory / "authorized"
    good = listed.read_text()
    listed.write_text("nonsense\n")
    refused = far.open(settings=RETRYING)
    refused.send(near.transport.address, beat(1))
    assert reported(near) == (
        f'the CURVE keys "{listed}" cannot be used: '
        '"nonsense" is not of the form NAME PUBLIC-KEY; connections are refused'
    )
    listed.write_text(good)
    assert first(near.transport) == (refused.address, beat(1))


def test_bytes_on_the_network_are_not_those_of_frames(
    new_machine: Callable[[str], Machine],
) -> None:
    """A party between two nodes sees neither rows nor the seal."""
    near, far = new_machine("near"), new_machine("far")
    near.trust(far)
    far.trust(near)
    seen = bytearray()
    host, _, port = near.transport.address.removeprefix("tcp://").partition("/")[0].rpartition(":")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        between = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        far.transport.send(
            f"{between}/{NodeKeys(near.directory).own.fingerprint}", Heartbeat("canary" * 9, 1, 0)
        )
        outer, _ = listening.accept()
        with outer, socket.create_connection((host, int(port))) as inner:
            pairs = {outer.fileno(): (outer, inner), inner.fileno(): (inner, outer)}
            poller = zmq.Poller()
            for number in pairs:
                poller.register(number, zmq.POLLIN)
            came: list[tuple[str, Frame | Datagram]] = []
            while not came:
                for number, _ in poller.poll(10):
                    source, target = pairs[number]
                    data = source.recv(1 << 16)
                    seen += data
                    target.sendall(data)
                came = near.transport.receive(0.01)
    assert came == [(far.transport.address, Heartbeat("canary" * 9, 1, 0))]
    assert b"CURVE" in seen
    assert b"canary" not in seen
    assert b"fsql" not in seen


@pytest.mark.parametrize("address", ["tcp://0.0.0.0:*", "tcp://224.0.0.1:*", "tcp://localhost:*"])
def test_an_address_is_that_of_one_machine(tmp_path: Path, address: str) -> None:
    create_keys(tmp_path / "keys")
    with pytest.raises(FsqlError) as raised:
        ZeroMqTransport(KEY, address, curve=NodeKeys(tmp_path / "keys"))
    [diagnostic] = raised.value.diagnostics
    assert diagnostic.code == "E601"
    assert diagnostic.message == f'address "{address}" is not the IPv4 address of one machine'


def test_a_fingerprint_is_needed_with_keys_and_refused_without(
    new_machine: Callable[[str], Machine],
) -> None:
    machine = new_machine("machine")
    address = machine.transport.address
    place = address.rpartition("/")[0]
    with pytest.raises(FsqlError, match="has no fingerprint"):
        machine.transport.send(place, beat(1))
    plain = ZeroMqTransport(KEY)
    try:
        with pytest.raises(FsqlError, match="is that of a node with CURVE keys"):
            plain.send(address, beat(1))
    finally:
        plain.close()


def test_a_transport_leaves_no_descriptors(new_machine: Callable[[str], Machine]) -> None:
    machine = new_machine("machine")
    keys = NodeKeys(machine.directory)
    ZeroMqTransport(KEY, curve=keys).close()
    before = open_descriptors()
    for _ in range(3):
        ZeroMqTransport(KEY, curve=keys).close()
    assert left_open(before) == set()
