"""Runs a job in this process: reads splits, steps the cluster, writes the rows that the barrier releases.

The front with the least promise reads next, in chunks of a size that its reader chooses, and all messages
that a chunk causes are delivered before the next chunk is read.  So a row is released as soon as the order
allows, and is written at once.  Memory is bounded by the read-ahead and the state of the query.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from fsql.compiler.records import dataclass
from fsql.runtime.batch import END
from fsql.runtime.dataflow.barrier import DeadLetters, LateRows, Released, Stopped
from fsql.runtime.dataflow.freshness import Freshness
from fsql.runtime.dataflow.holder import Holder
from fsql.runtime.dataflow.metrics import Metrics
from fsql.runtime.dataflow.stage_pipeline import Instrumentation, uninstrumented
from fsql.runtime.drivers.cluster import BarrierFirst, Cluster, PlacedFront, fronts_of
from fsql.runtime.ports import ReadsOnce, Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery.delivery import Contents
    from fsql.runtime.drivers.cluster import BarrierOutput
    from fsql.runtime.ports import Split, SplitReader

CHUNK_ROWS = 65_536
"""The maximum number of rows that a front reads at once; readers return fewer if their block has fewer."""

READ_AHEAD_ROWS = 1_000_000
"""How many rows a front may be ahead of min time."""

WAIT_SECONDS_MAX = 0.1
"""The maximum time to sleep when nothing can be read; progress is reported in between."""

_STATE_COUNTED_EVERY = 0.25
"""Seconds between two measurements of the size of the state."""


class ReleaseTaker(Protocol):
    """Takes the rows that the barrier releases."""

    def take(self, contents: Contents) -> None:
        """Accept rows, which are written once `advance` is called with a bound above them."""

    def advance(self, bound: Root) -> None:
        """Write the accepted rows, which are all below `bound`; END means that no more follow.

        Raises:
            FsqlError: if a sink fails.
        """


def held_name(table: str, split: str) -> str:
    """Return a table and its split as `Metrics.held_by` names them."""
    return f"{table} ({split})"


@dataclass(frozen=True, slots=True)
class Edges:
    """The inputs and outputs of a job: splits by table ordinal, and the target of released rows."""

    splits: Mapping[int, Sequence[Split]]
    outputs: ReleaseTaker


def count_released(
    metrics: Metrics, contents: Released | LateRows | DeadLetters, plan: TickPlan
) -> None:
    """Count what the barrier has released."""
    match contents:
        case Released(insert, release):
            metrics.rows_out += len(release.time)
            metrics.sink(plan.sinks[insert].table.name).rows += len(release.time)
        case LateRows(window, rows):
            metrics.count_late(window, len(rows))
        case DeadLetters(dead_letters):
            metrics.count_dead_letters(dead_letters, plan.tables)


@dataclass(slots=True)
class LocalRun:
    """One run of a job.

    It ends when all input is used up, the job has stopped, or every INSERT has its maximum of rows, if all
    have one in `insert_limits`.
    """

    plan: TickPlan
    edges: Edges
    read_ahead_rows: int = READ_AHEAD_ROWS
    chunk_rows: int = CHUNK_ROWS
    metrics: Metrics = field(default_factory=Metrics)
    stopped: Stopped | None = None
    freshness: Freshness = field(default_factory=Freshness)
    instrument: Instrumentation = uninstrumented
    holder: Holder = field(default_factory=Holder)
    names: list[str] = field(default_factory=list)
    """The tables and splits of the fronts, by number."""
    insert_limits: Sequence[int] = ()
    idle: bool = False
    """Whether nothing could be read when it was last tried, and all sources wait."""
    rows_passed: Counter[tuple[int, int]] = field(default_factory=Counter)
    """After the run: how many rows each step has made, by stage and step."""
    _next_count_of_state: float = 0.0

    def run(self, on_progress: Callable[[Metrics], None] = lambda _: None) -> Metrics:
        """Run to the end; call `on_progress` after every chunk.

        Raises:
            FsqlError: if a source or a sink fails.
        """
        for metrics in self.steps():
            on_progress(metrics)
        return self.metrics

    def steps(self) -> Generator[Metrics]:
        """Run to the end; yield after every chunk, when all its results are written.

        Raises:
            FsqlError: if a source or a sink fails.
        """
        readers = self._open()
        cluster = Cluster(
            self.plan,
            [at for at, _ in readers],
            BarrierFirst(),
            instrument=self.instrument,
            rows_left=self.insert_limits,
        )
        started = time.monotonic()
        try:
            if cluster.barrier.complete:
                self._advance_outputs(cluster)
            while self._read_round(cluster, readers):
                self._count(cluster, started)
                yield self.metrics
        finally:
            self._count(cluster, started, last=True)
            for worker in cluster.workers:
                self.rows_passed.update(worker.pipelines.rows_passed())
            for at, reader in readers:
                if isinstance(reader, ReadsOnce) and not cluster.barrier.complete:
                    self.metrics.count_unread(at.front.table.name, reader.bytes_lost())
                reader.close()
        yield self.metrics

    def _open(self) -> list[tuple[PlacedFront, SplitReader]]:
        readers: list[tuple[PlacedFront, SplitReader]] = []
        for at in fronts_of(self.plan, self.edges.splits):
            front = at.front
            split = self.edges.splits[at.ordinal][front.split]
            self.names.append(held_name(front.table.name, split.name))
            readers.append((at, split.open()))
        return readers

    def _read_round(self, cluster: Cluster, readers: list[tuple[PlacedFront, SplitReader]]) -> bool:
        """Read from each front that may send, the least promise first; return whether to continue."""
        waits = []
        read = False
        for at, reader in sorted(readers, key=lambda item: item[0].front.promised):
            if not cluster.may_read(at, self.read_ahead_rows):
                continue
            chunk = self.instrument("read", reader.read)(self.chunk_rows)
            at.front.bytes_passed = reader.bytes_passed()
            if isinstance(chunk, Wait):
                waits.append(chunk.seconds)
                continue
            if chunk is None:
                cluster.end(at)
            else:
                chunk.check_row_numbers()
                cluster.read(at, chunk)
                self.freshness.on_chunk(at.front, time.monotonic())
            read = True
            self._write(cluster)
        self.idle = not read and bool(waits)
        if not read and waits:
            time.sleep(max(0.0, min(WAIT_SECONDS_MAX, *waits)))
        return (read or bool(waits)) and not cluster.barrier.stopped

    def _write(self, cluster: Cluster) -> None:
        """Deliver all messages; write each release at once, so that the rows of few releases are held."""
        while not cluster.idle:
            outputs = cluster.deliver()
            for contents in outputs:
                self._take(contents)
            if outputs:
                self._advance_outputs(cluster)
        self._advance_outputs(cluster)

    def _take(self, contents: BarrierOutput) -> None:
        if isinstance(contents, Stopped):
            self.stopped = contents
        else:
            count_released(self.metrics, contents, self.plan)
            self.edges.outputs.take(contents)

    def _advance_outputs(self, cluster: Cluster) -> None:
        bound = cluster.barrier.min_time if self.stopped is None else self.stopped.root
        if cluster.barrier.complete:
            bound = END
        self.instrument("write", self.edges.outputs.advance)(bound)

    def _count(self, cluster: Cluster, started: float, *, last: bool = False) -> None:
        metrics, now = self.metrics, time.monotonic()
        if last or now >= self._next_count_of_state:
            # Measuring the state takes longer than processing a chunk of few rows.
            self._next_count_of_state = now + _STATE_COUNTED_EVERY
            folds = [fold for worker in cluster.workers for fold in worker.folds.values()]
            metrics.set_folds(folds)
            metrics.set_operators(self.instrument.operators)
        fronts = [at.front for at in cluster.fronts]
        metrics.set_fronts(fronts, cluster.barrier.min_time)
        metrics.messages = cluster.messages
        metrics.acknowledgements = cluster.acker.acknowledgements
        metrics.releases = cluster.barrier.releases
        metrics.seconds = now - started
        metrics.seconds_behind = self.freshness.seconds_behind(cluster.barrier.min_time, now)
        held = self.holder.holds([(front.number, front.promised) for front in fronts], now)
        metrics.set_held(held, self.names)
