"""The transport of real nodes: frames and datagrams over ZeroMQ.

A node listens on one socket and has another one for each node that it sends to.  Each socket is used in one
direction only.  So nothing depends on identities that peers claim, because the seal names the sender, and a
node that restarts at the same address is reached by reconnecting.  All sockets are DEALERs, because only
DEALERs report whether a frame was accepted for sending.

Sending never waits: a frame that a peer does not accept is lost, and so are the frames in a broken
connection.  Links send them again.  Everything is sealed with the cluster's key; frames with an invalid seal
are dropped and counted.

Without CURVE keys only the loopback is used: nothing is encrypted, and the seal does not protect against a
party that can read the traffic.  With keys, all connections are encrypted, both sides prove that they have
their keys, and a frame is accepted only from the node whose fingerprint is in its sender's address.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from typing import TYPE_CHECKING, Final

import zmq

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.runtime.drivers.curve.authenticator import ZAP_DOMAIN, Authenticator, Reports
from fsql.runtime.drivers.curve.keys import AUTHORIZED
from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.node_address import (
    ANY_PORT,
    NodeAddress,
    parse_address,
    parse_node_address,
)
from fsql.runtime.wire.codec import decode, encode
from fsql.runtime.wire.errors import ForeignError, VersionError, WireError
from fsql.runtime.wire.parts import LARGE_BYTES
from fsql.runtime.wire.seal import Seal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from fsql.runtime.cluster.frames import Datagram, Frame
    from fsql.runtime.drivers.curve.keys import NodeKeys

_WAKE_BYTES: Final = 1 << 16
_LAST_MS: Final = 1_000
"""The maximum number of milliseconds that `close` waits until the last datagrams are sent."""


@dataclass(frozen=True, slots=True)
class TransportSettings:
    """Limits and times of a transport.

    `queue_frames` limits the frames that wait for each peer in each direction; `part_bytes_max` limits the
    size of a part, `receive_max` the number of messages that one call of `receive` returns.  A connection
    without traffic for `dead_after_ms` is closed and opened again, because it may hang.  `announced` is the
    address that others use, if it differs from the one that the node listens on.
    """

    queue_frames: int = 1000
    part_bytes_max: int = 64 << 20
    receive_max: int = 256
    heartbeat_ms: int = 1000
    dead_after_ms: int = 3000
    reconnect_ms: int = 20
    reconnect_max_ms: int = 500
    peers_max: int = 128
    announced: str = ""


class ZeroMqTransport:
    """The transport of one node; not thread-safe, except for `wake`."""

    def __init__(
        self,
        key: bytes,
        address: str = ANY_PORT,
        settings: TransportSettings | None = None,
        *,
        listening: int | None = None,
        curve: NodeKeys | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Listen on `address`; the port `*` means any free port.

        With `listening`, the descriptor of a socket that listens already, accept its connections instead; the
        transport closes it.  `curve` has the CURVE keys; `warn` is called with problems, by any thread.

        Raises:
            FsqlError: E601 if the address is not on the loopback and there are no keys, E603 if it cannot be
                listened on.
        """
        parse_address(address, curve=curve is not None)
        self.refused: Counter[str] = Counter()
        """How many received messages were refused, by the class of the error."""
        self.lost = 0
        """How many frames and datagrams were not sent, because the queue of their peer is full."""
        self.other_versions: dict[str, int] = {}
        """Nodes of this cluster that use another version of the wire format, by address."""
        self._settings = settings or TransportSettings()
        self._seal = Seal(key)
        self._curve = curve
        self._reports = Reports(warn)
        self._context = zmq.Context()
        self._peers: dict[str, zmq.Socket[bytes]] = {}
        """The sockets by address, the one that was used last at the end."""
        self._listener = self._socket()
        self._authenticator = None if curve is None else self._authenticate(curve)
        if listening is not None:
            self._listener.setsockopt(zmq.USE_FD, listening)
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        try:
            self._listener.bind(address)
        except zmq.ZMQError as error:
            self.close()
            raise _listen_error(address, error) from None
        bound = self._listener.getsockopt_string(zmq.LAST_ENDPOINT)
        fingerprint = "" if curve is None else curve.own.fingerprint
        host, _, port = bound.removeprefix("tcp://").rpartition(":")
        self.address: str = self._settings.announced or str(NodeAddress(host, port, fingerprint))
        """The address for others, with the number of the port and the fingerprint of the key."""
        self._signals: int = self._listener.getsockopt(zmq.FD)  # type: ignore[assignment]
        """Readable whenever something may have changed on the listener; only `_has_more` says what."""
        self._may_have_more = True
        """Whether messages may have come that were announced before the last call of `_has_more`."""

    def send(self, address: str, what: Frame | Datagram) -> bool:
        """Send to the node that listens on `address`; return whether it was accepted.

        The columns of sent frames must not be changed.  A message to a node that is not in the list of
        CURVE keys is not accepted.

        Raises:
            FsqlError: E601 if the address is not on the loopback and there are no keys.
        """
        peer = self._peers.pop(address, None) or self._connect(address)
        if peer is None:
            self.lost += 1
            return False
        self._peers[address] = peer
        parts = self._seal.close(self.address, encode(what))
        try:
            peer.send_multipart(parts, zmq.DONTWAIT, copy=False)
        except zmq.Again:
            self.lost += 1
            return False
        return True

    def send_last(self, address: str, what: Datagram) -> None:
        """Send a datagram that `close` waits for, unless the queue of the node at `address` is full."""
        if self.send(address, what):
            self._peers[address].setsockopt(zmq.LINGER, _LAST_MS)

    def receive(
        self, timeout_seconds: float, descriptors: Sequence[int] = ()
    ) -> list[tuple[str, Frame | Datagram]]:
        """Return the frames and datagrams that have arrived, with the addresses of the senders.

        Wait for a message, for data on one of `descriptors`, or for a call of `wake`, up to the timeout,
        which is precise to the microsecond; that of ZeroMQ's poll is precise to the millisecond.
        """
        if not self._may_have_more and not self._wait(timeout_seconds, descriptors):
            return []
        received: list[tuple[str, Frame | Datagram]] = []
        for _ in range(self._settings.receive_max):
            if not self._has_more():
                self._may_have_more = False
                return received
            self._open(self._listener.recv_multipart(zmq.DONTWAIT, copy=False), received)
        self._may_have_more = True
        return received

    def _wait(self, seconds: float, descriptors: Sequence[int]) -> bool:
        """Wait; return whether messages may have arrived at the listener."""
        ready = wait_readable([self._signals, self._woken, *descriptors], seconds)
        if self._woken in ready:
            os.read(self._woken, _WAKE_BYTES)
        return self._signals in ready

    def wake(self) -> None:
        """Make `receive` return soon; any thread may call this."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._waker, b"\0")

    def close(self) -> None:
        """Close all sockets; what is in transit is lost, except for the last datagrams."""
        if self._authenticator is not None:
            self._authenticator.close()
        self._context.destroy()
        os.close(self._woken)
        os.close(self._waker)

    def _has_more(self) -> bool:
        """Return whether a message has arrived; to receive when there is none would take longer."""
        events = self._listener.getsockopt(zmq.EVENTS)
        return isinstance(events, int) and bool(events & zmq.POLLIN)

    def _open(self, parts: list[zmq.Frame], received: list[tuple[str, Frame | Datagram]]) -> None:
        try:
            source, opened = self._seal.open([_bytes(part) for part in parts])
            if self._curve is not None:
                self._check_sender(source, parts[0])
            received.append((source, decode(opened)))
        except WireError as error:
            self.refused[type(error).__name__] += 1
            if isinstance(error, VersionError):
                self.other_versions[error.source] = error.theirs

    def _check_sender(self, source: str, part: zmq.Frame) -> None:
        """Check that a frame came over a connection of the node that it names as its sender.

        Raises:
            ForeignError: if it did not.
        """
        fingerprint = str(part.get("User-Id"))
        if source.rpartition("/")[2] == fingerprint:
            return
        self._reports.report(f"frame refused: the node with key {fingerprint} is not {source}")
        raise ForeignError(f"it is not sent by {source}")

    def _authenticate(self, curve: NodeKeys) -> Authenticator:
        """Authenticate nodes that connect, by CURVE; to be called before the listener listens."""
        authenticator = Authenticator(self._context, self._listener, curve, self._reports)
        self._listener.setsockopt(zmq.CURVE_SERVER, 1)
        self._listener.setsockopt(zmq.CURVE_SECRETKEY, curve.own.secret)
        self._listener.setsockopt(zmq.ZAP_DOMAIN, ZAP_DOMAIN)
        self._listener.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        return authenticator

    def _connect(self, address: str) -> zmq.Socket[bytes] | None:
        """Return a socket that is connected to a node; None if the node is not in the list of keys."""
        node = parse_node_address(address, curve=self._curve is not None)
        public = b"" if self._curve is None else self._public_of(node)
        if public is None:
            return None
        if len(self._peers) >= self._settings.peers_max:
            # The address unused for longest is probably that of a node that has ended.
            longest_unused = next(iter(self._peers))
            self._peers.pop(longest_unused).close(linger=0)
        peer = self._socket()
        if self._curve is not None:
            peer.setsockopt(zmq.CURVE_SERVERKEY, public)
            peer.setsockopt(zmq.CURVE_PUBLICKEY, self._curve.own.public)
            peer.setsockopt(zmq.CURVE_SECRETKEY, self._curve.own.secret)
        peer.connect(node.endpoint)
        return peer

    def _public_of(self, node: NodeAddress) -> bytes | None:
        """Return the public key of a node; None, with a warning, if it is not in the list."""
        assert self._curve is not None
        try:
            public = self._curve.public_of(node.fingerprint)
        except FsqlError as error:
            self._reports.report(f"{error.diagnostics[0].message}; connections are refused")
            return None
        if public is None:
            listed = self._curve.directory / AUTHORIZED
            self._reports.report(
                f"no connection to {node.endpoint}: its key {node.fingerprint} is not in {listed}"
            )
        return public

    def _socket(self) -> zmq.Socket[bytes]:
        settings = self._settings
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, settings.queue_frames)
        socket.setsockopt(zmq.RCVHWM, settings.queue_frames)
        socket.setsockopt(zmq.MAXMSGSIZE, settings.part_bytes_max)
        socket.setsockopt(zmq.HEARTBEAT_IVL, settings.heartbeat_ms)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, settings.dead_after_ms)
        socket.setsockopt(zmq.HANDSHAKE_IVL, settings.dead_after_ms)
        socket.setsockopt(zmq.RECONNECT_IVL, settings.reconnect_ms)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, settings.reconnect_max_ms)
        return socket


def _bytes(part: zmq.Frame) -> Buffer:
    """Return the content of a part: a view of a large part; a copy of a small one, to free its message."""
    return part.buffer if len(part) >= LARGE_BYTES else part.bytes


def _listen_error(address: str, error: zmq.ZMQError) -> FsqlError:
    reason = zmq.strerror(error.errno or 0)
    message = f'the node cannot listen on "{address}": {reason[0].lower()}{reason[1:]}'
    helps = (f'use "{ANY_PORT}": any port that is free',)
    return FsqlError([Diagnostic("E603", message, helps=helps)])
