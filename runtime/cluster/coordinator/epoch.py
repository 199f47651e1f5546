"""The coordinator's part in one epoch: acker, output release, credits, snapshots, links to the workers.

The epoch connects these parts: it passes each item from a worker to the part that handles it, and sends
the answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from fsql.compiler.tick_plan import SourceHead
from fsql.runtime.batch import END, START
from fsql.runtime.cluster.coordinator.events import (
    CommitManifest,
    Finish,
    ManifestNotCommitted,
    Progress,
    SinkOpened,
)
from fsql.runtime.cluster.coordinator.frontier_updates import FrontierUpdates
from fsql.runtime.cluster.delivery.output_release import OutputRelease
from fsql.runtime.cluster.delivery.shard_writers import ShardWriters
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    BinsAdopted,
    BinsReleased,
    Blocked,
    CancelSnapshot,
    Credit,
    Failure,
    FrontReleased,
    Ready,
    ShardsReleased,
    ShardsSynced,
    SnapshotAcknowledged,
    SnapshotAnswer,
    SnapshotCommitted,
    SnapshotDeclined,
    Start,
    TickCopied,
    TickDeclined,
    TickPrepared,
)
from fsql.runtime.cluster.links.links import Links
from fsql.runtime.cluster.members.epoch_members import EpochMembers
from fsql.runtime.cluster.members.failure_detector import FailureDetector
from fsql.runtime.cluster.snapshots.epoch_snapshots import EpochSnapshots
from fsql.runtime.cluster.snapshots.manifest import store_parts
from fsql.runtime.cluster.ticks.epoch_ticks import EpochTicks
from fsql.runtime.dataflow.acker import Acker
from fsql.runtime.dataflow.messages import AckEntry, Acknowledgement, Kind, Message, Promise
from fsql.runtime.dataflow.metrics import Metrics
from fsql.runtime.dataflow.topology import topology

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.coordinator.events import (
        CoordinatorEffect,
        Delivered,
        ManifestCommitted,
    )
    from fsql.runtime.cluster.coordinator.phase import Phase
    from fsql.runtime.cluster.delivery.deliveries import Deliveries
    from fsql.runtime.cluster.frames import Frame, Heartbeat, Item
    from fsql.runtime.cluster.job_spec import JobSpec, Settings
    from fsql.runtime.cluster.snapshots.manifest import Manifest


class CoordinatorEpoch:
    """The coordinator's state of one epoch."""

    def __init__(
        self,
        spec: JobSpec,
        number: int,
        manifest: Manifest | None,
        addresses: Sequence[str],
        settings: Settings,
        now: float,
    ) -> None:
        """Begin at the snapshot of `manifest`."""
        self.number = number
        self.start = START if manifest is None else manifest.root
        self.running = False
        self.worker_metrics: dict[int, Metrics] = {}
        self.problem = ""
        """Why the last snapshot failed; cleared by the next one that succeeds."""
        self._barrier_stage = len(spec.plan.stages)
        fronts = [(task.number, task.ordinal) for task in spec.fronts]
        self.acker = Acker(*topology(spec.plan, fronts), start=self.start)
        self._instrumentation = settings.instrument()
        self.writers = ShardWriters(spec, len(addresses), self.start, settings)
        self.output = OutputRelease(
            spec, self.writers, number, manifest, settings, self._instrumentation
        )
        workers = dict(enumerate(addresses))
        self._links = Links(spec.job, spec.tick, number, COORDINATOR, workers, settings.link)
        self.detector: FailureDetector[int] = FailureDetector(settings.failure_after)
        self._folds = [
            index
            for index, stage in enumerate(spec.plan.stages)
            if not isinstance(stage.head, SourceHead)
        ]
        updated = [*self._folds, self._barrier_stage]
        self._updates = FrontierUpdates(updated, workers, self.start)
        self._pacing = FrontPacing(
            lambda front: self.ticks.readers[front],
            self._barrier_stage,
            self.acker,
            self.output,
            self._updates,
            self._links.put,
        )
        self._effects: list[CoordinatorEffect] = []
        self._has_asked = False
        self._unreported: set[int] = set()
        """The workers whose last metrics are awaited, at the end of a job whose input goes on."""
        every = settings.snapshot_every if spec.takes_snapshots else None
        self.snapshots = EpochSnapshots(spec, number, every, now)
        self.members = EpochMembers(
            len(workers), self._links, self.detector, self._updates, self.snapshots
        )
        self.ticks = EpochTicks(
            spec,
            number,
            members=self.members,
            snapshots=self.snapshots,
            links=self._links,
            acker=self.acker,
        )

    @property
    def addresses(self) -> Mapping[int, str]:
        """Return the addresses of the members and of the workers that join, by number."""
        return self._links.addresses

    @property
    def deliveries(self) -> Deliveries:
        """Return the deliveries of all outputs."""
        return self.output.deliveries

    def has(self, what: Frame | Heartbeat) -> bool:
        """Return whether a frame or heartbeat is from a worker of this epoch."""
        return what.epoch == self.number and what.sender in self._links.by_peer

    # Events.

    def on_sink_position(self, event: SinkOpened | Delivered) -> None:
        """Record the position of a sink: at the start of the epoch, or a new one.

        Raises:
            PositionRefusedError: if the sink has lost stored rows, or the position is not possible.
        """
        self._effects += self.deliveries.on_sink_position(event)

    def begin_loading(self, now: float) -> None:
        """Detect failures of the workers from now on: they know that they take part."""
        self.detector.watch(self._links.by_peer, now)

    def receive(self, frame: Frame, now: float) -> None:
        """Process a frame from a worker."""
        self.detector.on_heartbeat(frame.sender, now)
        items, answers = self._links.receive(frame, now)
        self._effects += answers
        for item in items:
            self._on_item(frame.sender, item, now)

    def on_manifest_outcome(self, event: ManifestCommitted | ManifestNotCommitted) -> None:
        """Record whether a manifest was committed, and inform the workers."""
        announced = self.snapshots.on_manifest_outcome(event)
        if isinstance(event, ManifestNotCommitted):
            self.problem = f"no snapshot can be committed: {event.reason}"
            return
        self.problem = ""
        if announced is None:
            return
        for worker in self.members.numbers:
            # A worker that leaves has no next manifest: its whole store is deleted.
            keys = [
                key
                for store, unneeded in event.unneeded.items()
                if store_parts(store)[0] == worker and worker in self.members.layout
                for key in unneeded
            ]
            committed = SnapshotCommitted(announced.snapshot, announced.position, tuple(keys))
            self._links.put(worker, committed)

    def advance(self, now: float, *, may_release: bool) -> list[CoordinatorEffect]:
        """Carry out what the last event and the time require."""
        if self.running:
            self._advance_min_times()
            self.output.count_at(self.snapshots.position)
            if may_release:
                self._effects += self.output.release(self.snapshots.requested.release_bound)
                for writer, release in self.writers.take_releases():
                    self._links.put(writer, release)
            self._pacing.advance(now)
            self._advance_snapshots(now)
            self._put_urgent_updates()
            drained_at = None if self.output.complete else self.snapshots.requested.drained_at
            if drained_at is not None and self.deliveries.are_complete(drained_at):
                self._effects.append(Finish(drained=True))
            elif self.output.is_over() and self._has_last_metrics():
                self._effects.append(Finish(stopped=self.output.stopped))
        self._send(now)
        effects, self._effects = self._effects, []
        return effects

    def flush_links(self, now: float) -> list[CoordinatorEffect]:
        """Acknowledge frames, and resend unacknowledged ones; to be called when all input is processed."""
        for worker in self._links.due(now):
            self._put_updates(worker, now)
            self._effects += self._links.send(now)
            self._effects += self._links.send_due(worker, now)
        effects, self._effects = self._effects, []
        return effects

    def progress(self, phase: Phase, detail: str) -> Progress:
        """Return the progress report; `detail` is the last failure."""
        own = Metrics(
            acknowledgements=self.acker.acknowledgements, snapshots=self.snapshots.committed
        )
        own.set_operators(self._instrumentation.operators)
        metrics = self.output.all_metrics([own, *self.worker_metrics.values()])
        problems = (self.problem,) if self.problem else ()
        held = self.acker.least_promise
        return Progress(phase.value, self.number, detail, metrics, held, self.start, problems)

    def next_timer(self) -> float:
        """Return the latest time at which to call `advance`, infinity for never."""
        # No snapshot is announced while bins move.
        announces = self.running and not self.ticks.is_moving
        snapshot = self.snapshots.next_timer() if announces else None
        due = self._links.next_timer()
        return due if snapshot is None else min(due, snapshot)

    # Items.

    def _on_item(  # noqa: C901, PLR0912 - one case for each
        self, worker: int, item: Item, now: float
    ) -> None:
        match item:
            case Message():
                self._on_message(item)
            case Acknowledgement():
                self.acker.acknowledge(item)
                self._updates.on_acknowledgement(worker, item)
            case Promise():
                self.acker.promise(item)
            case Ready():
                if self.members.on_ready(worker):
                    self.running = True
                    self._links.put_all(Start())
            case Blocked():
                self._pacing.on_blocked(item)
            case SnapshotAnswer():
                self.ticks.cancel(self.snapshots.on_answer(worker, item, now))
            case SnapshotAcknowledged():
                self.snapshots.on_acknowledged(worker, item)
            case SnapshotDeclined(snapshot, reason):
                self.problem = f"no snapshot can be stored: worker {worker}: {reason}"
                self.ticks.cancel(self.snapshots.on_declined(snapshot, now))
            case TickCopied() | TickPrepared() | TickDeclined():
                self.ticks.on_item(worker, item)
            case BinsReleased() | BinsAdopted() | FrontReleased():
                self.ticks.on_item(worker, item)
            case ShardsReleased():
                self.deliveries.on_shards_released(worker, item)
            case ShardsSynced():
                self._on_shards_synced(worker, item)
            case Metrics():
                self.worker_metrics[worker] = item
                self._unreported.discard(worker)
            case Failure(diagnostics):
                self._effects.append(Finish(diagnostics=diagnostics))
            case _:
                raise AssertionError(item)

    def _on_shards_synced(self, worker: int, item: ShardsSynced) -> None:
        match self.writers.on_synced(worker, item):
            case CommitManifest() as commit:
                self._effects.append(commit)
            case ManifestNotCommitted() as failed:
                self.on_manifest_outcome(failed)
            case None:
                pass

    def _on_message(self, message: Message) -> None:
        """Pass a message to the barrier."""
        message.check()
        to = message.parcel.to
        self.output.accept(message.parcel)
        entry = AckEntry(to.stage, Kind.MESSAGE, message.root, message.id)
        self.acker.acknowledge(Acknowledgement((entry,)))

    def _has_last_metrics(self) -> bool:
        """Return whether all workers have reported since they know that the results are complete.

        At the end of the input they do so in any case.
        """
        if self.output.complete and not self._has_asked:
            self._has_asked, self._unreported = True, set(self.members.numbers)
        return self._unreported.isdisjoint(self.members.numbers)

    # Min times.

    def _advance_min_times(self) -> None:
        for advanced in self.acker.take_advanced():
            if advanced.stage in self._folds:
                self._updates.on_advance(advanced.stage, advanced.root)
            elif advanced.stage == self._barrier_stage:
                self.output.on_min_time(advanced.root)

    def _put_urgent_updates(self) -> None:
        position = self.snapshots.position
        if self.ticks.current is not None and self.ticks.is_moving:
            position = self.ticks.current.position
        self._updates.request(position)
        for worker, min_time in self._updates.take_urgent():
            self._links.put(worker, min_time)

    def _put_updates(self, worker: int, now: float) -> None:
        """Add to a frame the updates that do not justify a separate frame."""
        for min_time in self._updates.take_updates(worker, now):
            self._links.put(worker, min_time)

    # Snapshots.

    def _advance_snapshots(self, now: float) -> None:
        has_stored = self.deliveries.take_has_stored()
        if self.snapshots.idle(now) and not self.ticks.is_under_way:
            return
        # Workers must know that min time has passed one position before the next is announced.
        self._put_urgent_updates()
        self.ticks.switch_if_agreed(now)
        self.snapshots.on_min_time(self.output.min_time)
        promises = [root for root in self.acker.promises.values() if root != END]
        caught_up = has_stored and self.output.out_below() >= max(promises, default=END)
        stored_below = self.deliveries.max_stored_position()
        if not self.ticks.advance(promises, self.output.min_time, now):
            due = self.snapshots.due(promises, now, caught_up=caught_up, stored_below=stored_below)
            if isinstance(due, CancelSnapshot):
                self.ticks.cancel(due)
            elif due is not None:
                self._links.put_each(self.snapshots.members_of(due.snapshot), due)
        if self.snapshots.is_stored(self.output.min_time):
            self._effects += self.deliveries.announce_bound()
        manifest = self.snapshots.take_manifest(self.output.complete_below())
        if manifest is not None:
            request = self.snapshots.requested.answers(manifest.snapshot)
            rows_left = self.output.rows_left_at(manifest.root)
            self._commit(CommitManifest(replace(manifest, rows_left=rows_left), request))

    def _commit(self, commit: CommitManifest) -> None:
        """Commit a manifest, when all writers of shards have synced what they have stored."""
        syncs = self.writers.sync(commit)
        for writer, sync in syncs:
            self._links.put(writer, sync)
        if not syncs:
            self._effects.append(commit)

    def _send(self, now: float) -> None:
        """Make one frame of all items for each worker, and add frontier updates to it."""
        for worker in self._links.receivers():
            self._put_updates(worker, now)
        self._effects += self._links.send(now)


# Paces the fronts of an epoch: reports stored positions to them, and grants credits to blocked ones.


class FrontPacing:
    """The coordinator's part in how far fronts read ahead."""

    def __init__(
        self,
        owner_of: Callable[[int], int],
        barrier_stage: int,
        acker: Acker,
        output: OutputRelease,
        updates: FrontierUpdates,
        put: Callable[[int, Item], None],
    ) -> None:
        """Start with no blocked fronts.

        `owner_of` returns the worker that currently reads for a front; `put` sends an item to a worker.
        """
        self._owner_of = owner_of
        self._barrier_stage = barrier_stage
        self._acker = acker
        self._output = output
        self._updates = updates
        self._put = put
        self._credits = Credits()

    def on_blocked(self, blocked: Blocked) -> None:
        """Record that a front is blocked."""
        self._credits.on_blocked(blocked)

    def advance(self, now: float) -> None:
        """Send what fronts need to continue to read."""
        self._update_read_ahead(now)
        self._grant_credit()

    def _update_read_ahead(self, now: float) -> None:
        """Send the position below which all sinks have stored everything: read-ahead counts from there.

        Blocked fronts are sent it immediately, the others with a later frame.
        """
        self._updates.on_advance(self._barrier_stage, self._output.out_below())
        for front in self._credits.find_blocked(self._acker.promises):
            worker = self._owner_of(front)
            for min_time in self._updates.take_all_updates(worker, now):
                self._put(worker, min_time)

    def _grant_credit(self) -> None:
        """Grant a credit if nothing is in flight and all is released: only blocked fronts stop the job."""
        if not self._credits.any_blocked or self._acker.messages_in_flight():
            return
        if self._output.holds_back:
            return  # the run ends at a position that was reached
        if self._output.out_below() < self._output.min_time:
            return
        credit = self._credits.grant(self._acker.least_promise)
        if credit is not None:
            self._put(self._owner_of(credit.front), credit)


# Credits: which fronts are blocked by their read-ahead, and which of them may read nevertheless.
#
# Contract.  A blocked front is sent the position below which everything is released immediately, not with a
# later frame.  If that does not unblock it, nothing is in flight, and everything is released, then the rows
# that the job waits for have not been read: the front with the least promise gets a credit for one chunk.
# So a job continues even if all its fronts are blocked.


class Credits:
    """The blocked fronts of one epoch."""

    def __init__(self) -> None:
        self._blocked: dict[int, Root] = {}

    @property
    def any_blocked(self) -> bool:
        """Return whether any front has reported that it is blocked."""
        return bool(self._blocked)

    def on_blocked(self, blocked: Blocked) -> None:
        """Record that a front is blocked at the position that it has promised."""
        self._blocked[blocked.front] = blocked.promise

    def find_blocked(self, promises: Mapping[int, Root]) -> list[int]:
        """Return the fronts that are still blocked: their `promises` have not grown since their reports."""
        if self._blocked:
            still = {front: at for front, at in self._blocked.items() if promises[front] == at}
            self._blocked = still
        return list(self._blocked)

    def grant(self, least_promise: tuple[int, Root]) -> Credit | None:
        """Return a credit for the front with the least promise, if it is blocked."""
        front, promise = least_promise
        if self._blocked.get(front) != promise:
            return None
        del self._blocked[front]
        return Credit(front, promise)
