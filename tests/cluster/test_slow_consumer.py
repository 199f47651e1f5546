"""A consumer that takes nothing: the job waits for it, and what waits is bounded."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.jobs import Job
from fsql.tests.cluster.leading import LedRun

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.runtime.cluster.coordinator.events import Progress
    from fsql.tests.cluster.nursery import Nursery

pytestmark = pytest.mark.cluster

COPY = (
    "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'file', 'path' = 'numbers');\n"
    "SELECT n FROM numbers;\n"
)
ROWS = 2_000
READ_AHEAD, CHUNK = 16, 4


@pytest.mark.parametrize("splits", [1, 3])
def test_fronts_wait_for_a_consumer_that_takes_nothing(
    splits: int, nursery: Nursery, tmp_path: Path
) -> None:
    (tmp_path / "numbers").mkdir()
    for split in range(splits):
        lines = "".join(f'{{"n":{n}}}\n' for n in range(ROWS))
        (tmp_path / "numbers" / f"{split}.jsonl").write_text(lines)
    (tmp_path / "copy.sql").write_text(COPY)
    job = Job.of(tmp_path / "copy.sql")
    expected = job.written_here()
    taking = threading.Event()
    read: list[int] = []
    at_rest: list[int] = []

    def watch(progress: Progress) -> None:
        """Have the consumer go on when nothing has been read for some time."""
        read.append(progress.metrics.rows_in)
        if read[-1] and read[-10:] == [read[-1]] * 10 and not taking.is_set():
            at_rest.append(read[-1])
            taking.set()

    description = job.description(2, read_ahead_rows=READ_AHEAD, chunk_rows=CHUNK)
    run = LedRun(nursery, job, description, on_progress=watch)
    assert run.written(taking.wait) == expected
    # The read-ahead of each front, as much that waits for the consumer, and a chunk on the way to either.
    assert read[-1] == splits * ROWS
    [rows] = at_rest
    assert rows <= splits * (READ_AHEAD + CHUNK) + READ_AHEAD + splits * CHUNK
