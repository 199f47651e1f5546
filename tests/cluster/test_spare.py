"""A run has one worker process more than it needs, which takes the place of one that is killed.

Cannot catch: a spare that takes as long to join as a new process would.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fsql.tests.cluster.conftest import COUNT
from fsql.tests.cluster.twin import command_of, expected, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.tests.cluster.twin import Twin

WORKERS = 2
MORE = 3 * COUNT
"""So many lines take long enough for one spare after the other."""


def spares(twin: Twin) -> list[int]:
    return [pid for pid in twin.pids("worker") if "--spare" in command_of(pid) and idle(pid)]


def idle(pid: int) -> bool:
    """Say whether a worker has no store open: it takes no part."""
    with suppress(OSError):
        files = [str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()]
        return not any("/worker-" in file for file in files)
    return False


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
    wait_until(lambda: not idle(second), "the spare in the place of the worker")
    assert twin.ended() == 0
    assert twin.written() == expected(tmp_path, MORE)
