"""Serves the results of jobs over the protocol of PostgreSQL and over HTTP, in one process."""

from __future__ import annotations

import asyncio
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.job.results.answers import Limits
from fsql.serving.postgres.scram import Verifier
from fsql.serving.postgres.session import Session, Shared

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from fsql.serving.jobs import ServedJobs
    from fsql.serving.metrics import ReadFigures

CONNECTIONS_MAX: Final = 100
_THREADS: Final = 4
_BUFFER_BYTES: Final = 1 << 20
_LISTENING: Final = 128


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server listens, None for a server that is not wanted; port 0 is any that is free."""

    host: str = "127.0.0.1"
    http: int | None = 8433
    postgres: int | None = 5433
    certificate: Path | None = None
    key: Path | None = None

    def check(self) -> None:
        """Check that nothing beyond this machine can listen to what is sent.

        Raises:
            FsqlError: E674.
        """
        if self.certificate is None and not is_loopback(self.host):
            message = f"a server that listens on {self.host} needs TLS"
            helps = ("give a certificate and its key: --tls-cert FILE --tls-key FILE",)
            raise FsqlError([Diagnostic("E674", message, helps=helps)])

    def tls(self) -> ssl.SSLContext | None:
        """Return what the certificate and its key are used with; None without.

        Raises:
            FsqlError: E674, if they cannot be used.
        """
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            message = f'the certificate "{self.certificate}" cannot be used: {error}'
            helps = ("give a certificate in PEM, and its key without a password",)
            raise FsqlError([Diagnostic("E674", message, helps=helps)]) from None
        return context


def is_loopback(host: str) -> bool:
    """Return whether only programs of this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _ignore(what: object) -> None:
    """Do nothing."""
    del what


class Server:
    """Both servers."""

    def __init__(
        self,
        jobs: ServedJobs,
        listening: Listening,
        token: str,
        limits: Limits | None = None,
        on_ready: Callable[[Server], None] = _ignore,
        log: Callable[[str], None] = _ignore,
        figures: ReadFigures = dict,
    ) -> None:
        """Take the jobs, and the token that clients give as a password.

        `on_ready` is called once the ports are known.
        """
        self._jobs = jobs
        self._listening = listening
        self._token = token
        self._limits = Limits() if limits is None else limits
        self._on_ready = on_ready
        self._log = log
        self._figures = figures
        self._connections = 0
        self.postgres_port = self.http_port = 0
        self._over: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def stop(self) -> None:
        """End `run`; any thread may call this."""
        if self._loop is not None and self._over is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._over.set)

    def run(self) -> None:
        """Serve until `stop` is called.

        Raises:
            FsqlError: E674, if an address cannot be used.
        """
        self._listening.check()
        tls = self._listening.tls()
        self._jobs.start()
        try:
            with ThreadPoolExecutor(_THREADS, "queries") as executor:
                shared = Shared(
                    self._jobs,
                    self._limits,
                    executor,
                    Verifier(self._token),
                    tls,
                    tls is not None and not is_loopback(self._listening.host),
                    {},
                    self._log,
                )
                asyncio.run(self._serve(shared))
        finally:
            self._jobs.close()

    async def _serve(self, shared: Shared) -> None:
        self._over, self._loop = asyncio.Event(), asyncio.get_running_loop()
        servers: list[asyncio.Server] = []
        try:
            if self._listening.postgres is not None:
                servers.append(
                    await self._listen(
                        lambda reader, writer: self._on_connection(reader, writer, shared),
                        self._listening.postgres,
                    )
                )
                self.postgres_port = servers[-1].sockets[0].getsockname()[1]
            http = None
            if self._listening.http is not None:
                from fsql.serving.http import HttpServer

                http = HttpServer(
                    self._jobs, self._limits, shared.executor, self._token, self._figures
                )
                self.http_port = await http.start(
                    self._listening.host, self._listening.http, shared.tls
                )
            self._on_ready(self)
            await self._over.wait()
            if http is not None:
                await http.stop()
        finally:
            for server in servers:
                server.close()
            await _cancel_others()

    async def _listen(
        self,
        callback: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
        port: int,
    ) -> asyncio.Server:
        host = self._listening.host
        try:
            return await asyncio.start_server(
                callback,
                host,
                port,
                limit=_BUFFER_BYTES,
                backlog=_LISTENING,
            )
        except OSError as error:
            message = f"the server cannot listen on {host}:{port}: {error.strerror or error}"
            helps = ("choose another port: --postgres-port, --http-port",)
            raise FsqlError([Diagnostic("E674", message, helps=helps)]) from None

    async def _on_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, shared: Shared
    ) -> None:
        if self._connections >= CONNECTIONS_MAX:
            writer.close()
            return
        self._connections += 1
        try:
            await Session(reader, writer, shared).run()
        finally:
            self._connections -= 1


async def _cancel_others() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
