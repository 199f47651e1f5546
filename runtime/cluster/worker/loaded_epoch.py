"""A worker's part in one epoch once its state is loaded: it passes each event and item to what handles it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.batch import END, START
from fsql.runtime.cluster.delivery.worker_shards import WorkerShards
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    AbandonTick,
    AdoptFront,
    AnnounceSnapshot,
    CancelSnapshot,
    Credit,
    MemberJoined,
    MemberLeft,
    PrepareTick,
    Ready,
    ReleaseShards,
    SnapshotCommitted,
    Start,
    StatePart,
    Switch,
    SyncShards,
    TickCompleted,
)
from fsql.runtime.cluster.snapshots.manifest import manifest_of
from fsql.runtime.cluster.snapshots.worker_snapshots import WorkerSnapshots
from fsql.runtime.cluster.ticks.events import BinsCopied, BinsNotCopied
from fsql.runtime.cluster.ticks.worker_ticks import FrontMoves, WorkerTicks
from fsql.runtime.cluster.worker.events import (
    ChunkRead,
    NotStored,
    Resumed,
    ShardStored,
    SinksSynced,
    Stored,
    Trim,
    Yield,
)
from fsql.runtime.cluster.worker.local_fronts import LocalFronts
from fsql.runtime.cluster.worker.metrics import WorkerMetrics
from fsql.runtime.dataflow.messages import Message, MinTime
from fsql.runtime.dataflow.read_ahead import BYTES_FEW
from fsql.runtime.dataflow.worker import Worker
from fsql.runtime.ports import Wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.frames import Begin, Blocked, Item
    from fsql.runtime.cluster.links.links import WorkerLinks
    from fsql.runtime.cluster.worker.events import Loaded, LoadedEvent, WorkerEffect
    from fsql.runtime.cluster.worker.local_fronts import LocalFront


class LoadedEpoch:
    """A `Worker` in one epoch, its fronts, and its part in snapshots, ticks and shards."""

    def __init__(self, begin: Begin, loaded: Loaded, links: WorkerLinks, now: float) -> None:
        """Build the worker as of the snapshot, and report that it is ready.

        Raises:
            PositionRefusedError: if the sink of a shard has lost stored rows.
        """
        manifest = manifest_of(begin.manifest) if begin.manifest else None
        start = START if manifest is None else manifest.root
        self._links = links
        self._barrier_stage = len(loaded.plan.stages)
        self._fronts = LocalFronts(loaded.settings)
        self._metrics = WorkerMetrics(begin, loaded, self._fronts, now)
        instrument = self._metrics.instrumentation
        self._shards = WorkerShards(begin, loaded, start, instrument, links.put)
        self._worker = Worker(
            *(loaded.plan, begin.number, begin.epoch, instrument, self._shards.encodings),
            self._metrics.loads,
            shards=self._shards.exchange,
        )
        self._ticks = WorkerTicks(
            self._worker, begin.number, begin.epoch, links.put, links.put_effects
        )
        self._snapshots = WorkerSnapshots(begin.epoch, self._worker, self._fronts, self._ticks)
        self._moves = FrontMoves(self._worker, begin.epoch, self._fronts, loaded.tasks, links.put)
        self._reading = FrontReading(self._worker, self._fronts, links, self._metrics)
        self._running = False
        self._fronts.begin(loaded.fronts, loaded.plan.tables, manifest)
        if manifest is not None:
            links.put_effects(self._worker.load(loaded.state, start))
        links.put(COORDINATOR, Ready())

    def readable(self, now: float) -> list[int]:
        """Return the numbers of the fronts that may read now, the one with the least promise first."""
        return self._reading.readable(now) if self._running else []

    def next_timer(self) -> float:
        """Return the latest time at which to call `advance` and `continue_work`; 0 means immediately."""
        if self._has_work():
            return 0.0
        due = self._ticks.next_timer()
        if self._running:
            due = min(due, self._metrics.next_timer, self._reading.next_timer())
        return due

    def on_event(self, event: LoadedEvent, now: float) -> list[WorkerEffect]:
        """Process an event, and send the items that result."""
        match event:
            case ChunkRead():
                return self._on_chunk(event, now)
            case Resumed():
                self._reading.read_rest()
                self._ticks.release()
                return self._take_snapshot() + self.send(now)
            case ShardStored() | SinksSynced():
                return [*self._shards.on_event(event), *self.send(now)]
            case Stored() | NotStored():
                report = self._snapshots.on_stored(event)
                if report is None:
                    return []
                self._links.put(COORDINATOR, report)
            case BinsCopied() | BinsNotCopied():
                self._snapshots.on_copied(event, now)
        return [*self.send(now), *self._snapshots.next_work()]

    def _on_chunk(self, read: ChunkRead, now: float) -> list[WorkerEffect]:
        if self._reading.on_chunk(read, now):
            return [*self.send(now), Yield()]
        return self._take_snapshot() + self.send(now)

    def advance(self, now: float) -> list[WorkerEffect]:
        """Send metrics when it is time."""
        self._fronts.end_waits(now)
        if not self._running or not self._metrics.is_due(now):
            return []
        self._links.put(COORDINATOR, self._metrics.report(self._worker, now))
        return [
            *self.send(now),
            *self._metrics.record_statistics(self._worker, self._links.by_peer, now),
        ]

    def continue_work(self, now: float) -> list[WorkerEffect]:
        """Apply more of the rows that a fold has left for later, once its earlier output is sent."""
        if self._has_work():
            self._links.put_effects(self._worker.continue_work())
        self._ticks.continue_work(now, self._links.is_behind)
        return self._take_snapshot() + self.send(now)

    def send(self, now: float) -> list[WorkerEffect]:
        """Send all items of this step, one frame for each receiver."""
        transmits = self._links.send(now)
        return [*transmits, Yield()] if self._ticks.must_release else [*transmits]

    def _has_work(self) -> bool:
        return self._worker.is_behind and not self._links.have_waiting

    def _take_snapshot(self) -> list[WorkerEffect]:
        released = self._moves.release(self._ticks.number, self._reading.unfinished)
        if released:
            self._metrics.next_timer = 0.0  # the worker may leave soon
        return [*released, *self._snapshots.take()]

    # Items.

    def on_item(self, sender: int, item: Item, now: float) -> Sequence[WorkerEffect]:
        """Process an item of a frame; `send` has to follow."""
        match item:
            case Message():
                self._metrics.on_message()
                receiver = self._worker if item.parcel.to.shard < 0 else self._shards
                self._links.put_effects(receiver.receive(item))
            case MinTime():
                self._on_min_time(item, now)
                return self._take_snapshot()
            case Start():
                self._running = True
            case Credit():
                self._fronts.on_credit(item)
            case ReleaseShards() | SyncShards():
                return self._shards.on_item(item)
            case MemberJoined(number, address):
                self._links.add(number, address)
            case MemberLeft(number):
                self._links.remove(number)
            case _:
                return self._on_snapshot_item(sender, item)
        return []

    def _on_snapshot_item(self, sender: int, item: Item) -> Sequence[WorkerEffect]:
        match item:
            case AnnounceSnapshot():
                self._links.put(COORDINATOR, self._snapshots.on_announcement(item))
                return self._take_snapshot()
            case CancelSnapshot(snapshot):
                self._links.put_effects(self._snapshots.on_cancellation(snapshot))
                self._reading.report_again()
            case SnapshotCommitted(snapshot, position, unneeded):
                for front in self._fronts:
                    front.forget_below(position)
                return [Trim(snapshot, unneeded)]
            case _:
                return self._on_tick_item(sender, item)
        return []

    def _on_tick_item(self, sender: int, item: Item) -> Sequence[WorkerEffect]:
        match item:
            case PrepareTick():
                return self._snapshots.on_preparation(item)
            case Switch():
                self._links.put_effects(self._worker.switch(self._fronts))
                self._ticks.on_switch(item)
                self._reading.report_again()
                return self._take_snapshot()
            case StatePart():
                self._ticks.on_part(sender, item)
            case AdoptFront():
                here, opened = self._moves.adopt(item)
                self._reading.report_if_blocked(here)
                return opened
            case TickCompleted():
                self._ticks.on_completed()
            case AbandonTick():
                self._ticks.on_abandoned()
            case _:
                raise AssertionError(item)
        return []

    def _on_min_time(self, min_time: MinTime, now: float) -> None:
        if min_time.stage < self._barrier_stage:
            self._links.put_effects(self._worker.advance(min_time))
            if min_time.root == END:
                # After this the coordinator may finish without asking again.
                self._links.put(COORDINATOR, self._metrics.report(self._worker, now))
            return
        self._metrics.on_released(min_time.root, now)
        self._reading.on_released(min_time.root, now)
        if min_time.root == END:
            self._links.put(COORDINATOR, self._metrics.report(self._worker, now))


# How the fronts of a worker read in one epoch: chunks go to the worker, blocked fronts are reported.
#
# A chunk may be processed in two steps.  After the first one the rows for other workers are sent, which can
# begin with them; `read_rest` takes the second step.


class FrontReading:
    """The reading of the fronts of one worker."""

    def __init__(
        self, worker: Worker, fronts: LocalFronts, links: WorkerLinks, metrics: WorkerMetrics
    ) -> None:
        """Begin without chunks."""
        self._worker, self._fronts = worker, fronts
        self._links, self._metrics = links, metrics
        self._half_read: list[LocalFront] = []
        """The fronts with a chunk that is not fully processed."""

    def readable(self, now: float) -> list[int]:
        """Return the numbers of the fronts that may read now, the one with the least promise first."""
        readable = self._fronts.readable(now, behind=self._worker.is_behind)
        return [front.number for front in readable if not self._worker.waits(front)]

    def next_timer(self) -> float:
        """Return when the next front that waits for its source may read, infinity for never."""
        return self._fronts.next_timer(behind=self._worker.is_behind)

    @property
    def unfinished(self) -> set[int]:
        """Return the numbers of the fronts with a chunk that is not fully processed."""
        return {here.front.number for here in self._half_read}

    def on_chunk(self, read: ChunkRead, now: float) -> bool:
        """Process the chunk that a front has read; return whether its rest has to wait for `read_rest`."""
        here = self._fronts.get(read.front)
        if here is None:
            return False
        self.read_rest()
        here.credit = None
        here.front.bytes_passed = read.bytes_passed
        self._metrics.on_read(read)
        if read.chunk is None:
            self._links.put_effects(self._worker.end(here.front, read.source_offset))
            self._links.put(COORDINATOR, self._metrics.report(self._worker, now))
        elif isinstance(read.chunk, Wait):
            here.waits_until = now + read.chunk.seconds
            here.front.on_wait(read.source_offset)
        else:
            first = self._worker.read_first(
                here.front, here.ordinal, read.chunk, read.source_offset
            )
            self._metrics.on_chunk(here.front, now)
            here.read_ahead.on_chunk(here.front, now)
            linger = 0.0
            if read.chunk.bytes_read <= BYTES_FEW:
                linger = self._worker.pipelines.linger_of(here.ordinal)
            pause = here.read_ahead.pause(len(read.chunk.rows), now, linger)
            here.waits_until = now + pause if pause else 0.0
            self._half_read.append(here)
            self._links.put_effects(first)
            if first and self._worker.has_more:
                return True
            self.read_rest()
        self.report_if_blocked(here)
        return False

    def read_rest(self) -> None:
        """Process the rest of the chunks that were read."""
        half_read, self._half_read = self._half_read, []
        for here in half_read:
            self._links.put_effects(self._worker.read_rest(here.front))
            self.report_if_blocked(here)

    def on_released(self, position: Root, now: float) -> None:
        """Record that everything below a position is released and stored."""
        self._report(self._fronts.on_released(position, now, behind=self._worker.is_behind))

    def report_again(self) -> None:
        """Report blocked fronts with their current promises, which a change of owners had held back."""
        self._report(self._fronts.report_again(behind=self._worker.is_behind))

    def report_if_blocked(self, here: LocalFront) -> None:
        """Report a front once for each promise at which it may not read."""
        self._report(self._fronts.report_if_blocked(here, behind=self._worker.is_behind))

    def _report(self, blocked: Iterable[Blocked]) -> None:
        for each in blocked:
            self._links.put(COORDINATOR, each)
