"""Live input against the clock: silence closes windows, and a row from the future makes no other one late."""

from __future__ import annotations

import json
import signal
import socket
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import Said, process
from fsql.tests.kept_port import KeptPort

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

pytestmark = pytest.mark.slow

COUNTS = """
CREATE TABLE t (at TIMESTAMP, WATERMARK FOR at) WITH ('connector' = 'stdin'{options});
SELECT COUNT(*) AS n, window_end
FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' SECOND)) GROUP BY window_start, window_end;
"""
OLD = b'{"at":"2020-01-01T00:00:00Z"}\n'
FUTURE = b'{"at":"2999-01-01T00:00:00Z"}\n'
CLOSED = b'{"n":1,"window_end":"2020-01-01T00:00:01Z"}\n'


def idle_run(*flags: str) -> subprocess.Popen[bytes]:
    """Start a run that takes a tenth of a second for silence."""
    script = COUNTS.format(options=", 'idle' = '100 ms'")
    return process("run", "--json", *flags, "-e", script, stdin=True)


def said_of(flag: str, options: str, data: bytes) -> Said:
    """Return what a run says that reads these bytes."""
    with process("run", flag, "-e", COUNTS.format(options=options), stdin=True) as run:
        out, err = run.communicate(data)
    return Said(run.returncode, out.decode(), err.decode())


def summary_of(err: bytes | str) -> dict[str, object]:
    events = [json.loads(line) for line in err.splitlines()]
    return next(event for event in events if event["event"] == "summary")


def test_silence_closes_windows() -> None:
    with idle_run() as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(OLD)
        run.stdin.flush()
        assert run.stdout.readline() == CLOSED
        out, err = run.communicate(OLD)
    summary = summary_of(err)
    assert (run.returncode, out, summary["rows_in"], summary["rows_late"]) == (0, b"", 2, 1)


def test_a_job_that_goes_on_agrees_that_a_row_is_late(tmp_path: Path) -> None:
    """The row comes after a promise by the clock, which the run before has made and written down."""
    flags = ("--state", str(tmp_path / "state"))
    with idle_run(*flags) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(OLD)
        run.stdin.flush()
        assert run.stdout.readline() == CLOSED
        run.kill()
    with idle_run(*flags) as run:
        _, err = run.communicate(OLD)
    assert run.returncode == 0, err
    assert summary_of(err)["rows_late"] == 1


def test_a_run_that_is_ended_names_what_it_waited_for() -> None:
    with idle_run() as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(OLD)
        run.stdin.flush()
        assert run.stdout.readline() == CLOSED
        run.send_signal(signal.SIGINT)
        _, err = run.communicate()
    summary = summary_of(err)
    assert run.returncode == 130
    assert (summary["status"], summary["held_by"]) == ("interrupted", "t (stdin)")


@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_a_socket_says_where_it_listens_as_soon_as_it_does(flags: tuple[str, ...]) -> None:
    with KeptPort() as port:
        script = (
            "CREATE TABLE s (n BIGINT) WITH ('connector' = 'socket',"
            f" 'address' = '127.0.0.1:{port.number}', 'ends' = 'connection'); SELECT n FROM s;"
        )
        with process("run", "--json", *flags, "-e", script) as run:
            assert run.stderr is not None
            said = json.loads(run.stderr.readline())
            assert said == {
                "event": "listening",
                "table": "s",
                "address": f"127.0.0.1:{port.number}",
            }
            with socket.create_connection(("127.0.0.1", port.number)) as sender:
                sender.sendall(b'{"n":1}\n')
            out, _ = run.communicate()
    assert (run.returncode, out) == (0, b'{"n":1}\n')


def test_a_row_from_the_future_is_malformed() -> None:
    said = said_of("-q", "", FUTURE)
    assert said.code == 3
    assert said.err.startswith("error[FSQL-E522]: ")
    assert "the event time 2999-01-01T00:00:00Z is after " in said.err


def test_rows_behind_a_row_from_the_future_are_not_late() -> None:
    said = said_of("--json", ", 'on_error' = 'reject'", FUTURE + OLD)
    summary = summary_of(said.err)
    assert (said.code, said.out) == (0, CLOSED.decode())
    assert (summary["rows_rejected"], summary["rows_late"]) == (1, 0)


def test_a_table_may_have_no_limit() -> None:
    said = said_of("-q", ", 'max_ahead' = 'none'", FUTURE)
    assert (said.code, said.out) == (0, '{"n":1,"window_end":"2999-01-01T00:00:01Z"}\n')


def test_the_model_follows_no_clock() -> None:
    script = COUNTS.format(options=", 'idle' = '1 s'")
    with process("run", "-q", "--engine", "model", "-e", script, stdin=True) as run:
        _, err = run.communicate(OLD)
    assert run.returncode == 1
    assert err.startswith(b'error[FSQL-E534]: table "t" has option "idle"')
