"""Fronts that come from other workers and go to them, as one worker has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.assignment import FrontTask
from fsql.compiler.logical import Table, TimeKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT
from fsql.runtime.batch import END, TIME_START, Root, origin
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.cluster.snapshots.manifest import Manifest, SkippedRange
from fsql.runtime.cluster.worker.local_fronts import LocalFronts
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from fsql.runtime.dataflow.front import Front

TABLE = Table("t", 0, (Column("n", BIGINT),), (), TimeKind.OFFSET)
TASK = FrontTask(3, 0, 1)


def at(row: int) -> Root:
    return Root(row, origin(0, 1, row))


def point(row: int) -> ResumePoint:
    return ResumePoint(3, row, row + 1, row, TIME_START)


def fronts(*tasks: FrontTask, skipped: tuple[SkippedRange, ...] = ()) -> LocalFronts:
    manifest = Manifest("job", 0, 1, 1, (0, 0), 2, (), (), skipped)
    local = LocalFronts(Settings())
    local.begin(tasks, {0: TABLE}, manifest)
    return local


def read(front: Front, *rows: int) -> list[int]:
    """Return the rows that come of a chunk with these."""
    numbers = np.array(rows, np.int64)
    batch, _ = front.take(Chunk([pa.array(numbers)], numbers, (), 10))
    return [] if batch is None else batch.time.tolist()


def test_a_front_that_comes_resumes_at_the_position() -> None:
    local = fronts()
    front = local.adopt(TASK, point(2), at(4), ended=False).front
    assert front.promised == at(4)
    assert read(front, 2, 3, 4, 5) == [4, 5]


def test_a_front_that_comes_skips_rows_that_are_lost() -> None:
    local = fronts(skipped=(SkippedRange(3, at(5), at(7)), SkippedRange(2, at(0), at(9))))
    front = local.adopt(TASK, point(4), at(4), ended=False).front
    assert read(front, 4, 5, 6, 7) == [4, 7]


def test_a_front_that_has_ended_keeps_its_resume_point() -> None:
    front = fronts().adopt(TASK, point(6), at(8), ended=True).front
    assert front.promised == END
    assert front.resume_point(at(20)) == point(6)


def test_counts_stay_where_the_rows_were_read() -> None:
    local = fronts(TASK)
    [front] = local
    assert read(front, 0, 1) == [0, 1]
    local.release(3)
    assert (list(local), [each.rows_read for each in local.fronts_to_report()]) == ([], [2])
    here = local.adopt(TASK, point(5), at(5), ended=False)
    assert read(here.front, 5) == [5]
    here.read_ahead.on_chunk(here.front, 0.0)
    assert [(each.rows_read, each.bytes_read) for each in local.fronts_to_report()] == [(3, 20)]
    local.release(3)
    assert [each.rows_read for each in local.fronts_to_report()] == [3]


def test_a_front_counts_for_how_long_it_may_not_read() -> None:
    """Neither the time in which its source has nothing counts, nor the time after its end."""
    local = fronts(TASK)
    [front] = local
    here = local.get(3)
    assert here is not None
    for now, behind in ((1.0, False), (2.0, True), (2.5, True), (4.0, False), (9.0, False)):
        assert local.readable(now, behind=behind) == ([] if behind else [front])
    assert front.blocked_seconds == 2.0
    here.waits_until = 12.0
    for now in (10.0, 11.0, 12.0, 12.5):
        local.readable(now, behind=True)
    assert front.blocked_seconds == 2.5
    front.end()
    for now in (13.0, 14.0):
        local.readable(now, behind=True)
    assert front.blocked_seconds == 3.0  # it ended between the calls
