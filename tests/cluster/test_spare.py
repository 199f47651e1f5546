"""A run has one worker process more than it needs, which takes the place of one that is killed.

Cannot catch: a spare that takes as long to join as a new process would.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from fsql.tests.cluster.conftest import COUNT
from fsql.tests.cluster.twin import command_of, difference, expected, takes_part, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

WORKERS = 2
MORE = 2 * COUNT
"""So many lines take long enough for one spare after the other."""


def spares(twin: Twin) -> list[int]:
    workers = twin.pids("worker")
    return [pid for pid in workers if "--spare" in command_of(pid) and not takes_part(pid)]


def test_a_spare_may_be_killed_and_takes_the_place_of_a_worker_that_is(
    new_twin: Callable[..., Twin], tmp_path: Path
) -> None:
    twin = new_twin(MORE)
    twin.start(WORKERS)
    wait_until(lambda: bool(spares(twin)), "a spare")
    [first] = spares(twin)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: spares(twin) not in ([], [first]), "another spare")
    [second] = spares(twin)
    worker = min(pid for pid in twin.pids("worker") if "--spare" not in command_of(pid))
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: takes_part(second), "the spare in the place of the worker")
    assert twin.ended() == 0
    assert difference(twin.written(), expected(tmp_path, MORE)) == ""
