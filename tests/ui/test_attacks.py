"""Attacks on `fsql ui`: by other pages in the browser, by names that resolve to this machine, by floods.

After each attack the page answers its owner.  What these tests cannot find: faults of browsers.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from fsql.console.web import guard, server
from fsql.tests.ui.conftest import JOB
from fsql.tests.ui.served_page import ServedPage, read_all, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STOP = f"/api/jobs/{JOB}/stop"
LOG = f"/api/jobs/{JOB}/log"


@pytest.fixture(autouse=True)
def _still_answers(page: ServedPage) -> Iterator[None]:
    yield
    assert page.ask(LOG).status == 200


def test_the_owner_is_answered(page: ServedPage) -> None:
    assert page.ask("/").status == 200
    assert page.ask(LOG).fields == {
        "lines": [
            {"ts": 12.5, "event": "started", "pid": 7},
            {"ts": None, "event": "output", "line": "plain text"},
        ]
    }


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.:{port}",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "user@127.0.0.1:{port}",
    ],
)
def test_dns_rebinding(page: ServedPage, host: str) -> None:
    """A page of elsewhere whose name resolves to this machine sends its own name."""
    headers = {**page.own_headers, "Host": host.format(port=page.port)}
    assert page.ask("/", headers).status == 421
    assert page.ask("/assets/app.js", headers).status == 421
    assert page.ask(f"/open?token={page.access.token}", headers).status == 421


def test_a_second_host(page: ServedPage) -> None:
    cookie = page.own_headers["Cookie"]
    request = (
        f"GET / HTTP/1.1\r\nHost: evil.example\r\nHost: {page.host}\r\nCookie: {cookie}\r\n\r\n"
    )
    assert status_of(page.raw(request.encode())) == 400


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://{host}", "http://localhost:1", "http://{host}.evil"],
)
def test_requests_of_other_pages(page: ServedPage, origin: str) -> None:
    """A form or a script of another page, with the cookie, and even with the secret of the page."""
    headers = {**page.own_headers, "Origin": origin.format(host=page.host)}
    assert page.ask(STOP, headers, "POST", b"{}").status == 403
    assert page.ask(LOG, headers).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_sites_of_requests(page: ServedPage, site: str) -> None:
    """Another port of the loopback interface is the same site, and gets the cookie."""
    headers = {**page.own_headers, "Sec-Fetch-Site": site}
    assert page.ask(LOG, headers).status == 403
    assert page.ask("/", headers).status == 200  # a link or the address bar


def test_a_form_without_the_secret_of_the_page(page: ServedPage) -> None:
    cookie = {"Cookie": page.own_headers["Cookie"]}
    assert page.ask(STOP, cookie, "POST", b"").status == 403
    assert page.ask(STOP, {**cookie, "X-Fsql-Page": "a" * 43}, "POST", b"").status == 403
    assert page.ask(STOP, {**cookie, "X-Fsql-Page": "\xff" * 9}, "POST", b"").status == 403


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "{name}=",
        "{name}=wrong",
        "other={session}",
        "{name}-1={session}",
        "{name}=\xe9",
        "=;=\x01",
    ],
)
def test_no_session(page: ServedPage, cookie: str) -> None:
    given = cookie.format(name=page.access.cookie, session=page.access.session)
    headers = {"Cookie": given, "X-Fsql-Page": page.access.page}
    for path in (LOG, "/api/stream", "/", f"/jobs/{JOB}", "/no/such"):
        answer = page.ask(path, headers)
        assert answer.status == 401
        assert page.access.page.encode() not in answer.body


@pytest.mark.parametrize("token", ["", "wrong", "é", "a" * 9000])
def test_wrong_tokens(page: ServedPage, token: str) -> None:
    answer = page.ask(
        f"/open?token={token.encode('latin-1').decode('latin-1') if token.isascii() else '%C3%A9'}",
        {},
    )
    assert answer.status == 401
    assert "set-cookie" not in answer.headers


def test_the_token_becomes_a_cookie_that_scripts_cannot_read(page: ServedPage) -> None:
    answer = page.ask(f"/open?token={page.access.token}", {})
    cookie = f"{page.access.cookie}={page.access.session}; HttpOnly; Path=/; SameSite=strict"
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"] == cookie
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_secrets_are_on_no_page(page: ServedPage) -> None:
    for path in ("/", LOG, "/assets/app.js"):
        body = page.ask(path).body
        assert page.access.token.encode() not in body
        assert page.access.session.encode() not in body


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../guard.py",
        "/assets/..%2fguard.py",
        "/assets/%2e%2e/%2e%2e/cli.py",
        "/assets/....//guard.py",
        "/assets//etc/passwd",
        "/assets/app.js%00.css",
        "/api/jobs/..%2f..%2fagent.key/log",
        "/api/jobs/../../agent.key",
        "/api/jobs/%2e%2e/log",
        f"/api/jobs/{JOB}%2f..%2f{JOB}/log",
    ],
)
def test_paths_out_of_the_folder(page: ServedPage, path: str) -> None:
    answer = page.ask(path)
    assert answer.status == 404
    assert b"Guard" not in answer.body


def test_cross_site_web_sockets(page: ServedPage) -> None:
    """There is none to take over."""
    cookie = page.own_headers["Cookie"]
    request = (
        f"GET /api/stream HTTP/1.1\r\nHost: {page.host}\r\nCookie: {cookie}\r\nOrigin: http://evil\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    assert status_of(page.raw(request.encode())) == 403


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "BREW"]
)
def test_other_methods(page: ServedPage, method: str) -> None:
    assert page.ask(STOP, method=method).status == 405


def test_actions_are_no_links(page: ServedPage) -> None:
    assert page.ask(STOP).status == 405


def test_answers_cannot_be_framed_sniffed_or_kept(page: ServedPage) -> None:
    for path in ("/", LOG, "/assets/app.js", "/api/none"):
        headers = page.ask(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "script-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
    assert page.ask("/").headers["cache-control"] == "no-store"


def test_huge_bodies(page: ServedPage) -> None:
    headers = page.own_headers
    body = b"x" * (guard.BODY_BYTES_MAX + 1)
    assert page.ask(STOP, headers, "POST", b"{}").status == 422  # no agent runs
    lines = [
        f"POST {STOP} HTTP/1.1",
        f"Host: {page.host}",
        *(f"{n}: {v}" for n, v in headers.items()),
    ]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode()
    assert status_of(page.raw(head + body)) in {413, 422}


def test_huge_headers(page: ServedPage) -> None:
    request = f"GET / HTTP/1.1\r\nHost: {page.host}\r\nX: {'a' * 2_000_000}\r\n\r\n"
    answer = page.raw(request.encode())
    assert answer == b"" or status_of(answer) in {400, 431}


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET\r\n\r\n",
        b"\x00" * 5000,
        b"POST /api/x HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_what_is_no_request(page: ServedPage, request_bytes: bytes) -> None:
    answer = page.raw(request_bytes)
    assert answer == b"" or status_of(answer) in {400, 421}


@pytest.fixture
def strict(stopped_job: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedPage]:
    """A page with limits of tenths of a second, and few connections and streams."""
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    monkeypatch.setattr(guard, "STREAMS_MAX", 2)
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(server, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 4)
    with ServedPage(stopped_job) as served:
        yield served
        assert served.ask(LOG).status == 200


def test_connections_without_a_request(strict: ServedPage) -> None:
    with strict.connect() as connection:
        assert read_all(connection) == b""


def test_requests_that_never_end(strict: ServedPage) -> None:
    with strict.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert read_all(connection) == b""


def test_bodies_that_never_come(strict: ServedPage) -> None:
    headers = "".join(f"{name}: {value}\r\n" for name, value in strict.own_headers.items())
    request = (
        f"POST /api/check HTTP/1.1\r\nHost: {strict.host}\r\n{headers}Content-Length: 100\r\n\r\n{{"
    )
    assert status_of(strict.raw(request.encode())) in {404, 408}


def test_a_flood_of_connections(strict: ServedPage) -> None:
    with ExitStack() as opened:
        connections = [opened.enter_context(strict.connect()) for _ in range(40)]
        assert [read_all(each) for each in connections] == [b""] * 40


def test_a_flood_of_streams(strict: ServedPage) -> None:
    with ExitStack() as opened:
        headers = "".join(f"{name}: {value}\r\n" for name, value in strict.own_headers.items())
        request = f"GET /api/stream HTTP/1.1\r\nHost: {strict.host}\r\n{headers}\r\n".encode()
        statuses = []
        for _ in range(3):
            connection = opened.enter_context(strict.connect())
            connection.sendall(request)
            statuses.append(status_of(connection.recv(1 << 16)))
        assert statuses == [200, 200, 503]


def test_charts_are_of_jobs_only(page: ServedPage) -> None:
    def show(job: str, page_id: str, **fields: object) -> tuple[int, object]:
        body = {"page": page_id, "chart": "c1", "job": job, "result": "r", **fields}
        answer = page.ask("/api/chart", method="POST", body=json.dumps(body).encode())
        return answer.status, answer.fields

    view = {"y": "v"}
    gone = (404, {"error": "no job has this id: it was dropped, perhaps"})
    for job in ("../../etc", "", f"{JOB}/../{JOB}", f"/jobs/{JOB}"):
        assert show(job, "", view=view) == gone
    assert show(JOB, "of another", view=view) == (200, {"shown": False})
    assert show(JOB, "", view=view, path="/etc/passwd")[0] == 400
    for headers in ({}, {"Cookie": page.own_headers["Cookie"]}):
        assert page.ask("/api/charts", headers, "POST", b"{}").status in {401, 403}
