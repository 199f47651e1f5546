"""Workers that are started by hand, and everybody who is turned away: with a reason and a remedy."""

from __future__ import annotations

import os
import re
import shlex
import signal
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.conftest import ENDLESS
from fsql.tests.cluster.twin import (
    HANGS_AFTER_SECONDS,
    difference,
    has_open_store,
    wait_until,
)
from fsql.tests.command_server import Command, run_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.cluster.nursery import Nursery
    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster


def join_line(twin: Twin) -> list[str]:
    """Return the command that a run says a worker is to be started with, as soon as it says so."""
    pattern = re.compile(
        r"fsql (worker --join .*)\n"
    )  # with the end of the line, which may be half written
    wait_until(lambda: pattern.search(twin.errors()) is not None, "the command to join")
    [command] = pattern.findall(twin.errors())
    return shlex.split(command)


def epochs_of(twin: Twin) -> int:
    """Return how many epochs have been given up."""
    return twin.errors().count("recovery: loading state")


def test_a_run_waits_for_workers_that_join(
    new_twin: Callable[[], Twin], right: dict[str, bytes]
) -> None:
    twin = new_twin()
    twin.start(2, "--joining", "1")
    command = join_line(twin)
    wait_until(lambda: bool(twin.pids("worker")), "its own worker")
    assert twin.written_bytes() == 0
    joined = Command(command)
    assert twin.ended() == 0, twin.errors()
    assert joined.wait() == 0
    assert difference(twin.written(), right) == ""


def test_who_has_another_key_is_not_heard(
    new_twin: Callable[[], Twin], right: dict[str, bytes], tmp_path: Path
) -> None:
    twin = new_twin()
    twin.start(2, "--joining", "1")
    command = join_line(twin)
    other = tmp_path / "other.key"
    other.write_bytes(bytes(32))
    other.chmod(0o600)
    said = tmp_path / "said"
    with said.open("wb") as errors:
        stranger = Command([*command[:-1], str(other)], stderr=errors)
    wait_until(lambda: b"joining the run" in said.read_bytes(), "the stranger")
    wait_until(lambda: bool(twin.pids("worker")), "its own worker")
    joined = Command(command)
    wait_until(twin.advances, "output")
    assert stranger.poll() is None
    stranger.send_signal(signal.SIGINT)
    assert stranger.wait() == 130
    assert twin.ended() == 0, twin.errors()
    assert joined.wait() == 0
    assert difference(twin.written(), right) == ""


def test_a_worker_that_is_stopped_and_replaced_and_goes_on_changes_nothing(
    new_twin: Callable[[], Twin], right: dict[str, bytes], nursery: Nursery
) -> None:
    """Three workers joined where two are wanted: there is a third when one of these is stopped."""
    twin = new_twin()
    twin.start(2, "--joining", "2")
    *_, leader, _, _ = join_line(twin)
    key = twin.state / "cluster.key"
    joined = [nursery.worker(leader, key, twin.directory / "log") for _ in range(3)]
    wait_until(twin.advances, "output")
    wait_until(lambda: any(has_open_store(each.pid) for each in joined), "a worker that takes part")
    first = next(worker for worker in joined if has_open_store(worker.pid))
    os.kill(first.pid, signal.SIGSTOP)
    wait_until(lambda: epochs_of(twin) > 0, "another epoch")
    os.kill(first.pid, signal.SIGCONT)
    assert twin.ended() == 0, twin.errors()
    assert difference(twin.written(), right) == ""
    for worker in joined:
        worker.end_supervision()


def test_a_worker_that_is_stopped_for_good_does_not_hold_up_the_one_in_its_place(
    new_twin: Callable[[], Twin], right: dict[str, bytes], nursery: Nursery
) -> None:
    """Nobody ends it, and it keeps the lock of its store."""
    twin = new_twin()
    twin.start(2, "--joining", "2")
    *_, leader, _, _ = join_line(twin)
    key = twin.state / "cluster.key"
    joined = [nursery.worker(leader, key, twin.directory / "log") for _ in range(3)]
    wait_until(twin.advances, "output")
    wait_until(lambda: any(has_open_store(each.pid) for each in joined), "a worker that takes part")
    first = next(worker for worker in joined if has_open_store(worker.pid))
    os.kill(first.pid, signal.SIGSTOP)
    assert twin.process is not None
    twin.process.wait(HANGS_AFTER_SECONDS)
    assert twin.process.returncode == 0, twin.errors()
    assert has_open_store(first.pid)
    assert difference(twin.written(), right) == ""
    first.kill()
    for worker in joined:
        if worker is not first:
            worker.end_supervision()


def refused(*arguments: str | Path) -> str:
    """Return what a command says that has to fail."""
    done = run_command(map(str, arguments), capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    return done.stderr


def test_addresses_beyond_this_machine_are_refused(tmp_path: Path) -> None:
    key = tmp_path / "cluster.key"
    said = refused("worker", "--join", "tcp://192.0.2.1:7400", "--key", key)
    assert "not on the loopback" in said
    assert "need CURVE keys" in said
    job = "CREATE TABLE t (line STRING) WITH ('connector' = 'words'); SELECT line FROM t;"
    said = refused("run", "--workers", "2", "--listen", "tcp://0.0.0.0:7400", "-e", job)
    assert "not on the loopback" in said


def test_a_state_directory_belongs_to_one_run_and_one_script(
    new_twin: Callable[[int], Twin],
) -> None:
    twin = new_twin(ENDLESS)
    twin.start(1)
    wait_until(twin.advances, "output")
    script = twin.directory / "job.sql"
    assert "another run uses it" in refused("run", script, "--state", twin.state)
    assert twin.end(signal.SIGINT) == 130
    script.write_text(script.read_text().replace("UPPER", "LOWER"))
    assert "is of another job" in refused("run", script, "--state", twin.state)
