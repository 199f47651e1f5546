"""Connections on which a node sends, and the thread that minds them.

Most of what a node sends the connection takes at once, and then nothing else is involved.  What it does not
take is left to a thread: so a large frame flows on while the node computes.  The thread also connects, finds
out that the other side has hung up, and connects again.

When a connection breaks, what was partly sent is lost with it, as is what the other side had not read.
"""

from __future__ import annotations

import errno
import os
import queue
import select
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.runtime.drivers.incoming import head_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

_PIECES_MAX: Final = 512
"""How many pieces are sent in one call; systems have a limit of 1,024."""
_RECONNECT_SECONDS: Final = 0.02
_RECONNECT_SECONDS_MAX: Final = 0.5
_WAKE_BYTES: Final = 1 << 16

_Piece: TypeAlias = "bytes | memoryview"


class Outgoing:
    """What goes to one node: the connection, and what it has not taken yet."""

    def __init__(
        self, address: tuple[str, int], frames_max: int, left: Callable[[Outgoing], None]
    ) -> None:
        """Be not connected; `left` is called when there is something for the thread to do."""
        self._address = address
        self._frames_max = frames_max
        self._left = left
        self._turn = threading.Lock()
        self._queue: deque[list[_Piece]] = deque()
        self._begun = False
        """Whether a piece of the first frame has gone already."""
        self._socket: socket.socket | None = None
        self._connected = False
        self._closed = False
        self._next_attempt = 0.0
        self._wait = _RECONNECT_SECONDS

    def offer(self, parts: Sequence[Buffer]) -> bool:
        """Send parts now or later, and say so; not, if too much is waiting already."""
        pieces: list[_Piece] = [head_of(parts), *(memoryview(part).cast("B") for part in parts)]
        with self._turn:
            if len(self._queue) >= self._frames_max:
                return False
            self._queue.append(pieces)
            if len(self._queue) > 1:
                return True  # the thread knows
            if self._connected:
                self._send()
            left = bool(self._queue)
        if left:
            self._left(self)
        return True

    def renew(self) -> None:
        """Give the connection up, and make another."""
        with self._turn:
            self._lose()
        self._left(self)

    def close(self) -> None:
        """Hang up for good; what is under way is lost."""
        with self._turn:
            self._closed = True
            self._queue.clear()
            self._hang_up()
        self._left(self)

    # For the thread.

    def wanted(self, now: float) -> tuple[int, int] | float | None:
        """Return the descriptor and what to wait for on it, or when to connect; None if it is over."""
        with self._turn:
            if self._socket is None and self._queue and now >= self._next_attempt:
                self._connect()
            if self._closed or (self._socket is None and not self._queue):
                return None
            if self._socket is None:
                return self._next_attempt
            events = select.POLLIN if self._connected else 0
            return self._socket.fileno(), events | (select.POLLOUT if self._queue else 0)

    def mind(self) -> None:
        """Go on, since something has happened on the connection."""
        with self._turn:
            if self._socket is None:
                return
            if not self._connected and not self._has_connected(self._socket):
                self._lose()
                return
            self._send()
            if self._socket is not None:
                self._look(self._socket)

    def _connect(self) -> None:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.settimeout(0)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = made
        if made.connect_ex(self._address) not in {0, errno.EINPROGRESS}:
            self._lose()

    def _has_connected(self, made: socket.socket) -> bool:
        if made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return False
        try:
            # Where nobody listens a connection can, by chance, be made with itself.
            self._connected = made.getpeername() != made.getsockname()
        except OSError:
            return False
        if self._connected:
            self._wait = _RECONNECT_SECONDS
        return self._connected

    def _look(self, to: socket.socket) -> None:
        """See whether the other side, which never sends anything, has hung up."""
        try:
            to.recv(1)
        except BlockingIOError:
            return
        except OSError:
            pass
        self._lose()

    def _send(self) -> None:
        """Send what the connection takes."""
        assert self._socket is not None
        while self._queue:
            pieces = self._queue[0]
            try:
                sent = self._socket.sendmsg(pieces[:_PIECES_MAX])
            except BlockingIOError:
                return
            except OSError:
                self._lose()
                return
            self._begun = True
            while pieces and sent >= len(pieces[0]):
                sent -= len(pieces.pop(0))
            if pieces:
                pieces[0] = memoryview(pieces[0])[sent:]
            else:
                self._queue.popleft()
                self._begun = False

    def _lose(self) -> None:
        self._hang_up()
        self._next_attempt = time.monotonic() + self._wait
        self._wait = min(2 * self._wait, _RECONNECT_SECONDS_MAX)

    def _hang_up(self) -> None:
        if self._begun:
            self._queue.popleft()
            self._begun = False
        if self._socket is not None:
            self._socket.close()
        self._socket, self._connected = None, False


class OutgoingThread:
    """Minds connections: those that it was told of, until nothing is left to do for them."""

    def __init__(self) -> None:
        self._told: queue.SimpleQueue[Outgoing] = queue.SimpleQueue()
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="fsql-outgoing", daemon=True)
        self._thread.start()

    def tell(self, outgoing: Outgoing) -> None:
        """Have a connection minded; any thread may call this."""
        self._told.put(outgoing)
        with suppress(BlockingIOError):
            os.write(self._waker, b"\0")

    def close(self) -> None:
        """End; all connections have been closed."""
        self._closing = True
        with suppress(BlockingIOError):
            os.write(self._waker, b"\0")
        self._thread.join()
        os.close(self._woken)
        os.close(self._waker)

    def _run(self) -> None:
        minded: dict[Outgoing, None] = {}
        while not self._closing:
            while not self._told.empty():
                minded[self._told.get()] = None
            for outgoing in self._wait(minded):
                outgoing.mind()

    def _wait(self, minded: dict[Outgoing, None]) -> list[Outgoing]:
        """Return the connections on which something has happened; forget those that are over."""
        now = time.monotonic()
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        waiting: dict[int, Outgoing] = {}
        due: list[float] = []
        for outgoing in list(minded):
            match outgoing.wanted(now):
                case None:
                    del minded[outgoing]
                case (descriptor, events):
                    poll.register(descriptor, events)
                    waiting[descriptor] = outgoing
                case float() as attempt:
                    due.append(attempt)
        seconds = max(0.0, min(due) - now) if due else None
        happened = poll.poll(None if seconds is None else seconds * 1000 + 1)
        if any(descriptor == self._woken for descriptor, _ in happened):
            os.read(self._woken, _WAKE_BYTES)
        return [waiting[descriptor] for descriptor, _ in happened if descriptor in waiting]
