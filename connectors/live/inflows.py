"""Inflows: bytes from outside, each received in its own thread.

A `Feed` copies them to where the job reads them: into a front log, or through a pipe in a run that keeps no
state.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.numbers import bytes_text
from fsql.connectors import paths
from fsql.connectors.addresses import accept_connection, listen_error
from fsql.connectors.context import ignore_notice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fsql.connectors.live.front_log import LogWriter
    from fsql.connectors.live.logged_bounds import LogClock
    from fsql.connectors.live.places import Places

_READ_BYTES: Final = 1 << 20
_WAIT_SECONDS: Final = 0.1
_UNFLUSHED_BYTES_MAX: Final = 1 << 20
"""How many bytes may arrive without a pause before they are flushed."""
_SILENT_MAX: Final = 64
"""How many connections that have sent nothing yet are kept; the oldest is closed for another one."""
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""How soon it is noticed that the machine at the other end is gone, in seconds, and attempts."""
_FULL_SECONDS: Final = 0.05
"""How long to wait until there may be room again."""


class Inflow(Protocol):
    """A source of bytes."""

    def read(self, bytes_max: int, seconds: float) -> bytes | None:
        """Return the bytes that arrive within `seconds`, None if none do, b"" at the end."""

    def close(self) -> None:
        """Release all resources."""


@runtime_checkable
class ResumableInflow(Inflow, Protocol):
    """An inflow that can be read again: after a failure it continues where its log ends."""

    def open_journal(self, directory: Path) -> int:
        """Open the journal next to a front log; return the offset up to which it has recorded the log.

        Raises:
            FsqlError: E532, if it cannot be read.
        """

    def resume(self, log: LogWriter) -> None:
        """Continue at the end of the log, and record what is read before it is visible in the log.

        Raises:
            FsqlError: E535, if the source cannot be read; E536, if it has lost what was read.
        """


@runtime_checkable
class LocatedInflow(Inflow, Protocol):
    """An inflow whose bytes are those of files."""

    places: Places


class Outflow(Protocol):
    """A target for bytes."""

    ended: bool

    @property
    def unflushed(self) -> int:
        """Return the number of appended bytes that are not visible to readers yet."""

    def room(self) -> int:
        """Return how many bytes may be appended now."""

    def append(self, data: bytes) -> int:
        """Append bytes; return how many were accepted."""

    def flush(self) -> None:
        """Make appended bytes visible to readers."""

    def end(self) -> None:
        """End the stream."""

    def drop_unfinished(self) -> int:
        """Drop the bytes of a line whose end has not come; return their number.

        Raises:
            OSError: if the operating system refuses.
        """

    def close(self) -> None:
        """Release all resources."""


class DescriptorInflow:
    """The bytes of an open descriptor, until its end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, bytes_max: int, seconds: float) -> bytes | None:
        """Return the bytes that arrive; see `Inflow`."""
        if not _ready(self._descriptor, select.POLLIN, seconds):
            return None
        return os.read(self._descriptor, min(bytes_max, _READ_BYTES))

    def close(self) -> None:
        """Leave the descriptor to its owner."""


class SocketInflow:
    """The bytes of connections to an address, one connection at a time, in the order in which they send.

    Connections that send nothing keep others from nothing, and neither does one whose machine is gone.

    The end of a connection ends an unfinished line; whether the line is valid is decided when it is decoded.
    A part of a line may be valid, so `on_notice` is called with a notice that begins with `name`.
    """

    def __init__(
        self,
        address: tuple[str, int],
        *,
        ends_with_connection: bool,
        name: str = "a socket",
        on_notice: Callable[[str], None] = ignore_notice,
    ) -> None:
        """Listen.

        Raises:
            FsqlError: E531, if the address cannot be listened on.
        """
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        try:
            self._listener = socket.create_server(address, family=family, backlog=8)
        except OSError as error:
            raise listen_error("E531", f"{address[0]}:{address[1]}", error) from None
        self._ends_with_connection = ends_with_connection
        self._name = name
        self._on_notice = on_notice
        self._listener.settimeout(0)  # a connection may be gone before it is accepted
        self._silent: list[socket.socket] = []
        """The connections that nothing has been read from, the oldest first."""
        self._peer: socket.socket | None = None
        self._peer_name = ""
        self._line_bytes = 0
        """How many bytes of a line have come whose end has not."""
        self._ended = False

    @property
    def address(self) -> tuple[str, int]:
        """Return the address on which it listens."""
        host, port = self._listener.getsockname()[:2]
        return host, port

    def read(self, bytes_max: int, seconds: float) -> bytes | None:
        """Return the bytes that arrive; see `Inflow`."""
        if self._ended:
            return b""
        waited_for = self._silent if self._peer is None else [self._peer]
        ready = _readable([self._listener, *waited_for], seconds)
        if self._listener in ready:
            self._accept()
            ready.remove(self._listener)
        if not ready:
            return None
        if self._peer is None:
            self._peer = ready[0]
            self._silent.remove(self._peer)
            self._peer_name = _name_of(self._peer)
        end = "ended"
        try:
            data = self._peer.recv(min(bytes_max, _READ_BYTES))
        except OSError as error:
            data, end = b"", f"broke ({error.strerror})"
        if data:
            line_end = data.rfind(b"\n") + 1
            self._line_bytes = len(data) - line_end + (0 if line_end else self._line_bytes)
            return data
        self._peer.close()
        self._peer = None
        self._ended = self._ends_with_connection
        unfinished, self._line_bytes = self._line_bytes, 0
        connection = f"{self._name}: the connection from {self._peer_name} {end}"
        if unfinished:
            came = bytes_text(unfinished)
            self._on_notice(f"{connection} within a line; the {came} that came are read as a line")
            return b"\n"
        if end != "ended":
            self._on_notice(f"{connection}; what it sent last may be missing")
        return b"" if self._ended else None

    def _accept(self) -> None:
        """Accept a connection; close the oldest of those that have sent nothing if there are too many."""
        accepted = accept_connection(self._listener)
        if accepted is None:
            return
        with contextlib.suppress(OSError):
            accepted.settimeout(None)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _KEEPALIVE:
                if hasattr(socket, option):
                    accepted.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        self._silent.append(accepted)
        if len(self._silent) > _SILENT_MAX:
            sending = _readable(self._silent, 0.0)
            oldest = next((each for each in self._silent if each not in sending), accepted)
            self._silent.remove(oldest)
            oldest.close()

    def close(self) -> None:
        """Close all connections, and stop listening."""
        for each in (self._peer, *self._silent):
            if each is not None:
                each.close()
        self._listener.close()


class PipeOutflow:
    """A pipe to a reader in this process."""

    def __init__(self, descriptor: int) -> None:
        """Take the descriptor of the writing end."""
        self._descriptor = descriptor
        self.ended = False
        self.unflushed = 0

    def room(self) -> int:
        """Return how many bytes can be written without waiting for the reader."""
        writable = _ready(self._descriptor, select.POLLOUT, _WAIT_SECONDS)
        return select.PIPE_BUF if writable else 0

    def append(self, data: bytes) -> int:
        """Write bytes."""
        return os.write(self._descriptor, data)

    def flush(self) -> None:
        """Do nothing: written bytes can be read immediately."""

    def end(self) -> None:
        """End the stream: the reader sees the end when the pipe is closed."""
        self.ended = True

    def drop_unfinished(self) -> int:
        """Return 0: the reader counts what it has not read."""
        return 0

    def close(self) -> None:
        """Close this end."""
        os.close(self._descriptor)


def _ready(descriptor: int, event: int, seconds: float) -> bool:
    """Wait up to `seconds` for an event, by poll(): select() accepts only descriptors below 1,024."""
    waiting = select.poll()
    waiting.register(descriptor, event)
    return bool(waiting.poll(seconds * 1000))


def _readable(sockets: Sequence[socket.socket], seconds: float) -> list[socket.socket]:
    """Wait up to `seconds` until one of the sockets is readable; return those that are, in their order."""
    waiting = select.poll()
    for each in sockets:
        waiting.register(each.fileno(), select.POLLIN)
    found = {descriptor for descriptor, _ in waiting.poll(seconds * 1000)}
    return [each for each in sockets if each.fileno() in found]


def _name_of(peer: socket.socket) -> str:
    """Return the address at the other end of a connection."""
    try:
        host, port, *_ = peer.getpeername()
    except OSError:
        return "an unknown address"
    return f"{host}:{port}"


class Feed:
    """Copies bytes from an inflow to an outflow, in a thread, until the end or until it is closed."""

    def __init__(
        self,
        inflow: Inflow,
        outflow: Outflow,
        on_failure: Callable[[FsqlError], None],
        clock: LogClock | None = None,
    ) -> None:
        """Start the thread; it calls `on_failure` if it ends because of an error."""
        self._inflow = inflow
        self._outflow = outflow
        self._on_failure = on_failure
        self._clock = clock
        self.can_resume = isinstance(inflow, ResumableInflow)
        """Whether the source has all bytes still, so that none are lost."""
        self.bytes_dropped = 0
        """After the end, how many bytes were received and are neither in the outflow nor at their source."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop, and close both sides; first write the bytes that were read, if there is room."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._copy_lines()
        except FsqlError as error:
            self._on_failure(error)
        except OSError as error:
            self._on_failure(paths.io_error("reading", "the input", error))
        except Exception as error:  # noqa: BLE001 - rows would be lost without an error
            self._on_failure(_internal_error(error))
        finally:
            if not self.can_resume:
                with contextlib.suppress(OSError):
                    self.bytes_dropped += self._outflow.drop_unfinished()
            with contextlib.suppress(OSError):
                self._inflow.close()
            with contextlib.suppress(OSError):
                self._outflow.close()
            if self._clock is not None:
                with contextlib.suppress(OSError):
                    self._clock.close()

    def _copy_lines(self) -> None:
        """Copy bytes until the end.

        They are flushed as soon as no more bytes are available; bytes that arrive during a flush are flushed
        next.
        """
        while not self._stopped.is_set() and not self._outflow.ended:
            if self._outflow.unflushed >= _UNFLUSHED_BYTES_MAX:
                self._outflow.flush()
            room = self._outflow.room()
            if room == 0:
                self._outflow.flush()
                if self._clock is not None:
                    self._clock.on_activity()  # the source may be sending: this is not silence
                self._stopped.wait(_FULL_SECONDS)
                continue
            unflushed = self._outflow.unflushed
            data = self._inflow.read(room, 0.0 if unflushed else _WAIT_SECONDS)
            if data is None:
                if unflushed:
                    self._outflow.flush()
                elif self._clock is not None:
                    self._clock.on_silence()
                continue
            if not data:
                self._outflow.end()
                return
            if self._clock is not None:
                self._clock.on_data()
            self._put(data)
        self._outflow.flush()

    def _put(self, data: bytes) -> None:
        while True:
            data = data[self._outflow.append(data) :]
            if not data:
                return
            self._outflow.flush()  # so that the reader makes room
            if self._stopped.wait(_FULL_SECONDS):
                self.bytes_dropped += len(data)
                return


def _internal_error(error: Exception) -> FsqlError:
    message = f"internal error while reading input: {type(error).__name__}: {error}"
    return FsqlError([Diagnostic("I901", message)])
