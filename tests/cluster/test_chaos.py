"""Runs through a network that fails: cut, reset, late, deaf, half-open connections, and a kill on top."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.jobs import Job
from fsql.tests.cluster.leading import Kill, LedRun
from fsql.tests.cluster.proxy import Network, schedule
from fsql.tests.cluster.twin import script

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.nursery import Nursery

pytestmark = pytest.mark.cluster

WORKERS = 2
SECONDS = 4.0


def play(network: Network, seed: int) -> None:
    """Let troubles come and go; at the end there are none."""
    began = time.monotonic()
    for event in schedule(seed, 1 + WORKERS, SECONDS):
        time.sleep(max(0.0, began + event.at - time.monotonic()))
        network.set(event.proxy, event.trouble)


@pytest.mark.parametrize("seed", range(5))
def test_troubles_of_every_kind(seed: int, nursery: Nursery, tmp_path: Path) -> None:
    path = tmp_path / "job.sql"
    path.write_text(script(None, 800))
    expected = Job.of(path).written_here()
    path.write_text(script(200, 800))
    job = Job.of(path)
    # On a busy machine there are few releases and snapshots in the four seconds of the input.
    kills = [Kill("delivered", 5, worker=seed), Kill("saved", 3, worker=seed + 1)]
    with Network() as network:
        run = LedRun(
            nursery, job, job.description(WORKERS, read_ahead_rows=1000), kills, network=network
        )
        playing = threading.Thread(target=play, args=(network, seed))
        run.on_workers_started = playing.start
        try:
            written = run.written()
        finally:
            if playing.ident is not None:
                playing.join()  # otherwise its error, when the network ends, hides that of the run
    assert written == expected
    assert run.killed
    _coordinator, *workers = network.proxies
    assert sum(proxy.passed_bytes for proxy in workers) > 0
