"""Jobs that read requests, and what they take when they are killed while senders send."""

from __future__ import annotations

import http.client
import json
import signal
import threading
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql, process
from fsql.tests.cluster.twin import HANGS_AFTER_SECONDS, wait_until
from fsql.tests.kafka.killed_runs import kill
from fsql.tests.kept_port import KeptPort

if TYPE_CHECKING:
    from pathlib import Path

TABLE = (
    "CREATE TABLE t (n BIGINT, s STRING) WITH ('connector' = 'http', 'address' = '127.0.0.1:{port}',"
    " 'path' = '/in'{options});\n"
)
REFUSED_ADDRESS = (
    'address "0.0.0.0:80" is refused: rows are not encrypted,'
    " so only addresses of this machine are allowed"
)


class PersistentSender(threading.Thread):
    """Sends records with keys in order, each until it is answered by 200."""

    def __init__(self, port: int, bodies: list[bytes]) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._bodies = bodies
        self.failures: list[int] = []

    def run(self) -> None:
        for number, body in enumerate(self._bodies):
            while (status := self._send(body, f"key {number}")) != 200:
                if status != 503:
                    self.failures.append(status)
                    return
                time.sleep(0.01)

    def _send(self, body: bytes, key: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, HANGS_AFTER_SECONDS)
        with closing(connection):
            try:
                connection.request("POST", "/in", body, {"Idempotency-Key": key})
                return connection.getresponse().status
            except (OSError, http.client.HTTPException):
                return 503  # nobody listens, or the job was killed before it answered


def row(number: int) -> bytes:
    return json.dumps({"n": number, "s": "x" * (number % 50)}, separators=(",", ":")).encode()


def written(output: Path) -> int:
    return output.stat().st_size if output.exists() else 0


def has_more(output: Path, size: int) -> bool:
    return written(output) > size


@pytest.mark.cluster
def test_a_job_that_is_killed_takes_each_request_once(tmp_path: Path) -> None:
    """The sender sends again what was not answered; the output has each row once, in the order of sending."""
    bodies = [
        b"[" + b",".join(map(row, range(first, first + 3))) + b"]" for first in range(0, 900, 3)
    ]
    with KeptPort() as port:
        output, script = tmp_path / "out.jsonl", tmp_path / "job.sql"
        script.write_text(
            TABLE.format(port=port.number, options="")
            + "CREATE TABLE out WITH ('connector' = 'file', 'path' = 'out.jsonl') AS SELECT n, s FROM t;"
        )
        flags = ("--workers", "2", "--snapshot-ms", "50", "--state", tmp_path / "state")
        command: tuple[str | Path, ...] = ("run", "-q", *flags, script)
        sender = PersistentSender(port.number, bodies)
        sender.start()
        for _ in range(3):
            size = written(output)
            with process(*command) as run:
                wait_until(partial(has_more, output, size), "output")
                kill(run)
        with process(*command) as run:
            sender.join()
            assert sender.failures == []
            whole = b"".join(row(number) + b"\n" for number in range(900))
            wait_until(partial(has_more, output, len(whole) - 1), "all rows")
            run.send_signal(signal.SIGINT)
            assert run.wait() == 130
    assert output.read_bytes() == whole


def test_a_query_reads_until_it_has_enough(tmp_path: Path) -> None:
    """A malformed record goes where those of the table go, and its request is taken."""
    with KeptPort() as port:
        options = ", 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl'"
        script = tmp_path / "job.sql"
        script.write_text(
            TABLE.format(port=port.number, options=options) + "SELECT n, s FROM t LIMIT 2;"
        )
        sender = PersistentSender(port.number, [b'[{"n": 1, "s": "a"}, {"n": "?"}]', b'{"n": 2}'])
        with process("run", "-q", script) as run:
            sender.start()
            out, err = run.communicate()
        assert (run.returncode, out, err) == (
            0,
            b'{"n":1,"s":"a"}\n{"n":2,"s":null}\n',
            b"",
        )
    rejects = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert [each["excerpt"] for each in rejects] == ['{"n": "?"}']


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("'path' = 'in'", "path 'in' is refused: it is not the path of a URL"),
        ("'path' = '/a b'", "path '/a b' is refused: it is not the path of a URL"),
        ("'token_file' = 'empty'", 'the file "{folder}/empty" has no token'),
        (
            "'address' = '0.0.0.0:80'",
            REFUSED_ADDRESS,
        ),
    ],
)
def test_options_are_checked(tmp_path: Path, option: str, message: str) -> None:
    (tmp_path / "empty").write_text("\n")
    script = tmp_path / "job.sql"
    given = {"'connector'": "'http'", "'address'": "'127.0.0.1:1'"} | dict([option.split(" = ")])
    listed = ", ".join(f"{key} = {value}" for key, value in given.items())
    script.write_text(f"CREATE TABLE t (n BIGINT) WITH ({listed}); SELECT n FROM t;")
    checked = fsql("check", "--json", script)
    [file] = json.loads(checked.out)["files"]
    run = fsql("run", "--json", script)
    for code, diagnostics in (
        (checked.code, file["diagnostics"]),
        (run.code, json.loads(run.err)["diagnostics"]),
    ):
        [found] = diagnostics
        assert (code, found["code"], found["message"]) == (
            1,
            "FSQL-E534",
            message.format(folder=tmp_path),
        )
