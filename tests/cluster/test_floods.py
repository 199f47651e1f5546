"""Connections that say nothing, to every socket on which a run listens: the run goes on, and ends."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.drivers.processes.process_role import processes_below
from fsql.tests.cluster.test_joining import join_line
from fsql.tests.cluster.twin import difference, wait_until
from fsql.tests.command_server import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster

CONNECTIONS = 100
_LISTENS = "0A"


def listening_ports(pid: int) -> set[int]:
    """Return the ports on which a process listens, by `/proc`."""
    inodes = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
        except OSError:  # it was closed meanwhile
            continue
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {
        int(line[1].partition(":")[2], 16)
        for line in lines
        if line[3] == _LISTENS and line[9] in inodes
    }


def test_idle_connections_keep_no_process_from_its_work(
    new_twin: Callable[[], Twin], right: dict[str, bytes]
) -> None:
    """A worker joins after them, by new connections to all others."""
    twin = new_twin()
    twin.start(3, "--joining", "1", "--apart")
    command = join_line(twin)
    wait_until(lambda: len(twin.pids("worker")) == 2, "its own workers")
    assert twin.process is not None
    with ExitStack() as stack:

        def flood() -> int:
            """Connect to all sockets of the run; return how many there are."""
            assert twin.process is not None
            processes = [twin.process.pid, *processes_below(twin.process.pid)]
            ports = set().union(*map(listening_ports, processes))
            for port in ports:
                for _ in range(CONNECTIONS):
                    stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            return len(ports)

        assert flood() >= 3  # the coordinator and two workers
        joined = Command(command)
        wait_until(twin.advances, "output")
        flood()
        assert twin.ended() == 0, twin.errors()
        assert joined.wait() == 0
    assert difference(twin.written(), right) == ""
