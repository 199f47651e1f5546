"""A sink over a TCP connection: `'connector' = 'tcp'`.

Only `open` and `sync` block.  Rows that the consumer has not acknowledged are kept; when the connection
breaks, a new one is established, and sending continues from the position of the consumer.  If no connection
succeeds for `timeout` seconds, the sink is lost.
"""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.tcp.connecting import finish_connecting, wait_for
from fsql.connectors.tcp.frames import (
    PAYLOAD_BYTES_MAX,
    VERSION,
    BadFrameError,
    Challenge,
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
from fsql.runtime.batch import START, Root, position_text
from fsql.runtime.sink import OpenReply, SinkLostError, SinkMissingError, bundle_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.sink import ContentsEncoder, OpenRequest

TIMEOUT_SECONDS: Final = 10.0
MISSING_AFTER_SECONDS: Final = 1.0
"""Time without an answer after which a warning is printed."""
_BETWEEN_ATTEMPTS_SECONDS: Final = 0.05
_SYNC_SECONDS: Final = 0.001
_ANSWER_BYTES_MAX: Final = 1 << 16
_READ_BYTES: Final = 1 << 16
_PIECES_MAX: Final = 64
"""The maximum number of pieces in one system call."""

_Bytes = bytes | memoryview


class TcpSink:
    """The job's end of the connection to the consumer of one output."""

    def __init__(
        self,
        address: tuple[str, int],
        output: str,
        lines: ContentsEncoder,
        timeout: float = TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        *,
        key: bytes | None = None,
    ) -> None:
        """Take the address of the consumer; with a `key`, it must prove that it has the same key."""
        self._address = address
        self._output = output
        self._lines = lines
        self._timeout = timeout
        self._clock = clock
        self._key = key
        self._challenge = ""
        self._proven = False
        self._lock = threading.Lock()
        """Held while the connection is used: another thread may call `sync`."""
        self._opening: OpenRequest | None = None
        self._socket: socket.socket | None = None
        self._reader = FrameReader(_ANSWER_BYTES_MAX)
        self._connected = False
        self._welcomed = False
        self._opened = False
        self._window = 0
        self._unanswered = 0
        """How many `Sync` frames on this connection have not been answered yet."""
        self._lost_since: float | None = None
        self._next_attempt = 0.0
        self._outgoing: deque[_Bytes] = deque()
        self._kept: deque[tuple[Root, list[_Bytes]]] = deque()
        self._building: list[_Bytes] = []
        self._parts = 0
        self._next_part = 0
        self._position = START
        self._acknowledged: list[Root] = []

    @property
    def missing_reason(self) -> str | None:
        """Return that the consumer does not answer, if it has not done so for a while."""
        since = self._lost_since
        missed = since is not None and self._clock() - since > MISSING_AFTER_SECONDS
        return f"{self._name} does not answer" if missed else None

    @property
    def descriptor(self) -> int | None:
        """Return the descriptor to wait on for acknowledgements, None while not everything is sent."""
        return None if self._socket is None or self._outgoing else self._socket.fileno()

    def open(self, opening: OpenRequest) -> OpenReply:
        """Begin an epoch, and wait for the answer.

        Raises:
            FsqlError: E537, if the consumer refuses permanently.
            SinkLostError: if it refuses temporarily, or does not answer.
        """
        with self._lock:
            self._disconnect()
            self._opening = opening
            self._opened = False
            self._position = opening.begins
            self._kept.clear()
            self._building, self._parts, self._next_part = [], 0, 0
            self._lost_since, self._next_attempt = self._clock(), 0.0
            self._wait_until(lambda: self._welcomed)
            self._acknowledged = []
            return OpenReply(self._position, self._window)

    def deliver(self, bundle: Bundle) -> None:
        """Send a bundle, or a part of one.

        Raises:
            FsqlError: E537, if the consumer refuses permanently.
            SinkLostError: if it refuses temporarily, or cannot be reached for too long.
        """
        if bundle.part != self._next_part:
            raise SinkLostError(
                f"part {bundle.part} came where part {self._next_part} was expected"
            )
        self._next_part = 0 if bundle.last else bundle.part + 1
        pieces = bundle_bytes(self._lines, bundle, header=True)
        cut = [
            piece.cast("B")[start : start + PAYLOAD_BYTES_MAX]
            for piece in pieces
            for start in range(0, piece.nbytes, PAYLOAD_BYTES_MAX)
        ]
        if bundle.last and not cut:
            cut = [memoryview(b"")]
        follows, ends = _pair(bundle.follows), _pair(bundle.ends)
        for number, payload in enumerate(cut):
            last = bundle.last and number == len(cut) - 1
            rows = bundle.rows if number == len(cut) - 1 else 0
            part = Part(follows, ends, self._parts, last, rows)
            self._building += frame_bytes(part, payload)
            self._parts += 1
        if bundle.last:
            frames, self._building, self._parts = self._building, [], 0
            with self._lock:
                self._kept.append((bundle.ends, frames))
                if self._welcomed:
                    self._outgoing += frames
        with self._lock:
            self._advance()

    def take_acknowledged(self) -> Sequence[Root]:
        """Return the positions that the consumer has acknowledged since the last call.

        Raises:
            FsqlError: E537, if the consumer refuses permanently.
            SinkLostError: if it refuses temporarily, or cannot be reached for too long.
        """
        with self._lock:
            self._advance()
            acknowledged, self._acknowledged = self._acknowledged, []
            return acknowledged

    def sync(self) -> None:
        """Wait until the consumer confirms that all acknowledged rows survive a loss of power.

        Any thread may call this.

        Raises:
            FsqlError: E537, if the consumer refuses permanently.
            SinkLostError: if it refuses temporarily, or does not answer.
        """
        asked: socket.socket | None = None
        deadline = self._clock() + self._timeout
        while True:
            with self._lock:
                if self._welcomed and asked is not self._socket:
                    asked = self._socket
                    self._unanswered += 1
                    self._outgoing += frame_bytes(Sync())
                self._advance()
                if asked is not None and asked is self._socket and not self._unanswered:
                    return
            if self._clock() > deadline:
                raise self._missing_error(f"{self._name} does not answer")
            time.sleep(_SYNC_SECONDS)

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` until the connection is ready."""
        if self._socket is None:
            time.sleep(seconds)
            return
        wait_for(self._socket, seconds, writing=bool(self._outgoing))

    def close(self) -> None:
        """Disconnect."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._connected = False
        self._welcomed = False
        self._unanswered = 0
        self._outgoing.clear()

    @property
    def _name(self) -> str:
        return f"the consumer at {self._address[0]}:{self._address[1]}"

    def _wait_until(self, reached: Callable[[], bool]) -> None:
        self._advance()
        while not reached():
            self.wait(_BETWEEN_ATTEMPTS_SECONDS)
            self._advance()

    def _advance(self) -> None:
        """Connect, send and receive as far as that is possible without waiting."""
        if self._opening is None:
            raise SinkLostError(f"{self._name} was not opened")
        if self._socket is None:
            self._connect()
        try:
            if self._socket is not None and not self._connected:
                self._connected = finish_connecting(self._socket)
            if self._socket is not None and self._connected:
                self._receive(self._socket)
            if self._socket is not None and self._connected:
                self._send(self._socket)
        except (OSError, BadFrameError) as error:
            self._on_broken(str(error))
        if self._lost_since is not None and self._clock() - self._lost_since > self._timeout:
            self._disconnect()
            raise self._missing_error(f"{self._name} has not answered for {self._timeout:g} s")

    def _missing_error(self, reason: str) -> SinkMissingError:
        return SinkMissingError(self._output, reason)

    def _connect(self) -> None:
        assert self._opening is not None
        now = self._clock()
        if now < self._next_attempt:
            return
        self._next_attempt = now + _BETWEEN_ATTEMPTS_SECONDS
        family = socket.AF_INET6 if ":" in self._address[0] else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        made.settimeout(0)
        if made.connect_ex(self._address) not in {0, errno.EINPROGRESS}:
            made.close()
            return
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = made
        self._reader = FrameReader(_ANSWER_BYTES_MAX)
        self._proven = self._key is None
        if self._proven:
            self._send_hello()
            return
        self._challenge = new_challenge()
        self._outgoing.extend(frame_bytes(Challenge(self._challenge)))

    def _send_hello(self) -> None:
        assert self._opening is not None
        epoch, _, option, owner = self._opening
        hello = Hello(VERSION, owner, self._output, epoch, option.value, _pair(self._position))
        self._outgoing.extend(frame_bytes(hello))

    def _on_broken(self, reason: str) -> None:
        """Disconnect; after a reconnection, unacknowledged rows are sent again."""
        del reason
        self._disconnect()
        if self._lost_since is None:
            self._lost_since = self._clock()

    def _send(self, to: socket.socket) -> None:
        while self._outgoing:
            try:
                # Head and payload in one call, so that the consumer does not wake up for each.
                sent = to.sendmsg(islice(self._outgoing, _PIECES_MAX))
            except BlockingIOError:
                return
            while self._outgoing and sent >= len(self._outgoing[0]):
                sent -= len(self._outgoing.popleft())
            if sent:
                self._outgoing[0] = memoryview(self._outgoing[0])[sent:]

    def _receive(self, sender: socket.socket) -> None:
        while self._socket is sender:
            try:
                data = sender.recv(_READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._on_broken("the connection was closed")
                return
            for frame in self._reader.feed(data):
                self._take(frame.head)

    def _take(self, head: Head) -> None:
        if not self._proven:
            self._prove(head)
            return
        match head:
            case Welcome() if not self._welcomed:
                self._welcome(head)
            case Have(position) if self._welcomed:
                self._update_position(Root(*position))
            case Synced() if self._unanswered:
                self._unanswered -= 1
            case Refusal(reason, lasting):
                self._disconnect()
                if lasting:
                    raise self._mismatch_error(reason)
                raise SinkLostError(f"{self._name} refuses: {reason}")
            case _:
                raise BadFrameError("an answer that was not requested")

    def _prove(self, head: Head) -> None:
        """Check the consumer's proof; send a proof and a hello.

        Raises:
            SinkMissingError: if the proof is not valid: the listener is not the consumer.
        """
        assert self._key is not None
        port = self._address[1]
        if isinstance(head, Response):
            challenges = self._challenge, head.challenge
            if is_proof(head.proof, proof_of(self._key, CONSUMER, challenges, port)):
                self._proven = True
                proof = Proof(proof_of(self._key, JOB, challenges, port))
                self._outgoing.extend(frame_bytes(proof))
                self._send_hello()
                return
        self._disconnect()
        raise self._missing_error(f"{self._name} does not have the key")

    def _welcome(self, welcome: Welcome) -> None:
        if welcome.version != VERSION:
            raise self._mismatch_error(f"it uses version {welcome.version}, and this is {VERSION}")
        position = Root(*welcome.position)
        if position < self._position:
            raise self._mismatch_error("it lacks rows that it had")
        self._lost_since = None
        self._welcomed = True
        self._window = max(welcome.window, 1)
        if self._opened:
            self._update_position(position)
        self._position, self._opened = position, True
        for _, frames in self._kept:
            self._outgoing += frames

    def _update_position(self, position: Root) -> None:
        """Record the position of the consumer, which must be the end of a bundle that was sent."""
        if position <= self._position:
            return
        if all(ends != position for ends, _ in self._kept):
            raise self._mismatch_error(
                f"it says that it has {position_text(position)}, where no bundle ends"
            )
        while self._kept and self._kept[0][0] <= position:
            self._kept.popleft()
        self._position = position
        self._acknowledged.append(position)

    def _mismatch_error(self, reason: str) -> FsqlError:
        self._disconnect()
        message = f"{self._name} does not match the position of the job: {reason}"
        return FsqlError([Diagnostic("E537", message)])


def _pair(position: Root) -> tuple[int, int]:
    return position.time, position.origin
