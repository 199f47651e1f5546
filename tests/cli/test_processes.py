"""The command as a process: signals, pipes whose reader goes, terminals and their absence."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from fsql.console.interrupt import Interrupt, Interrupted
from fsql.job.compilation import compile_job
from fsql.job.planning import RunOptions
from fsql.job.run import open_run
from fsql.job.script_file import read_script
from fsql.job.sources import open_splits
from fsql.tests.cli.commands import COMMAND, ENDLESS, NUMBERS, process, without_progress
from fsql.tests.command_server import Command, run_command
from fsql.tests.kept_port import KeptPort

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.runtime.dataflow.metrics import Metrics

pytestmark = pytest.mark.slow

HANGS_AFTER_SECONDS = 300.0
"""What has not ended by then never will; nothing is said about how long it should take."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_a_run_with_whole_lines_and_a_summary(number: signal.Signals) -> None:
    running = process("run", "--json", "-e", ENDLESS, bufsize=0)
    assert running.stdout is not None
    first = running.stdout.readline()
    running.send_signal(number)
    rest, err = running.communicate(timeout=HANGS_AFTER_SECONDS)
    assert running.returncode == 128 + number
    lines = (first + rest).decode().splitlines()
    assert all(line.startswith('{"line":"') and line.endswith('"}') for line in lines)
    summary = json.loads(without_progress(err))
    assert (summary["status"], summary["rows_out"]) == ("interrupted", len(lines))


def test_ctrl_c_ends_the_model_while_it_executes(tmp_path: Path) -> None:
    """It reads all of its input first, in one chunk here, and takes long for what it makes of it."""
    (tmp_path / "numbers.jsonl").write_text("".join(f'{{"n":{n}}}\n' for n in range(50)))
    (tmp_path / "job.sql").write_text(NUMBERS + "SELECT n, COUNT(*) AS c FROM numbers GROUP BY n;")
    result = compile_job(read_script(str(tmp_path / "job.sql"), {}))
    asked = 0

    def check(_: Metrics) -> None:
        nonlocal asked
        asked += 1
        if asked == 20:
            raise Interrupted(signal.SIGINT)

    with open_run(result, open_splits(result), RunOptions(model=True)) as run:
        with pytest.raises(Interrupted):
            run.run(check)
        assert run.metrics.rows_in == 50


def test_ctrl_c_before_anything_runs(tmp_path: Path) -> None:
    # Opening a FIFO for reading waits for somebody to write to it.
    os.mkfifo(tmp_path / "script")
    running = process("run", tmp_path / "script")
    with (tmp_path / "script").open("wb") as script:
        script.write(b"")
        running.send_signal(signal.SIGINT)
    # A signal just before the read begins is seen after it, which ends as the FIFO is closed.
    _, err = running.communicate(timeout=HANGS_AFTER_SECONDS)
    assert (running.returncode, err) == (130, b"")


@pytest.mark.parametrize(
    "imported", ["click", "fsql.cli", "fsql.job.script", "fsql.console.process_run", "zmq"]
)
def test_ctrl_c_while_the_command_is_still_importing(imported: str) -> None:
    press = (
        "import signal, sys\n"
        "class Pressed:\n"
        "  def find_spec(self, name, path, target=None):\n"
        f"    if name == {imported!r}: signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Pressed())\n"
    )
    *python, command = COMMAND
    arguments = ("run", "--workers", "2", "-e", ENDLESS)
    done = subprocess.run(
        [*python, press + command, *arguments],
        capture_output=True,
        check=False,
        timeout=HANGS_AFTER_SECONDS,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_second_ctrl_c_is_raised_at_once() -> None:
    with Interrupt() as interrupt:
        interrupt.check()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Interrupted):
            interrupt.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_sigterm_leaves_nothing_of_a_run_on_processes(tmp_path: Path) -> None:
    running = process("run", "--json", "-w", "2", "-e", ENDLESS, bufsize=0, TMPDIR=str(tmp_path))
    assert running.stdout is not None
    first = running.stdout.readline()
    running.terminate()
    rest, err = running.communicate(timeout=HANGS_AFTER_SECONDS)
    assert running.returncode == 143
    summary = json.loads(err.splitlines()[-1])
    assert summary["status"] == "interrupted"
    assert (first + rest).endswith(b'"}\n')
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "-e", ENDLESS),
        ("run", "--workers", "2", "-e", ENDLESS),
        ("explain", "-e", ENDLESS),
    ],
)
def test_a_reader_that_has_had_enough_is_no_error(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = run_command(
        arguments,
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=HANGS_AFTER_SECONDS,
    )
    os.close(writing)
    assert (done.returncode, without_progress(done.stderr)) == (0, b"")


def test_standard_output_that_is_closed() -> None:
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND]
    done = subprocess.run(
        [*command, "run", "-e", ENDLESS],
        stderr=subprocess.PIPE,
        check=False,
        timeout=HANGS_AFTER_SECONDS,
    )
    assert done.returncode == 1
    assert done.stderr == (b"error[FSQL-E532]: standard output cannot be written: it is closed\n")


def test_standard_output_that_is_full() -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = run_command(
            ["run", "-e", ENDLESS],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=HANGS_AFTER_SECONDS,
        )
    assert done.returncode == 1
    assert done.stderr == (
        b'error[FSQL-E535]: writing "standard output" failed: no space left on device\n'
        b"  = note: its last row may be incomplete\n"
        b"  = help: free space on its disk, and run it again\n"
    )


def test_a_closed_standard_output_does_not_matter_to_who_writes_files(tmp_path: Path) -> None:
    (tmp_path / "numbers.jsonl").write_text('{"n":1}\n')
    (tmp_path / "copy.sql").write_text(
        f"{NUMBERS}"
        "CREATE TABLE copied (n BIGINT) WITH ('connector' = 'file', 'path' = 'copied.jsonl');\n"
        "INSERT INTO copied SELECT n FROM numbers;\n"
    )
    command = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *COMMAND]
    done = subprocess.run(
        [*command, "run", str(tmp_path / "copy.sql")], check=False, timeout=HANGS_AFTER_SECONDS
    )
    assert done.returncode == 0
    assert (tmp_path / "copied.jsonl").read_text() == '{"n":1}\n'


def test_more_files_than_a_process_may_open_at_first(tmp_path: Path) -> None:
    (tmp_path / "numbers.jsonl").mkdir()
    for number in range(300):
        (tmp_path / "numbers.jsonl" / f"{number}.jsonl").write_text(f'{{"n":{number}}}\n')
    (tmp_path / "sum.sql").write_text(f"{NUMBERS}SELECT SUM(n) AS total FROM numbers;\n")
    command = ["sh", "-c", 'ulimit -Sn 256 && exec "$@"', "sh", *COMMAND]
    done = subprocess.run(
        [*command, "run", "-q", str(tmp_path / "sum.sql")],
        stdout=subprocess.PIPE,
        check=False,
        timeout=HANGS_AFTER_SECONDS,
    )
    assert done.returncode == 0
    assert done.stdout.endswith(b'{"op":"+U","total":44850}\n')


def test_rows_come_through_while_standard_input_stays_open() -> None:
    script = (
        "CREATE TABLE lines (line STRING) WITH ('connector' = 'stdin', 'format' = 'text');\n"
        "SELECT UPPER(line) AS line FROM lines;\n"
    )
    running = Command(["run", "-q", "-e", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert running.stdin is not None
    assert running.stdout is not None
    for line in (b"one\n", b"two\n"):
        running.stdin.write(line)
        running.stdin.flush()
        assert running.stdout.readline() == b'{"line":"%s"}\n' % line.strip().upper()
    running.stdin.close()
    assert running.wait(timeout=HANGS_AFTER_SECONDS) == 0
    running.stdout.close()


def on_terminal(*arguments: str, **variables: str) -> str:
    """Run the command with a terminal for standard error; return what the terminal was sent."""
    terminal, standard_error = pty.openpty()
    running = Command(
        arguments,
        stdout=subprocess.DEVNULL,
        stderr=standard_error,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **variables},
    )
    os.close(standard_error)
    sent = []
    while True:
        try:
            block = os.read(terminal, 65_536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        sent.append(block)
    os.close(terminal)
    assert running.wait(timeout=HANGS_AFTER_SECONDS) == 0
    return b"".join(sent).decode()


BRIEF = ENDLESS.replace("'2000'", "'2000', 'count' = '1000'")
_COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")


def test_a_terminal_is_shown_a_panel_and_then_the_summary() -> None:
    sent = on_terminal("run", "-e", BRIEF)
    assert "╭─ <command line> ─" in sent
    for name in ("rows in", "rows out", "freshness", "state", "late", "rejected", "repairs"):
        assert name in sent
    assert _COLOUR.search(sent)
    assert sent.rindex("finished after") > sent.rindex("╰─")


@pytest.mark.parametrize(("flags", "variables"), [(("--no-color",), {}), ((), {"NO_COLOR": "1"})])
def test_a_panel_without_colours(flags: tuple[str, ...], variables: dict[str, str]) -> None:
    sent = on_terminal("run", *flags, "-e", BRIEF, **variables)
    assert "rows in" in sent
    assert not _COLOUR.search(sent)


def test_quiet_leaves_the_terminal_alone() -> None:
    assert on_terminal("run", "--quiet", "-e", BRIEF) == ""


def test_errors_are_coloured_on_a_terminal() -> None:
    terminal, standard_error = pty.openpty()
    done = run_command(
        ["run", "-e", "SELCT"],
        stderr=standard_error,
        check=False,
        timeout=HANGS_AFTER_SECONDS,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(standard_error)
    assert done.returncode == 1
    assert os.read(terminal, 65_536).startswith(b"\x1b[1;31merror[FSQL-E101]\x1b[0m")
    os.close(terminal)


def test_without_a_terminal_there_is_no_panel() -> None:
    running = process("run", "-e", BRIEF)
    _, err = running.communicate(timeout=HANGS_AFTER_SECONDS)
    assert running.returncode == 0
    assert without_progress(err).startswith(b"finished after ")
    assert b"\x1b" not in err


def test_a_run_reads_what_comes_by_a_socket(tmp_path: Path) -> None:
    script = tmp_path / "job.sql"
    with KeptPort() as port:
        script.write_text(
            "CREATE TABLE lines (n BIGINT) WITH ('connector' = 'socket',"
            f" 'address' = '127.0.0.1:{port.number}', 'ends' = 'connection');\n"
            "SELECT n + 1 AS n FROM lines;\n"
        )
        with process("run", "--quiet", script) as run:
            assert run.stdout is not None
            with connected(port.number, run) as sender:
                sender.sendall(b'{"n":1}\n')
                assert run.stdout.readline() == b'{"n":2}\n'
                sender.sendall(b'{"n":2}\n{"n":3}')
            assert run.stdout.read() == b'{"n":3}\n{"n":4}\n'
            assert run.wait() == 0


def connected(port: int, listener: subprocess.Popen[bytes]) -> socket.socket:
    """Connect as soon as the process listens."""
    while listener.poll() is None:
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.05)
    raise AssertionError(listener.communicate())


def test_a_file_that_grows_after_its_end_is_refused(tmp_path: Path) -> None:
    """Its new rows would be neither counted nor late nor rejected."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"n":1}\n{"n":2}\n')
    script = tmp_path / "job.sql"
    tables = "".join(
        f"CREATE TABLE {name} (n BIGINT) WITH ('connector' = 'file', 'path' = '{name}.jsonl');\n"
        for name in ("a", "b")
    )
    script.write_text(f"{tables}SELECT n FROM a UNION ALL SELECT n FROM b;")
    run = ("run", "--quiet", "--state", str(tmp_path / "state"), str(script))
    run_command(run, check=True, stdout=subprocess.DEVNULL)
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write('{"n":3}\n')
    said = run_command(run, capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert said.stderr.startswith(
        'error[FSQL-E538]: split "a.jsonl" of table "a" has grown since its end was read\n'
    )
