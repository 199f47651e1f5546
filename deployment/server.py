"""The socket on which the agent listens; clients with the key send one request per connection."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.deployment.messages import (
    REQUESTS,
    InvalidMessageError,
    Refused,
    new_challenge,
    receive_frame,
    seal,
    send_frame,
    unseal,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.deployment.messages import Answer, Request

REQUEST_SECONDS: Final = 5.0
"""How long a request may take to arrive."""

CONNECTIONS_MAX: Final = 16
"""The maximum number of connections served at a time; others are closed immediately."""

_CHALLENGE_BYTES: Final = 32


class RequestServer:
    """Listens on the loopback, and passes each request on in its own thread."""

    def __init__(
        self, key: bytes, carry_out: Callable[[Request], Answer], log: Callable[[str], None]
    ) -> None:
        self._key = key
        self._carry_out = carry_out
        self._log = log
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self.port: int = self._listening.getsockname()[1]

    def start(self) -> None:
        """Accept connections, in a thread, until `close` is called."""
        threading.Thread(target=self._accept, name="requests", daemon=True).start()

    def close(self) -> None:
        """Accept no more connections, and wait for those that are being served."""
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
            except OSError:
                return
            if not self._free.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                self._answer(connection)
        except (OSError, InvalidMessageError) as error:
            self._log(f"a connection was refused: {error}")
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


def _refusal(error: FsqlError) -> Refused:
    return Refused(diagnostics_bytes(error).decode())
