"""A disk that is full: snapshots wait, output goes on; and when there is room again, so do snapshots."""

from __future__ import annotations

import resource
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.conftest import ENDLESS
from fsql.tests.cluster.twin import difference, prefixes, script, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster

WARNING = "warning: no snapshot can be stored: worker"
SILENCE = ("has been silent", "has not acknowledged", "no message from the others")
"""Why an epoch may end on a busy machine."""
NO_LIMIT = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def manifests(twin: Twin) -> set[str]:
    return {path.name for path in (twin.state / "snapshots").glob("*.json")}


def test_snapshots_wait_while_workers_cannot_write(
    new_twin: Callable[[int], Twin], tmp_path: Path
) -> None:
    """Workers may write no file, which they learn from an error as that of a full disk comes: by `write`."""
    twin = new_twin(ENDLESS)
    twin.start(
        2, "--no-contract"
    )  # otherwise worker 0 may own all keys, and sit with the coordinator
    wait_until(lambda: bool(manifests(twin)), "a snapshot")
    for pid in twin.pids("worker"):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    last, size = manifests(twin), twin.written_bytes()

    def nothing_new() -> bool:
        """Say whether no snapshot was committed while so much was written that some were due."""
        nonlocal last, size
        if manifests(twin) != last:
            last, size = manifests(twin), twin.written_bytes()
        return twin.written_bytes() > size + 15_000

    wait_until(nothing_new, "output without snapshots")
    assert twin.running()
    wait_until(lambda: WARNING in twin.errors(), "a word of it")
    for pid in twin.pids("worker"):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, NO_LIMIT)
    wait_until(lambda: bool(manifests(twin) - last), "another snapshot")
    assert twin.end(signal.SIGINT) == 130, twin.errors()
    # That no snapshot can be stored ends no epoch; on a busy machine, silence may.
    recoveries = [line for line in twin.errors().splitlines() if "recovery: " in line]
    assert [line for line in recoveries if not any(why in line for why in SILENCE)] == []
    right = prefixes(tmp_path / "right", partial(script, None), twin.written())
    assert difference(twin.written(), right) == ""
