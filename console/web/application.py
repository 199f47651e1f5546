"""The routes of `fsql ui`."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from fsql import __version__
from fsql.compiler.diagnostics import FsqlError
from fsql.console.web import editing
from fsql.console.web.charts import PROCESSES_MAX, Charts, ShownChart, TooManyChartsError
from fsql.console.web.drawing import View  # noqa: TC001 - msgspec reads the annotations
from fsql.console.web.editing import RefusedEditError
from fsql.console.web.guard import OPEN, Access, Guard, TooLargeError, TooSlowError
from fsql.console.web.job_page import JobPages
from fsql.console.web.trial import TrialRequest
from fsql.console.web.trials import TRIALS_MAX, TooManyTrialsError, Trials
from fsql.console.web.watch import Watch
from fsql.deployment.client import ask_agent
from fsql.deployment.messages import Start, Stop
from fsql.deployment.views import view_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from fsql.deployment.directory import ClusterDirectory, JobDirectory
    from fsql.deployment.views import JobView

_ASSETS: Final = {
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_PAGES: Final = ("/", "/jobs", "/jobs/{job}", "/jobs/{job}/{tab}", "/write", "/plots")
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


class _Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str


class _Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    result: int | None = None
    view: View | None = None


class _Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    trial: str
    view: View


class NoSuchJobError(Exception):
    """No job has this id."""


class Application:
    """What the routes answer."""

    def __init__(self, cluster: ClusterDirectory, access: Access, directory: Path) -> None:
        """Scripts of the editor are in `directory`, and so are their relative paths."""
        self._cluster = cluster
        self._directory = directory
        self._trials = Trials()
        self._charts = Charts()
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
            Route("/api/jobs/{job}/results", partial(self._about, self._pages.results)),
            Route("/api/charts", self.charts, methods=["POST"]),
            Route("/api/chart", self.chart, methods=["POST"]),
            Route("/api/jobs/{job}/processes", partial(self._about, self._pages.processes)),
            Route("/api/words", self.words),
            Route("/api/scripts", self.scripts),
            Route("/api/script", self.script),
            Route("/api/check", self.check, methods=["POST"]),
            Route("/api/save", self.save, methods=["POST"]),
            Route("/api/deploy", self.deploy, methods=["POST"]),
            Route("/api/run", self.run, methods=["POST"]),
            Route("/api/view", self.view, methods=["POST"]),
            Route("/api/jobs/{job}/stop", self.stop, methods=["POST"]),
            Route("/api/jobs/{job}/restart", self.restart, methods=["POST"]),
        ]
        handlers: dict[Any, Callable[[Request, Any], Awaitable[Response]]] = {
            FsqlError: _on_error,
            NoSuchJobError: _on_no_such_job,
            RefusedEditError: _on_refused,
            TooManyTrialsError: _on_too_many_trials,
            TooManyChartsError: _on_too_many_charts,
            msgspec.MsgspecError: _on_malformed,
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

    async def words(self, request: Request) -> Response:
        """Return the keywords and functions that the editor completes."""
        del request
        return _json(await asyncio.to_thread(editing.words))

    async def scripts(self, request: Request) -> Response:
        """Return the names of the scripts of the directory, and of its files with rows."""
        del request
        names = await asyncio.to_thread(editing.scripts, self._directory)
        files = await asyncio.to_thread(editing.data_files, self._directory)
        return _json({"directory": str(self._directory), "scripts": names, "files": files})

    async def script(self, request: Request) -> Response:
        """Return one of them."""
        name = request.query_params.get("name", "")
        return _json(await asyncio.to_thread(editing.script_text, self._directory, name))

    async def check(self, request: Request) -> Response:
        """Return what is wrong with a text, and what it would do."""
        text = msgspec.json.decode(await request.body(), type=_Text).text
        async with self._compiling:
            return _json(await asyncio.to_thread(editing.checked, text, self._directory))

    async def save(self, request: Request) -> Response:
        """Write a script."""
        saved = msgspec.json.decode(await request.body(), type=editing.Saved)
        return _json(await asyncio.to_thread(editing.save, self._directory, saved))

    async def deploy(self, request: Request) -> Response:
        """Deploy a saved script, or tell what that would change."""
        deployed = msgspec.json.decode(await request.body(), type=editing.Deployed)
        return _json(await editing.deploy(self._directory, self._cluster.path, deployed))

    async def run(self, request: Request) -> Response:
        """Compute a result of a text, which is written nowhere, as long as the page is open."""
        asked = msgspec.json.decode(await request.body(), type=_Run)
        trial = TrialRequest(asked.text, str(self._directory), asked.result, asked.view)
        opened = AsyncExitStack()
        messages = await opened.enter_async_context(self._trials.open(trial))

        async def parts() -> AsyncIterator[bytes]:
            async with opened:
                async for line in messages:
                    yield line

        return StreamingResponse(parts(), media_type="application/x-ndjson")

    async def view(self, request: Request) -> Response:
        """Change what the chart of a trial shows."""
        shown = msgspec.json.decode(await request.body(), type=_Shown)
        return _json({"shown": self._trials.show(shown.trial, shown.view)})

    async def charts(self, request: Request) -> Response:
        """Open the stream of the charts of running jobs that a page shows."""
        del request
        opened = AsyncExitStack()
        messages = await opened.enter_async_context(self._charts.open())

        async def parts() -> AsyncIterator[bytes]:
            async with opened:
                async for line in messages:
                    yield line

        return StreamingResponse(parts(), media_type="application/x-ndjson")

    async def chart(self, request: Request) -> Response:
        """Show, change or take away a chart of a running job."""
        shown = msgspec.json.decode(await request.body(), type=ShownChart)
        directory = self._directory_of(shown.job).path
        return _json({"shown": await self._charts.show(shown, directory)})

    def _view(self, request: Request) -> JobView:
        """Return the job with the id in the path.

        Raises:
            NoSuchJobError: if there is none.
        """
        return view_of(self._cluster, self._directory_of(request.path_params["job"]))

    def _directory_of(self, job: str) -> JobDirectory:
        for directory in self._cluster.jobs():
            if directory.path.name == job:
                return directory
        raise NoSuchJobError


async def _on_error(request: Request, error: FsqlError) -> Response:
    del request
    return _json(editing.error_fields(error), 422)


async def _on_refused(request: Request, error: RefusedEditError) -> Response:
    del request
    return _json({"error": str(error)}, 409)


async def _on_too_many_trials(request: Request, error: TooManyTrialsError) -> Response:
    del request, error
    return _json({"error": f"{TRIALS_MAX} queries run already: stop one of them"}, 503)


async def _on_too_many_charts(request: Request, error: TooManyChartsError) -> Response:
    del request, error
    return _json({"error": f"charts of {PROCESSES_MAX} jobs are drawn already"}, 503)


async def _on_malformed(request: Request, error: msgspec.MsgspecError) -> Response:
    del request
    return _json({"error": f"the request is malformed: {error}"}, 400)


async def _on_no_such_job(request: Request, error: NoSuchJobError) -> Response:
    del request, error
    return _json({"error": "no job has this id: it was dropped, perhaps"}, 404)


async def _on_bug(request: Request, error: Exception) -> Response:
    del request
    if isinstance(error, (TooLargeError, TooSlowError)):
        raise error  # the guard answers
    return _json({"error": f"internal error: {type(error).__name__}: {error}"}, 500)


def _json(fields: Fields, status: int = 200) -> Response:
    return Response(_json_bytes(fields), status, media_type="application/json")


def _json_bytes(fields: Fields) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
