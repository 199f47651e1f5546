"""The reference consumer: listens, stores the rows of one output of one job, and acknowledges them.

`fsql consume` runs it, and a launcher runs it for its standard output.  One connection at a time is current.
Another connection replaces it if its epoch is later, or the same, because the old connection may be broken
without notice; an older epoch is refused.  Bytes that are not a frame end only their connection.
"""

from __future__ import annotations

import secrets
import selectors
import socket
import time
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.connectors.addresses import accept_connection
from fsql.connectors.tcp.frames import (
    BODY_BYTES_MAX,
    VERSION,
    BadFrameError,
    Challenge,
    Frame,
    FrameReader,
    Have,
    Head,
    Hello,
    Part,
    Proof,
    Refusal,
    Response,
    Sync,
    Synced,
    Welcome,
    frame_bytes,
)
from fsql.connectors.tcp.proofs import CONSUMER, JOB, is_proof, new_challenge, proof_of
from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.sink import OpenRequest, Sequencer, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.sink import SinkStore

WINDOW: Final = 64
_READ_BYTES: Final = 1 << 20
_UNAUTHENTICATED_MAX: Final = 16
"""The maximum number of connections without a valid hello."""
_HELLO_SECONDS: Final = 10.0
_HELLO_BYTES_MAX: Final = 1 << 16
_OUTGOING_BYTES_MAX: Final = 1 << 20


@dataclass(slots=True, eq=False)
class _Peer:
    """A connection."""

    socket: socket.socket
    since: float
    reader: FrameReader = field(default_factory=lambda: FrameReader(_HELLO_BYTES_MAX))
    outgoing: bytearray = field(default_factory=bytearray)
    have: Root | None = None
    challenges: tuple[str, str] | None = None
    proven: bool = False


class _DisconnectError(Exception):
    """The connection must be closed after sending the reason."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__()
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class StoredRows:
    """A bundle that was stored: its end position, and its number of rows and bytes."""

    ends: Root
    rows: int
    bytes: int


class ConsumerServer:
    """Listens at an address, and keeps received rows in a store."""

    def __init__(
        self,
        address: tuple[str, int],
        store: SinkStore,
        on_stored: Callable[[StoredRows], None] = lambda _: None,
        window: int = WINDOW,
        *,
        job: str | None = None,
        key: bytes | None = None,
    ) -> None:
        """Listen; with port 0, on any free port.

        With a `key`, only jobs that authenticate themselves with it are accepted.

        Rows are accepted from `job` only or, if it is None, from the first job that connects.

        Raises:
            OSError: if the address cannot be listened on.
        """
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._listener = socket.create_server(address, family=family)
        self._listener.settimeout(0)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._store = store
        self._on_stored = on_stored
        self._window = window
        self._peers: list[_Peer] = []
        self._current: _Peer | None = None
        self._sequencer = Sequencer(START)
        self._job = job
        self._key = key
        self._owner: tuple[str, str] | None = None
        self._epoch = -1
        self._rows = self._bytes = 0
        self.ended = False

    @property
    def address(self) -> tuple[str, int]:
        """Return the address on which it listens."""
        host, port = self._listener.getsockname()[:2]
        return host, port

    def serve(self, seconds: float) -> None:
        """Process events; wait up to `seconds` for the first one.

        Raises:
            FsqlError: E535, if the store fails permanently.
        """
        for key, events in self._selector.select(seconds):
            if key.data is None:
                self._accept()
                continue
            peer: _Peer = key.data
            if peer in self._peers and events & selectors.EVENT_WRITE:
                self._send(peer)
            if peer in self._peers and events & selectors.EVENT_READ:
                self._receive(peer)
        now = time.monotonic()
        for peer in list(self._peers):
            if peer is not self._current and now - peer.since > _HELLO_SECONDS:
                self._drop(peer)

    def close(self) -> None:
        """Close all connections and the store."""
        for peer in list(self._peers):
            self._drop(peer)
        self._selector.close()
        self._listener.close()
        self._store.close()

    def _accept(self) -> None:
        accepted = accept_connection(self._listener)
        if accepted is None:
            return
        accepted.settimeout(0)
        with suppress(OSError):  # it is gone already
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        unauthenticated = [peer for peer in self._peers if peer is not self._current]
        if len(unauthenticated) >= _UNAUTHENTICATED_MAX:
            self._drop(unauthenticated[0])
        peer = _Peer(accepted, time.monotonic())
        self._peers.append(peer)
        self._selector.register(accepted, selectors.EVENT_READ, peer)

    def _drop(self, peer: _Peer) -> None:
        self._peers.remove(peer)
        self._selector.unregister(peer.socket)
        peer.socket.close()
        if peer is self._current:
            self._current = None

    def _receive(self, peer: _Peer) -> None:
        try:
            data = peer.socket.recv(_READ_BYTES)
            if not data:
                self._drop(peer)
                return
            for frame in peer.reader.feed(data):
                self._take(peer, frame)
            if peer.have is not None:
                self._reply(peer, Have((peer.have.time, peer.have.origin)))
                peer.have = None
        except BlockingIOError:
            pass
        except (OSError, BadFrameError):
            self._drop(peer)
        except _DisconnectError as reason:
            self._reply(peer, reason.refusal)
            if peer in self._peers:
                self._drop(peer)

    def _take(self, peer: _Peer, frame: Frame) -> None:
        """Process a frame.

        Raises:
            _DisconnectError: if it ends the connection.
        """
        if peer is not self._current:
            self._begin(peer, frame.head)
            return
        try:
            match frame.head:
                case Part():
                    self._part(peer, frame.head, frame.payload)
                case Sync():
                    self._store.sync()
                    self._reply(peer, Synced())
                case _:
                    raise _DisconnectError(Refusal("a bundle is expected"))
        except SinkLostError as error:
            raise _DisconnectError(Refusal(str(error))) from None

    def _begin(self, peer: _Peer, head: Head) -> None:
        """Process a frame of a connection that is not current.

        Raises:
            _DisconnectError: if it ends the connection.
        """
        match head:
            case Challenge(challenge) if self._key is not None and peer.challenges is None:
                peer.challenges = challenge, new_challenge()
                proof = proof_of(self._key, CONSUMER, peer.challenges, self.address[1])
                self._reply(peer, Response(peer.challenges[1], proof))
            case Proof(proof) if self._key is not None and peer.challenges is not None:
                expected = proof_of(self._key, JOB, peer.challenges, self.address[1])
                if not is_proof(proof, expected):
                    raise _DisconnectError(Refusal("the job does not have the key"))
                peer.proven = True
            case Hello() if self._key is None or peer.proven:
                self._hello(peer, head)
            case Hello():
                raise _DisconnectError(Refusal("a proof of the key is expected"))
            case _:
                raise _DisconnectError(Refusal("a hello is expected"))

    def _hello(self, peer: _Peer, hello: Hello) -> None:
        if hello.version != VERSION:
            reason = f"version {hello.version} is not known here, only {VERSION}"
            raise _DisconnectError(Refusal(reason, lasting=True))
        owner = (hello.job, hello.output)
        wanted = hello.job if self._job is None else self._job
        if not secrets.compare_digest(wanted.encode(), hello.job.encode()):
            raise _DisconnectError(Refusal("this consumer waits for another job", lasting=True))
        if self._owner not in {None, owner}:
            raise _DisconnectError(Refusal("this consumer belongs to another output", lasting=True))
        if hello.epoch < self._epoch:
            raise _DisconnectError(Refusal(f"epoch {self._epoch} has begun"))
        try:
            option = DeliveryOption(hello.delivery)
        except ValueError:
            raise _DisconnectError(Refusal("an unknown kind of delivery", lasting=True)) from None
        if self._current is not None:
            self._drop(self._current)
        opening = OpenRequest(hello.epoch, Root(*hello.begins), option, f"{owner[1]} of {owner[0]}")
        try:
            position = self._store.open(opening)
        except SinkLostError as error:
            raise _DisconnectError(Refusal(str(error))) from None
        except FsqlError as error:
            reason = error.diagnostics[0].message
            raise _DisconnectError(Refusal(reason, lasting=True)) from None
        self._owner, self._epoch = owner, hello.epoch
        self._current = peer
        self._sequencer = Sequencer(position)
        self._rows = self._bytes = 0
        self.ended = position == END
        peer.reader.body_bytes_max = BODY_BYTES_MAX
        self._reply(peer, Welcome(VERSION, (position.time, position.origin), self._window))

    def _part(self, peer: _Peer, part: Part, payload: memoryview) -> None:
        follows, ends = Root(*part.follows), Root(*part.ends)
        if not self._sequencer.accepts(follows, ends, part.part):
            peer.have = self._sequencer.position
            return
        self._store.append([payload])
        self._rows += part.rows
        self._bytes += len(payload)
        if part.last:
            self._store.commit(ends)
            self._sequencer.on_stored(ends)
            self._on_stored(StoredRows(ends, self._rows, self._bytes))
            self._rows = self._bytes = 0
            self.ended = ends == END
            peer.have = ends

    def _reply(self, peer: _Peer, head: Head) -> None:
        for piece in frame_bytes(head):
            peer.outgoing += piece
        self._send(peer)

    def _send(self, peer: _Peer) -> None:
        try:
            sent = peer.socket.send(peer.outgoing)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._drop(peer)
            return
        del peer.outgoing[:sent]
        if len(peer.outgoing) > _OUTGOING_BYTES_MAX:
            self._drop(peer)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.outgoing else 0)
        self._selector.modify(peer.socket, events, peer)
