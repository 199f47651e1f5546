"""The role of a process, as others see it, also of one whose arguments are odd or that has just ended."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.drivers.processes.process_role import WORKER, processes_below, role_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SET_ROLE = (
    "from fsql.runtime.drivers.processes.process_role import WORKER, set_role;"
    " set_role(WORKER); print(flush=True); input()"
)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Return a process with the role of a worker, and an argument that is not UTF-8."""
    command = [sys.executable, "-c", SET_ROLE, os.fsdecode(b"\xff")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as started:
        assert started.stdout is not None
        assert started.stdout.read(1) == b"\n"
        yield started


def test_arguments_need_not_be_utf_8(process: subprocess.Popen[bytes]) -> None:
    assert role_of(process.pid) == WORKER
    process.communicate()


def test_a_process_that_has_ended_has_no_role(process: subprocess.Popen[bytes]) -> None:
    """Its parent has not waited for it yet."""
    assert process.stdin is not None
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert role_of(process.pid) is None


def test_descendants_come_after_their_parents() -> None:
    child = "print(flush=True); input()"
    parent = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=False)"
    )
    command = [sys.executable, "-c", parent]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stdout.read(1) == b"\n"
        [below] = processes_below(started.pid)
        all_below = processes_below(os.getpid())
        assert all_below.index(started.pid) + 1 == all_below.index(below)
        started.communicate(b"\n")
    assert processes_below(started.pid) == []
