"""The socket on which the agent listens; clients with the key send one request per connection.

The socket is a file in a directory that only its owner can enter, and a connection takes one of the slots
only once the operating system has said that its peer is a process of the same user.  So connections of other
users, however many, neither keep commands waiting nor fill the log.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.deployment.messages import (
    REQUESTS,
    SOCKET,
    InvalidMessageError,
    Refused,
    new_challenge,
    receive_frame,
    seal,
    send_frame,
    short_path,
    unseal,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.deployment.messages import Answer, Request

REQUEST_SECONDS: Final = 5.0
"""How long a request may take to arrive."""

CONNECTIONS_MAX: Final = 16
"""The maximum number of connections served at a time; others are closed immediately."""

ACCEPT_RETRY_SECONDS: Final = 0.1
"""How long to wait when a connection cannot be accepted, for example without free file descriptors."""

QUIET_SECONDS: Final = 30.0
"""How long refusals are only counted after one has been logged."""

_BACKLOG: Final = 128
_CHALLENGE_BYTES: Final = 32
_CREDENTIALS: Final = struct.Struct("3i")
"""The answer to SO_PEERCRED: process, user and group of the peer."""


def peer_user(connection: socket.socket) -> int:
    """Return the user of the process at the other end of a connection."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(found)[1]
    return user


class _Refusals:
    """Logs refused connections: one line, and then how many others there were in a while."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._next = float("-inf")
        self._suppressed = 0

    def record(self, reason: str) -> None:
        now = time.monotonic()
        with self._lock:
            if now < self._next:
                self._suppressed += 1
                return
            more = f"; {self._suppressed:,} others since the last line" if self._suppressed else ""
            self._next, self._suppressed = now + QUIET_SECONDS, 0
        self._log(f"a connection was refused: {reason}{more}")


class RequestServer:
    """Listens in a directory for its owner alone, and passes each request on in its own thread."""

    def __init__(
        self,
        directory: Path,
        key: bytes,
        carry_out: Callable[[Request], Answer],
        log: Callable[[str], None],
    ) -> None:
        """Make the socket in `directory`, and replace that of an agent that was killed.

        Raises:
            OSError: if it cannot be made, or the directory belongs to another user.
        """
        self._key = key
        self._carry_out = carry_out
        self._log = log
        self._refusals = _Refusals(log)
        self._closed = threading.Event()
        self._user = os.geteuid()
        self._listening = _listen(directory)
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)

    def start(self) -> None:
        """Accept connections, in a thread, until `close` is called."""
        threading.Thread(target=self._accept, name="requests", daemon=True).start()

    def close(self) -> None:
        """Accept no more connections, and wait for those that are being served."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        until = time.monotonic() + REQUEST_SECONDS
        for _ in range(CONNECTIONS_MAX):
            self._free.acquire(timeout=max(0.0, until - time.monotonic()))

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError as error:
                if self._closed.is_set():
                    return
                self._refusals.record(str(error))
                self._closed.wait(ACCEPT_RETRY_SECONDS)
                continue
            try:
                self._begin(connection)
            except (OSError, RuntimeError) as error:  # no thread can be started
                connection.close()
                self._refusals.record(str(error))

    def _begin(self, connection: socket.socket) -> None:
        """Serve a connection in its own thread if its peer may send requests."""
        user = peer_user(connection)
        if user not in {self._user, 0}:
            connection.close()
            self._refusals.record(f"it is of user {user}")
            return
        if not self._free.acquire(blocking=False):
            connection.close()
            self._refusals.record(f"{CONNECTIONS_MAX} are open")
            return
        try:
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()
        except RuntimeError:
            self._free.release()
            raise

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                self._answer(connection)
        except (OSError, InvalidMessageError) as error:
            self._refusals.record(str(error))
        finally:
            self._free.release()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(REQUEST_SECONDS)
        agent_challenge = new_challenge()
        send_frame(connection, agent_challenge)
        data = receive_frame(connection)
        command_challenge, sealed = data[:_CHALLENGE_BYTES], data[_CHALLENGE_BYTES:]
        content = unseal(self._key, "command", (agent_challenge, command_challenge), sealed)
        answer = self._result(content)
        connection.settimeout(REQUEST_SECONDS)
        send_frame(
            connection,
            seal(
                self._key,
                "agent",
                (agent_challenge, command_challenge),
                msgspec.json.encode(answer),
            ),
        )

    def _result(self, content: bytes) -> Answer:
        try:
            return self._carry_out(REQUESTS.decode(content))
        except msgspec.MsgspecError as error:
            message = f"the agent does not understand the request: {error}"
            helps = ("use one version of fsql, and restart the agent: fsql down, then fsql up",)
            return _refusal(FsqlError([Diagnostic("E631", message, helps=helps)]))
        except FsqlError as error:
            return _refusal(error)
        except Exception as error:  # noqa: BLE001 - a bug must not end the agent
            self._log(f"internal error: {type(error).__name__}: {error}")
            message = f"the agent failed to process the request: {type(error).__name__}: {error}"
            return _refusal(FsqlError([Diagnostic("I901", message)]))


def _listen(directory: Path) -> socket.socket:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)  # refused if it belongs to another user
    (directory / SOCKET).unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    try:
        with short_path(directory) as address:
            listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def _refusal(error: FsqlError) -> Refused:
    return Refused(diagnostics_bytes(error).decode())
