"""Any process of a run is stopped and never goes on: the run does, and writes the right rows.

The launcher itself is not among them: a run whose launcher is stopped waits for it, as Ctrl-Z asks for.
Deployed jobs are stopped by tests/deployment/test_stopped_processes.py.
"""

from __future__ import annotations

import os
import signal
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.test_joining import join_line
from fsql.tests.cluster.twin import difference, has_open_store, script, wait_until
from fsql.tests.command_server import Command, run_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.cluster.nursery import Nursery
    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster

RATE, COUNT = 100, 1_000
"""The lines a second, and all lines, of a job that writes shards."""


@pytest.mark.parametrize("role", ["coordinator", "worker", "fork-server"])
@pytest.mark.parametrize("flags", [(), ("--no-state",)], ids=["state", "no state"])
def test_a_run_goes_on_without_a_process_that_is_stopped_for_good(
    flags: tuple[str, ...], role: str, new_twin: Callable[[], Twin], right: dict[str, bytes]
) -> None:
    twin = new_twin()
    twin.start(3, *flags)
    wait_until(twin.advances, "output")
    wait_until(lambda: bool(twin.pids(role)), f"a {role}")
    os.kill(twin.pids(role)[0], signal.SIGSTOP)
    if role == "fork-server":  # it is needed only when another process has ended
        wait_until(lambda: twin.kill(Random(1), "worker"), "a worker")
    assert twin.ended() == 0, twin.errors()
    assert difference(twin.written(), right) == ""


def test_all_workers_of_a_run_are_stopped_for_good(
    new_twin: Callable[[], Twin], right: dict[str, bytes]
) -> None:
    twin = new_twin()
    twin.start(3)
    wait_until(twin.advances, "output")
    for pid in [*twin.pids("worker"), *twin.pids("coordinator"), *twin.pids("fork-server")]:
        os.kill(pid, signal.SIGSTOP)
    assert twin.ended() == 0, twin.errors()
    assert difference(twin.written(), right) == ""


@pytest.mark.parametrize("role", ["coordinator", "worker"])
def test_shards_are_whole_if_a_process_is_stopped_for_good(
    role: str, new_twin: Callable[[], Twin], tmp_path: Path
) -> None:
    """All workers write shards: there are as many of both."""
    twin = new_twin()
    alone = tmp_path / "alone"
    alone.mkdir()
    for path, text in (
        (twin.directory, script(RATE, COUNT)),
        (alone, script(None, COUNT)),
    ):
        sharded = text.replace("lines.txt', 'format' = 'text'", "lines.jsonl', 'shards' = '3'")
        (path / "job.sql").write_text(sharded)
    run_command(["run", "--quiet", str(alone / "job.sql")], check=True)
    twin.start(3)
    wait_until(twin.advances, "output")
    wait_until(lambda: bool(twin.pids(role)), f"a {role}")
    os.kill(twin.pids(role)[0], signal.SIGSTOP)
    assert twin.ended() == 0, twin.errors()
    written, right = (
        {
            path.name: path.read_bytes()
            for path in directory.iterdir()
            if path.name.startswith("lines")
        }
        for directory in (twin.directory, alone)
    )
    assert len([rows for rows in right.values() if rows]) == 3
    assert difference(written, right) == ""


def test_a_run_says_that_it_waits_for_a_worker_in_place_of_one_that_joined_and_is_stopped(
    new_twin: Callable[[], Twin], right: dict[str, bytes], nursery: Nursery
) -> None:
    twin = new_twin()
    twin.start(2, "--joining", "1")
    *_, leader, _, _ = command = join_line(twin)
    joined = nursery.worker(leader, twin.state / "cluster.key", twin.directory / "log")
    wait_until(twin.advances, "output")
    wait_until(lambda: has_open_store(joined.pid), "a worker that takes part")
    joined.signal(signal.SIGSTOP)
    wait_until(lambda: "waiting for 1 worker" in twin.errors(), "what it waits for")
    other = Command(command)
    assert twin.ended() == 0, twin.errors()
    assert other.wait() == 0
    joined.kill()
    assert difference(twin.written(), right) == ""
