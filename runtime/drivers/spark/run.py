"""Runs a job on Spark: each stage is a job of tasks, each exchange a shuffle, the driver has the barrier.

The tasks execute the tick plan that the streaming engine executes (`runtime/drivers/stage_tasks.py`), so
there is one semantics, and the outputs have the same bytes.  Spark stores and shuffles messages of fsql:
a row of a data frame is a batch of rows for one worker, which is a partition here.  The driver takes the
messages to the barrier in the order of their roots, and writes what the barrier releases.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.tick_plan import SourceHead
from fsql.runtime.batch import END, START, Root
from fsql.runtime.dataflow.barrier import Barrier, Stopped
from fsql.runtime.dataflow.metrics import Metrics
from fsql.runtime.drivers.local import count_released
from fsql.runtime.drivers.stage_tasks import (
    Sent,
    SourceTask,
    fold_task,
    inputs_of,
    message_as_parts,
    message_of_parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, Row, SparkSession

    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.drivers.cluster import BarrierOutput
    from fsql.runtime.drivers.local import Edges
    from fsql.runtime.ports import Split

    Load = Callable[[], tuple[TickPlan, Mapping[int, Sequence[Split]]]]
    """Returns the plan and the splits; it is called in Spark's Python processes."""

_FAILED: Final = -1
_COUNTED: Final = -2
"""In place of a stage: rows with an error, and rows with the counts of a split."""

_SCHEMA: Final = (
    "stage INT, receiver INT, time BIGINT, origin BIGINT, "
    "task INT, number BIGINT, parts ARRAY<BINARY>"
)
_ARROW: Final = pa.schema(
    [
        ("stage", pa.int32()),
        ("receiver", pa.int32()),
        ("time", pa.int64()),
        ("origin", pa.int64()),
        ("task", pa.int32()),
        ("number", pa.int64()),
        ("parts", pa.list_(pa.binary())),
    ]
)
_ORDER: Final = ("time", "origin", "task", "number")
_BATCH_BYTES: Final = 8 << 20
_ASK_SECONDS: Final = 0.2


class MessageRow(NamedTuple):
    """A message as a row: `task` and `number` say which task sent it, and as which of its messages."""

    stage: int
    receiver: int
    time: int
    origin: int
    task: int
    number: int
    parts: list[bytes]


class ErrorForm(msgspec.Struct, frozen=True, array_like=True):
    """A diagnostic of a task."""

    code: str
    message: str
    notes: tuple[str, ...]
    helps: tuple[str, ...]


@dataclass(slots=True)
class SparkRun:
    """One run of a job on Spark; `run` returns when all output is written, or the job has stopped."""

    plan: TickPlan
    edges: Edges
    load: Load
    session: AbstractContextManager[SparkSession]
    metrics: Metrics = field(default_factory=Metrics)
    stopped: Stopped | None = None

    def run(self, on_progress: Callable[[Metrics], None] = lambda _: None) -> Metrics:
        """Run to the end; call `on_progress` several times a second.

        Raises:
            FsqlError: if a source or a sink fails; E644, E661, if Spark cannot be used.
        """
        started = time.monotonic()

        def progress() -> None:
            self.metrics.seconds = time.monotonic() - started
            on_progress(self.metrics)

        with (
            self.session as session,
            ThreadPoolExecutor(1, "spark") as thread,
        ):
            stages = _data_frames(session, self.plan, self.load, self._fronts)
            rows = reduce(_union, stages)
            try:
                told = _wait(thread.submit(_told_by_tasks, rows), progress)
                self._count_input(told)
                merged = rows.where("receiver = -1 AND stage >= 0").orderBy(*_ORDER)
                self._write(merged.toLocalIterator(), progress)
            except BaseException:
                with suppress(Exception):  # Spark may be gone; the first error is the one to tell
                    session.sparkContext.cancelAllJobs()
                raise
            finally:
                _forget(stages)
        progress()
        return self.metrics

    @property
    def _fronts(self) -> int:
        return len(self.plan.fronts(self.edges.splits))

    def _count_input(self, told: list[Row]) -> None:
        """Count what the tasks have read.

        Raises:
            FsqlError: if a task has failed.
        """
        failed = min(
            (row for row in told if row.stage == _FAILED), key=lambda r: r.task, default=None
        )
        if failed is not None:
            forms = msgspec.json.decode(failed.parts[0], type=list[ErrorForm])
            raise FsqlError(
                [Diagnostic(f.code, f.message, notes=f.notes, helps=f.helps) for f in forms]
            )
        tasks = self.plan.fronts(self.edges.splits)
        for row in told:
            table = self.plan.tables[tasks[row.task].ordinal]
            source = self.metrics.source(table.name)
            source.rows += row.time
            source.bytes += row.origin
            self.metrics.rows_in += row.time
            self.metrics.bytes_in += row.origin
            self.metrics.unknown_fields += row.number

    def _write(self, rows: Iterable[Row], progress: Callable[[], None]) -> None:
        """Release the rows of messages to the barrier, which come in the order of their roots."""
        barrier = Barrier(self.plan.sinks, len(self.plan.late_windows), START, {})
        for row in rows:
            message = message_of_parts(row.parts)
            if message.root != barrier.min_time:
                self._release(barrier.advance(message.root), message.root)
            if self.stopped is not None:
                return
            barrier.accept(message.parcel)
            self.metrics.messages += 1
            progress()
        self._release(barrier.advance(END), END)
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


def _data_frames(session: SparkSession, plan: TickPlan, load: Load, fronts: int) -> list[DataFrame]:
    """Return the messages that each stage sends, computed once and kept on disk."""
    from pyspark import StorageLevel

    sources = session.range(0, fronts, 1, fronts).mapInArrow(partial(_read, load), _SCHEMA)
    sources = sources.persist(StorageLevel.DISK_ONLY)
    frames: dict[int, DataFrame] = {}
    for stage, each in enumerate(plan.stages):
        if isinstance(each.head, SourceHead):
            frames[stage] = sources
            continue
        inputs = {id(frames[sender]): frames[sender] for sender in inputs_of(plan, stage)}
        received = reduce(_union, inputs.values()).where(f"stage = {stage}")
        shuffled = received.repartition(plan.workers, "receiver")
        ordered = shuffled.sortWithinPartitions("receiver", *_ORDER)
        frames[stage] = ordered.mapInArrow(partial(_fold, load, stage), _SCHEMA).persist(
            StorageLevel.DISK_ONLY
        )
    return list({id(frame): frame for frame in frames.values()}.values())


def _forget(stages: Iterable[DataFrame]) -> None:
    """Let Spark remove what it has kept of the stages."""
    with suppress(Exception):
        for stage in stages:
            stage.unpersist()


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionAll(other)


def _told_by_tasks(rows: DataFrame) -> list[Row]:
    """Execute all stages; return the errors and the counts."""
    return rows.where("stage < 0").collect()


def _wait(future: Future[list[Row]], progress: Callable[[], None]) -> list[Row]:
    """Return the result of a thread; call `progress` until it is there."""
    while True:
        try:
            return future.result(_ASK_SECONDS)
        except NotYet:
            progress()


# What follows runs in Spark's Python processes.


def _read(load: Load, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the splits of the fronts in `batches`."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from _batches(_guarded(number, partial(_read_split, load, number)))


def _read_split(load: Load, number: int) -> Iterator[MessageRow]:
    plan, splits = load()
    (task,) = [each for each in plan.fronts(splits) if each.number == number]
    source = SourceTask(plan, task)
    yield from _rows(number, source.run(splits[task.ordinal][task.split]))
    front = source.front
    yield MessageRow(
        _COUNTED, 0, front.rows_read, front.bytes_read, number, front.unknown_fields, []
    )


def _fold(load: Load, stage: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run a fold's stage for each worker whose messages are in `batches`, one after the other."""
    received = (MessageRow(**row) for batch in batches for row in batch.to_pylist())
    for worker, rows in groupby(received, lambda row: row.receiver):
        yield from _batches(_guarded(worker, partial(_fold_worker, load, stage, worker, rows)))


def _fold_worker(
    load: Load, stage: int, worker: int, rows: Iterable[MessageRow]
) -> Iterator[MessageRow]:
    plan, _ = load()
    messages = (message_of_parts(row.parts) for row in rows)
    task = (stage + 1) * plan.workers + worker
    yield from _rows(task, fold_task(plan, stage, messages))


def _rows(task: int, sent: Iterable[Sent]) -> Iterator[MessageRow]:
    for number, (receiver, message) in enumerate(sent):
        parts = message_as_parts(message)
        yield MessageRow(message.parcel.to.stage, receiver, *message.root, task, number, parts)


def _guarded(task: int, work: Callable[[], Iterator[MessageRow]]) -> Iterator[MessageRow]:
    """Yield the rows of a task; an error that the user can mend becomes a row, not a failure of Spark."""
    try:
        yield from work()
    except FsqlError as error:
        forms = [ErrorForm(d.code, d.message, d.notes, d.helps) for d in error.diagnostics]
        yield MessageRow(_FAILED, 0, 0, 0, task, 0, [msgspec.json.encode(forms)])


def _batches(rows: Iterable[MessageRow]) -> Iterator[pa.RecordBatch]:
    """Cut rows into record batches by their bytes."""
    waiting: list[MessageRow] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += sum(map(len, row.parts))
        if size >= _BATCH_BYTES:
            yield _batch(waiting)
            waiting, size = [], 0
    if waiting:
        yield _batch(waiting)


def _batch(rows: list[MessageRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
