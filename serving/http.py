"""Queries, changes, metrics and health over HTTP.

| request                                        | answer                                               |
|------------------------------------------------|------------------------------------------------------|
| GET /health                                    | 200 while the server answers                         |
| GET /metrics                                   | the figures of jobs, for Prometheus                  |
| GET /jobs                                      | the jobs, with the positions of their results        |
| GET /jobs/JOB/results                          | the results of a job, with their columns             |
| POST /jobs/JOB/query                           | the rows of a SELECT, as JSON or an Arrow stream     |
| GET /jobs/JOB/results/RESULT/changes           | the changes from a position on, as server-sent events |
| GET /openapi.json                              | the description of all this                          |

All but /health need the token.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import json
import socket
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.job.results.answers import answer
from fsql.job.results.plain_values import plain
from fsql.job.results.position import position_of
from fsql.job.results.subscriptions import Subscription
from fsql.serving.metrics import exposition
from fsql.serving.openapi import description

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
    from concurrent.futures import Executor

    from starlette.requests import Request

    from fsql.job.results.answers import Answer, Limits
    from fsql.job.results.subscriptions import Changes
    from fsql.serving.jobs import ServedJobs
    from fsql.serving.metrics import ReadFigures

BODY_BYTES_MAX: Final = 1 << 20
STREAMS_MAX: Final = 50
"""How many clients may follow changes at a time."""
CONNECTIONS_MAX: Final = 200
ARROW: Final = "application/vnd.apache.arrow.stream"
_POLL_SECONDS: Final = 0.02
_ALIVE_SECONDS: Final = 10.0
_STATUS: Final = {"E633": 404, "E675": 410, "E672": 400, "E673": 413}


class Endpoints:
    """What the requests are answered with; another application may mount its routes."""

    def __init__(
        self,
        jobs: ServedJobs,
        limits: Limits,
        executor: Executor,
        token: str,
        figures: ReadFigures = dict,
    ) -> None:
        self._jobs = jobs
        self._limits = limits
        self._executor = executor
        self._token = token.encode()
        self._figures = figures
        self._streams = 0

    def routes(self) -> list[Route]:
        """Return the routes."""
        guarded = (
            ("/metrics", self.metrics, "GET"),
            ("/jobs", self.list_jobs, "GET"),
            ("/jobs/{job}/results", self.list_results, "GET"),
            ("/jobs/{job}/query", self.query, "POST"),
            ("/jobs/{job}/results/{result}/changes", self.changes, "GET"),
        )
        return [
            Route("/health", self.health, methods=["GET"]),
            Route("/openapi.json", self.openapi, methods=["GET"]),
            *(
                Route(path, self._guarded(endpoint), methods=[method])
                for path, endpoint, method in guarded
            ),
        ]

    def _guarded(
        self, endpoint: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint for clients that have the token; errors become answers."""

        async def guarded(request: Request) -> Response:
            if not self._has_token(request):
                headers = {"WWW-Authenticate": 'Bearer realm="fsql"'}
                helps = ("send it in a header: Authorization: Bearer TOKEN",)
                return _refusal(401, "the token of the server is needed", helps, headers)
            try:
                return await endpoint(request)
            except FsqlError as error:
                return _error_answer(error)

        return guarded

    def _has_token(self, request: Request) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except ValueError:
                return False
        elif kind.lower() != "bearer":
            return False
        return hmac.compare_digest(given.strip().encode(), self._token)

    async def health(self, request: Request) -> Response:
        """Say that the server answers."""
        del request
        return JSONResponse({"status": "ok"})

    async def openapi(self, request: Request) -> Response:
        """Return the description of the requests."""
        del request
        return JSONResponse(description())

    async def metrics(self, request: Request) -> Response:
        """Return the figures for Prometheus."""
        del request
        text = await self._in_thread(lambda: exposition(self._jobs, self._figures()))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def list_jobs(self, request: Request) -> Response:
        """Return the jobs."""
        del request
        positions = await self._in_thread(self._jobs.positions)
        jobs = [
            {"job": name, "position": as_of.position, "reached": as_of.reached or None}
            for name, as_of in positions.items()
        ]
        return JSONResponse({"jobs": jobs})

    async def list_results(self, request: Request) -> Response:
        """Return the results of a job."""
        job = self._jobs.find(request.path_params["job"])

        def read() -> dict[str, Any]:
            with job.at_rest() as as_of:
                results = []
                for schema in job.tables():
                    key = job.key_of(schema.table) or ()
                    results.append(
                        {
                            "result": schema.table,
                            "columns": [
                                {"name": column.name, "type": str(column.type)}
                                for column in schema.columns
                            ],
                            "key": [schema.names[at] for at in key],
                            "rows": job.row_count(schema.table),
                            "dropped_rows": job.dropped_rows(schema.table),
                        }
                    )
                return {"position": as_of.position, "results": results}

        return JSONResponse(await self._in_thread(read))

    async def query(self, request: Request) -> Response:
        """Answer a query."""
        job = self._jobs.find(request.path_params["job"])
        asked = await _body(request)
        text, at_least = asked.get("query"), asked.get("at_least")
        if not isinstance(text, str) or not isinstance(at_least, str | None):
            message = 'the body is a JSON object: {"query": "SELECT …"}, and "at_least" if wanted'
            raise FsqlError([Diagnostic("E672", message)])
        found: Answer = await self._in_thread(lambda: answer(job, text, self._limits, at_least))
        headers = {"fsql-position": found.position, "cache-control": "no-store"}
        if ARROW in request.headers.get("accept", ""):
            data = await self._in_thread(lambda: _arrow_stream(found))
            return Response(data, media_type=ARROW, headers=headers)
        data = await self._in_thread(lambda: _answer_json(found))
        return Response(data, media_type="application/json", headers=headers)

    async def changes(self, request: Request) -> Response:
        """Return the changes of a result as they are released."""
        job = self._jobs.find(request.path_params["job"])
        after = request.headers.get("last-event-id") or request.query_params.get("after")
        start = None if after is None else position_of(after)
        result = request.path_params["result"]
        if self._streams >= STREAMS_MAX:
            message = f"{STREAMS_MAX} clients follow changes already"
            return _refusal(503, message, ("try again later",), {"Retry-After": "5"})
        subscription = await self._in_thread(lambda: Subscription(job, result, start))
        return StreamingResponse(
            self._events(subscription),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def _events(self, subscription: Subscription) -> AsyncIterator[str]:
        """Yield events; the next one is read only when the client has taken the last."""
        self._streams += 1
        idle = 0.0
        try:
            while True:
                try:
                    found = await self._in_thread(subscription.next)
                except FsqlError as error:
                    yield f"event: error\ndata: {json.dumps(_problem(error))}\n\n"
                    return
                if found is not None:
                    idle = 0.0
                    yield await self._in_thread(lambda found=found: _event(found))  # type: ignore[misc]
                elif subscription.position == "end":
                    yield "event: end\ndata: {}\n\n"
                    return
                else:
                    await asyncio.sleep(_POLL_SECONDS)
                    idle += _POLL_SECONDS
                    if idle >= _ALIVE_SECONDS:
                        idle = 0.0
                        yield ": alive\n\n"
        finally:
            self._streams -= 1
            subscription.close()

    async def _in_thread(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


class HttpServer:
    """The HTTP server, in the event loop of its caller."""

    def __init__(
        self,
        jobs: ServedJobs,
        limits: Limits,
        executor: Executor,
        token: str,
        figures: ReadFigures = dict,
    ) -> None:
        self._endpoints = Endpoints(jobs, limits, executor, token, figures)
        self._server: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; return the port.

        Raises:
            FsqlError: E674, if the address cannot be used.
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
        except OSError as error:
            listening.close()
            message = f"the server cannot listen on {host}:{port}: {error.strerror or error}"
            helps = ("choose another port: --postgres-port, --http-port",)
            raise FsqlError([Diagnostic("E674", message, helps=helps)]) from None
        app = Starlette(
            routes=self._endpoints.routes(), exception_handlers={HTTPException: _on_no_route}
        )
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_level="critical",
            access_log=False,
            limit_concurrency=CONNECTIONS_MAX,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=64 << 10,
            server_header=False,
            ws="none",
        )
        config.load()
        if tls is not None:
            config.ssl = tls
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve([listening]))
        while not self._server.started and not self._task.done():  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)
        return int(listening.getsockname()[1])

    async def stop(self) -> None:
        """End."""
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task


class _Server(uvicorn.Server):
    """A server that leaves the signals of the process alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object that a request has.

    Raises:
        FsqlError: E672, if it has none; E673, if it is too long.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_BYTES_MAX:
            message = f"a request may have {BODY_BYTES_MAX:,} bytes"
            raise FsqlError([Diagnostic("E673", message)])
        parts.append(part)
    try:
        found = json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise FsqlError([Diagnostic("E672", 'the body is a JSON object: {"query": "SELECT …"}')])
    return found


def _error_answer(error: FsqlError) -> Response:
    status = _STATUS.get(error.diagnostics[0].code, 400)
    return JSONResponse({"error": _problem(error)}, status)


def _refusal(
    status: int, message: str, helps: tuple[str, ...], headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to a request that reaches no endpoint."""
    error = FsqlError([Diagnostic("E676", message, helps=helps)])
    return JSONResponse({"error": _problem(error)}, status, headers)


async def _on_no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path[:200]}: {error.detail}"
    helps = ("GET /openapi.json lists the requests",)
    return _refusal(error.status_code, message, helps, error.headers)


def _problem(error: FsqlError) -> dict[str, Any]:
    first = error.diagnostics[0]
    found: dict[str, Any] = {
        "code": f"FSQL-{first.code}",
        "message": first.message,
        "notes": list(first.notes),
        "helps": list(first.helps),
    }
    if first.primary is not None:
        found["span"] = [first.primary.span.start, first.primary.span.end]
    return found


def _arrow_stream(found: Answer) -> bytes:
    metadata = {"fsql.position": found.position}
    rows = found.rows.replace_schema_metadata(metadata)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(out.getvalue())


def _answer_json(found: Answer) -> bytes:
    as_of = found.as_of
    body = {
        "position": found.position,
        "reached": as_of.reached or None,
        "age_seconds": found.age,
        "columns": [{"name": each.name, "type": str(each.type)} for each in found.columns],
        "rows": [plain(row) for row in found.rows.to_pylist()],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _event(found: Changes) -> str:
    changes = [{"op": each.op, "row": plain(each.row)} for each in found.changes]
    body = {"position": found.position, "snapshot": found.snapshot, "changes": changes}
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return f"id: {found.position}\nevent: changes\ndata: {data}\n\n"
