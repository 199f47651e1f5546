"""The coordinator's part in one epoch: acker, barrier, deliveries, snapshots, links to the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.tick_plan import SourceHead
from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.deliveries import Deliveries
from fsql.runtime.cluster.failure_detector import FailureDetector
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    Blocked,
    Credit,
    Failure,
    Ready,
    SnapshotAcknowledged,
    SnapshotAnswer,
    SnapshotCommitted,
    SnapshotDeclined,
    Start,
)
from fsql.runtime.cluster.frontier_updates import FrontierUpdates
from fsql.runtime.cluster.link import Link
from fsql.runtime.cluster.node import (
    CommitManifest,
    Finish,
    ManifestNotCommitted,
    SinkOpened,
    Transmit,
)
from fsql.runtime.cluster.snapshots import Snapshots
from fsql.runtime.dataflow.acker import Acker
from fsql.runtime.dataflow.barrier import Barrier, DeadLetters, LateRows, Released, Stopped
from fsql.runtime.dataflow.messages import (
    Acknowledgement,
    Entry,
    Kind,
    Message,
    Promise,
)
from fsql.runtime.dataflow.topology import topology
from fsql.runtime.metrics import JobMetrics, WorkerMetrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.runtime.cluster.frames import Frame, Item
    from fsql.runtime.cluster.job_spec import JobSpec, Settings
    from fsql.runtime.cluster.manifest import Manifest
    from fsql.runtime.cluster.node import (
        CoordinatorEffect,
        Delivered,
        ManifestCommitted,
    )


class CoordinatorEpoch:
    """One attempt at the job, as the coordinator has it."""

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
        self.addresses = tuple(addresses)
        self.running = False
        self.worker_metrics: dict[int, WorkerMetrics] = {}
        self.rows_late = 0
        self.rows_rejected = 0
        self.trouble = ""
        """Why the last snapshot could not be made, until one can."""
        self._spec = spec
        self._settings = settings
        self._assignment = spec.plan.assignment
        self._barrier_stage = len(spec.plan.stages)
        fronts = [(task.number, task.ordinal) for task in spec.fronts]
        self.acker = Acker(*topology(spec.plan, fronts), start=self.start)
        self.barrier = Barrier(spec.plan.sinks, len(spec.plan.late_windows), start=self.start)
        self._links = {
            worker: Link(spec.job, spec.tick, number, COORDINATOR, worker, settings.link)
            for worker in range(len(addresses))
        }
        self.detector: FailureDetector[int] = FailureDetector(settings.failure_after)
        self._ready: set[int] = set()
        outputs, rows_max = spec.outputs, settings.bundle_rows_max
        self.deliveries = Deliveries(outputs, number, self.start, rows_max)
        self._stop: Stopped | None = None
        self._blocked: dict[int, Root] = {}
        self._folds = [
            index
            for index, stage in enumerate(spec.plan.stages)
            if not isinstance(stage.head, SourceHead)
        ]
        told_of = [*self._folds, self._barrier_stage]
        self._updates = FrontierUpdates(told_of, len(addresses), self.start)
        self._may_be_out: Root | None = None
        self._answered: dict[int, None] = {}
        """The workers that this event has had a frame sent to already."""
        self._outgoing: dict[int, list[Item]] = {}
        self._effects: list[CoordinatorEffect] = []
        every = settings.snapshot_every if spec.takes_snapshots else None
        self.snapshots = Snapshots(spec, number, every, now)

    # What happens.

    def on_sink_position(self, event: SinkOpened | Delivered) -> None:
        """Record the position of a sink: at the start of the epoch, or a new one.

        Raises:
            PositionRefusedError: if it has lost what it had, or cannot have what it says.
        """
        self._effects += self.deliveries.on_sink_position(event)

    def begin_loading(self, now: float) -> None:
        """Watch the workers from now on: they are told that they take part."""
        self.detector.watch(self._links, now)

    def receive(self, frame: Frame, now: float) -> None:
        """Take a frame from a worker."""
        link = self._links.get(frame.sender)
        if link is None:
            return
        self.detector.on_heartbeat(frame.sender, now)
        items, frames = link.receive(frame, now)
        if frames:
            self._answered[frame.sender] = None
            self._transmit(frame.sender, frames)
        for item in items:
            self._take(frame.sender, item, now)

    def on_manifest_outcome(self, event: ManifestCommitted | ManifestNotCommitted) -> None:
        """Record whether a manifest was committed, and inform the workers."""
        announced = self.snapshots.on_manifest_outcome(event)
        if isinstance(event, ManifestNotCommitted):
            self.trouble = f"no snapshot can be committed: {event.reason}"
            return
        self.trouble = ""
        if announced is None:
            return
        for worker in self._links:
            keys = event.unneeded.get(worker, ())
            self._put(worker, SnapshotCommitted(announced.snapshot, announced.position, keys))

    def advance(self, now: float, *, may_release: bool) -> list[CoordinatorEffect]:
        """Pass on what has come of the last event, and do what the time demands."""
        if self.running:
            self._rise(may_release=may_release)
            self._tell_lead(now)
            self._grant()
            self._further_snapshots(now)
            self._tell()
            self._finish_if_over()
        self._send(now)
        effects, self._effects = self._effects, []
        return effects

    def flush_links(self, now: float) -> list[CoordinatorEffect]:
        """Acknowledge, and send again what was not acknowledged, when all that has come is dealt with."""
        for worker, link in self._links.items():
            if link.due_at <= now:
                self._transmit(worker, link.send(self._updates.take_updates(worker, now), now))
                self._transmit(worker, link.due(now))
        effects, self._effects = self._effects, []
        return effects

    def metrics(self) -> JobMetrics:
        """Return what has been done so far."""
        worker_metrics = self.worker_metrics.values()
        # What workers counted last is older than the end.
        pending = [] if self._out_below() == END else list(worker_metrics)
        return JobMetrics(
            rows_in=sum(one.rows_in for one in worker_metrics),
            bytes_in=sum(one.bytes_in for one in worker_metrics),
            rows_out=self.deliveries.rows_out,
            rows_late=self.rows_late,
            rows_rejected=self.rows_rejected,
            unknown_fields=sum(one.unknown_fields for one in worker_metrics),
            rows_redone=sum(one.rows_redone for one in worker_metrics),
            rows_held=sum(one.rows_held for one in worker_metrics),
            rows_state=sum(one.rows_state for one in worker_metrics),
            messages=sum(one.messages for one in worker_metrics),
            acknowledgements=self.acker.acknowledgements,
            releases=self.barrier.releases,
            snapshots=self.snapshots.committed,
            behind_us=max([one.behind_us for one in pending], default=0),
            rows_unreleased=sum(one.rows_unreleased for one in pending),
            held=self.acker.least_promise,
        )

    def next_timer(self) -> float:
        """Return when to call `advance` at the latest, infinity for never."""
        snapshot = self.snapshots.next_timer() if self.running else None
        due = min([link.due_at for link in self._links.values()])
        return due if snapshot is None else min(due, snapshot)

    def failure(self, now: float) -> str | None:
        """Return which worker has failed, and how; None if none has."""
        detector, seconds = self.detector, f"{self.detector.timeout:g} s"
        if (silent := detector.silent(now)) is not None:
            return f"worker {silent} has been silent for {seconds}"
        stuck = detector.stuck(self._links, now) if self.running else None
        return None if stuck is None else f"worker {stuck} has not acknowledged for {seconds}"

    # Items.

    def _take(self, worker: int, item: Item, now: float) -> None:  # noqa: C901 - one case for each
        match item:
            case Message():
                self._at_barrier(item)
            case Acknowledgement():
                self.acker.acknowledge(item)
                self._updates.on_acknowledgement(worker, item)
            case Promise():
                self.acker.promise(item)
            case Ready():
                self._ready.add(worker)
                if len(self._ready) == len(self._links):
                    self.running = True
                    self._put_all(Start())
            case Blocked(front, promise):
                self._blocked[front] = promise
            case SnapshotAnswer():
                cancel = self.snapshots.on_answer(worker, item, now)
                self._put_all(cancel)
            case SnapshotAcknowledged():
                self.snapshots.on_acknowledged(worker, item)
            case SnapshotDeclined(snapshot, reason):
                self.trouble = f"no snapshot can be stored: worker {worker}: {reason}"
                self._put_all(self.snapshots.on_declined(snapshot, now))
            case WorkerMetrics():
                self.worker_metrics[worker] = item
            case Failure(diagnostics):
                self._effects.append(Finish(diagnostics=diagnostics))
            case _:
                raise AssertionError(item)

    def _at_barrier(self, message: Message) -> None:
        message.check()
        to = message.parcel.to
        self.barrier.accept(message.parcel)
        entry = Entry(to.stage, Kind.MESSAGE, message.root, message.id)
        self.acker.acknowledge(Acknowledgement((entry,)))

    # Min times, and what the barrier releases.

    def _rise(self, *, may_release: bool) -> None:
        for advanced in self.acker.take_advanced():
            if advanced.stage in self._folds:
                self._updates.on_advance(advanced.stage, advanced.root)
            elif advanced.stage == self._barrier_stage:
                self._may_be_out = advanced.root
        if may_release and self._may_be_out is not None:
            root, self._may_be_out = self._may_be_out, None
            self._release(root)

    def _tell(self) -> None:
        self._updates.request(self.snapshots.position)
        for worker, min_time in self._updates.take_urgent():
            self._put(worker, min_time)

    def _release(self, min_time: Root) -> None:
        outputs = self.barrier.advance(min_time)
        bound = min_time
        if outputs and isinstance(last := outputs[-1], Stopped):
            outputs = outputs[:-1]
            self._stop, bound = last, last.root
        released = []
        for contents in outputs:
            assert not isinstance(contents, Stopped)
            self._count(contents)
            released.append(contents)
        self._effects += self.deliveries.release(released, bound)

    def _count(self, contents: Released | LateRows | DeadLetters) -> None:
        if isinstance(contents, LateRows):
            self.rows_late += len(contents.rows)
        elif isinstance(contents, DeadLetters):
            self.rows_rejected += len(contents.rejects)

    def _finish_if_over(self) -> None:
        end = END if self._stop is None else self._stop.root
        if self.barrier.min_time < end:
            return
        if self.deliveries.are_complete(end):
            self._effects.append(Finish(stopped=self._stop))

    # Snapshots and grants.

    def _further_snapshots(self, now: float) -> None:
        has_stored = self.deliveries.take_has_stored()
        if self.snapshots.idle(now):
            return
        self._tell()  # that min time has passed one position, before the next is announced
        self.snapshots.on_min_time(self.barrier.min_time)
        promises = [root for root in self.acker.promises.values() if root != END]
        lull = has_stored and self._out_below() >= max(promises, default=END)
        announce = self.snapshots.due(promises, now, lull=lull)
        self._put_all(announce)
        if self.snapshots.stored_below(self.barrier.min_time):
            self._effects += self.deliveries.announce_bound()
        released = self.barrier.min_time if self._stop is None else self._stop.root
        manifest = self.snapshots.take_manifest(self.deliveries.complete_below(released))
        if manifest is not None:
            self._effects.append(CommitManifest(manifest))

    def _out_below(self) -> Root:
        """Return below which position everything is released and stored by every sink."""
        return self.deliveries.out_below(self.barrier.min_time)

    def _tell_lead(self, now: float) -> None:
        """Send the position below which all sinks have stored everything: read-ahead counts from there.

        Blocked fronts get it at once, the others with a later frame.
        """
        self._updates.on_advance(self._barrier_stage, self._out_below())
        if self._blocked:
            promises = self.acker.promises
            blocked = {front: at for front, at in self._blocked.items() if promises[front] == at}
            self._blocked = blocked
            for front in blocked:
                worker = self._assignment.owner_of_front(front)
                for min_time in self._updates.take_all_updates(worker, now):
                    self._put(worker, min_time)

    def _grant(self) -> None:
        """Let the front that has promised least read, if it is blocked and everything is out."""
        if not self._blocked or self.acker.messages_in_flight():
            return
        if self._out_below() < self.barrier.min_time:
            return
        front, promise = self.acker.least_promise
        if self._blocked.get(front) == promise:
            del self._blocked[front]
            self._put(self._assignment.owner_of_front(front), Credit(front, promise))

    # What goes out.

    def _put_all(self, item: Item | None) -> None:
        if item is not None:
            for worker in self._links:
                self._put(worker, item)

    def _send(self, now: float) -> None:
        """Make a frame of all that there is for each worker, with what is news to those who get one."""
        outgoing, self._outgoing = self._outgoing, {}
        for worker in self._answered:
            outgoing.setdefault(worker, [])
        self._answered.clear()
        for worker, items in outgoing.items():
            told = [*items, *self._updates.take_updates(worker, now)]
            self._transmit(worker, self._links[worker].send(told, now))

    def _put(self, worker: int, item: Item) -> None:
        self._outgoing.setdefault(worker, []).append(item)

    def _transmit(self, worker: int, frames: Iterable[Frame]) -> None:
        self._effects += [Transmit(self.addresses[worker], frame) for frame in frames]
