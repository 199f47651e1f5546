"""Runs a job on Spark: a stage is a Spark job, an exchange is a shuffle, and the driver has the barrier.

The tasks execute the same tick plan as the streaming engine (`runtime/drivers/stage_tasks.py`), so the
outputs have the same bytes.  Spark stores and shuffles messages of fsql: a row of a data frame is a batch of
rows for one worker, which is a partition here.  The driver passes messages to the barrier in the order of
their roots, and writes the rows that the barrier releases.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass
from fsql.runtime.batch import END, Root
from fsql.runtime.dataflow.barrier import Barrier, Stopped
from fsql.runtime.dataflow.metrics import Metrics
from fsql.runtime.drivers.local import count_released
from fsql.runtime.drivers.spark.stage_frames import (
    COUNTED,
    FAILED,
    ORDER,
    all_of,
    fold_frames,
    source_frame,
    unpersist,
)
from fsql.runtime.drivers.spark.task_errors import error_in
from fsql.runtime.drivers.spark.waiting import ABANDON_SECONDS, Waiting, within
from fsql.runtime.drivers.stage_tasks import message_of_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, Row, SparkSession

    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.drivers.cluster import BarrierOutput
    from fsql.runtime.drivers.local import Edges
    from fsql.runtime.drivers.spark.stage_frames import Load

    StartSpark = Callable[[Callable[[], None]], AbstractContextManager[SparkSession]]
    """Starts Spark; the argument is called several times a second meanwhile."""


@dataclass(slots=True)
class SparkRun:
    """One run of a job on Spark; `run` returns when all output is written, or the job has stopped."""

    plan: TickPlan
    edges: Edges
    load: Load
    session: StartSpark
    metrics: Metrics = field(default_factory=Metrics)
    stopped: Stopped | None = None

    def run(self, on_progress: Callable[[Metrics], None] = lambda _: None) -> Metrics:
        """Run to the end; call `on_progress` several times a second.

        Raises:
            FsqlError: if a source or a sink fails; E644, E661, E663, if Spark cannot be used.
        """
        with self.on_spark(on_progress) as spark:
            fronts = range(len(self.plan.fronts(self.edges.splits)))
            stages: list[DataFrame] = []

            def frames() -> DataFrame:
                stages.append(source_frame(spark.session, self.load, fronts))
                stages.extend(fold_frames(self.plan, self.load, stages[0]))
                return all_of(stages)

            try:
                rows = spark.waiting.for_result(frames)
                self.count(spark.collect_reports(rows))
                self.write(rows, END, spark.waiting)
            finally:
                within(ABANDON_SECONDS, lambda: unpersist(stages))
        return self.metrics

    @contextmanager
    def on_spark(self, on_progress: Callable[[Metrics], None]) -> Iterator[RunningSpark]:
        """Start Spark; an error that `on_progress` raises ends it, whatever it does.

        Raises:
            FsqlError: E644, E661, E663, if Spark cannot be used.
        """
        started = time.monotonic()

        def progress() -> None:
            self.metrics.seconds = time.monotonic() - started
            on_progress(self.metrics)

        with self.session(progress) as session, Waiting(progress) as waiting:
            yield RunningSpark(session, waiting)
        progress()

    def check(self, reports: list[Row]) -> None:
        """Check that no task has failed.

        Raises:
            FsqlError: if one has.
        """
        failed = min(
            (row for row in reports if row.stage == FAILED), key=lambda r: r.task, default=None
        )
        if failed is not None:
            raise error_in(failed.parts[0])

    def count(self, reports: list[Row]) -> None:
        """Add what the tasks have read to the metrics.

        Raises:
            FsqlError: if a task has failed.
        """
        self.check(reports)
        tasks = self.plan.fronts(self.edges.splits)
        for row in reports:
            if row.stage != COUNTED:
                continue
            table = self.plan.tables[tasks[row.task].ordinal]
            source = self.metrics.source(table.name)
            source.rows += row.time
            source.bytes += row.origin
            self.metrics.rows_in += row.time
            self.metrics.bytes_in += row.origin
            self.metrics.unknown_fields += row.number
            self.metrics.nulled_fields += row.receiver

    def write(self, rows: DataFrame, until: Root, waiting: Waiting) -> None:
        """Release the rows below a position; `rows` are messages, of which some are for the barrier."""

        def messages() -> Iterable[Row]:
            return rows.where("receiver = -1 AND stage >= 0").orderBy(*ORDER).toLocalIterator()

        barrier = Barrier(
            self.plan.sinks, len(self.plan.late_windows), rejecting=self.plan.rejecting
        )
        for row in waiting.for_each(messages):
            message = message_of_parts(row.parts)
            if message.root >= until:
                break
            if message.root != barrier.min_time:
                self._release(barrier.advance(message.root), message.root)
            if self.stopped is not None:
                return
            barrier.accept(message.parcel)
            self.metrics.messages += 1
            waiting.meanwhile()
        self._release(barrier.advance(until), until)
        self.metrics.releases = barrier.releases

    def _release(self, outputs: Iterable[BarrierOutput], bound: Root) -> None:
        for contents in outputs:
            if isinstance(contents, Stopped):
                self.stopped = contents
                bound = contents.root
            else:
                count_released(self.metrics, contents, self.plan)
                self.edges.outputs.take(contents)
        self.edges.outputs.advance(bound)


@dataclass(frozen=True, slots=True)
class RunningSpark:
    """A session of Spark, and how its jobs are waited for."""

    session: SparkSession
    waiting: Waiting

    def collect_reports(self, rows: DataFrame) -> list[Row]:
        """Execute the tasks that compute some rows; return their rows with errors and with counts."""
        kinds = f"stage IN ({FAILED}, {COUNTED})"
        return self.waiting.for_result(lambda: rows.where(kinds).collect())
