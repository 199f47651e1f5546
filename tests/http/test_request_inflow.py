"""Requests and the front log: what is answered is durable, and a key is taken once."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import socket
import threading
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from fsql.connectors.http import request_inflow, request_server
from fsql.connectors.http.request_inflow import LoggedRequestInflow, RequestInflow, RequestPiece
from fsql.connectors.http.request_server import NotTakenError, Rules
from fsql.connectors.live.front_log import LogWriter, segments
from fsql.connectors.live.inflows import Feed, PipeOutflow
from fsql.connectors.live.piece_journal import decode_pieces
from fsql.tests.cluster.twin import HANGS_AFTER_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.compiler.diagnostics import FsqlError

RULES = Rules("/in", None, 1000, is_json=True)
LOG_BYTES = 1 << 20


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


class Sender:
    """Sends requests to a port, each over a connection of its own."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(
        self, body: bytes, key: str = "", method: str = "POST", path: str = "/in", **headers: str
    ) -> tuple[int, Any]:
        """Return status and content of the answer."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            sent["Idempotency-Key"] = key
        connection = http.client.HTTPConnection("127.0.0.1", self.port, HANGS_AFTER_SECONDS)
        with closing(connection):
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())


@contextmanager
def logged(directory: Path, rules: Rules = RULES) -> Iterator[Sender]:
    """Read requests into a log, as a job does from its start to its end."""
    failures: list[FsqlError] = []
    with listening() as accepting:
        port = accepting.getsockname()[1]
        inflow = LoggedRequestInflow(accepting, rules)
        log = LogWriter(directory, LOG_BYTES, known_end=inflow.open_journal(directory))
        inflow.resume(log)
        feed = Feed(inflow, log, failures.append)
        try:
            yield Sender(port)
        finally:
            feed.close()
    assert failures == []


def content(directory: Path) -> bytes:
    return b"".join(segment.path.read_bytes() for segment in segments(directory))


def test_what_is_answered_is_in_the_log(tmp_path: Path) -> None:
    with logged(tmp_path) as sender:
        assert sender.send(b'{"a":1}') == (200, {"lines": 1})
        assert content(tmp_path) == b'{"a":1}\n'
        assert sender.send(b"[2, 3]", method="PUT") == (200, {"lines": 2})
        packed = gzip.compress(b"4\n5\n")
        assert sender.send(packed, Content_Encoding="gzip") == (200, {"lines": 2})
        assert sender.send(b"") == (200, {"lines": 0})
        assert content(tmp_path) == b'{"a":1}\n2\n3\n4\n5\n'


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        ({"body": b"[1,"}, 400, "the array is not valid JSON: Input data was truncated"),
        ({"body": b"1", "key": "k" * 256}, 400, "a key has at most 255 characters"),
        ({"body": b"1", "Origin": "http://x"}, 403, "requests of pages in a browser are refused"),
        ({"body": b"1", "path": "/"}, 404, "POST /: Not Found"),
        ({"body": b"1", "method": "DELETE"}, 405, "DELETE /in: Method Not Allowed"),
        ({"body": b"1" * 1001}, 413, "a request may have 1,000 bytes"),
        (
            {"body": gzip.compress(b"1" * 1001), "Content_Encoding": "gzip"},
            413,
            "a request may have 1,000 bytes",
        ),
        (
            {"body": b"1", "Content_Encoding": "br"},
            415,
            "a body may be compressed by gzip only",
        ),
        ({"body": b"2", "key": "k"}, 422, 'the Idempotency-Key "k" came with other records before'),
    ],
)
def test_refused_requests_leave_nothing(
    tmp_path: Path, request_: dict[str, Any], status: int, message: str
) -> None:
    with logged(tmp_path) as sender:
        assert sender.send(b"1", "k") == (200, {"lines": 1})
        assert sender.send(**request_) == (status, {"error": {"message": message}})
    assert content(tmp_path) == b"1\n"


def test_only_who_has_the_token_may_send(tmp_path: Path) -> None:
    with logged(tmp_path, Rules("/in", "secret", 1000, is_json=True)) as sender:
        refused = (401, {"error": {"message": "the token is missing or wrong"}})
        assert sender.send(b"1") == refused
        for wrong in ("secret", "Basic secret", "Bearer secre", "Bearer", "Bearer s\xe9cret"):
            assert sender.send(b"1", Authorization=wrong) == refused
        assert sender.send(b"2", Authorization="bearer secret") == (200, {"lines": 1})
    assert content(tmp_path) == b"2\n"


def test_a_key_is_taken_once_also_after_a_restart(tmp_path: Path) -> None:
    with logged(tmp_path) as sender:
        for _ in range(2):
            assert sender.send(b"[1, 2]", "first") == (200, {"lines": 2})
        assert sender.send(b"3") == (200, {"lines": 1})
    with logged(tmp_path) as sender:
        assert sender.send(b"[1, 2]", "first") == (200, {"lines": 2})
        assert sender.send(b"4", "second") == (200, {"lines": 1})
        assert sender.send(b"[1]", "first")[0] == 422
    assert content(tmp_path) == b"1\n2\n3\n4\n"


@pytest.mark.parametrize("cut", range(13))
def test_a_log_that_was_cut_within_a_request_gets_the_rest(tmp_path: Path, cut: int) -> None:
    """The disk was full, or the process ended: lines of a request were read, and it had no answer."""
    with logged(tmp_path) as sender:
        assert sender.send(b"[1]", "first")[0] == 200
        assert sender.send(b"[20, 30, 40, 50]", "second")[0] == 200
    [segment] = segments(tmp_path)
    segment.path.write_bytes(segment.path.read_bytes()[: 2 + cut])
    (tmp_path / "flushed").unlink()
    for _ in range(2):
        with logged(tmp_path) as sender:
            assert sender.send(b"6", "third")[0] == 200
    with logged(tmp_path) as sender:
        for _ in range(2):
            assert sender.send(b"[20, 30, 40, 50]", "second") == (200, {"lines": 4})
    whole = b"20\n30\n40\n50\n"
    kept = whole[: cut - cut % 3]
    assert content(tmp_path) == b"1\n" + kept + b"6\n" + whole[len(kept) :]


def test_the_last_keys_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_inflow, "KEYS_MAX", 3)
    monkeypatch.setattr("fsql.connectors.live.piece_journal.RECORDS_MIN", 8)
    with logged(tmp_path) as sender:
        for number in range(40):
            assert sender.send(b"%d" % number, f"k{number}")[0] == 200
        assert len(decode_pieces((tmp_path / "requests").read_bytes(), RequestPiece)) <= 9
    with logged(tmp_path) as sender:
        assert [sender.send(b"x", f"k{number}")[0] for number in (39, 38, 37)] == [422] * 3
        assert sender.send(b"x", "k36")[0] == 200
    assert content(tmp_path) == b"".join(b"%d\n" % number for number in range(40)) + b"x\n"


def test_concurrent_requests_with_one_key_are_taken_once(tmp_path: Path) -> None:
    answers: list[tuple[int, Any]] = []
    with logged(tmp_path) as sender:
        threads = [
            threading.Thread(target=lambda: answers.append(sender.send(b"[1, 2]", "same")))
            for _ in range(8)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert answers == [(200, {"lines": 2})] * 8
    assert content(tmp_path) == b"1\n2\n"


def test_requests_are_refused_while_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads; the ones that wait are refused at the end."""
    monkeypatch.setattr(request_inflow, "WAITING_BYTES_MAX", 4)
    with listening() as accepting:
        inflow = RequestInflow(accepting, RULES)
        held = [inflow.offer(b"1\n", ""), inflow.offer(b"2\n", "k")]
        with pytest.raises(NotTakenError, match="the job does not keep up"):
            inflow.offer(b"3\n", "")
        inflow.close()
    for each in held:
        with pytest.raises(NotTakenError, match="the job has ended"):
            each.result(HANGS_AFTER_SECONDS)
    with pytest.raises(NotTakenError, match="the job has ended"):
        inflow.offer(b"5\n", "")


def test_a_request_that_comes_before_the_journal_is_read_waits(tmp_path: Path) -> None:
    with logged(tmp_path) as sender:
        assert sender.send(b"1", "k")[0] == 200
    with listening() as accepting:
        inflow = LoggedRequestInflow(accepting, RULES)
        port, answers = accepting.getsockname()[1], list[tuple[int, Any]]()
        early = threading.Thread(target=lambda: answers.append(Sender(port).send(b"1", "k")))
        early.start()
        log = LogWriter(tmp_path, LOG_BYTES, known_end=inflow.open_journal(tmp_path))
        inflow.resume(log)
        failures: list[FsqlError] = []
        feed = Feed(inflow, log, failures.append)
        early.join()
        feed.close()
    assert failures == []
    assert answers == [(200, {"lines": 1})]
    assert content(tmp_path) == b"1\n"


def test_a_body_that_does_not_come_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_server, "_BODY_SECONDS", 0.05)
    with logged(tmp_path) as sender, socket.create_connection(("127.0.0.1", sender.port)) as slow:
        slow.sendall(b"POST /in HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1")
        assert slow.makefile("rb").readline() == b"HTTP/1.1 408 Request Timeout\r\n"
    assert content(tmp_path) == b""


def test_a_run_without_state_answers_when_it_has_read() -> None:
    failures: list[FsqlError] = []
    reading, writing = os.pipe()
    with ExitStack() as stack:
        accepting = stack.enter_context(listening())
        feed = Feed(RequestInflow(accepting, RULES), PipeOutflow(writing), failures.append)
        stack.callback(feed.close)
        sender = Sender(accepting.getsockname()[1])
        assert sender.send(b"1", "k") == (200, {"lines": 1})
        assert sender.send(b"1", "k") == (200, {"lines": 1})
        assert not feed.can_resume
    with open(reading, "rb") as read:  # noqa: PTH123 - it is a descriptor
        assert read.read() == b"1\n"
    assert failures == []
