"""Listens on the loopback interface and serves an application.

Connections have limits of their own, because a request that never comes reaches no application: at most
`CONNECTIONS_MAX` are open, the newest are closed at once; and a connection without a whole request for
`IDLE_SECONDS` is closed.
"""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from starlette.types import ASGIApp
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

CONNECTIONS_MAX: Final = 64
IDLE_SECONDS: Final = 10.0
HEADER_BYTES_MAX: Final = 16 << 10
CHECK_SECONDS: Final = 1.0
_KEEP_ALIVE_SECONDS: Final = 8
_GRACE_SECONDS: Final = 2


class LimitedConnection(H11Protocol):
    """A connection that ends if no request arrives on it."""

    _idle_since: float | None = None
    _check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        if len(self.connections) >= CONNECTIONS_MAX:
            transport.abort()
            self.transport = transport
            return
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._check = self.loop.call_later(CHECK_SECONDS, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that has ended."""
        if self._check is None:
            return  # it was never taken
        self._check.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless the connection was refused."""
        if self._check is not None:
            super().data_received(data)

    def _close_if_idle(self) -> None:
        """Close the connection if it has waited for a whole request for too long; look again later."""
        now = self.loop.time()
        if self._is_answering():
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since > IDLE_SECONDS:
            self.transport.abort()
            return
        self._check = self.loop.call_later(CHECK_SECONDS, self._close_if_idle)

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback interface; port 0 is a free one.

    Raises:
        OSError: if the port cannot be used.
    """
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(CONNECTIONS_MAX)
    except OSError:
        listening.close()
        raise
    return listening


class PageServer(uvicorn.Server):
    """A server that says when it answers; `run(sockets=[…])` serves until SIGINT or SIGTERM."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


def page_server(application: ASGIApp, on_ready: Callable[[], None]) -> PageServer:
    """Return a server of an application; `on_ready` is called when requests are answered."""
    # Addresses of requests may have secrets, so requests are not logged.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    settings: dict[str, Any] = {
        "http": LimitedConnection,
        "ws": "none",
        "loop": "asyncio",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": _KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": _GRACE_SECONDS,
        "h11_max_incomplete_event_size": HEADER_BYTES_MAX,
    }
    config = uvicorn.Config(application, **settings)
    return PageServer(config, on_ready)
