"""The stages of a tick plan as data frames of Spark, and the tasks that compute them.

A row of a data frame is a message of fsql: a batch of rows for one worker, which is a partition here.  Rows
of other kinds have a negative number instead of a stage.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial, reduce
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import pyarrow as pa

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.tick_plan import SourceHead
from fsql.runtime.batch import END
from fsql.runtime.dataflow.resume_point import ResumePoint  # noqa: TC001 - msgspec reads it
from fsql.runtime.drivers.spark.task_errors import error_bytes
from fsql.runtime.drivers.stage_tasks import (
    FoldTask,
    SourceTask,
    inputs_of,
    message_as_parts,
    message_of_parts,
)
from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
from fsql.runtime.ports import SourceOffset  # noqa: TC001 - msgspec reads it
from fsql.runtime.state.encoding import encode_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Root
    from fsql.runtime.drivers.stage_tasks import Sent
    from fsql.runtime.ports import Split

    Load = Callable[[], tuple[TickPlan, Mapping[int, Sequence[Split]]]]
    """Returns the plan and the splits; it is called in Spark's Python processes."""

FAILED: Final = -1
COUNTED: Final = -2
STATE: Final = -3
"""These three, instead of a stage: rows with an error, with counts of a source, with state of a fold."""

ORDER: Final = ("time", "origin", "task", "number")
"""The sort columns of messages; a row with state has the number of its stage as its time."""

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
_BATCH_BYTES: Final = 8 << 20


class MessageRow(NamedTuple):
    """A message as a row; `task` is the task that sent it, `number` its index among the task's messages."""

    stage: int
    receiver: int
    time: int
    origin: int
    task: int
    number: int
    parts: list[bytes]


class SourceReport(msgspec.Struct, frozen=True):
    """What a task has read of a split: where a front has to resume reading, and up to which root it has read.

    `end` is where the split ends, if it was read to its end.
    """

    point: ResumePoint
    read_up_to: tuple[int, int]
    end: SourceOffset | None


def source_frame(
    session: SparkSession, load: Load, fronts: Collection[int], until: Root = END
) -> DataFrame:
    """Return the messages of the stages of tables, as fronts send them; computed once and kept on disk."""
    from pyspark import StorageLevel

    count = max(fronts, default=0) + 1
    work = partial(_read, load, frozenset(fronts), until)
    frame = session.range(0, count, 1, count).mapInArrow(work, _SCHEMA)
    return frame.persist(StorageLevel.DISK_ONLY)


def fold_frames(
    plan: TickPlan, load: Load, sources: DataFrame, until: Root = END
) -> list[DataFrame]:
    """Return the messages that the stages of folds send, computed once and kept on disk."""
    from pyspark import StorageLevel

    frames: dict[int, DataFrame] = {}
    for stage, each in enumerate(plan.stages):
        if isinstance(each.head, SourceHead):
            frames[stage] = sources
            continue
        inputs = {id(frames[sender]): frames[sender] for sender in inputs_of(plan, stage)}
        received = all_of(inputs.values()).where(f"stage = {stage}")
        shuffled = received.repartition(plan.workers, "receiver")
        ordered = shuffled.sortWithinPartitions("receiver", *ORDER)
        frames[stage] = ordered.mapInArrow(partial(_fold, load, stage, until), _SCHEMA).persist(
            StorageLevel.DISK_ONLY
        )
    return [frame for frame in frames.values() if frame is not sources]


def all_of(frames: Iterable[DataFrame]) -> DataFrame:
    """Return the rows of all data frames."""
    return reduce(lambda one, other: one.unionAll(other), frames)


def unpersist(frames: Iterable[DataFrame]) -> None:
    """Let Spark remove the stored data of data frames."""
    with suppress(Exception):
        for frame in frames:
            frame.unpersist()


# What follows runs in Spark's Python processes.


def _read(
    load: Load, fronts: Collection[int], until: Root, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read the splits of those of `fronts` that are in `batches`."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            if number in fronts:
                yield from _batches(
                    _catch_errors(number, partial(_read_split, load, number, until))
                )


def _read_split(load: Load, number: int, until: Root) -> Iterator[MessageRow]:
    plan, splits = load()
    (task,) = [each for each in plan.fronts(splits) if each.number == number]
    source = SourceTask(plan, task)
    yield from _rows(number, source.run(splits[task.ordinal][task.split], until))
    front = source.front
    report = SourceReport(front.resume_point(until), front.read_up_to, source.end)
    counts = (front.rows_read, front.bytes_read, number, front.unknown_fields)
    yield MessageRow(COUNTED, front.nulled_fields, *counts, [msgspec.json.encode(report)])


def _fold(
    load: Load, stage: int, until: Root, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run a fold's stage for each worker whose messages are in `batches`, one after the other."""
    received = (MessageRow(**row) for batch in batches for row in batch.to_pylist())
    for worker, rows in groupby(received, lambda row: row.receiver):
        work = partial(_fold_worker, load, stage, until, worker, rows)
        yield from _batches(_catch_errors(worker, work))


def _fold_worker(
    load: Load, stage: int, until: Root, worker: int, rows: Iterable[MessageRow]
) -> Iterator[MessageRow]:
    plan, _ = load()
    messages = (message_of_parts(row.parts) for row in rows)
    number = (stage + 1) * plan.workers + worker
    task = FoldTask(plan, stage, until)
    yield from _rows(number, task.run(messages))
    if until != END and (state := task.state()) is not None:
        operator, snapshot = state
        for piece, part in enumerate(_pieces(snapshot)):
            parts = [operator.encode(), bytes(encode_snapshot(part))]
            yield MessageRow(STATE, worker, stage, 0, number, piece, parts)


def _pieces(state: IncrementalSnapshot) -> Iterator[IncrementalSnapshot]:
    """Cut state into parts of about the size of a batch, since it may be larger than a row of Spark."""
    rows = state.rows
    count = max(1, rows.num_rows * _BATCH_BYTES // max(1, rows.nbytes))
    for first in range(0, rows.num_rows, count):
        yield IncrementalSnapshot(rows.slice(first, count), state.keys, state.appends)


def _rows(task: int, sent: Iterable[Sent]) -> Iterator[MessageRow]:
    for number, (receiver, message) in enumerate(sent):
        parts = message_as_parts(message)
        yield MessageRow(message.parcel.to.stage, receiver, *message.root, task, number, parts)


def _catch_errors(task: int, work: Callable[[], Iterator[MessageRow]]) -> Iterator[MessageRow]:
    """Yield the rows of a task; an error that the user can correct becomes a row, not a failure of Spark."""
    try:
        yield from work()
    except FsqlError as error:
        yield MessageRow(FAILED, 0, 0, 0, task, 0, [error_bytes(error)])


def _batches(rows: Iterable[MessageRow]) -> Iterator[pa.RecordBatch]:
    """Cut rows into record batches of limited size in bytes."""
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
