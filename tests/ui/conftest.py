"""The page of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.deployment.directory import ClusterDirectory, Deployment, JobDirectory, JobStatus
from fsql.tests.ui.served_page import ServedPage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JOB = "0123456789abcdef"
COUNTERS = {
    "rows_in": 1000,
    "bytes_in": 20_000,
    "rows_out": 40,
    "rows_late": 3,
    "rows_rejected": 0,
    "rows_state": 77,
    "rows_held": 3,
    "rows_unreleased": 12,
    "recoveries": 1,
    "snapshots": 2,
    "behind_us": 250_000,
}


@pytest.fixture(scope="module")
def stopped_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster directory with one job, which was stopped."""
    path = tmp_path_factory.mktemp("ui") / "cluster"
    cluster = ClusterDirectory(path)
    cluster.create()
    job = JobDirectory(path / "jobs" / JOB)
    job.path.mkdir(mode=0o700)
    job.set_deployment(Deployment(JOB, "bids", 2, 1000, None, "refuse", "stopped", 0.0, auto=True))
    job.set_status(
        JobStatus(
            pid=7,
            started=0.0,
            updated=100.0,
            phase="running",
            epoch=2,
            detail="",
            problems=("a disk is slow",),
            held_by="bids (bids.jsonl)",
            held_seconds=0.5,
            progress=(0, 0),
            counters=COUNTERS,
            min_time="2026-01-01 12:00:00",
        )
    )
    job.log.write_text('{"ts": 12.5, "event": "started", "pid": 7}\nplain text\n{"ts": 13')
    return path


@pytest.fixture(scope="module")
def page(stopped_job: Path) -> Iterator[ServedPage]:
    """The page of that directory."""
    with ServedPage(stopped_job) as served:
        yield served
