"""What keeps a run on processes from starting is said once, by its own code."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from fsql.job.listener import joining_address, open_listener
from fsql.runtime.cluster.frames import COORDINATOR, Heartbeat
from fsql.runtime.drivers.transport import ZeroMqTransport
from fsql.runtime.key_file import load_or_create_key
from fsql.runtime.wire.seal import VERSION, Seal
from fsql.tests.cli.commands import NUMBERS, fsql, process
from fsql.tests.cluster.twin import wait_until
from fsql.tests.command_server import Command, run_command

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
CREATE TABLE numbers (n BIGINT, line STRING) WITH (
  'connector' = 'words', 'count' = '1500', 'rate' = '1000', 'seed' = '1',
  'vocabulary' = '10', 'words_per_line' = '1'
);
CREATE TABLE out (n BIGINT) WITH ('connector' = 'file', 'path' = 'out.ndjson', 'format' = 'json');
INSERT INTO out SELECT n FROM numbers;
"""


def script(directory: Path) -> Path:
    """Write a script that runs for a second and a half."""
    path = directory / "script.sql"
    path.write_text(SCRIPT)
    return path


def test_an_address_elsewhere(tmp_path: Path) -> None:
    said = fsql(
        "run", "--quiet", "--workers", "2", "--listen", "tcp://0.0.0.0:5000", script(tmp_path)
    )
    assert said.code == 1
    assert said.err.count("FSQL-E") == 1
    assert "FSQL-E601" in said.err


def test_what_is_kept_is_for_its_owner_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    copy = "CREATE TABLE s (n BIGINT) WITH ('connector' = 'stdin'); SELECT n FROM s;"
    run = ("run", "--quiet", "--snapshot-ms", "50", "--state", str(state), "-e", copy)
    run_command(run, input=b'{"n":1}\n', check=True)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [state, *state.iterdir()]}
    assert {"snapshots": 0o700, **modes} == {
        "state": 0o700,
        "cluster.key": 0o600,
        "coordination.sqlite": 0o600,
        "front-log": 0o700,
        "job.json": 0o600,
        "lock": 0o600,
        "over": 0o600,
        "ends": 0o600,
        "positions": 0o700,
        "snapshots": 0o700,
        "worker-0": 0o700,
    }


def test_a_lost_coordination_file_is_no_beginning(tmp_path: Path) -> None:
    run = ("run", "--quiet", "--snapshot-ms", "20", "--state", tmp_path / "state")
    assert fsql(*run, script(tmp_path)).code == 0
    assert list((tmp_path / "state" / "snapshots").iterdir())
    (tmp_path / "state" / "coordination.sqlite").unlink()
    said = fsql(*run, script(tmp_path))
    assert said.code == 1
    assert said.err.count("FSQL-") == 1
    assert "FSQL-E615" in said.err


def test_snapshots_whose_job_is_not_known_are_no_beginning(tmp_path: Path) -> None:
    (tmp_path / "state" / "snapshots").mkdir(parents=True)
    said = fsql("run", "--quiet", "--state", tmp_path / "state", script(tmp_path))
    assert said.code == 1
    assert "FSQL-E621" in said.err
    assert 'no "job.json"' in said.err


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:5000", "is not of the form tcp://127.0.0.1:PORT"),
        ("tcp://127.0.0.1", "is not of the form tcp://127.0.0.1:PORT"),
        ("tcp://127.0.0.1:65536", "is not of the form tcp://127.0.0.1:PORT"),
        ("tcp://0.0.0.0:5000", "is not on the loopback of this machine"),
    ],
)
def test_an_address_is_refused_before_anything_starts(
    tmp_path: Path, address: str, message: str
) -> None:
    said = fsql("run", "--listen", address, "--state", tmp_path / "state", script(tmp_path))
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f'error[FSQL-E601]: address "{address}" {message}\n')
    assert said.err.count("FSQL-") == 1
    assert not (tmp_path / "state").exists()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        said = fsql("run", "--listen", address, script(tmp_path))
    assert said.code == 1
    assert said.err == (
        f'error[FSQL-E603]: the run cannot listen on "{address}": address already in use\n'
        "  = help: use another port, or omit --listen to use any free port\n"
    )


@pytest.mark.parametrize("wanted", ["tcp://127.0.0.1:*", None])
def test_any_port_is_one_that_workers_can_join_at_and_nobody_else_can_take(
    wanted: str | None,
) -> None:
    with open_listener(wanted) as listening, socket.socket() as other:
        assert re.fullmatch(r"tcp://127\.0\.0\.1:[1-9]\d*", joining_address(listening))
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(listening.getsockname())


def test_a_worker_makes_no_key(tmp_path: Path) -> None:
    key = tmp_path / "cluster.key"
    said = fsql("worker", "--join", "tcp://127.0.0.1:5000", "--key", key)
    assert said.code == 1
    assert said.err == (
        f'error[FSQL-E602]: the key "{key}" cannot be used: there is no such file\n'
        "  = help: the run creates it, as cluster.key in its state directory\n"
    )
    assert not key.exists()


def test_a_worker_that_hears_nothing_says_so(tmp_path: Path) -> None:
    key = tmp_path / "cluster.key"
    load_or_create_key(key)
    with open_listener(None) as silent:
        leader = joining_address(silent)
        worker = process("worker", "--join", leader, "--key", key)
        assert worker.stderr is not None
        said = [worker.stderr.readline().decode() for _ in range(2)]
        worker.terminate()
        worker.communicate()
    assert said == [
        f"joining the run at {leader}\n",
        f"no message from {leader}: is a run there, and is {key} its key?\n",
    ]


def test_a_worker_does_not_wait_for_ever(tmp_path: Path) -> None:
    key = tmp_path / "cluster.key"
    load_or_create_key(key)
    with open_listener(None) as silent:
        leader = joining_address(silent)
        said = fsql("worker", "--join", leader, "--key", key, "--timeout", "0.3")
    assert said.code == 1
    assert said.err == (
        f"joining the run at {leader}\n"
        f"error[FSQL-E604]: no message from {leader} for 0.3 s\n"
        "  = help: Start the run first, and use the command that it prints; "
        "`--timeout` sets how long to wait.\n"
    )


def test_a_worker_of_another_version_and_the_run_tell_each_other(tmp_path: Path) -> None:
    key = tmp_path / "cluster.key"
    other = ZeroMqTransport(load_or_create_key(key))
    later = Seal(load_or_create_key(key), version=VERSION + 1)
    setattr(other, "_seal", later)  # noqa: B010 - as no user can
    worker = process("worker", "--join", other.address, "--key", key)
    wait_until(lambda: bool(other.receive(0.01)) or bool(other.other_versions), "a worker")
    [address] = other.other_versions
    other.send(address, Heartbeat("job", 0, COORDINATOR))
    _, said = worker.communicate()
    other.close()
    assert worker.returncode == 1
    wrong = f"the run at {other.address} is of another version: its wire format is {VERSION + 1}"
    silence = f"no message from {other.address}: is a run there, and is {key} its key?"
    # Where starting takes long, it says so before it is answered.
    assert [line for line in said.decode().splitlines()[1:] if line != silence] == [
        f"error[FSQL-E605]: {wrong}",
        f"  = note: this worker's wire format is {VERSION}",
        "  = help: Start the worker with the same version of fsql as the run.",
    ]


def test_the_model_keeps_no_state(tmp_path: Path) -> None:
    said = fsql("run", "--engine", "model", "--state", tmp_path / "state", script(tmp_path))
    assert said.code == 2
    assert said.err.endswith(
        "Error: --state cannot be used with --engine model, which runs in one process\n",
    )


def test_a_job_continues_with_another_rate(tmp_path: Path) -> None:
    """At the first rate, it would take twelve minutes."""
    path, written = script(tmp_path), tmp_path / "out.ndjson"
    run = ("run", "--quiet", "--snapshot-ms", "50", "--state", str(tmp_path / "state"), str(path))
    path.write_text(SCRIPT.replace("'rate' = '1000'", "'rate' = '2'"))
    with Command(run) as slow:
        wait_until(lambda: written.exists() and written.stat().st_size > 0, "a row")
        slow.send_signal(signal.SIGTERM)
    path.write_text(SCRIPT.replace("'rate' = '1000'", "'rate' = '1000000'"))
    assert fsql(*run) == (0, "", "")
    assert written.read_text() == "".join(f'{{"n":{number}}}\n' for number in range(1500))


def test_a_state_directory_says_what_it_is_of(tmp_path: Path) -> None:
    state, path = tmp_path / "state", tmp_path / "script.sql"
    path.write_text(SCRIPT.replace("1500", "${count}"))
    run = ("run", "--quiet", "--state", state, path)
    assert fsql(*run, "-D", "count=2").code == 0
    assert fsql(*run, "-D", "count=3").err == (
        f'error[FSQL-E622]: the state directory "{state}" is of a job with other parameters\n'
        '  = note: count was "2", and is now "3"\n'
        "  = help: use another state directory, or run the job that this one belongs to\n"
    )
    other = path.with_name("other.sql")
    other.write_text(SCRIPT)
    assert fsql("run", "--state", state, other).err == (
        f'error[FSQL-E622]: the state directory "{state}" is of another job\n'
        f"  = note: the job was started with {path}\n"
        "  = help: use another state directory, or run the job that this one belongs to\n"
    )


def test_state_is_of_a_plan_not_of_a_text(tmp_path: Path) -> None:
    state, path = tmp_path / "state", tmp_path / "script.sql"
    path.write_text(SCRIPT)
    assert fsql("run", "--quiet", "--state", state, path).code == 0
    other = path.with_name("other.sql")
    other.write_text("-- The same.\n" + SCRIPT.replace("SELECT ", "select\n  ") + "\n")
    assert fsql("run", "--quiet", "--state", state, other, "-D", "unused=1").code == 0


def test_state_of_another_plan_is_refused(tmp_path: Path) -> None:
    """A compiler that makes another plan of the same script would take state for what it is not."""
    state, path = tmp_path / "state", script(tmp_path)
    assert fsql("run", "--quiet", "--state", state, path).code == 0
    job = json.loads((state / "job.json").read_bytes())
    (state / "job.json").write_text(json.dumps({**job, "plan": "0" * 64}))
    said = fsql("run", "--quiet", "--state", state, path)
    assert said.code == 1
    assert said.err == (
        "error[FSQL-E623]: the description of the job is invalid:"
        " this version of fsql compiles the script to another plan\n"
        "  = help: use one version of fsql for all processes of a job and for its state\n"
    )


def test_a_job_that_is_over_says_so(tmp_path: Path) -> None:
    state, path = tmp_path / "state", tmp_path / "script.sql"
    (tmp_path / "numbers.jsonl").write_text('{"n":1}\n')
    path.write_text(
        NUMBERS + "CREATE TABLE out (n BIGINT)"
        " WITH ('connector' = 'file', 'path' = 'out.jsonl');\n"
        "INSERT INTO out SELECT n FROM numbers;\n"
    )
    first = fsql("run", "--state", state, path)
    assert (first.code, "already finished" in first.err) == (0, False)
    again = fsql("run", "--state", state, path)
    assert again.code == 0
    assert again.err.startswith(
        "this job has already finished: only rows that its outputs lack are written\n"
        f"  to read its input again, use another directory than --state {state}\n"
    )
    (tmp_path / "numbers.jsonl").write_text('{"n":1}\n{"n":2}\n')
    grown = fsql("run", "--quiet", "--state", state, path)
    assert (grown.code, grown.err) == (
        1,
        (
            'error[FSQL-E538]: split "numbers.jsonl" of table "numbers" has grown since its end was read\n'
            "  = note: it ended after row 1, at byte 8, and results were released\n"
            "  = help: remove what was added\n"
            "  = help: or start the job again, with an empty state directory\n"
        ),
    )
    assert (tmp_path / "out.jsonl").read_text() == '{"n":1}\n'
