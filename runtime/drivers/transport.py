"""The transport of real nodes: frames and datagrams over TCP, between processes of one machine.

A node listens on one socket and has another for each node that it sends to.  Things travel one way
only on each: so nothing hangs on identities that peers claim (who sent something, its seal says), and a
node that comes back at the same address is found again by reconnecting.

Sending never waits: what a peer does not take is lost, as what a broken connection held is.  That is
what links are for.  Everything is sealed with the cluster's key; what does not hold is dropped and
counted.

Only the loopback is spoken over: there is no encryption here, and the seal is no match for somebody who
reads along.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import select
import selectors
import socket
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.drivers.incoming import CutOffError, Incoming
from fsql.runtime.drivers.outgoing import Outgoing, OutgoingThread
from fsql.runtime.wire.codec import decode, encode
from fsql.runtime.wire.errors import VersionError, WireError
from fsql.runtime.wire.seal import Seal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from fsql.runtime.protocol.frames import Datagram, Frame

ANY_PORT: Final = "tcp://127.0.0.1:*"
PORT_MAX: Final = 65_535
_WAKE_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class TransportSettings:
    """Limits and times of a transport.

    `queue_frames` may wait for each peer; a part may have `part_bytes_max`.  A peer that was sent something
    and of which nothing is heard for `dead_after` seconds is connected anew: a connection that hangs looks
    like a slow one otherwise.  `peers_max` connections are kept in either direction.
    `announced` is the address that others are told to send to, if that is not where the node listens.
    """

    queue_frames: int = 1000
    part_bytes_max: int = 64 << 20
    dead_after: float = 3.0
    peers_max: int = 128
    announced: str = ""


@dataclass(slots=True)
class _Peer:
    """A node that is sent to; `asked_at` is when it was first sent something since it was last heard."""

    outgoing: Outgoing
    asked_at: float | None = None


class Transport:
    """One node's way to the others; for one thread, but for `wake`."""

    def __init__(
        self, key: bytes, address: str = ANY_PORT, settings: TransportSettings | None = None
    ) -> None:
        """Listen on `address`; a port of `*` is any that is free.

        Raises:
            FsqlError: E601 if the address is not on the loopback, E603 if it cannot be listened on.
        """
        host, port = check_address(address)
        self.refused: Counter[str] = Counter()
        """How often something that came was refused, by the class of the error."""
        self.lost = 0
        """How many frames and datagrams were not sent, because their peer takes no more."""
        self.other_versions: dict[str, int] = {}
        """Nodes of this cluster that speak another version of the wire format, by address."""
        self._settings = settings or TransportSettings()
        self._seal = Seal(key)
        try:
            self._listener = socket.create_server((host, port))
        except OSError as error:
            raise _cannot_listen(address, error) from None
        self._listener.settimeout(0)
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._incoming: dict[int, Incoming] = {}
        self._peers: dict[str, _Peer] = {}
        self._thread = OutgoingThread()
        listening = "tcp://{}:{}".format(*self._listener.getsockname())
        self.address: str = self._settings.announced or listening
        """Where others send to, with the number of the port."""

    def send(self, address: str, what: Frame | Datagram) -> bool:
        """Send to the node that listens on `address`; say whether it is on its way, or lost by now.

        Nobody may change the columns of what is sent.

        Raises:
            FsqlError: E601 if the address is not on the loopback.
        """
        peer = self._peers.get(address) or self._new_peer(address)
        now = time.monotonic()
        if peer.asked_at is None:
            peer.asked_at = now
        elif now - peer.asked_at > self._settings.dead_after:
            peer.asked_at = now
            peer.outgoing.renew()
        sent = peer.outgoing.offer(self._seal.close(self.address, encode(what)))
        self.lost += not sent
        return sent

    def receive(
        self, timeout_seconds: float, also: Sequence[int] = ()
    ) -> list[tuple[str, Frame | Datagram]]:
        """Return what has come, with the addresses of the senders.

        Waits until there is something, until `wake`, until a descriptor of `also` has something to
        read, or until the time is over: to the microsecond, where selectors know milliseconds.
        """
        descriptor = self._selector.fileno()
        ready, _, _ = select.select([descriptor, *also], [], [], timeout_seconds)
        came: list[tuple[str, Frame | Datagram]] = []
        if descriptor in ready:
            for key, _ in self._selector.select(0):
                if key.fd == self._woken:
                    os.read(self._woken, _WAKE_BYTES)
                elif key.data is None:
                    self._accept()
                else:
                    self._receive(key.data, came)
        return came

    def wake(self) -> None:
        """Have `receive` return soon; any thread may call this."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._waker, b"\0")

    def close(self) -> None:
        """Close all; what is under way is lost."""
        for peer in self._peers.values():
            peer.outgoing.close()
        self._thread.close()
        self._selector.close()
        for incoming in self._incoming.values():
            incoming.connection.close()
        self._listener.close()
        os.close(self._woken)
        os.close(self._waker)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # it has hung up again
        if len(self._incoming) >= self._settings.peers_max:
            self._drop(next(iter(self._incoming.values())))
        incoming = Incoming(connection, self._settings.part_bytes_max)
        self._incoming[connection.fileno()] = incoming
        self._selector.register(connection, selectors.EVENT_READ, incoming)

    def _drop(self, incoming: Incoming) -> None:
        del self._incoming[incoming.connection.fileno()]
        self._selector.unregister(incoming.connection)
        incoming.connection.close()

    def _receive(self, incoming: Incoming, came: list[tuple[str, Frame | Datagram]]) -> None:
        try:
            for parts in incoming.receive():
                self._open(parts, came)
        except CutOffError:
            self._drop(incoming)

    def _open(self, parts: list[Buffer], came: list[tuple[str, Frame | Datagram]]) -> None:
        try:
            source, opened = self._seal.open(parts)
            came.append((source, decode(opened)))
        except WireError as error:
            self.refused[type(error).__name__] += 1
            if isinstance(error, VersionError):
                self.other_versions[error.source] = error.theirs
            return
        if (peer := self._peers.get(source)) is not None:
            peer.asked_at = None

    def _new_peer(self, address: str) -> _Peer:
        place = check_address(address)
        if len(self._peers) >= self._settings.peers_max:
            # Nodes that have ended leave addresses behind that nobody sends to any more.
            oldest = next(iter(self._peers))
            self._peers.pop(oldest).outgoing.close()
        outgoing = Outgoing(place, self._settings.queue_frames, self._thread.tell)
        peer = self._peers[address] = _Peer(outgoing)
        return peer


def check_address(address: str) -> tuple[str, int]:
    """Return host and port of an address on the loopback, port 0 for `*`.

    A name is no address, as it may come to mean something else.

    Raises:
        FsqlError: E601, if it is not.
    """
    protocol, _, place = address.partition("://")
    host, _, port = place.rpartition(":")
    notes: tuple[str, ...] = ()
    if protocol != "tcp" or not host or not _is_port(port):
        message = f'address "{address}" is not of the form tcp://127.0.0.1:PORT'
    elif not _on_loopback(host):
        message = f'address "{address}" is not on the loopback of this machine'
        notes = (
            "nodes do not encrypt what they send, so they speak to nodes of the same machine only",
        )
    else:
        return host, 0 if port == "*" else int(port)
    helps = ('use an address such as "tcp://127.0.0.1:5555"',)
    raise FsqlError([Diagnostic("E601", message, notes=notes, helps=helps)])


def _is_port(text: str) -> bool:
    digits = text.isascii() and text.isdecimal()
    return text == "*" or (digits and 0 < int(text) <= PORT_MAX)


def _on_loopback(host: str) -> bool:
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return False


def _cannot_listen(address: str, error: OSError) -> FsqlError:
    reason = os.strerror(error.errno or 0)
    message = f'the node cannot listen on "{address}": {reason[0].lower()}{reason[1:]}'
    helps = (f'use "{ANY_PORT}": any port that is free',)
    return FsqlError([Diagnostic("E603", message, helps=helps)])
