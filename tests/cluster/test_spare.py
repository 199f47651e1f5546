"""A run has one process more than it needs, which replaces a worker or the coordinator that is killed.

Cannot catch: a spare that takes as long as a new process would.
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


def replace(twin: Twin, role: str, lost: int) -> int:
    """Kill a process with a role when there is a spare other than `lost`; return the spare."""
    wait_until(lambda: twin.pids("spare") not in ([], [lost]), "a spare")
    [spare] = twin.pids("spare")
    twin.kill(Random(1), role)
    wait_until(lambda: spare in twin.pids(role), f"the spare in the place of the {role}")
    wait_until(twin.goes_on, "rows")
    return spare


def test_a_spare_may_be_killed_and_replaces_a_worker_and_then_the_coordinator(
    new_twin: Callable[..., Twin],
) -> None:
    twin = new_twin(ENDLESS)
    twin.start(2)
    wait_until(lambda: bool(twin.pids("spare")), "a spare")
    [lost] = twin.pids("spare")
    os.kill(lost, signal.SIGKILL)
    lost = replace(twin, "worker", lost)
    replace(twin, "coordinator", lost)
    assert twin.end(signal.SIGINT) == 130
