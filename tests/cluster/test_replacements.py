"""A worker, the coordinator and the fork server are killed in turn; each time the run goes on.

Cannot catch: a replacement that takes as long as a new process would.
"""

from __future__ import annotations

import os
import signal
from random import Random
from typing import TYPE_CHECKING

from fsql.tests.cluster.conftest import ENDLESS
from fsql.tests.cluster.twin import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.tests.cluster.twin import Twin


def replace(twin: Twin, role: str) -> None:
    """Kill a process with a role, and wait until another one is there and rows come again."""
    before = twin.pids(role)
    assert twin.kill(Random(1), role)
    wait_until(lambda: bool(set(twin.pids(role)) - set(before)), f"another {role}")
    wait_until(twin.advances, "rows")


def test_processes_are_replaced_also_when_the_fork_server_has_ended(
    new_twin: Callable[..., Twin],
) -> None:
    twin = new_twin(ENDLESS)
    twin.start(2)
    wait_until(twin.advances, "rows")
    replace(twin, "worker")
    replace(twin, "coordinator")
    # Those that it has forked are no descendants of the launcher any more.
    [coordinator] = twin.pids("coordinator")
    assert twin.kill(Random(1), "fork-server")
    wait_until(twin.advances, "rows")
    os.kill(coordinator, signal.SIGKILL)
    wait_until(lambda: bool(twin.pids("coordinator")), "another coordinator")
    size = twin.written_bytes()
    wait_until(lambda: twin.written_bytes() > size, "rows")
    # For a moment, a process that was just forked has the name of the fork server.
    wait_until(lambda: len(twin.pids("fork-server")) == 1, "one fork server")
    assert twin.end(signal.SIGINT) == 130
