"""A worker's part in one epoch: its `Worker`, its fronts, its links, and its side of snapshots."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.failure_detector import FailureDetector
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    AnnounceSnapshot,
    Begin,
    Blocked,
    CancelSnapshot,
    Credit,
    Failure,
    Frame,
    Heartbeat,
    Ready,
    SnapshotAcknowledged,
    SnapshotAnswer,
    SnapshotCommitted,
    SnapshotDeclined,
    Start,
)
from fsql.runtime.cluster.link import Link
from fsql.runtime.cluster.manifest import manifest_of
from fsql.runtime.cluster.node import Store, Stored, Transmit, Trim, Yield
from fsql.runtime.dataflow.freshness import Freshness
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.messages import Message, MinTime
from fsql.runtime.dataflow.read_ahead import ReadAhead
from fsql.runtime.dataflow.worker import BARRIER, SendMessage, Worker
from fsql.runtime.metrics import WorkerMetrics
from fsql.runtime.ports import Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.cluster.frames import Item
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.manifest import Manifest
    from fsql.runtime.cluster.node import ChunkRead, Loaded, NotStored, WorkerEffect
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation
    from fsql.runtime.dataflow.worker import Effect


@dataclass(slots=True)
class _LocalFront:
    """A front of this worker, and what keeps it from reading."""

    front: Front
    ordinal: int
    lead: ReadAhead
    waits_until: float = 0.0
    granted: Root | None = None
    blocked_reported: Root | None = None


class WorkerEpoch:
    """One worker in one epoch."""

    def __init__(self, begin: Begin, settings: Settings, now: float) -> None:
        self.begin = begin
        self.epoch = begin.epoch
        self.detector: FailureDetector[int] = FailureDetector(begin.failure_after)
        self.detector.watch([COORDINATOR], now)
        self._settings = settings
        self._manifest: Manifest | None = manifest_of(begin.manifest) if begin.manifest else None
        self._links = {
            peer: Link(begin.job, begin.tick, begin.epoch, begin.number, peer, settings.link)
            for peer in (COORDINATOR, *range(len(begin.addresses)))
            if peer != begin.number
        }
        self._worker: Worker | None = None
        self._plan: TickPlan | None = None
        self._fronts: dict[int, _LocalFront] = {}
        self._running = False
        self._released = START
        self._pending: AnnounceSnapshot | None = None
        """The snapshot that the worker has agreed to and not given its increments for."""
        self._storing: deque[Store] = deque()
        """What goes to disk: the first is on its way, the others wait, as each builds on those before."""
        self._outgoing: dict[int, list[Item]] = {}
        self._begun: list[_LocalFront] = []
        """The fronts of which a chunk was taken that is not done with."""
        self._messages = 0
        self._freshness = Freshness()
        self._behind: float | None = None
        """How far behind all was when news of it came; None if none have come since it was last counted."""
        self._next_heartbeat = now
        self._next_metrics = now

    # What the driver asks.

    def readable(self, now: float) -> list[int]:
        """Return the numbers of the fronts that may read now, the one that has promised least first."""
        if not self._running:
            return []
        may = [
            here
            for here in self._fronts.values()
            if now >= here.waits_until and self._may_read(here)
        ]
        may.sort(key=lambda here: here.front.promised)
        return [here.front.number for here in may]

    def next_timer(self) -> float:
        """Return when to call `advance` at the latest; 0 is at once."""
        due = 0.0 if self._may_go_on() else min([link.due_at for link in self._links.values()])
        due = min(due, self._next_heartbeat, self.detector.next_timer())
        if self._running:
            due = min(due, self._next_metrics)
            for here in self._fronts.values():
                if 0 < here.waits_until < due and self._may_read(here):
                    due = here.waits_until
        return due

    def has_failed(self, now: float) -> bool:
        """Return whether the coordinator or a peer has failed."""
        detector = self.detector
        return detector.silent(now) is not None or detector.stuck(self._links, now) is not None

    # What happens.

    def on_loaded(self, loaded: Loaded, watch: Instrumentation, now: float) -> list[WorkerEffect]:
        """Build the machines as of the snapshot, and say so."""
        begin, manifest = self.begin, self._manifest
        start = START if manifest is None else manifest.root
        self._settings = loaded.settings
        self._plan = loaded.plan
        self._worker = Worker(loaded.plan, begin.number, begin.epoch, watch)
        tables = loaded.plan.tables
        points = {} if manifest is None else {point.front: point for point in manifest.fronts}
        for task in loaded.fronts:
            front = Front(task.number, tables[task.ordinal], task.split)
            if task.number in points:
                front.resume(points[task.number], start)
            for passed in () if manifest is None else manifest.skipped:
                if passed.front == task.number:
                    front.skip(Root(*passed.first), Root(*passed.end))
            lead = ReadAhead(self._settings.lead_seconds, self._settings.lead_bytes_least)
            self._fronts[task.number] = _LocalFront(front, task.ordinal, lead)
        if manifest is not None:
            self._carry(self._worker.load(loaded.state, start))
        self._put(COORDINATOR, Ready())
        return self._flushed(now)

    def receive(self, frame: Frame, now: float) -> list[WorkerEffect]:
        """Take a frame of one of the links."""
        link = self._links.get(frame.sender)
        if link is None or self._worker is None:
            return []  # it will be sent again
        if frame.sender == COORDINATOR and frame.epoch == self.epoch:
            self.detector.on_heartbeat(COORDINATOR, now)
        items, frames = link.receive(frame, now)
        effects = self._transmitted(frame.sender, frames)
        for item in items:
            effects += self._take(item, now)
        return effects + self._flushed(now)

    def on_chunk(self, read: ChunkRead, now: float) -> list[WorkerEffect]:
        """Take what a front has read."""
        here = self._fronts.get(read.front)
        if here is None or self._worker is None:
            return []
        self._go_on()
        here.granted = None
        if read.chunk is None:
            self._carry(self._worker.end(here.front, read.place))
            self._put(COORDINATOR, self._metrics(now))
        elif isinstance(read.chunk, Wait):
            here.waits_until = now + read.chunk.seconds
            here.front.waits(read.place)
        else:
            here.waits_until = 0.0
            first = self._worker.read_first(here.front, here.ordinal, read.chunk, read.place)
            self._freshness.chunk_read(here.front, now)
            here.lead.chunk_read(here.front, now)
            self._begun.append(here)
            self._carry(first)
            if first and self._worker.has_more:
                return [*self._flushed(now), Yield()]
            self._go_on()
        self._report_if_blocked(here)
        return self._snapshot_taken() + self._flushed(now)

    def on_resumed(self, now: float) -> list[WorkerEffect]:
        """Do what is left of a chunk when other workers have what is theirs."""
        self._go_on()
        return self._snapshot_taken() + self._flushed(now)

    def _go_on(self) -> None:
        begun, self._begun = self._begun, []
        for here in begun:
            assert self._worker is not None
            self._carry(self._worker.read_rest(here.front))
            self._report_if_blocked(here)

    def on_stored(self, event: Stored | NotStored, now: float) -> list[WorkerEffect]:
        """Record whether the incremental snapshots were stored."""
        if not self._storing or self._storing[0].snapshot != event.snapshot:
            return []
        position = self._storing.popleft().position
        if isinstance(event, Stored):
            points = tuple(here.front.resume_point(position) for here in self._fronts.values())
            self._put(COORDINATOR, SnapshotAcknowledged(event.snapshot, event.records, points))
        else:
            self._put(COORDINATOR, SnapshotDeclined(event.snapshot, event.reason))
        return [*self._flushed(now), *islice(self._storing, 1)]

    def send(self, items: Sequence[Item], now: float) -> list[WorkerEffect]:
        """Send items to the coordinator."""
        self._outgoing.setdefault(COORDINATOR, []).extend(items)
        return self._flushed(now)

    def fail(self, diagnostics: bytes, now: float) -> list[WorkerEffect]:
        """Report why rows cannot be processed; nothing of a step that failed may go out."""
        self._running = False
        self._worker = None
        for half_done in (self._fronts, self._begun, self._outgoing, self._storing):
            half_done.clear()
        return self.send([Failure(diagnostics)], now)

    def advance(self, now: float) -> list[WorkerEffect]:
        """Do what the time demands: heartbeats, counters."""
        effects: list[WorkerEffect] = []
        for here in self._fronts.values():
            if now >= here.waits_until:
                # It may read now; until it does there is nothing to be woken for.
                here.waits_until = 0.0
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + self._settings.heartbeat_every
            beat = Heartbeat(self.begin.job, self.epoch, self.begin.number)
            effects.append(Transmit(self.begin.coordinator, beat))
        if self._running and now >= self._next_metrics:
            self._next_metrics = now + self._settings.metrics_every
            effects += self.send([self._metrics(now)], now)
        return effects

    def go_on(self, now: float) -> list[WorkerEffect]:
        """Apply more of the rows that a fold has left, once what it made before is on its way."""
        if self._may_go_on() and self._worker is not None:
            self._carry(self._worker.go_on())
        return self._snapshot_taken() + self._flushed(now)

    def _may_go_on(self) -> bool:
        room = not any(link.waiting for link in self._links.values())
        return self._worker is not None and self._worker.is_behind and room

    def flush_links(self, now: float) -> list[WorkerEffect]:
        """Acknowledge, and send again what was not acknowledged, when all that has come is dealt with."""
        effects: list[WorkerEffect] = []
        for peer, link in self._links.items():
            if link.due_at <= now:
                effects += self._transmitted(peer, link.due(now))
        return effects

    # Items.

    def _take(self, item: Item, now: float) -> list[WorkerEffect]:  # noqa: C901 - one case for each kind
        assert self._worker is not None
        match item:
            case Message():
                self._messages += 1
                self._carry(self._worker.receive(item))
            case MinTime():
                self._on_min_time(item, now)
                return self._snapshot_taken()
            case Start():
                self._running = True
            case Credit(number, promise):
                here = self._fronts.get(number)
                if here is not None and here.front.promised == promise:
                    here.granted = promise
            case AnnounceSnapshot():
                self._on_announcement(item)
                return self._snapshot_taken()
            case CancelSnapshot(snapshot):
                # What folds have given for it is stored all the same: the next one builds on it.
                if self._pending is not None and self._pending.snapshot == snapshot:
                    self._worker.cancel()
                    self._pending = None
            case SnapshotCommitted(snapshot, position, unneeded):
                for here in self._fronts.values():
                    here.front.forget_below(position)
                return [Trim(snapshot, unneeded)]
            case _:
                raise AssertionError(item)
        return []

    def _on_min_time(self, min_time: MinTime, now: float) -> None:
        assert self._plan is not None
        assert self._worker is not None
        if min_time.stage < len(self._plan.stages):
            self._carry(self._worker.advance(min_time))
            if min_time.root == END:
                # Behind this the coordinator may finish, and asks nobody any more.
                self._put(COORDINATOR, self._metrics(now))
            return
        self._released = min_time.root
        self._behind = self._freshness.seconds_behind(min_time.root, now)
        for here in self._fronts.values():
            here.lead.out_below(min_time.root, now)
            self._report_if_blocked(here)

    def _on_announcement(self, announce: AnnounceSnapshot) -> None:
        assert self._worker is not None
        promised = [here.front.promised for here in self._fronts.values() if not here.front.ended]
        reached = max([self._worker.reached, *promised])
        if accepted := self._worker.announce(announce.position):
            self._pending = announce
        self._put(COORDINATOR, SnapshotAnswer(announce.snapshot, accepted, reached))

    def _snapshot_taken(self) -> list[WorkerEffect]:
        """Store the increments of the pending snapshot once all folds have given theirs.

        A front that has not come as far as the position would resume behind rows that nobody has seen.
        """
        pending, worker = self._pending, self._worker
        if pending is None or worker is None:
            return []
        position = pending.position
        if any(here.front.promised < position for here in self._fronts.values()):
            return []
        increments = worker.take_snapshots()
        if increments is None:
            return []
        self._pending = None
        self._storing.append(Store(self.epoch, pending.snapshot, position, tuple(increments)))
        return [self._storing[0]] if len(self._storing) == 1 else []

    # Fronts.

    def _may_read(self, here: _LocalFront) -> bool:
        front = here.front
        if front.ended or (self._worker is not None and self._worker.is_behind):
            return False
        if here.lead.is_open and front.rows_above(self._released) < self._settings.lead_rows:
            return True
        return here.granted == front.promised

    def _report_if_blocked(self, here: _LocalFront) -> None:
        front = here.front
        if front.ended or here.blocked_reported == front.promised or self._may_read(here):
            return
        here.blocked_reported = front.promised
        self._put(COORDINATOR, Blocked(front.number, front.promised))

    # What goes out.

    def _carry(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SendMessage):
                receiver = COORDINATOR if effect.receiver == BARRIER else effect.receiver
                self._put(receiver, effect.message)
            else:
                self._put(COORDINATOR, effect)

    def _put(self, receiver: int, item: Item) -> None:
        self._outgoing.setdefault(receiver, []).append(item)

    def _flushed(self, now: float) -> list[WorkerEffect]:
        """Make a frame of all that this step has for each receiver."""
        outgoing, self._outgoing = self._outgoing, {}
        effects: list[WorkerEffect] = []
        for receiver, items in outgoing.items():
            sent = self._transmitted(receiver, self._links[receiver].send(items, now))
            if sent and receiver == COORDINATOR:
                # A frame says as well as a heartbeat that its sender lives.
                self._next_heartbeat = now + self._settings.heartbeat_every
            effects += sent
        return effects

    def _transmitted(self, peer: int, frames: Sequence[Frame]) -> list[WorkerEffect]:
        address = self.begin.coordinator if peer == COORDINATOR else self.begin.addresses[peer]
        return [Transmit(address, frame) for frame in frames]

    def _metrics(self, now: float) -> WorkerMetrics:
        assert self._worker is not None
        behind, self._behind = self._behind, None
        if behind is None:
            behind = self._freshness.seconds_behind(self._released, now)
        folds = self._worker.folds.values()
        fronts = [here.front for here in self._fronts.values()]
        return WorkerMetrics(
            sum(front.rows_read for front in fronts),
            sum(front.bytes_read for front in fronts),
            sum(fold.rows_redone for fold in folds),
            sum(fold.rows_held for fold in folds),
            sum(fold.state_rows() for fold in folds),
            self._messages,
            sum(front.unknown_fields for front in fronts),
            round(behind * 1e6),
            sum(front.rows_above(self._released) for front in fronts),
        )
