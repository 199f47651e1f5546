"""A worker's part in one epoch: its `Worker`, its fronts, its links, and its part in snapshots.

The epoch passes each event and item to the part that handles it, and sends the answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.batch import END, START
from fsql.runtime.cluster.failure_detector import FailureDetector
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    AbandonTick,
    AdoptFront,
    AnnounceSnapshot,
    Begin,
    CancelSnapshot,
    Credit,
    Failure,
    Frame,
    Heartbeat,
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
from fsql.runtime.cluster.front_moves import FrontMoves
from fsql.runtime.cluster.links import Links
from fsql.runtime.cluster.local_fronts import LocalFronts
from fsql.runtime.cluster.manifest import manifest_of
from fsql.runtime.cluster.node import Transmit
from fsql.runtime.cluster.worker_events import Trim, Yield
from fsql.runtime.cluster.worker_metrics import WorkerMetrics
from fsql.runtime.cluster.worker_shards import WorkerShards
from fsql.runtime.cluster.worker_snapshots import WorkerSnapshots
from fsql.runtime.cluster.worker_ticks import WorkerTicks
from fsql.runtime.dataflow.messages import Message, MinTime
from fsql.runtime.dataflow.worker import Worker
from fsql.runtime.ports import Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.cluster.frames import Goodbye, Item
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.local_fronts import LocalFront
    from fsql.runtime.cluster.manifest import Manifest
    from fsql.runtime.cluster.tick_events import BinsCopied, BinsNotCopied
    from fsql.runtime.cluster.worker_events import (
        ChunkRead,
        Loaded,
        NotStored,
        ShardStored,
        SinksSynced,
        Stored,
        WorkerEffect,
    )


class WorkerEpoch:
    """One worker in one epoch."""

    def __init__(self, begin: Begin, settings: Settings, now: float) -> None:
        """Start the epoch; the plan and the state are still to be loaded."""
        self.begin = begin
        self.number = begin.epoch
        self.detector: FailureDetector[int] = FailureDetector(begin.failure_after)
        self.detector.watch([COORDINATOR], now)
        self._settings = settings
        self._manifest: Manifest | None = manifest_of(begin.manifest) if begin.manifest else None
        self._links = Links.of_worker(begin, settings.link)
        self._worker: Worker | None = None
        self._plan: TickPlan | None = None
        self._fronts = LocalFronts(settings)
        self._snapshots: WorkerSnapshots | None = None
        self._shards: WorkerShards | None = None
        self._ticks: WorkerTicks | None = None
        self._moves: FrontMoves | None = None
        self._running = False
        self._half_read: list[LocalFront] = []
        """The fronts with a chunk that is not fully processed."""
        self._metrics: WorkerMetrics | None = None
        self._next_heartbeat = now

    # Queries of the host.

    def readable(self, now: float) -> list[int]:
        """Return the numbers of the fronts that may read now, the one with the least promise first."""
        worker = self._worker
        if not self._running or worker is None:
            return []
        readable = self._fronts.readable(now, behind=self._is_behind)
        return [front.number for front in readable if not worker.waits(front)]

    def next_timer(self) -> float:
        """Return the latest time at which to call `advance`; 0 means immediately."""
        due = 0.0 if self._has_work() else self._links.next_timer()
        due = min(due, self._next_heartbeat, self.detector.next_timer())
        if self._ticks is not None:
            due = min(due, self._ticks.next_timer())
        if self._running and self._metrics is not None:
            due = min(
                due, self._metrics.next_timer, self._fronts.next_timer(behind=self._is_behind)
            )
        return due

    def has_failed(self, now: float) -> bool:
        """Return whether the coordinator or a peer has failed."""
        detector = self.detector
        return detector.silent(now) is not None or (
            detector.stuck(self._links.by_peer, now) is not None
        )

    def is_ended_by(self, goodbye: Goodbye) -> bool:
        """Return whether a Goodbye of a coordinator ends the part of this worker in the epoch."""
        return goodbye.epoch == self.number and goodbye.member in {-1, self.begin.number}

    # Events.

    def on_loaded(self, loaded: Loaded, now: float) -> list[WorkerEffect]:
        """Build the worker as of the snapshot, and report that it is ready."""
        begin, manifest = self.begin, self._manifest
        start = START if manifest is None else manifest.root
        self._settings = loaded.settings
        self._plan = loaded.plan
        self._fronts = LocalFronts(loaded.settings)
        metrics = self._metrics = WorkerMetrics(begin, loaded, self._fronts, now)
        self._shards = WorkerShards(begin, loaded, start, metrics.instrumentation, self._links.put)
        encodings = self._shards.encodings
        self._worker = Worker(
            *(loaded.plan, begin.number, begin.epoch, metrics.instrumentation, encodings),
            metrics.loads,
            shards=self._shards.exchange,
        )
        self._ticks = WorkerTicks(
            self._worker, begin.number, begin.epoch, self._links.put, self._links.put_effects
        )
        self._snapshots = WorkerSnapshots(begin.epoch, self._worker, self._fronts, self._ticks)
        self._moves = FrontMoves(
            *(self._worker, begin.epoch, self._fronts, loaded.tasks, self._links.put)
        )
        self._fronts.begin(loaded.fronts, loaded.plan.tables, manifest)
        if manifest is not None:
            self._links.put_effects(self._worker.load(loaded.state, start))
        self._links.put(COORDINATOR, Ready())
        return self._flush(now)

    def receive(self, frame: Frame, now: float) -> list[WorkerEffect]:
        """Process a frame of one of the links."""
        if frame.sender not in self._links.by_peer or self._worker is None:
            return []  # the peer sends it again
        if frame.sender == COORDINATOR and frame.epoch == self.number:
            self.detector.on_heartbeat(COORDINATOR, now)
        items, answers = self._links.receive(frame, now)
        effects: list[WorkerEffect] = [*answers]
        for item in items:
            effects += self._on_item(frame.sender, item, now)
        return effects + self._flush(now)

    def on_chunk(self, read: ChunkRead, now: float) -> list[WorkerEffect]:
        """Process the chunk that a front has read."""
        here = self._fronts.get(read.front)
        if here is None or self._worker is None:
            return []
        assert self._metrics is not None
        self._read_rest()
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
            here.waits_until = 0.0
            first = self._worker.read_first(
                here.front, here.ordinal, read.chunk, read.source_offset
            )
            self._metrics.on_chunk(here.front, now)
            here.read_ahead.on_chunk(here.front, now)
            self._half_read.append(here)
            self._links.put_effects(first)
            if first and self._worker.has_more:
                return [*self._flush(now), Yield()]
            self._read_rest()
        self._report_if_blocked(here)
        return self._take_snapshot() + self._flush(now)

    def on_resumed(self, now: float) -> list[WorkerEffect]:
        """Process the rest of a step, after the messages to other workers have been sent."""
        self._read_rest()
        if self._ticks is not None:
            self._ticks.release()
        return self._take_snapshot() + self._flush(now)

    def on_stored(self, event: Stored | NotStored, now: float) -> list[WorkerEffect]:
        """Record whether the incremental snapshots were stored."""
        if self._snapshots is None or (report := self._snapshots.on_stored(event)) is None:
            return []
        self._links.put(COORDINATOR, report)
        return [*self._flush(now), *self._snapshots.next_work()]

    def on_shard(self, event: ShardStored | SinksSynced, now: float) -> list[WorkerEffect]:
        """Record that the sink of a shard has stored a bundle, or that all have synced."""
        effects = [] if self._shards is None else self._shards.on_event(event)
        return [*effects, *self._flush(now)]

    def on_copied(self, event: BinsCopied | BinsNotCopied, now: float) -> list[WorkerEffect]:
        """Send the state of bins that move to another worker."""
        assert self._snapshots is not None
        self._snapshots.on_copied(event, now)
        return [*self._flush(now), *self._snapshots.next_work()]

    def send(self, items: Sequence[Item], now: float) -> list[WorkerEffect]:
        """Send items to the coordinator."""
        for item in items:
            self._links.put(COORDINATOR, item)
        return self._flush(now)

    def fail(self, diagnostics: bytes, now: float) -> list[WorkerEffect]:
        """Report why rows cannot be processed, and drop the messages of the failed step."""
        self._running = False
        self._worker = self._snapshots = self._ticks = self._shards = None
        self._fronts.clear()
        self._half_read.clear()
        self._links.discard()
        return self.send([Failure(diagnostics)], now)

    def advance(self, now: float) -> list[WorkerEffect]:
        """Send heartbeats and metrics when it is time."""
        self._fronts.end_waits(now)
        effects = self._heartbeat(now) if now >= self._next_heartbeat else []
        worker, metrics = self._worker, self._metrics
        if self._running and worker is not None and metrics is not None and metrics.is_due(now):
            effects += self.send([metrics.report(worker, now)], now)
            effects += metrics.record_statistics(worker, now)
        return effects

    def late_heartbeat(self, now: float) -> list[WorkerEffect]:
        """Send a heartbeat if one has been due for an interval: under steady input no timer fires."""
        interval = self._settings.heartbeat_every
        return self._heartbeat(now) if now >= self._next_heartbeat + interval else []

    def _heartbeat(self, now: float) -> list[WorkerEffect]:
        self._next_heartbeat = now + self._settings.heartbeat_every
        begin = self.begin
        return [Transmit(begin.coordinator, Heartbeat(begin.job, self.number, begin.number))]

    def continue_work(self, now: float) -> list[WorkerEffect]:
        """Apply more of the rows that a fold has left for later, once its earlier output is sent."""
        if self._has_work() and self._worker is not None:
            self._links.put_effects(self._worker.continue_work())
        if self._ticks is not None:
            self._ticks.continue_work(now, self._links.is_behind)
        return self._take_snapshot() + self._flush(now)

    def flush_links(self, now: float) -> list[WorkerEffect]:
        """Acknowledge frames, and resend unacknowledged ones; to be called when all input is processed."""
        return [
            transmit
            for peer in self._links.due(now)
            for transmit in self._links.send_due(peer, now)
        ]

    @property
    def _is_behind(self) -> bool:
        return self._worker is not None and self._worker.is_behind

    def _has_work(self) -> bool:
        return self._is_behind and not self._links.have_waiting

    # Items.

    def _on_item(self, sender: int, item: Item, now: float) -> list[WorkerEffect]:
        assert self._worker is not None
        assert self._shards is not None
        assert self._snapshots is not None
        assert self._metrics is not None
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
            case AnnounceSnapshot():
                self._links.put(COORDINATOR, self._snapshots.on_announcement(item))
                return self._take_snapshot()
            case PrepareTick():
                return [*self._snapshots.on_preparation(item)]
            case CancelSnapshot(snapshot):
                self._links.put_effects(self._snapshots.on_cancellation(snapshot))
                self._report_blocked_again()
            case SnapshotCommitted(snapshot, position, unneeded):
                for front in self._fronts:
                    front.forget_below(position)
                return [Trim(snapshot, unneeded)]
            case _:
                return self._on_other_item(sender, item)
        return []

    def _on_other_item(self, sender: int, item: Item) -> list[WorkerEffect]:
        assert self._worker is not None
        assert self._ticks is not None
        match item:
            case Switch():
                self._links.put_effects(self._worker.switch(self._fronts))
                self._ticks.on_switch(item)
                self._report_blocked_again()
                return self._take_snapshot()
            case StatePart():
                self._ticks.on_part(sender, item)
            case AdoptFront():
                assert self._moves is not None
                here, opened = self._moves.adopt(item)
                self._report_if_blocked(here)
                return [*opened]
            case TickCompleted():
                self._ticks.on_completed()
            case MemberJoined(number, address):
                self._links.add(number, address)
            case MemberLeft(number):
                self._links.remove(number)
            case AbandonTick():
                self._ticks.on_abandoned()
            case ReleaseShards() | SyncShards():
                return [] if self._shards is None else self._shards.on_item(item)
            case _:
                raise AssertionError(item)
        return []

    def _on_min_time(self, min_time: MinTime, now: float) -> None:
        assert self._plan is not None
        assert self._worker is not None
        assert self._metrics is not None
        if min_time.stage < len(self._plan.stages):
            self._links.put_effects(self._worker.advance(min_time))
            if min_time.root == END:
                # After this the coordinator may finish without asking again.
                self._links.put(COORDINATOR, self._metrics.report(self._worker, now))
            return
        self._metrics.on_released(min_time.root, now)
        for blocked in self._fronts.on_released(min_time.root, now, behind=self._is_behind):
            self._links.put(COORDINATOR, blocked)

    def _take_snapshot(self) -> list[WorkerEffect]:
        if self._snapshots is None or self._moves is None or self._ticks is None:
            return []
        unfinished = {here.front.number for here in self._half_read}
        released = self._moves.release(self._ticks.number, unfinished)
        if released and self._metrics is not None:
            self._metrics.next_timer = 0.0  # the worker may leave soon
        return [*released, *self._snapshots.take()]

    # Fronts.

    def _read_rest(self) -> None:
        """Process the rest of the chunks that were read."""
        half_read, self._half_read = self._half_read, []
        for here in half_read:
            assert self._worker is not None
            self._links.put_effects(self._worker.read_rest(here.front))
            self._report_if_blocked(here)

    def _report_blocked_again(self) -> None:
        """Report blocked fronts with their current promises, which a change of owners had held back."""
        for blocked in self._fronts.report_again(behind=self._is_behind):
            self._links.put(COORDINATOR, blocked)

    def _report_if_blocked(self, here: LocalFront) -> None:
        for blocked in self._fronts.report_if_blocked(here, behind=self._is_behind):
            self._links.put(COORDINATOR, blocked)

    # Output.

    def _flush(self, now: float) -> list[WorkerEffect]:
        """Send all items of this step, one frame for each receiver."""
        transmits = self._links.send(now)
        if any(each.address == self.begin.coordinator for each in transmits):
            # A frame shows that its sender is alive, as a heartbeat does.
            self._next_heartbeat = now + self._settings.heartbeat_every
        has_more = self._ticks is not None and self._ticks.must_release
        return [*transmits, Yield()] if has_more else [*transmits]
