"""Agents of other machines: they run workers of jobs, and any process of theirs may be killed.

Here all machines are this one; tests/cluster/test_keys_page.py has two, with keys.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from fsql.deployment.machines import MachineStatus, machine_of
from fsql.tests.cluster.twin import OUTPUTS, difference, expected, script
from fsql.tests.deployment.cluster import TestCluster, kill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.cluster


@pytest.fixture
def machines(cluster: TestCluster) -> Iterator[TestCluster]:
    """Return a cluster with two other machines."""
    for name in ("m2", "m3"):
        cluster.call("up", "--machine", name, "--quiet")
    yield cluster
    for name in ("m2", "m3"):
        cluster.say("down", "--machine", name)


def processes_of(cluster: TestCluster, machine: str) -> dict[str, int]:
    """Return the processes of a machine, as its agent reports them, by role."""
    found = json.loads(cluster.call("ps", "--json").out)["processes"]
    return {each["role"]: each["pid"] for each in found if each["machine"] == machine}


def wait_for_worker(cluster: TestCluster, machine: str, *others: int) -> int:
    """Return the worker of a machine once there is one that is none of `others`."""
    found: list[int] = []

    def is_there() -> bool:
        worker = processes_of(cluster, machine).get("worker")
        found[:] = [] if worker is None or worker in others else [worker]
        return bool(found)

    cluster.wait_until(is_there)
    return found[0]


def test_workers_and_agents_of_machines_are_killed_and_no_byte_is_different(
    machines: TestCluster, tmp_path: Path
) -> None:
    for name in ("twin", "work"):
        (tmp_path / name).mkdir()
    path = tmp_path / "work" / "job.sql"
    path.write_text(script(300, None))
    machines.call(
        "deploy", path, "--name", "words", "-w", "3", "--on", "m2=1", "--on", "m3=1", "-q"
    )
    machines.wait_for_snapshot("words")
    first = wait_for_worker(machines, "m2")
    kill(first)
    second = wait_for_worker(machines, "m2", first)

    # A worker outlives the agent, whose successor finds it.
    agent = machine_of(machines.directory, "m2").agent()
    assert agent
    kill(agent)
    machines.wait_until(lambda: machine_of(machines.directory, "m2").agent() is None)
    machines.call("up", "--machine", "m2", "--quiet")
    assert wait_for_worker(machines, "m2") == second

    # Another process runs the job, and listens elsewhere: the workers join it.
    other = wait_for_worker(machines, "m3")
    machines.kill_job("words")
    wait_for_worker(machines, "m2", second)
    wait_for_worker(machines, "m3", other)
    lines = machines.drain_later("words", path.parent / "lines.txt")
    written = {name: (path.parent / name).read_bytes() for name in OUTPUTS}
    assert difference(written, expected(tmp_path / "twin", lines)) == ""
    machines.wait_until(lambda: set(processes_of(machines, "m2")) == {"agent"})


def test_a_machine_that_does_not_report_is_named(machines: TestCluster, tmp_path: Path) -> None:
    path = tmp_path / "job.sql"
    path.write_text(script(100, None))
    machines.call("down", "--machine", "m3")
    machines.call("deploy", path, "--name", "words", "-w", "2", "--on", "m3=1", "--quiet")
    waits = (
        "it waits for a worker of machine m3, whose agent does not report:"
        f" fsql up --machine m3 --dir {machines.path}"
    )
    machines.wait("words", lambda status: waits in status["why"])
    machines.call("up", "--machine", "m3")
    machines.wait_for_state("words", "running")
    machines.call("stop", "words")
    machines.wait_until(lambda: set(processes_of(machines, "m3")) == {"agent"})
    checks = json.loads(machines.call("doctor", "--json").out)["checks"]
    assert [each["passed"] for each in checks if each["name"].startswith("machine")] == [True] * 2


def test_what_is_wrong_is_said(cluster: TestCluster, tmp_path: Path) -> None:
    def error(*arguments: str | Path, where: TestCluster = cluster) -> str:
        said = where.say(*arguments)
        assert said.code != 0
        return said.err

    none = TestCluster(tmp_path / "none")
    assert error("up", "--machine", "m2", where=none) == (
        f'error[FSQL-E632]: "{none.path}" is not a cluster directory\n'
        "  = help: name one that this machine shares with that of the agent: --dir DIR\n"
        "  = help: or make it on the machine of the agent: fsql up --dir DIR\n"
    )
    assert not none.path.exists()
    name = 'error[FSQL-E634]: "../m" cannot be the name of a machine'
    assert error("up", "--machine", "../m").splitlines()[0] == name
    assert error("down", "--machine", "m2") == (
        "error[FSQL-E631]: the agent of machine m2 does not run\n"
        f"  = help: start it: fsql up --machine m2 --dir {cluster.path}\n"
    )
    assert "error[FSQL-E646]" in error("up", "--machine", "m2", "--keys", "none")
    path = tmp_path / "job.sql"
    path.write_text(script(100, 1))
    assert error("deploy", path, "--on", "../m=1", "--quiet").splitlines()[0] == name
    assert '"m2=x" is not of the form name=number' in error("deploy", path, "--on", "m2=x")
    more = "--joining and --on together cannot be more than --workers"
    assert more in error("deploy", path, "--on", "m2=1", "--joining", "1")
    assert "--listen requires --machine" in error("up", "--listen", "tcp://127.0.0.1:*")
    both = "--stats and --coordination cannot be used with --machine"
    assert both in error("up", "--machine", "m2", "--stats", "built-in")


def test_another_host_and_an_old_report_are_named(cluster: TestCluster) -> None:
    machine = machine_of(cluster.directory, "m2")
    machine.create()
    status = MachineStatus("elsewhere", "0.0.1", time.time())
    machine.set_status(status)
    assert cluster.say("down", "--machine", "m2").err == (
        "error[FSQL-E631]: the agent of machine m2 runs on elsewhere\n"
        f"  = help: on that machine: fsql down --machine m2 --dir {cluster.path}\n"
    )
    said = cluster.say("doctor")
    assert (
        "✗ machine m2: on elsewhere, version 0.0.1;"
        " install the same version of fsql on all machines\n"
    ) in said.out
    machine.set_status(replace(status, updated=time.time() - 60))
    silent = (
        r"✗ machine m2: its agent on elsewhere has not reported for \d+ s; on that machine: fsql up"
    )
    assert re.search(silent, cluster.say("doctor").out)
