"""The HTTP server of a table, in a thread of its own: answers requests when their records are taken."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import threading
from typing import TYPE_CHECKING, Final

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route

from fsql.compiler.records import dataclass
from fsql.connectors.http.request_lines import (
    BodyError,
    BodyTooLongError,
    decompressed,
    lines_of,
)

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from concurrent.futures import Future
    from typing import Protocol

    from starlette.requests import Request
    from starlette.responses import Response

    class Offer(Protocol):
        """Takes the lines of a request, and returns what is done when they are taken."""

        def __call__(self, lines: bytes, key: str, /) -> Future[None]: ...


CONNECTIONS_MAX: Final = 256
KEY_CHARACTERS_MAX: Final = 255
_KEY: Final = "idempotency-key"
_BODY_SECONDS: Final = 30.0
"""How long a body may take to come."""
_GRACE_SECONDS: Final = 2


class NotTakenError(Exception):
    """Records are not taken now; the message says why."""


class ReusedKeyError(Exception):
    """An idempotency key came with other records before."""


class RefusedError(Exception):
    """A request is refused, with a status."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self._status = status
        self._headers = headers

    def answer(self) -> Response:
        """Return the answer that says so."""
        return JSONResponse({"error": {"message": str(self)}}, self._status, self._headers)


@dataclass(frozen=True, slots=True)
class Rules:
    """What requests must be like: their path, their token if there is one, the longest body, and the form."""

    path: str
    token: str | None
    bytes_max: int
    is_json: bool


class RequestServer:
    """A server at a listening socket, from `start` to `stop`."""

    def __init__(self, listening: socket.socket, rules: Rules, offer: Offer) -> None:
        self._listening = listening
        self._rules = rules
        self._offer = offer
        application = Starlette(
            routes=[Route(rules.path, self._on_request, methods=["POST", "PUT"])],
            exception_handlers={HTTPException: _on_no_route},
        )
        config = uvicorn.Config(
            application,
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            limit_concurrency=CONNECTIONS_MAX,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            h11_max_incomplete_event_size=64 << 10,
            server_header=False,
            http="h11",
            ws="none",
        )
        self._server = _Server(config)
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    def start(self) -> None:
        """Begin to read requests."""
        self._thread.start()

    def stop(self) -> None:
        """Answer the requests that are done, and end."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._listening.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._listening])

    async def _on_request(self, request: Request) -> Response:
        try:
            self._check(request)
            lines = await self._lines(request)
            if lines:
                await self._take(lines, request.headers.get(_KEY, "").strip())
        except RefusedError as error:
            return error.answer()
        return JSONResponse({"lines": lines.count(b"\n")})

    def _check(self, request: Request) -> None:
        """Check who sends a request, and its key.

        Raises:
            RefusedError: if nobody who may, or a key that is too long.
        """
        if "origin" in request.headers:
            raise RefusedError(403, "requests of pages in a browser are refused")
        token = self._rules.token
        if token is not None and not _has_token(request, token):
            headers = {"WWW-Authenticate": 'Bearer realm="fsql"'}
            raise RefusedError(401, "the token is missing or wrong", headers)
        if len(request.headers.get(_KEY, "")) > KEY_CHARACTERS_MAX:
            raise RefusedError(400, f"a key has at most {KEY_CHARACTERS_MAX} characters")

    async def _lines(self, request: Request) -> bytes:
        """Return the records of a request as lines.

        Raises:
            RefusedError: if its body has none that can be read.
        """
        rules = self._rules
        encoding = request.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in {"identity", "gzip"}:
            raise RefusedError(415, "a body may be compressed by gzip only")
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                body = await _body(request, rules.bytes_max)
            if encoding == "gzip":
                body = decompressed(body, rules.bytes_max)
            return lines_of(body, is_json=rules.is_json)
        except TimeoutError:
            raise RefusedError(408, f"the body did not come in {_BODY_SECONDS:.0f} s") from None
        except BodyTooLongError:
            raise RefusedError(413, f"a request may have {rules.bytes_max:,} bytes") from None
        except BodyError as error:
            raise RefusedError(400, str(error)) from None

    async def _take(self, lines: bytes, key: str) -> None:
        """Hand the records on, and wait until they are taken.

        Raises:
            RefusedError: if they are not.
        """
        try:
            # Shielded: a sender that leaves takes nothing back.
            await asyncio.shield(asyncio.wrap_future(self._offer(lines, key)))
        except ReusedKeyError:
            message = f'the Idempotency-Key "{key}" came with other records before'
            raise RefusedError(422, message) from None
        except NotTakenError as error:
            raise RefusedError(503, str(error), {"Retry-After": "1"}) from None


class _Server(uvicorn.Server):
    """A server that leaves the signals of the process alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def _body(request: Request, bytes_max: int) -> bytes:
    """Return the body.

    Raises:
        BodyTooLongError: if it has more bytes than it may have.
    """
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > bytes_max:
            raise BodyTooLongError
        parts.append(part)
    return b"".join(parts)


def _has_token(request: Request, token: str) -> bool:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    fits = hmac.compare_digest(given.strip().encode(), token.encode())
    return scheme.lower() == "bearer" and fits


async def _on_no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path[:200]}: {error.detail}"
    return RefusedError(error.status_code, message, dict(error.headers or {})).answer()
