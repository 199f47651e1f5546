"""Any process of deployed jobs is stopped and never goes on: the job does, and its rows are the right ones.

Runs of `fsql run` are stopped by tests/cluster/test_stopped_processes.py.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from fsql.deployment.machines import machine_of
from fsql.runtime.drivers.processes.process_role import processes_below, role_of
from fsql.tests.cluster.twin import OUTPUTS, difference, expected, process_state, script
from fsql.tests.deployment.cluster import kill, size_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.deployment.cluster import TestCluster

pytestmark = pytest.mark.cluster


def runner(cluster: TestCluster) -> int:
    """Return the process of the job that starts the others."""
    job, _ = cluster.directory.find_job("words")
    found = job.runner()
    assert found
    return found


def of_role(role: str) -> Callable[[TestCluster], int]:
    """Return what finds a process below that of the job."""

    def find(cluster: TestCluster) -> int:
        found: list[int] = []

        def is_there() -> bool:
            found[:] = [pid for pid in processes_below(runner(cluster)) if role_of(pid) == role]
            return bool(found)

        cluster.wait_until(is_there)
        return found[0]

    return find


ROLES: dict[str, Callable[[TestCluster], int]] = {
    "the process of the job": runner,
    "coordinator": of_role("coordinator"),
    "worker": of_role("worker"),
}


def stop(pid: int) -> None:
    """Stop a process for good."""
    os.kill(pid, signal.SIGSTOP)


def deploy(cluster: TestCluster, directory: Path, *flags: str) -> Path:
    """Deploy a job that lasts as long as a test needs; return the larger of its outputs."""
    path = directory / "work" / "job.sql"
    path.parent.mkdir()
    path.write_text(script(300, None))
    cluster.call("deploy", path, "--name", "words", *flags, "--quiet")
    cluster.wait_for_snapshot("words")
    return path.parent / "lines.txt"


def check_output(cluster: TestCluster, directory: Path) -> None:
    """Drain the job when it has written more; check all that it has written."""
    work, twin = directory / "work", directory / "twin"
    lines = cluster.drain_later("words", work / "lines.txt")
    written = {name: (work / name).read_bytes() for name in OUTPUTS}
    twin.mkdir()
    assert difference(written, expected(twin, lines)) == ""


def wait_for_end(cluster: TestCluster, pid: int) -> None:
    """Wait until a process is gone, or nothing but its exit status is left."""

    def has_ended() -> bool:
        try:
            return process_state(pid) == "Z"
        except OSError:
            return True

    cluster.wait_until(has_ended)


@pytest.mark.parametrize("role", ROLES)
def test_a_job_goes_on_without_a_process_that_is_stopped_for_good(
    role: str, cluster: TestCluster, tmp_path: Path
) -> None:
    deploy(cluster, tmp_path, "--workers", "2")
    stopped = ROLES[role](cluster)
    stop(stopped)
    wait_for_end(cluster, stopped)
    cluster.wait_for_state("words", "running")
    check_output(cluster, tmp_path)


def test_a_job_goes_on_if_all_of_its_processes_are_stopped_for_good(
    cluster: TestCluster, tmp_path: Path
) -> None:
    """None of them notices that the one above it is killed."""
    deploy(cluster, tmp_path, "--workers", "2")
    above = runner(cluster)
    stopped = [above, *processes_below(above)]
    assert {role_of(pid) for pid in stopped} >= {"coordinator", "worker", "fork-server"}
    for pid in stopped:
        stop(pid)
    for pid in stopped:
        wait_for_end(cluster, pid)
    check_output(cluster, tmp_path)


def test_a_worker_of_another_machine_is_stopped_for_good(
    cluster: TestCluster, tmp_path: Path
) -> None:
    """Only the agent of its machine can end it."""
    cluster.call("up", "--machine", "m2", "--quiet")
    try:
        deploy(cluster, tmp_path, "--workers", "2", "--on", "m2=1")
        machine = machine_of(cluster.directory, "m2")
        [worker] = machine.workers()
        stop(worker.pid)
        wait_for_end(cluster, worker.pid)
        assert f"job words: worker {worker.pid} has stood still" in machine.log.read_text()
        check_output(cluster, tmp_path)
    finally:
        cluster.call("down", "--machine", "m2")


def test_agents_that_are_stopped_stop_no_job_and_are_named(
    cluster: TestCluster, tmp_path: Path
) -> None:
    cluster.call("up", "--machine", "m2", "--quiet")
    output = deploy(cluster, tmp_path, "--workers", "2", "--on", "m2=1")
    machine = machine_of(cluster.directory, "m2")
    agents = [cluster.directory.agent(), machine.agent()]
    for agent in agents:
        assert agent
        stop(agent)
    size = size_of(output)
    cluster.wait_until(lambda: size_of(output) > size)
    for agent, name, *command in (
        (agents[0], f'the agent of "{cluster.path}"', "stop", "words"),
        (agents[0], f'the agent of "{cluster.path}"', "up"),
        (agents[1], "the agent of machine m2", "up", "--machine", "m2"),
        (agents[1], "the agent of machine m2", "down", "--machine", "m2"),
    ):
        said = cluster.say(*command)
        assert (said.code, said.err) == (
            1,
            (
                f"error[FSQL-E631]: {name}, process {agent}, is stopped\n"
                "  = note: jobs go on without it, but nobody restarts them if they end\n"
                f"  = help: let it go on: kill -CONT {agent}\n"
                f"  = help: or end it, and start another with fsql up: kill -KILL {agent}\n"
            ),
        )
    for agent in agents:
        assert agent
        kill(agent)
        wait_for_end(cluster, agent)
    cluster.call("up", "--quiet")
    cluster.call("up", "--machine", "m2", "--quiet")
    check_output(cluster, tmp_path)
    cluster.call("down", "--machine", "m2")
