"""A consumer that is not there: waited for, visibly, and not forever where the run has not begun yet."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.twin import for_an_hour, wait_until
from fsql.tests.command_server import Command
from fsql.tests.kept_port import KeptPort

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.cluster

WAITS = 'warning: table "far" waits: the consumer at 127.0.0.1:{port} does not answer'

ENDS = (
    'error[FSQL-E532]: table "far" cannot be written:'
    " the consumer at 127.0.0.1:{port} has not answered for 10 s"
)


def script(directory: Path, port: int) -> Path:
    path = directory / "job.sql"
    path.write_text(
        "CREATE TABLE lines (id BIGINT, line STRING) WITH ('connector' = 'words', 'seed' = '3',"
        f" {for_an_hour(500)});\n"
        "CREATE TABLE far (id BIGINT)"
        f" WITH ('connector' = 'tcp', 'address' = '127.0.0.1:{port}');\n"
        "INSERT INTO far SELECT id FROM lines;\n"
    )
    return path


@contextmanager
def consuming(directory: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """Run `fsql consume` into `out`; return it when it listens."""
    command = ["consume", "--listen", f"127.0.0.1:{port}", "--to", str(directory / "out")]
    with Command([*command, "--json"], stderr=subprocess.PIPE, text=True) as consumer:
        assert consumer.stderr is not None
        try:
            assert json.loads(consumer.stderr.readline())["port"] == port
            yield consumer
        finally:
            consumer.kill()


@contextmanager
def running(directory: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    command = ["run", str(script(directory, port)), "--workers", "2"]
    with (directory / "errors").open("w") as errors:
        run = Command([*command, "--state", str(directory / "state")], stderr=errors)
    try:
        yield run
    finally:
        run.terminate()
        run.wait()


@pytest.fixture
def port() -> Iterator[int]:
    """Return a port at which nobody listens but consumers of the test."""
    with KeptPort() as kept:
        yield kept.number


def test_a_run_whose_consumer_never_comes_ends_with_its_name(tmp_path: Path, port: int) -> None:
    with running(tmp_path, port) as run:
        assert run.wait() == 1
    lines = (tmp_path / "errors").read_text().splitlines()
    # On a busy machine a process may be taken for lost, too.
    assert [line for line in lines if "freshness" not in line and "recovery: " not in line] == [
        WAITS.format(port=port),
        ENDS.format(port=port),
        "  = help: start the consumer first: fsql consume --listen ADDRESS --to FILE",
    ]


def test_a_consumer_that_goes_away_is_waited_for(tmp_path: Path, port: int) -> None:
    errors, out = tmp_path / "errors", tmp_path / "out"
    with consuming(tmp_path, port) as consumer, running(tmp_path, port) as run:
        wait_until(lambda: out.exists() and out.stat().st_size > 0, "rows")
        consumer.kill()
        consumer.wait()
        told = WAITS.format(port=port)
        wait_until(lambda: told in errors.read_text(), "a word of it")
        recovery = f'recovery: waiting for workers (table "far": the consumer at 127.0.0.1:{port}'
        wait_until(lambda: recovery in errors.read_text(), "another attempt")
        assert run.poll() is None
        size = out.stat().st_size
        with consuming(tmp_path, port):
            wait_until(lambda: out.stat().st_size > size, "more rows")
            run.send_signal(signal.SIGINT)
            assert run.wait() == 130, errors.read_text()
    written = out.read_text()
    rows = (f'{{"id":{number}}}\n' for number in range(written.count("\n") + 1))
    assert written == "".join(rows)[: len(written)]
