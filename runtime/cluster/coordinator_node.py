"""The coordinator node: gathers workers, leads them through epochs, and lets results out while it may.

Contract.  `docs/internals/distribution.md`, sections 2 and 3.  Whatever goes wrong with an epoch (a worker
that is lost or cannot be reached, an output that does not answer, state that cannot be loaded, a broken
invariant) ends it as a whole.  The next one begins at the newest snapshot that verifies: at once, or later
each time where the cause persists (`fsql.runtime.cluster.backoff`).  Nothing is released at or after the time
until which the lease is known to be held; a coordinator that has lost its lease does nothing any more.

A broken invariant is a bug: after a few epochs that end with one, and in which nothing was stored, the job
ends with the error I902.

Not promised: a bound on the number of other attempts.  The progress shows each of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.runtime.batch import START, Root, position_text
from fsql.runtime.cluster.backoff import INVARIANT_FAILURES_MAX, InvariantFailures, Retries
from fsql.runtime.cluster.coordinator_epoch import Epoch
from fsql.runtime.cluster.delivery import DeliveryOption, PositionRefusedError
from fsql.runtime.cluster.failure_detector import Timeouts
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    UNHEARD,
    Begin,
    Frame,
    Goodbye,
    Heartbeat,
    Hello,
)
from fsql.runtime.cluster.lease_fence import LeaseFence
from fsql.runtime.cluster.manifest import Manifest, PassedOver, manifest_bytes, passed_over
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
    OpenOutputs,
    OutputAt,
    OutputLost,
    Progress,
    Received,
    StateLost,
    TakeEpoch,
    Tally,
    Tick,
    Transmit,
    WorkerGone,
)
from fsql.runtime.cluster.phase import Phase
from fsql.runtime.cluster.snapshots import first_number, nothing_saved
from fsql.runtime.dataflow.invariants import BROKEN_INVARIANT, InvariantError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fsql.runtime.cluster.job_spec import JobSpec, Settings
    from fsql.runtime.cluster.node import CoordinatorEffect, CoordinatorEvent


class CoordinatorNode:
    """The coordinator of one job."""

    def __init__(self, spec: JobSpec, address: str, settings: Settings) -> None:
        """Wait for the lease; `address` is where workers reach the node."""
        self.phase = Phase.WAITING
        self.epoch: Epoch | None = None
        self._spec = spec
        self._address = address
        self._settings = settings
        self._members = Members(spec.plan.workers, settings)
        self._fence = LeaseFence()
        self._asked = False
        self._newest = 0
        self._manifest: Manifest | None = None
        self._begun_at = 0.0
        self._next_begin = 0.0
        self._next_heartbeat = 0.0
        self._next_progress = 0.0
        self._promises: dict[int, Root] = {}
        self._detail = ""
        self._retries = Retries()
        self._invariant_failures = InvariantFailures()
        self._timeouts = Timeouts(settings)
        self._next_try: float | None = None

    def step(self, event: CoordinatorEvent, now: float) -> list[CoordinatorEffect]:
        """Deal with an event."""
        if self.phase is Phase.FINISHED:
            return self._told_again(event)
        phase = self.phase
        try:
            effects = self._dealt_with(event, now)
            effects += self._kept_up(now)
            if isinstance(event, Tick):
                effects += self._given_up_if_lost(now)
                effects += [] if self.epoch is None else self.epoch.links_due(now)
        except InvariantError as error:
            effects = self._invariant_broken(error.reason, now)
        epoch = None if self.epoch is None else self.epoch.number
        effects = self._fence.filter(effects, epoch, now)
        for number, effect in enumerate(effects):
            if isinstance(effect, Finish):
                return [*effects[:number], *self._finished(), self._progress(), effect]
        if self.phase is not phase or now >= self._next_progress:
            self._next_progress = now + self._settings.counted_every
            effects.append(self._progress())
        return effects

    def next_timer(self) -> float | None:
        """Return when to step with a `Tick` at the latest."""
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

    def _dealt_with(self, event: CoordinatorEvent, now: float) -> list[CoordinatorEffect]:
        match event:
            case Received():
                return self._received(event, now)
            case LeaseHeld() | LeaseLost():
                self._lease_changed(event)
            case WorkerGone(address) if self._members.gone(address):
                return self._given_up(f"the worker at {address} has ended", now)
            case EpochTaken():
                return self._epoch_taken(event, now)
            case OutputLost() | StateLost():
                return self._lost_outside(event, now)
            case OutputAt() | Delivered() | ManifestCommitted() | ManifestNotCommitted():
                if self.epoch is not None and self.epoch.number == event.epoch:
                    return self._answered(self.epoch, event, now)
            case _:
                pass
        return []

    def _lost_outside(self, lost: OutputLost | StateLost, now: float) -> list[CoordinatorEffect]:
        if lost.diagnostics is not None:
            return [Finish(diagnostics=lost.diagnostics)]
        if self.epoch is None:
            return []
        return self._failed(f"{self._spec.outputs[lost.output].name}: {lost.reason}", now)

    def _lease_changed(self, event: LeaseHeld | LeaseLost) -> None:
        if isinstance(event, LeaseLost):
            self._fence.on_lease_lost()
            self._detail = event.reason or self._detail
            self.epoch, self.phase = None, Phase.WAITING
            # Workers find out by themselves; what was asked for may never be answered.
            self._members.scatter()
            self._asked = False
            return
        self._fence.on_lease_held(event.until)
        if self.phase is Phase.WAITING:
            self.phase = Phase.GATHERING

    def _answered(
        self,
        epoch: Epoch,
        event: OutputAt | Delivered | ManifestCommitted | ManifestNotCommitted,
        now: float,
    ) -> list[CoordinatorEffect]:
        match event:
            case OutputAt() | Delivered():
                try:
                    epoch.on_sink_position(event)
                except PositionRefusedError as error:
                    name = self._spec.outputs[event.output].name
                    return [Finish(refused=(event.output, f"{name}: {error}"))]
            case ManifestCommitted() | ManifestNotCommitted() if self.phase is Phase.NOTING:
                return self._noted(event, now)
            case ManifestCommitted() | ManifestNotCommitted():
                epoch.manifest_decided(event)
        return []

    def _received(self, received: Received, now: float) -> list[CoordinatorEffect]:
        epoch = self.epoch
        match received.what:
            case Frame() as frame:
                if epoch is None or frame.epoch != epoch.number:
                    return []
                epoch.receive(frame, now)
            case Hello(job, worker, address):
                if job in {"", self._spec.job}:
                    return self._hello(worker, address, now)
            case Heartbeat(_, number, sender):
                if epoch is not None and number == epoch.number:
                    epoch.detector.on_heartbeat(sender, now)
            case Goodbye(_, number, sender) as goodbye:
                if epoch is not None and number == epoch.number and sender != COORDINATOR:
                    return self._worker_left(epoch, goodbye, now)
            case _:
                pass
        return []

    def _worker_left(self, epoch: Epoch, goodbye: Goodbye, now: float) -> list[CoordinatorEffect]:
        why = f"worker {goodbye.sender} has left: {goodbye.reason}"
        if goodbye.broken_invariant:
            return self._invariant_broken(why, now)
        if goodbye.reason == UNHEARD:
            self._timeouts.on_silence(epoch.deliveries.stored_below_all())
        return self._failed(why, now)

    def _hello(self, worker: str, address: str, now: float) -> list[CoordinatorEffect]:
        if self._members.hello(worker, address, now):
            return self._given_up(f"the worker at {address} has begun anew", now)
        if self.phase is Phase.WAITING:
            return []
        # It may have to wait for long, and is to know that there is somebody.
        epoch = 0 if self.epoch is None else self.epoch.number
        return [Transmit(address, Heartbeat(self._spec.job, epoch, COORDINATOR))]

    def _epoch_taken(self, taken: EpochTaken, now: float) -> list[CoordinatorEffect]:
        self._asked = False
        if self.phase is not Phase.GATHERING or not self._members.enough(now):
            return []
        if taken.epoch <= self._newest:
            return []  # asked for before the lease was lost
        self._newest = taken.epoch
        spec, manifest = self._spec, taken.manifest
        self._manifest = manifest
        addresses = self._members.chosen(now)
        settings = replace(self._settings, failure_after=self._timeouts.silence)
        self.epoch = Epoch(spec, taken.epoch, manifest, addresses, settings, now)
        self.phase = Phase.OPENING
        self._begun_at = self._next_heartbeat = now
        return [OpenOutputs(taken.epoch, self.epoch.start)]

    def _kept_up(self, now: float) -> list[CoordinatorEffect]:
        """Go on to the next phase where that is possible, and do what the time demands."""
        effects: list[CoordinatorEffect] = []
        epoch = self.epoch
        self._next_try = self._retries.due(now)
        may_try = self.phase is Phase.GATHERING and not self._asked and self._next_try is None
        if may_try and self._members.enough(now):
            self._asked = True
            effects.append(TakeEpoch())
        if epoch is None:
            return effects
        if self.phase is Phase.OPENING and epoch.deliveries.are_open:
            effects += self._outputs_known(epoch, now)
        if self.phase is Phase.RESTORING and epoch.running:
            self.phase = Phase.RUNNING
            self._timeouts.on_loaded()
        if self.phase is Phase.RESTORING and now >= self._next_begin:
            self._next_begin = now + self._settings.hello_every
            effects += self._begins(epoch)
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + self._settings.heartbeat_every
            beat = Heartbeat(self._spec.job, epoch.number, COORDINATOR)
            effects += [Transmit(address, beat) for address in epoch.addresses]
        return effects + epoch.kept_up(now, may_release=self._fence.is_open(now))

    def _given_up_if_lost(self, now: float) -> list[CoordinatorEffect]:
        """Give the epoch up if it is lost; asked at ticks, when all that has come is dealt with."""
        epoch = self.epoch
        if epoch is None:
            return []
        failure = epoch.failure(now)
        if failure is not None:
            self._timeouts.on_silence(epoch.deliveries.stored_below_all())
            return self._given_up(failure, now)
        if self.phase is not Phase.RUNNING and now - self._begun_at > self._timeouts.loading:
            self._timeouts.on_loading_too_long()
            return self._given_up("the workers were not ready in time", now)
        return []

    def _begins(self, epoch: Epoch) -> Iterator[CoordinatorEffect]:
        spec = self._spec
        assert self._manifest is None or self._manifest.epoch <= epoch.number
        data = b"" if self._manifest is None else manifest_bytes(self._manifest)
        for number, (worker, address) in enumerate(self._members.of_epoch):
            begin = Begin(
                spec.job,
                spec.tick,
                epoch.number,
                worker,
                number,
                self._address,
                epoch.addresses,
                spec.description,
                data,
                epoch.detector.timeout,
            )
            yield Transmit(address, begin)

    def _outputs_known(self, epoch: Epoch, now: float) -> list[CoordinatorEffect]:
        """Go on to loading, but first note for good which rows are passed over, if any."""
        passed_over = self._passed_over(epoch)
        before = self._manifest
        if not passed_over and (before is None or not before.passed_over):
            self._restore(epoch, now)
            return []
        self.phase = Phase.NOTING
        before = before or nothing_saved(self._spec, epoch.number)
        number = epoch.number
        self._manifest = before.passing_over(passed_over, number, first_number(number))
        return [CommitManifest(self._manifest)]

    def _noted(
        self, event: ManifestCommitted | ManifestNotCommitted, now: float
    ) -> list[CoordinatorEffect]:
        assert self.epoch is not None
        if isinstance(event, ManifestNotCommitted):
            return self._failed(f"what is passed over cannot be noted: {event.reason}", now)
        assert self._manifest is not None
        if event.snapshot == first_number(self.epoch.number):
            # Again: should the newest manifest be damaged one day, the one before has to know it, too.
            self._manifest = msgspec.structs.replace(self._manifest, snapshot=event.snapshot + 1)
            return [CommitManifest(self._manifest)]
        self._restore(self.epoch, now)
        return []

    def _restore(self, epoch: Epoch, now: float) -> None:
        epoch.snapshots.passed_over = () if self._manifest is None else self._manifest.passed_over
        self.phase = Phase.RESTORING
        self._next_begin = now
        epoch.begin_loading(now)

    def _passed_over(self, epoch: Epoch) -> tuple[PassedOver, ...]:
        """Return the rows that were read before the failure and are not out: at-most-once leaves them.

        A coordinator that has not seen the failure knows of none.
        """
        options = {output.option for output in self._spec.outputs}
        if options != {DeliveryOption.AT_MOST_ONCE}:
            return ()
        return passed_over(self._promises, epoch.deliveries.stored_below_any())

    def _failed(self, why: str, now: float) -> list[CoordinatorEffect]:
        """Give the epoch up for what may well happen again."""
        if self.epoch is not None:
            self._retries.failed(self.epoch.deliveries.stored_below_all(), now)
        return self._given_up(why, now)

    def _invariant_broken(self, why: str, now: float) -> list[CoordinatorEffect]:
        """Give the epoch up, or the job where that has not helped."""
        done = START if self.epoch is None else self.epoch.deliveries.stored_below_all()
        if not self._invariant_failures.record(done):
            return self._failed(why, now)
        notes = (
            f"{INVARIANT_FAILURES_MAX} epochs have ended so while outputs stood at {position_text(done)}",
        )
        helps = ("report it, with the script and this message",)
        error = FsqlError([Diagnostic(BROKEN_INVARIANT, why, notes=notes, helps=helps)])
        return [Finish(diagnostics=diagnostics_bytes(error))]

    def _given_up(self, why: str, now: float) -> list[CoordinatorEffect]:
        """End the epoch, if there is one, and gather again."""
        epoch, self.epoch = self.epoch, None
        self._detail = why
        if epoch is None:
            return []
        self.phase = Phase.GATHERING
        self._next_heartbeat = now
        self._promises = dict(epoch.acker.promises)
        self._members.scatter()
        return self._goodbyes(epoch.addresses, epoch)

    def _finished(self) -> list[CoordinatorEffect]:
        self.phase = Phase.FINISHED
        return self._goodbyes(self._members.addresses(), self.epoch)

    def _told_again(self, event: CoordinatorEvent) -> list[CoordinatorEffect]:
        """Tell a worker that has not heard it that the job is done."""
        if not isinstance(event, Received) or isinstance(event.what, Goodbye):
            return []
        return self._goodbyes([event.source], self.epoch)

    def _goodbyes(self, addresses: Iterable[str], epoch: Epoch | None) -> list[CoordinatorEffect]:
        number, finished = 0 if epoch is None else epoch.number, self.phase is Phase.FINISHED
        goodbye = Goodbye(self._spec.job, number, COORDINATOR, finished=finished)
        return [Transmit(address, goodbye) for address in addresses]

    def _progress(self) -> Progress:
        if (epoch := self.epoch) is None:
            return Progress(self.phase.value, 0, self._detail, Tally(), START)
        tally, begins = epoch.tally(), epoch.start
        troubles = (epoch.trouble,) if epoch.trouble else ()
        return Progress(self.phase.value, epoch.number, self._detail, tally, begins, troubles)
