"""The coordinator node: gathers workers, leads them through epochs, releases results under its lease.

Contract.  `docs/internals/distribution.md`, sections 2 and 3.  Any failure in an epoch (a lost worker, a sink
that does not answer, state that cannot be loaded) ends the whole epoch.  The next one starts from the newest
snapshot that verifies, after a delay if the cause persists (`Backoff`).  A broken invariant is a bug: after a
few epochs that end with one without storing anything, the job ends with the error I902.  Nothing is released
once the lease may have expired; a coordinator that has lost its lease does nothing.

Not promised: a bound on the number of other attempts.  The progress shows each of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.runtime.batch import END, START
from fsql.runtime.cluster.control_messages import ControlMessages
from fsql.runtime.cluster.coordinator_epoch import CoordinatorEpoch
from fsql.runtime.cluster.delivery import PositionRefusedError
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    UNHEARD,
    Frame,
    Goodbye,
    Heartbeat,
    Hello,
)
from fsql.runtime.cluster.lease_fence import LeaseFence
from fsql.runtime.cluster.members import Members
from fsql.runtime.cluster.node import (
    CommitManifest,
    Delivered,
    EpochTaken,
    Finish,
    LeaseHeld,
    LeaseLost,
    ManifestCommitted,
    ManifestNotCommitted,
    OpenSinks,
    Progress,
    Received,
    SinkLost,
    SinkOpened,
    SnapshotRequested,
    StateLost,
    TakeEpoch,
    TimerFired,
    WorkerExited,
)
from fsql.runtime.cluster.phase import Phase
from fsql.runtime.cluster.proposed_ticks import ProposedTicks
from fsql.runtime.cluster.restart_strategy import RestartStrategy
from fsql.runtime.cluster.skipped_rows import SkippedRows
from fsql.runtime.cluster.tick_events import LoadMeasured, TickProposed
from fsql.runtime.dataflow.invariants import InvariantError
from fsql.runtime.metrics import Metrics

if TYPE_CHECKING:
    from fsql.runtime.cluster.job_spec import JobSpec, Settings
    from fsql.runtime.cluster.manifest import Manifest
    from fsql.runtime.cluster.node import CoordinatorEffect, CoordinatorEvent


class CoordinatorNode:
    """The coordinator of one job."""

    def __init__(self, spec: JobSpec, address: str, settings: Settings) -> None:
        """Wait for the lease; `address` is where workers reach the node."""
        self.phase = Phase.WAITING
        self.epoch: CoordinatorEpoch | None = None
        self._spec = spec
        self._messages = ControlMessages(spec, address)
        self._settings = settings
        self._members = Members(spec.plan.workers, settings, address)
        self._fence = LeaseFence()
        self._asked = False
        self._newest = 0
        self._manifest: Manifest | None = None
        self._begun_at = 0.0
        self._next_begin = 0.0
        self._next_heartbeat = 0.0
        self._next_progress = 0.0
        self._detail = ""
        self._done = START
        """The position below which all outputs had stored everything when an epoch last failed."""
        self._restarts = RestartStrategy(settings)
        self._skipped = SkippedRows(spec)
        self._ticks = ProposedTicks(spec, address if settings.contracts else None)
        self._next_try: float | None = None

    def step(self, event: CoordinatorEvent, now: float) -> list[CoordinatorEffect]:
        """Process an event."""
        if self.phase is Phase.FINISHED:
            return self._repeat_goodbye(event)
        phase = self.phase
        try:
            effects = self._handle(event, now)
            effects += self._advance(now)
            if isinstance(event, TimerFired):
                effects += self._give_up_if_lost(now)
                effects += [] if self.epoch is None else self.epoch.flush_links(now)
        except InvariantError as error:
            effects = self._on_broken_invariant(error.reason, now)
        epoch = None if self.epoch is None else self.epoch.number
        effects = self._fence.filter(effects, epoch, now)
        for number, effect in enumerate(effects):
            if isinstance(effect, Finish):
                return [*effects[:number], *self._finish(), self._progress(), effect]
        may_report = self.epoch is None or isinstance(event, TimerFired)  # rows do not wait for it
        if self.phase is not phase or (may_report and now >= self._next_progress):
            self._next_progress = now + self._settings.metrics_every
            effects.append(self._progress())
        return effects

    def next_timer(self) -> float | None:
        """Return when to step with a `TimerFired` at the latest."""
        phase = self.phase
        if phase is Phase.WAITING or phase is Phase.FINISHED:
            return None
        due = self._next_progress
        if phase is Phase.GATHERING and self._next_try is not None:
            due = min(due, self._next_try)
        if phase is Phase.RESTORING:
            due = min(due, self._next_begin)
        if self.epoch is not None:
            due = min(due, self._next_heartbeat, self.epoch.next_timer())
        return due

    def _handle(  # noqa: C901, PLR0911 - one case for each kind
        self, event: CoordinatorEvent, now: float
    ) -> list[CoordinatorEffect]:
        match event:
            case Received():
                return self._on_received(event, now)
            case LeaseHeld() | LeaseLost():
                return self._on_lease(event, now)
            case WorkerExited(address) if self._members.on_exit(address):
                return self._give_up(f"the worker at {address} has ended", now)
            case EpochTaken():
                return self._on_epoch_taken(event, now)
            case TickProposed():
                self._ticks.on_proposal(event, now)
            case LoadMeasured(busy):
                return [] if self.epoch is None else self._ticks.on_load(busy, self.epoch, now)
            case SinkLost() | StateLost():
                return self._on_loss(event, now)
            case SnapshotRequested() if self.epoch is not None:  # else it comes again
                self.epoch.snapshots.requested.ask(event)
            case SinkOpened() | Delivered() | ManifestCommitted() | ManifestNotCommitted():
                if self.epoch is not None and self.epoch.number == event.epoch:
                    return self._on_answer(self.epoch, event, now)
            case _:
                pass
        return []

    def _on_loss(self, lost: SinkLost | StateLost, now: float) -> list[CoordinatorEffect]:
        if lost.diagnostics is not None:
            return [Finish(diagnostics=lost.diagnostics)]
        if self.epoch is None:
            return []
        why = f"{self._spec.outputs[lost.output].name}: {lost.reason}"
        return self._fail(why, now, disk_failed=lost.disk_failed)

    def _on_lease(self, event: LeaseHeld | LeaseLost, now: float) -> list[CoordinatorEffect]:
        if isinstance(event, LeaseHeld):
            self._fence.on_lease_held(event.until)
            if self.phase is Phase.WAITING:
                self.phase = Phase.GATHERING
            return []
        self._fence.on_lease_lost()
        self._ticks.on_lease_lost()
        self._detail = event.reason or self._detail
        if self.epoch is not None:
            self._done = self.epoch.deliveries.stored_below_all()
        self.epoch, self.phase = None, Phase.WAITING
        # Workers detect it themselves; requests may never be answered.
        self._members.scatter()
        self._asked = False
        if not event.disk_failed:
            return []
        error = self._restarts.on_disk_failure(event.reason, self._done, now)
        return [] if error is None else [Finish(diagnostics=diagnostics_bytes(error))]

    def _on_answer(
        self,
        epoch: CoordinatorEpoch,
        event: SinkOpened | Delivered | ManifestCommitted | ManifestNotCommitted,
        now: float,
    ) -> list[CoordinatorEffect]:
        match event:
            case SinkOpened() | Delivered():
                try:
                    epoch.on_sink_position(event)
                except PositionRefusedError as error:
                    name = self._spec.outputs[event.output].name
                    return [Finish(refused=(event.output, f"{name}: {error}"))]
            case ManifestCommitted() | ManifestNotCommitted() if self.phase is Phase.NOTING:
                return self._on_skipped_committed(event, now)
            case ManifestCommitted() | ManifestNotCommitted():
                epoch.on_manifest_outcome(event)
        return []

    def _on_received(self, received: Received, now: float) -> list[CoordinatorEffect]:
        epoch = self.epoch
        match received.what:
            case Frame() as frame:
                if epoch is None or frame.epoch != epoch.number:
                    return self._on_other_epoch(frame, received.source, now)
                epoch.receive(frame, now)
            case Hello(job, worker, address):
                if job in {"", self._spec.job}:
                    return self._on_hello(worker, address, now)
            case Heartbeat(_, number, sender) as heartbeat:
                if epoch is None or number != epoch.number:
                    return self._on_other_epoch(heartbeat, received.source, now)
                epoch.detector.on_heartbeat(sender, now)
            case Goodbye(_, number, sender) as goodbye:
                if epoch is not None and number == epoch.number and sender != COORDINATOR:
                    return self._on_leave(epoch, goodbye, now)
            case _:
                pass
        return []

    def _on_other_epoch(
        self, what: Frame | Heartbeat, source: str, now: float
    ) -> list[CoordinatorEffect]:
        """Tell a worker that its epoch is over, which the coordinator before this one cannot.

        While the lease is held there is no epoch but that of this coordinator.
        """
        is_of_worker = what.job == self._spec.job and what.sender != COORDINATOR
        is_over = self.epoch is None or what.epoch < self.epoch.number
        if not (is_of_worker and is_over and self._fence.is_open(now)):
            return []
        return [*self._messages.end_epoch([source], what.epoch)]

    def _on_leave(
        self, epoch: CoordinatorEpoch, goodbye: Goodbye, now: float
    ) -> list[CoordinatorEffect]:
        why = f"worker {goodbye.sender} has left: {goodbye.reason}"
        if goodbye.broken_invariant:
            return self._on_broken_invariant(why, now)
        if goodbye.reason == UNHEARD:
            self._restarts.timeouts.on_silence(epoch.deliveries.stored_below_all())
        return self._fail(why, now, disk_failed=goodbye.disk_failed)

    def _on_hello(self, worker: str, address: str, now: float) -> list[CoordinatorEffect]:
        if self._members.on_hello(worker, address, now):
            return self._give_up(f"the worker at {address} has begun anew", now)
        if self.phase is Phase.WAITING:
            return []
        # It may have to wait long, and must know that there is a coordinator.
        return [*self._messages.heartbeats([address], self.epoch)]

    def _on_epoch_taken(self, taken: EpochTaken, now: float) -> list[CoordinatorEffect]:
        self._asked = False
        if self.phase is not Phase.GATHERING or not self._members.are_enough(now):
            return []
        if taken.epoch <= self._newest:
            return []  # asked for before the lease was lost
        self._newest = taken.epoch
        manifest = taken.manifest
        spec = self._ticks.on_epoch_taken(taken)
        if manifest is not None and manifest.graph != spec.graph:
            message = f"snapshot {manifest.snapshot} is of another plan than the job"
            error = FsqlError([Diagnostic("E623", message, helps=(CODES["E623"].fix,))])
            return [Finish(diagnostics=diagnostics_bytes(error))]
        self._manifest = manifest
        addresses = self._members.choose(now)
        settings = replace(self._settings, failure_after=self._restarts.timeouts.silence)
        self.epoch = CoordinatorEpoch(spec, taken.epoch, manifest, addresses, settings, now)
        self.phase = Phase.OPENING
        self._begun_at = self._next_heartbeat = now
        return [OpenSinks(taken.epoch, self.epoch.start)]

    def _advance(self, now: float) -> list[CoordinatorEffect]:
        """Begin the next phase if that is possible, and carry out what is due by the clock."""
        effects: list[CoordinatorEffect] = []
        epoch = self.epoch
        self._next_try = self._restarts.retry_at(now)
        may_try = self.phase is Phase.GATHERING and not self._asked and self._next_try is None
        if may_try and self._members.are_enough(now):
            self._asked = True
            effects.append(TakeEpoch())
        if epoch is None:
            return effects
        if self.phase is Phase.OPENING and epoch.deliveries.are_open:
            effects += self._on_sinks_opened(epoch, now)
        if self.phase is Phase.RESTORING and epoch.running:
            self.phase = Phase.RUNNING
            self._restarts.timeouts.on_loaded()
        if self.phase is Phase.RESTORING and now >= self._next_begin:
            self._next_begin = now + self._settings.hello_every
            effects += self._messages.begin(epoch, self._manifest, self._members.of_epoch)
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + self._settings.heartbeat_every
            effects += self._messages.heartbeats(epoch.addresses, epoch)
        effects += self._ticks.advance(epoch, now) if self.phase is Phase.RUNNING else []
        return effects + epoch.advance(now, may_release=self._fence.is_open(now))

    def _give_up_if_lost(self, now: float) -> list[CoordinatorEffect]:
        """Give up the epoch if it is lost; called at ticks, when all input is processed."""
        epoch = self.epoch
        if epoch is None:
            return []
        failure = epoch.failure(now)
        if failure is not None:
            self._restarts.timeouts.on_silence(epoch.deliveries.stored_below_all())
            return self._give_up(failure, now)
        if (
            self.phase is not Phase.RUNNING
            and now - self._begun_at > self._restarts.timeouts.loading
        ):
            self._restarts.timeouts.on_loading_too_long()
            return self._give_up("the workers were not ready in time", now)
        return []

    def _on_sinks_opened(self, epoch: CoordinatorEpoch, now: float) -> list[CoordinatorEffect]:
        """Load the workers, but first commit which rows are skipped, if any."""
        manifest = self._skipped.manifest(epoch, self._manifest)
        if manifest is None:
            self._restore(epoch, now)
            return []
        self.phase = Phase.NOTING
        self._manifest = manifest
        return [CommitManifest(manifest)]

    def _on_skipped_committed(
        self, event: ManifestCommitted | ManifestNotCommitted, now: float
    ) -> list[CoordinatorEffect]:
        assert self.epoch is not None
        assert self._manifest is not None
        if isinstance(event, ManifestNotCommitted):
            return self._fail(f"the skipped ranges cannot be stored: {event.reason}", now)
        second = self._skipped.second(self._manifest, self.epoch.number)
        if second is not None:
            self._manifest = second
            return [CommitManifest(second)]
        self._restore(self.epoch, now)
        return []

    def _restore(self, epoch: CoordinatorEpoch, now: float) -> None:
        epoch.snapshots.skipped = () if self._manifest is None else self._manifest.skipped
        self.phase = Phase.RESTORING
        self._next_begin = now
        epoch.begin_loading(now)

    def _fail(self, why: str, now: float, *, disk_failed: bool = False) -> list[CoordinatorEffect]:
        """Give up the epoch after a failure that may recur, or the job if a disk stays full."""
        if self.epoch is not None:
            self._done = self.epoch.deliveries.stored_below_all()
            self._restarts.on_failure(self._done, now)
        error = self._restarts.on_disk_failure(why, self._done, now) if disk_failed else None
        if error is not None:
            return [Finish(diagnostics=diagnostics_bytes(error))]
        return self._give_up(why, now)

    def _on_broken_invariant(self, why: str, now: float) -> list[CoordinatorEffect]:
        """Give up the epoch, or the job if new epochs have not helped."""
        done = START if self.epoch is None else self.epoch.deliveries.stored_below_all()
        error = self._restarts.on_broken_invariant(why, done)
        if error is None:
            return self._fail(why, now)
        return [Finish(diagnostics=diagnostics_bytes(error))]

    def _give_up(self, why: str, now: float) -> list[CoordinatorEffect]:
        """End the epoch, if there is one, and gather again."""
        epoch, self.epoch = self.epoch, None
        self._detail = why
        if epoch is None:
            return []
        self.phase = Phase.GATHERING
        self._next_heartbeat = now
        self._skipped.on_epoch_lost(epoch.acker.promises)
        self._ticks.on_epoch_lost(epoch)
        self._members.scatter()
        return [*self._messages.end_epoch(epoch.addresses, epoch.number)]

    def _finish(self) -> list[CoordinatorEffect]:
        self.phase = Phase.FINISHED
        addresses = self._members.addresses()
        return [*self._messages.end_job(addresses, self.epoch)]

    def _repeat_goodbye(self, event: CoordinatorEvent) -> list[CoordinatorEffect]:
        """Send a worker again that the job is finished."""
        if not isinstance(event, Received) or isinstance(event.what, Goodbye):
            return []
        return [*self._messages.end_job([event.source], self.epoch)]

    def _progress(self) -> Progress:
        if (epoch := self.epoch) is None:
            return Progress(self.phase.value, 0, self._detail, Metrics(), (0, END), START)
        return epoch.progress(self.phase, self._detail)
