"""Processes that wait to become others: what they get, and what takes their place if they have ended."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.drivers.processes import warm_processes
from fsql.runtime.drivers.processes.warm_processes import WarmProcesses

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

SCRIPT = """
import os, sys
from fsql.runtime.drivers.processes.warm_processes import wait_for_orders
arguments, waited = sys.argv[1:], sys.argv[1] == "warm"
if waited:
    arguments = wait_for_orders(int(arguments[2]))
if arguments is not None:
    found = os.read(int(arguments[-1]), 10).decode()
    print(waited, *arguments[:-1], os.getcwd(), found, sys.stdin.read(), flush=True)
"""


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmProcesses]:
    monkeypatch.setattr(warm_processes, "COMMAND", (sys.executable, "-c", SCRIPT))
    made = WarmProcesses()
    yield made
    made.close()


@pytest.fixture
def reading() -> Iterator[int]:
    """Return a descriptor that a process can read."""
    end, writing = os.pipe()
    os.write(writing, b"data")
    os.close(writing)
    yield end
    os.close(end)


def said(process: subprocess.Popen[bytes]) -> str:
    return process.communicate(b"input")[0].decode()


def take(processes: WarmProcesses, role: str, reading: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT, role, "--state", "s", str(reading)]
    return processes.take(command, [reading])


def test_a_process_that_waits_gets_arguments_directory_and_descriptors(
    processes: WarmProcesses, reading: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes.start(["worker", "coordinator"])
    processes.wait_until_ready(600)
    monkeypatch.chdir(tmp_path)
    coordinator = take(processes, "coordinator", reading)
    assert said(coordinator) == f"True coordinator --state s {tmp_path} data input\n"


def test_a_process_may_get_its_orders_before_it_waits_for_them(
    processes: WarmProcesses, reading: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes.start(["worker"])
    monkeypatch.chdir(tmp_path)
    worker = take(processes, "worker", reading)
    assert said(worker) == f"True worker --state s {tmp_path} data input\n"


def test_a_new_process_is_started_if_none_waits(processes: WarmProcesses, reading: int) -> None:
    processes.start(["worker"])
    coordinator = take(processes, "coordinator", reading)
    assert said(coordinator).startswith("False coordinator ")


def test_a_new_process_takes_the_place_of_one_that_has_ended(
    processes: WarmProcesses, reading: int
) -> None:
    processes.start(["worker"])
    [waiting] = [each.process for each in processes._waiting]
    waiting.kill()
    waiting.wait()
    assert said(take(processes, "worker", reading)).startswith("False worker ")


def test_processes_that_are_not_needed_end(processes: WarmProcesses) -> None:
    processes.start(["worker"])
    [waiting] = [each.process for each in processes._waiting]
    processes.close()
    assert waiting.returncode is not None
