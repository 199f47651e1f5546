"""The page of a cluster directory, served by a thread of this process, and requests to it."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from fsql.console.web.application import Application
from fsql.console.web.guard import Access
from fsql.console.web.server import listen, page_server
from fsql.deployment.directory import ClusterDirectory
from fsql.tests.cluster.twin import HANGS_AFTER_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def fields(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class ServedPage:
    """A server; inside its context requests are answered."""

    path: Path
    port: int = 0
    access: Access = field(init=False)
    _thread: threading.Thread = field(init=False)
    _server: Any = field(init=False)

    def __enter__(self) -> Self:
        listening = listen(0)
        self.port = listening.getsockname()[1]
        self.access = Access(self.port)
        ready = threading.Event()
        application = Application(ClusterDirectory(self.path), self.access, self.path.parent).asgi()
        self._server = page_server(application, ready.set)
        self._thread = threading.Thread(target=self._serve, args=[listening])
        self._thread.start()
        assert ready.wait(HANGS_AFTER_SECONDS)
        return self

    def _serve(self, listening: socket.socket) -> None:
        with listening:
            self._server.run(sockets=[listening])

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/open?token={self.access.token}"

    @property
    def own_headers(self) -> dict[str, str]:
        """What requests of the page have."""
        cookie = f"{self.access.cookie}={self.access.session}"
        return {"Cookie": cookie, "X-Fsql-Page": self.access.page}

    def ask(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        body: bytes | None = None,
    ) -> Answer:
        """Send a request; `headers` are those of the page unless others are given."""
        sent = dict(self.own_headers if headers is None else headers)
        with closing(http.client.HTTPConnection(*self.address, HANGS_AFTER_SECONDS)) as connection:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())

    def first_message(self, path: str) -> Any:
        """Return the first line of an answer that lasts."""
        with closing(http.client.HTTPConnection(*self.address, HANGS_AFTER_SECONDS)) as connection:
            connection.request("GET", path, headers=self.own_headers)
            answer = connection.getresponse()
            assert answer.status == 200
            return json.loads(answer.readline())

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def connect(self) -> socket.socket:
        """Open a connection on which nothing is sent."""
        return socket.create_connection(self.address, HANGS_AFTER_SECONDS)

    def raw(self, request: bytes) -> bytes:
        """Send bytes, and return all that comes until the server closes the connection."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def status_of(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d+) ", answer)
    assert found is not None, answer
    return int(found[1])
