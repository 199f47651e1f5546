"""What stands before each request of `fsql ui`: where it comes from, who sends it, and how much it may take.

Contract.  A request reaches a route only if

* its `Host` is a name of the loopback interface and the port of the server, so a name of elsewhere that
  resolves to this machine (DNS rebinding) is refused;
* it does not come from another origin, by `Origin` and `Sec-Fetch-Site`;
* it has the cookie of the session, which only the address with the token gives; except the assets;
* at `/api/`, it has the header `X-Fsql-Page` with the secret that only our own page can read.  Cookies are
  shared by all ports of a host, this secret is not: another page cannot send it, nor can a form or an image.

Bodies have at most `BODY_BYTES_MAX`, and arrive within `BODY_SECONDS`; a request takes at most
`REQUEST_SECONDS`, except the streams, of which there are at most `STREAMS_MAX`; a client that does not read
is closed after `SEND_SECONDS`.  Refusals say why, and never what would have been right.

`tests/ui/test_attacks.py` attacks each of these.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_BYTES_MAX: Final = 512 << 10
BODY_SECONDS: Final = 10.0
REQUEST_SECONDS: Final = 60.0
SEND_SECONDS: Final = 20.0
STREAMS_MAX: Final = 24

PAGE_HEADER: Final = "x-fsql-page"
STREAMS: Final = frozenset({"/api/stream", "/api/run", "/api/charts"})
"""The paths whose answers last until the client goes."""
_ASSETS: Final = "/assets/"
_API: Final = "/api/"
OPEN: Final = "/open"

_POLICY: Final = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
)

SECURITY_HEADERS: Final = (
    (b"content-security-policy", "; ".join(_POLICY).encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused."""

    status: HTTPStatus
    reason: str


class Access:
    """The secrets of one server: the token of its address, the session of the cookie, that of the page."""

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self.session = secrets.token_urlsafe(32)
        self.page = secrets.token_urlsafe(32)
        self.cookie = f"fsql-ui-{port}"
        """Cookies do not know ports, so the name has it: several servers do not end each other's sessions."""
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))

    def opens(self, token: str) -> bool:
        """Return whether a token is that of the address."""
        return _equal(token, self.token)

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a request is refused; None if it is not."""
        return self._wrong_way(method, path, headers) or self._no_secret(path, headers)

    def _wrong_way(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        if headers.get("host") not in self._hosts:
            return Refusal(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name")
        if method not in {"GET", "HEAD", "POST"}:
            return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "GET and POST only")
        if _is_of_another_origin(headers, is_api=path.startswith(_API)):
            return Refusal(HTTPStatus.FORBIDDEN, "the request comes from another origin")
        return None

    def _no_secret(self, path: str, headers: Mapping[str, str]) -> Refusal | None:
        if path.startswith(_ASSETS) or path == OPEN:
            return None
        if not self._has_session(headers.get("cookie", "")):
            reason = "no session: open the address that fsql ui prints"
            return Refusal(HTTPStatus.UNAUTHORIZED, reason)
        if path.startswith(_API) and not _equal(headers.get(PAGE_HEADER, ""), self.page):
            return Refusal(HTTPStatus.FORBIDDEN, "the request does not come from the page")
        return None

    def _has_session(self, cookies: str) -> bool:
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and _equal(found.value, self.session)


def _is_of_another_origin(headers: Mapping[str, str], *, is_api: bool) -> bool:
    """Return whether another page sends a request; browsers tell it, and scripts cannot change that."""
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{headers['host']}":
        return True
    return is_api and headers.get("sec-fetch-site", "same-origin") != "same-origin"


def _equal(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


class TooLargeError(Exception):
    """A body has more bytes than it may."""


class TooSlowError(Exception):
    """A body did not arrive in time, or the client does not read."""


class Guard:
    """An ASGI application before the routes."""

    def __init__(self, routes: ASGIApp, access: Access, no_session_page: bytes) -> None:
        self._routes = routes
        self._access = access
        self._no_session_page = no_session_page
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on with its limits."""
        if scope["type"] == "lifespan":
            await self._routes(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = _Answer(send)
        headers = _headers(scope)
        refusal = (
            Refusal(HTTPStatus.BAD_REQUEST, "a header is repeated")
            if headers is None
            else self._access.refusal(scope["method"], scope["path"], headers)
        )
        if refusal is not None:
            if refusal.status is HTTPStatus.UNAUTHORIZED and not scope["path"].startswith(_API):
                await answer.page(refusal.status, self._no_session_page)
            else:
                await answer.refuse(refusal)
            return
        await self._pass_on(scope, receive, answer)

    async def _pass_on(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        lasting = scope["path"] in STREAMS
        if lasting and self._streams >= STREAMS_MAX:
            await answer.refuse(
                Refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"{STREAMS_MAX} pages are open")
            )
            return
        self._streams += lasting
        body = _Body(receive)
        try:
            async with asyncio.timeout(None if lasting else REQUEST_SECONDS):
                await self._routes(scope, body.receive, answer.send)
        except TooLargeError:
            reason = f"the request has more than {BODY_BYTES_MAX:,} bytes"
            await answer.refuse(Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason))
        except TooSlowError:
            await answer.refuse(
                Refusal(HTTPStatus.REQUEST_TIMEOUT, "the request did not arrive in time")
            )
        except TimeoutError:
            reason = f"it took more than {REQUEST_SECONDS:.0f} s"
            await answer.refuse(Refusal(HTTPStatus.SERVICE_UNAVAILABLE, reason))
        finally:
            self._streams -= lasting


class _Body:
    """The body of a request, within its limits."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._bytes = 0
        self._until: float | None = None
        self._complete = False

    async def receive(self) -> Message:
        """Return the next part; once the body is complete, wait for the client to go."""
        if self._complete:
            return await self._receive()
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise TooSlowError from None
        if message["type"] == "http.request":
            self._bytes += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
            if self._bytes > BODY_BYTES_MAX:
                raise TooLargeError
        return message


class _Answer:
    """The answer to a request: adds the headers of all answers, and ends it if the client does not read."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def send(self, message: Message) -> None:
        """Send a part of the answer.

        Raises:
            TooSlowError: if the client does not read.
        """
        if message["type"] == "http.response.start":
            self._begun = True
            given = {name for name, _ in message["headers"]}
            kept = () if b"cache-control" in given else ((b"cache-control", b"no-store"),)
            message = {**message, "headers": [*message["headers"], *SECURITY_HEADERS, *kept]}
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._send(message)
        except TimeoutError:
            raise TooSlowError from None

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with the reason, unless an answer has begun: then the connection ends within it."""
        body = json.dumps({"error": refusal.reason}).encode()
        await self._whole(refusal.status, body, b"application/json")

    async def page(self, status: HTTPStatus, body: bytes) -> None:
        """Answer with a page."""
        await self._whole(status, body, b"text/html; charset=utf-8")

    async def _whole(self, status: HTTPStatus, body: bytes, kind: bytes) -> None:
        if self._begun:
            return
        headers: list[tuple[bytes, bytes]] = [
            (b"content-type", kind),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        start: dict[str, Any] = {
            "type": "http.response.start",
            "status": status.value,
            "headers": headers,
        }
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})


def _headers(scope: Scope) -> dict[str, str] | None:
    """Return the headers; None if one that decides is repeated: two readers might take different ones."""
    found: dict[str, str] = {}
    for name_bytes, value in scope["headers"]:
        name = name_bytes.decode("latin-1").lower()
        if name in found and name in {"host", "origin", "cookie", PAGE_HEADER, "sec-fetch-site"}:
            return None
        found[name] = value.decode("latin-1")
    return found
