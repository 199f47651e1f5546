"""The routes of `fsql ui`."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from fsql import __version__
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.render import render_json
from fsql.console.web.guard import OPEN, Access, Guard
from fsql.console.web.job_page import JobPages
from fsql.console.web.watch import Watch
from fsql.deployment.client import ask_agent
from fsql.deployment.messages import Start, Stop
from fsql.deployment.views import view_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from fsql.deployment.directory import ClusterDirectory
    from fsql.deployment.views import JobView

_ASSETS: Final = {
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_PAGES: Final = ("/", "/jobs", "/jobs/{job}", "/jobs/{job}/{tab}")
DRAIN_SECONDS: Final = 30.0

_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>fsql</title>
<link rel="icon" href="/assets/icon.svg">
<link rel="stylesheet" href="/assets/app.css">
{head}</head>
<body>
{body}
</body>
</html>
"""
_APPLICATION_HEAD: Final = """\
<meta name="fsql-page" content="{page}">
<meta name="fsql-version" content="{version}">
<script type="module" src="/assets/app.js"></script>
"""
_NO_SESSION_BODY: Final = """\
<main class="closed">
<h1>This page is closed</h1>
<p>Open the address that <code>fsql ui</code> prints: it has the token for this server, which changes when
the command is started again.</p>
</main>"""

Fields = dict[str, Any]


class NoSuchJobError(Exception):
    """No job has this id."""


class Application:
    """What the routes answer."""

    def __init__(self, cluster: ClusterDirectory, access: Access) -> None:
        self._cluster = cluster
        self._access = access
        self._watch = Watch(cluster)
        self._pages = JobPages()
        self._compiling = asyncio.Lock()

    def asgi(self) -> ASGIApp:
        """Return the application with its guard."""
        routes = [
            Route(OPEN, self.open),
            Route("/assets/{name}", self.asset),
            *(Route(path, self.page) for path in _PAGES),
            Route("/api/stream", self.stream),
            Route("/api/jobs/{job}/plan", partial(self._about, self._pages.plan)),
            Route("/api/jobs/{job}/past", partial(self._about, self._pages.past)),
            Route("/api/jobs/{job}/log", partial(self._about, self._pages.log)),
            Route("/api/jobs/{job}/rows", partial(self._about, self._pages.rows_not_taken)),
            Route("/api/jobs/{job}/processes", partial(self._about, self._pages.processes)),
            Route("/api/jobs/{job}/stop", self.stop, methods=["POST"]),
            Route("/api/jobs/{job}/restart", self.restart, methods=["POST"]),
        ]
        handlers: dict[Any, Callable[[Request, Any], Awaitable[Response]]] = {
            FsqlError: _on_error,
            NoSuchJobError: _on_no_such_job,
            Exception: _on_bug,
        }
        starlette = Starlette(
            routes=routes, exception_handlers=handlers, lifespan=self._while_serving
        )
        closed = _PAGE.format(head="", body=_NO_SESSION_BODY).encode()
        return Guard(starlette, self._access, closed)

    @asynccontextmanager
    async def _while_serving(self, _: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(self._watch.run())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    async def open(self, request: Request) -> Response:
        """Exchange the token of the address for the cookie of the session."""
        if not self._access.opens(request.query_params.get("token", "")):
            return Response(
                _PAGE.format(head="", body=_NO_SESSION_BODY), 401, media_type="text/html"
            )
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._access.cookie, self._access.session, httponly=True, samesite="strict", path="/"
        )
        return answer

    async def page(self, request: Request) -> Response:
        """Return the page; what it shows is up to its script."""
        del request
        head = _APPLICATION_HEAD.format(page=self._access.page, version=__version__)
        body = '<div id="app"></div>\n<noscript>This page needs JavaScript.</noscript>'
        return Response(_PAGE.format(head=head, body=body), media_type="text/html")

    async def asset(self, request: Request) -> Response:
        """Return a file of the page."""
        name = request.path_params["name"]
        if name not in _ASSETS:
            return Response("no such file", 404)
        content = await asyncio.to_thread((files("fsql.console.web") / "assets" / name).read_bytes)
        return Response(content, media_type=_ASSETS[name], headers={"cache-control": "no-cache"})

    async def stream(self, request: Request) -> Response:
        """Send all jobs each second, as lines of JSON; with `job`, also the statistics of one."""
        return StreamingResponse(
            self._samples(request.query_params.get("job")), media_type="application/x-ndjson"
        )

    async def _samples(self, job: str | None) -> AsyncIterator[bytes]:
        known: set[str] = set()
        number, interval = 0, None
        while True:
            now = await self._watch.after(number)
            number = now.number
            history = {}
            for each in now.jobs:
                points = self._watch.history(each["id"])
                history[each["id"]] = points[-1:] if each["id"] in known else points
            known = {each["id"] for each in now.jobs}
            message: Fields = {
                "at": now.at,
                "problem": now.problem or None,
                "directory": str(self._cluster.path),
                "jobs": now.jobs,
                "history": history,
            }
            statistics = None if job is None else self._watch.statistics(job)
            if statistics is not None and statistics["interval"] != interval:
                interval = statistics["interval"]
                message["statistics"] = statistics
            yield _json_bytes(message) + b"\n"

    async def _about(self, question: Callable[[JobView], Fields], request: Request) -> Response:
        """Answer a question about a job."""
        view = self._view(request)
        async with self._compiling:  # one at a time: a script may take a second
            return _json(await asyncio.to_thread(question, view))

    async def stop(self, request: Request) -> Response:
        """Stop a job at a committed position."""
        name = self._view(request).deployment.name
        await asyncio.to_thread(ask_agent, self._cluster, Stop(name, DRAIN_SECONDS))
        return _json({"job": name})

    async def restart(self, request: Request) -> Response:
        """Start a job again."""
        name = self._view(request).deployment.name
        await asyncio.to_thread(ask_agent, self._cluster, Start(name))
        return _json({"job": name})

    def _view(self, request: Request) -> JobView:
        """Return the job with the id in the path.

        Raises:
            NoSuchJobError: if there is none.
        """
        wanted = request.path_params["job"]
        for directory in self._cluster.jobs():
            if directory.path.name == wanted:
                return view_of(self._cluster, directory)
        raise NoSuchJobError


async def _on_error(request: Request, error: FsqlError) -> Response:
    del request
    diagnostics = json.loads(render_json(error.diagnostics, error.source))
    return _json({"error": error.diagnostics[0].message, "diagnostics": diagnostics}, 422)


async def _on_no_such_job(request: Request, error: NoSuchJobError) -> Response:
    del request, error
    return _json({"error": "no job has this id: it was dropped, perhaps"}, 404)


async def _on_bug(request: Request, error: Exception) -> Response:
    del request
    return _json({"error": f"internal error: {type(error).__name__}: {error}"}, 500)


def _json(fields: Fields, status: int = 200) -> Response:
    return Response(_json_bytes(fields), status, media_type="application/json")


def _json_bytes(fields: Fields) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
