"""Runs over rows in memory, scheduled by a seed: for tests and demonstrations.

The seed decides which channel delivers, when a front reads, and how many rows it gets; released rows must not
depend on any of it.
"""

from __future__ import annotations

import random
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fsql.compiler.logical import Changes, TimeKind
from fsql.compiler.records import dataclass
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.batch import TIME_START, Root
from fsql.runtime.dataflow.barrier import DeadLetters, LateRows, Released, Stopped
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.drivers.cluster import BarrierOutput, Cluster, PlacedFront, Schedule, fronts_of
from fsql.runtime.drivers.packed_rows import packed_rows, unpack
from fsql.runtime.ports import OPERATIONS, Chunk, DeadLetter, SourceOffset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.logical import SinkTable, Table
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.ports import Release

Row = tuple["Value", ...]
ReleasedRow = tuple["Root", str | None, Row]


@dataclass(slots=True)
class Outcome:
    """What a run has released: (root, label or None, row) per INSERT, late rows, dead letters, the stop."""

    released: list[list[ReleasedRow]]
    late: list[list[tuple[Root, Row]]]
    dead_letters: list[tuple[Root, DeadLetter]] = field(default_factory=list)
    stopped: Stopped | None = None
    rows_redone: int = 0
    rows_held: int = 0
    messages: int = 0
    rebalanced: int = 0
    rows_buffered_max: int = 0


@dataclass(frozen=True)
class SnapshotStart:
    """A snapshot: a position, and the incremental snapshots of each operator up to it, oldest first."""

    position: Root
    state: Mapping[str, tuple[IncrementalSnapshot, ...]]


class SnapshotObserver(Protocol):
    """Takes snapshots of a run, and chooses the one from which it continues."""

    @property
    def begin(self) -> SnapshotStart | None:
        """Return the snapshot from which to continue: rows below its position are skipped."""

    @property
    def busy(self) -> bool:
        """Return whether the run has to wait for the observer."""

    def observe(self, cluster: Cluster) -> None:
        """Observe the run; called before each of its steps, and at its end."""


class RandomSchedule:
    """Delivers from a channel drawn at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a schedule, not a secret

    def choose(self, channels: Sequence[tuple[int, int]]) -> int:
        """See `cluster.Schedule`."""
        return self.random.randrange(len(channels))


def run_in_memory(
    plan: TickPlan,
    inputs: Mapping[int, Sequence[Sequence[Row | DeadLetter]]],
    *,
    seed: int,
    batch_rows: int = 8,
    read_ahead: int = 1_000_000,
    watcher: SnapshotObserver | None = None,
) -> Outcome:
    """Run `plan` over `inputs` (table ordinal to splits of rows) until everything is released.

    With an odd seed workers encode the rows.
    """
    schedule = RandomSchedule(seed)
    fronts = fronts_of(plan, inputs)
    encodings = packed_rows(plan) if seed % 2 else {}
    begin = None if watcher is None else watcher.begin
    cluster = _cluster(plan, fronts, schedule, begin, encodings)
    outcome = Outcome([[] for _ in plan.sinks], [[] for _ in plan.late_windows])
    while not cluster.barrier.stopped:
        if watcher is not None:
            watcher.observe(cluster)
        readable = [at for at in fronts if cluster.may_read(at, read_ahead)]
        choices = len(readable) + (0 if cluster.idle else 2)
        if choices == 0 and watcher is not None and watcher.busy:
            continue
        if choices == 0:
            break
        choice = schedule.random.randrange(choices)
        if choice >= len(readable):
            for contents in cluster.deliver():
                collect(outcome, contents, plan)
            continue
        at = readable[choice]
        first = at.front.next_row
        rows = inputs[at.ordinal][at.front.split]
        if first == len(rows):
            cluster.end(at)
            continue
        taken = rows[first : first + schedule.random.randint(1, batch_rows)]
        source_offset = SourceOffset(first, first + 1, first)
        cluster.read(at, chunk_of(taken, first, at.front.table), source_offset)
        outcome.rows_buffered_max = max(outcome.rows_buffered_max, cluster.rows_buffered())
    if watcher is not None:
        watcher.observe(cluster)
    folds = [fold for worker in cluster.workers for fold in worker.folds.values()]
    outcome.rows_redone = sum(fold.rows_redone for fold in folds)
    outcome.rows_held = sum(fold.rows_held for fold in folds)
    outcome.messages, outcome.rebalanced = cluster.messages, cluster.rebalanced
    return outcome


def _cluster(
    plan: TickPlan,
    fronts: Sequence[PlacedFront],
    schedule: Schedule,
    begin: SnapshotStart | None,
    encodings: Mapping[int, RowEncoding],
) -> Cluster:
    """Return a cluster as of the snapshot, if one is given; the fronts skip the rows that it has."""
    if begin is None:
        return Cluster(plan, fronts, schedule, encodings=encodings)
    cluster = Cluster(plan, fronts, schedule, start=begin.position, encodings=encodings)
    for at in fronts:
        at.front.resume(ResumePoint(at.front.number, 0, 1, 0, TIME_START), begin.position)
    cluster.load(begin.state, begin.position)
    return cluster


def chunk_of(rows: Sequence[Row | DeadLetter], first: int, table: Table) -> Chunk:
    """Return rows of a table as a chunk; `first` is the row number of the first row.

    If the time of the table is the arrival of its rows, each row ends with its arrival time.
    """
    good = [(first + i, row) for i, row in enumerate(rows) if not isinstance(row, DeadLetter)]
    columns = [
        to_arrow([row[i] for _, row in good], column.type) for i, column in enumerate(table.columns)
    ]
    dead_letters = [row for row in rows if isinstance(row, DeadLetter)]
    arrivals = None
    if table.time is TimeKind.ARRIVAL:
        arrivals = np.array([row[-1] for _, row in good], np.int64)
    numbers = np.array([number for number, _ in good], np.int64)
    return Chunk(columns, numbers, dead_letters, 0, arrivals=arrivals)


def _labelled_rows(release: Release, table: SinkTable) -> Iterable[tuple[str | None, Row]]:
    """Return each row with the label of its operation, None if the table has no labels."""
    if release.encoded:
        unpacked = [unpack(packed) for packed in release.columns[0].to_pylist()]
        if table.changes is Changes.APPEND:
            return [(None, row) for _, row in unpacked]
        return unpacked
    types = [column.type for column in table.columns]
    rows = zip(*map(from_arrow, release.columns, types), strict=True)
    labels: list[str | None] = [None] * len(release.time)
    if release.operations is not None:
        labels = [OPERATIONS[operation] for operation in release.operations]
    return zip(labels, rows, strict=True)


def collect(outcome: Outcome, contents: BarrierOutput, plan: TickPlan) -> None:
    """Add the rows that a barrier has released to an outcome."""
    match contents:
        case Released(insert, release):
            roots = map(Root, release.time.tolist(), release.origin.tolist())
            labelled = _labelled_rows(release, plan.sinks[insert].table)
            outcome.released[insert] += [
                (root, label, row) for root, (label, row) in zip(roots, labelled, strict=True)
            ]
        case LateRows(window, batch):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            roots = map(Root, batch.time.tolist(), batch.origin.tolist())
            outcome.late[window] += zip(roots, rows, strict=True)
        case DeadLetters(dead_letters):
            outcome.dead_letters += dead_letters
        case Stopped():
            outcome.stopped = contents
