"""Live input against the clock: silence closes windows, and a row from the future makes no other one late."""

from __future__ import annotations

import json
import signal
import socket
import struct
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import CommandResult, on_workers, process
from fsql.tests.kept_port import KeptPort

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence
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


def said_of(flag: str, options: str, data: bytes) -> CommandResult:
    """Return what a run says that reads these bytes."""
    with process("run", flag, "-e", COUNTS.format(options=options), stdin=True) as run:
        out, err = run.communicate(data)
    return CommandResult(run.returncode, out.decode(), err.decode())


def summary_of(err: bytes | str) -> dict[str, object]:
    events = [json.loads(line) for line in err.splitlines()]
    return next(event for event in events if event["event"] == "summary")


@pytest.mark.parametrize("flags", [(), on_workers("--workers", "2")])
def test_a_run_ends_when_its_results_are_complete(flags: Sequence[str], tmp_path: Path) -> None:
    script = f"""
    CREATE TABLE t (n BIGINT) WITH (
        'connector' = 'stdin', 'on_error' = 'reject', 'rejects_path' = '{tmp_path}/rejects.jsonl'
    );
    CREATE TABLE w (n BIGINT) WITH ('connector' = 'file', 'path' = '{tmp_path}/w.jsonl');
    INSERT INTO w SELECT n * 10 FROM t LIMIT 3;
    SELECT n FROM t LIMIT 1;
    """
    with process("run", "-q", *flags, "-e", script, stdin=True) as run:
        assert run.stdin is not None
        run.stdin.write(b'{"n":1}\n{"n":2}\nbad\n{"n":3}\nworse\n{"n":4}\n')
        run.stdin.flush()
        assert run.wait() == 0
        assert run.stdout is not None
        assert run.stdout.read() == b'{"n":1}\n'
    assert (tmp_path / "w.jsonl").read_text() == '{"n":10}\n{"n":20}\n{"n":30}\n'
    rejects = (tmp_path / "rejects.jsonl").read_text().splitlines()
    assert [json.loads(line)["excerpt"] for line in rejects] == ["bad"]


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
        # Input must stay open until then: `communicate` closes it, and nothing would be waited for.
        assert run.wait() == 130
        _, err = run.communicate()
    summary = summary_of(err)
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


def arrivals_of(state: Path, lines: list[bytes]) -> list[datetime]:
    """Return when each line of a front log came, by the records beside it."""
    [bounds] = state.rglob("front-log/0/bounds")
    records = [record.split() for record in bounds.read_text().splitlines()]
    came = [(int(place), int(us)) for place, kind, us, _ in records if kind == "came"]
    found, start = [], 0
    for line in lines:
        us = [us for place, us in came if place <= start][-1]
        found.append(
            datetime.fromtimestamp(us // 1_000_000, UTC) + timedelta(microseconds=us % 1_000_000)
        )
        start += len(line)
    return found


def text_of(time: datetime) -> str:
    milliseconds = f".{time.microsecond // 1000:03}" if time.microsecond else ""
    return f"{time:%Y-%m-%dT%H:%M:%S}{milliseconds}Z"


@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_rows_came_when_they_came_before_the_job_was_killed(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """The second run has the arrivals of the first, and its own: one job, by what the log says."""
    script = tmp_path / "job.sql"
    script.write_text(
        "CREATE TABLE t (n BIGINT, proc AS PROCTIME()) WITH ('connector' = 'stdin');"
        "CREATE TABLE w (n BIGINT, at TIMESTAMP) WITH ('connector' = 'file', 'path' = 'counts.jsonl');"
        "INSERT INTO w SELECT COUNT(*), window_end"
        " FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(proc), INTERVAL '1' SECOND))"
        " GROUP BY window_start, window_end;"
        "SELECT n, proc, CURRENT_DATE AS day FROM t;"
    )
    lines = [b'{"n":%d}\n' % number for number in range(12)]
    state = tmp_path / "state"
    said: list[bytes] = []
    for part in (lines[:5], lines[5:]):
        with process("run", "-q", "--state", str(state), *flags, str(script), stdin=True) as run:
            assert run.stdin is not None
            assert run.stdout is not None
            for line in part:
                run.stdin.write(line)
                run.stdin.flush()
                said.append(run.stdout.readline())
            if part[0] == lines[0]:
                run.kill()
            else:
                # `communicate` would not return what `readline` has read ahead.
                run.stdin.close()
                said += run.stdout.readlines()
                assert run.wait() == 0
    arrivals = arrivals_of(state, lines)
    # Standard output ended with the first run; what the second one repeats of it is the same.
    assert {json.loads(line)["n"]: json.loads(line) for line in said} == {
        number: {"n": number, "proc": text_of(at), "day": f"{at:%Y-%m-%d}"}
        for number, at in enumerate(arrivals)
    }
    assert len({bytes(line.strip()) for line in said}) == len(lines)
    counts = Counter(at.replace(microsecond=0) + timedelta(seconds=1) for at in arrivals)
    expected = [f'{{"n":{count},"at":"{text_of(end)}"}}\n' for end, count in sorted(counts.items())]
    assert (tmp_path / "counts.jsonl").read_text() == "".join(expected)


def test_silence_closes_windows_of_processing_time() -> None:
    script = COUNTS.replace("at TIMESTAMP, WATERMARK FOR at", "n BIGINT, at AS PROCTIME()")
    with process("run", "-q", "-e", script.format(options=""), stdin=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(b'{"n":1}\n')
        run.stdin.flush()
        assert json.loads(run.stdout.readline())["n"] == 1
        assert run.communicate() == (b"", b"")


def test_the_model_follows_no_clock() -> None:
    script = COUNTS.format(options=", 'idle' = '1 s'")
    with process("run", "-q", "--engine", "model", "-e", script, stdin=True) as run:
        _, err = run.communicate(OLD)
    assert run.returncode == 1
    assert err.startswith(b'error[FSQL-E534]: table "t" has option "idle"')


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "flags", [(), ("--workers", "2"), ("--state", "state"), ("--state", "state", "--workers", "2")]
)
def test_half_a_line_of_standard_input_is_counted(
    tmp_path: Path, flags: tuple[str, ...], number: signal.Signals
) -> None:
    """What has come of it is dropped; a job that goes on reads only whole lines."""
    script = "CREATE TABLE s (n BIGINT) WITH ('connector' = 'stdin'); SELECT n FROM s;"
    arguments = [str(tmp_path / each) if each == "state" else each for each in flags]
    with process("run", *arguments, "-e", script, stdin=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(b'{"n":1}\n{"n":')
        run.stdin.flush()
        assert run.stdout.readline() == b'{"n":1}\n'
        run.send_signal(number)
        assert run.wait() == 128 + number
        _, err = run.communicate()
    [line] = [line for line in err.decode().splitlines() if line.startswith("  unread ")]
    assert line == "  unread        5 B  received from s, dropped: their line had not ended"
    if "state" not in flags:
        return
    with process("run", "--json", *arguments, "-e", script, stdin=True) as run:
        out, err = run.communicate(b'{"n":2}\n')
    # Standard output has rows after the last snapshot again.
    assert (run.returncode, out.removeprefix(b'{"n":1}\n')) == (0, b'{"n":2}\n')
    assert b'"event": "input"' not in err
    assert summary_of(err)["bytes_unread"] == 0


def test_half_a_line_of_a_killed_run_is_reported_by_the_next(tmp_path: Path) -> None:
    script = "CREATE TABLE s (n BIGINT) WITH ('connector' = 'stdin'); SELECT n FROM s;"
    flags = ("--state", str(tmp_path / "state"))
    with process("run", "-q", *flags, "-e", script, stdin=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(b'{"n":1}\n{"n":')
        run.stdin.flush()
        assert run.stdout.readline() == b'{"n":1}\n'
        run.kill()
    with process("run", "--json", *flags, "-e", script, stdin=True) as run:
        _, err = run.communicate(b'{"n":2}\n')
    assert run.returncode == 0
    assert [event["note"] for event in map(json.loads, err.splitlines()) if "note" in event] == [
        'table "s": the run before ended within a line; the 5 B that it had of this line are dropped'
    ]


@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_a_connection_that_ends_within_a_line_is_reported(flags: tuple[str, ...]) -> None:
    with KeptPort() as port:
        script = (
            "CREATE TABLE s (n BIGINT) WITH ('connector' = 'socket', 'format' = 'csv', 'header' = 'false',"
            f" 'address' = '127.0.0.1:{port.number}'); SELECT n FROM s;"
        )
        with process("run", "--json", *flags, "-e", script) as run:
            assert run.stdout is not None
            assert run.stderr is not None
            run.stderr.readline()
            with socket.create_connection(("127.0.0.1", port.number)) as sender:
                sender.sendall(b"123\n45")
                first = sender.getsockname()[1]
            assert [run.stdout.readline() for _ in range(2)] == [b'{"n":123}\n', b'{"n":45}\n']
            with socket.create_connection(("127.0.0.1", port.number)) as sender:
                sender.sendall(b"6\n7")
                second = sender.getsockname()[1]
                assert run.stdout.readline() == b'{"n":6}\n'
                linger = struct.pack("ii", 1, 0)  # closing it resets the connection
                sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            assert run.stdout.readline() == b'{"n":7}\n'
            run.send_signal(signal.SIGINT)
            assert run.wait() == 130
            events = [json.loads(line) for line in run.stderr]
    assert [event["note"] for event in events if event["event"] == "input"] == [
        f'table "s": the connection from 127.0.0.1:{port} within a line; the {count} B that came are read'
        " as a line"
        for port, count in (
            (f"{first} ended", 2),
            (f"{second} broke (Connection reset by peer)", 1),
        )
    ]
