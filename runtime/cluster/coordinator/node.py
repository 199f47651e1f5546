"""The coordinator node: gathers workers, leads them through epochs, releases results under its lease.

Contract.  `docs/internals/distribution.md`, sections 2 and 3.  Any failure in an epoch (a lost worker, a sink
that does not answer, state that cannot be loaded) ends the whole epoch.  The next one starts from the newest
snapshot that verifies, after a delay if the cause persists (`Backoff`).  A broken invariant is a bug: if a
few epochs end with one and outputs have stored nothing in between, the job ends with the error I902.  Nothing
is released once the lease may have expired; a coordinator that has lost its lease does nothing.

Not promised: a bound on the number of attempts after other failures.  The progress reports each of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.runtime.batch import END, START
from fsql.runtime.cluster.coordinator.epoch import CoordinatorEpoch
from fsql.runtime.cluster.coordinator.events import (
    CommitManifest,
    Deliver,
    Delivered,
    EpochTaken,
    Finish,
    LeaseHeld,
    LeaseLost,
    ManifestCommitted,
    ManifestNotCommitted,
    OpenSinks,
    Progress,
    SinkLost,
    SinkOpened,
    SnapshotRequested,
    StateLost,
    TakeEpoch,
    WorkerExited,
)
from fsql.runtime.cluster.coordinator.phase import Phase
from fsql.runtime.cluster.delivery.delivery import PositionRefusedError
from fsql.runtime.cluster.frames import COORDINATOR, Begin, Frame, Goodbye, Heartbeat, Hello
from fsql.runtime.cluster.members.members import Members
from fsql.runtime.cluster.members.restart_strategy import RestartStrategy
from fsql.runtime.cluster.node import Computed, Received, TimerFired, Transmit
from fsql.runtime.cluster.snapshots.manifest import fault_of, manifest_bytes
from fsql.runtime.cluster.snapshots.skipped_rows import SkippedRows
from fsql.runtime.cluster.ticks.events import LoadMeasured, TickProposed
from fsql.runtime.cluster.ticks.proposed_ticks import ProposedTicks
from fsql.runtime.dataflow.invariants import InvariantError
from fsql.runtime.dataflow.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.runtime.cluster.coordinator.events import CoordinatorEffect, CoordinatorEvent
    from fsql.runtime.cluster.job_spec import JobSpec, Settings
    from fsql.runtime.cluster.snapshots.manifest import Manifest


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
        self._loading_since = 0.0
        """When an epoch that does not run yet has last come further."""
        self._loaded: dict[int, int] = {}
        """What the last heartbeat of each worker said about how far it is with loading."""
        self._next_heartbeat = 0.0
        self._next_progress = 0.0
        self._detail = ""
        self._done = START
        """The position below which all outputs had stored everything when an epoch last failed."""
        self._restarts = RestartStrategy(settings)
        self._skipped = SkippedRows(spec)
        self.ticks = ProposedTicks(spec, settings, address)
        self._changes = MemberChanges(self._members, self.ticks, self._messages, settings)
        self._next_try: float | None = None

    def step(self, event: CoordinatorEvent, now: float) -> list[CoordinatorEffect]:
        """Process an event."""
        if self.phase is Phase.FINISHED:
            return [*self._messages.repeat_end(event, self.epoch)]
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
                return [*effects[:number], *self._finish(), self._progress(now), effect]
        may_report = self.epoch is None or isinstance(event, TimerFired)  # rows come first
        if self.phase is not phase or (may_report and now >= self._next_progress):
            self._next_progress = now + self._settings.metrics_every
            effects.append(self._progress(now))
        return effects

    def next_timer(self) -> float | None:
        """Return when to step with a `TimerFired` at the latest."""
        phase = self.phase
        if phase is Phase.WAITING or phase is Phase.FINISHED:
            return None
        due = self._next_progress
        if phase is Phase.GATHERING and self._next_try is not None:
            due = min(due, self._next_try)
        if self.epoch is not None:
            due = min(due, self._next_heartbeat, self.epoch.next_timer())
            if self.phase in {Phase.RESTORING, Phase.RUNNING}:
                due = min(due, self._changes.next_timer(self.epoch))
        return due

    def _handle(  # noqa: C901, PLR0911 - one case for each kind
        self, event: CoordinatorEvent, now: float
    ) -> list[CoordinatorEffect]:
        match event:
            case Received():
                return self._on_received(event, now)
            case LeaseHeld() | LeaseLost():
                return self._on_lease(event, now)
            case WorkerExited(address):
                number = self._members.on_exit(address)
                return self._on_worker_lost(number, f"the worker at {address} has ended", now)
            case EpochTaken():
                return self._on_epoch_taken(event, now)
            case Computed(seconds):
                self._restarts.timeouts.on_computed(seconds, now)
            case TickProposed():
                self.ticks.on_proposal(event, now)
            case LoadMeasured(busy):
                return [] if self.epoch is None else self.ticks.on_load(busy, self.epoch, now)
            case SinkLost() | StateLost():
                return self._on_loss(event, now)
            case SnapshotRequested() if self.epoch is not None:  # otherwise it is repeated
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
        self.ticks.on_lease_lost()
        self._detail = event.reason or self._detail
        if self.epoch is not None:
            self._done = self.epoch.deliveries.min_stored_position()
        self.epoch, self.phase = None, Phase.WAITING
        # Workers detect the loss themselves; open requests may never be answered.
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
            case ManifestCommitted() | ManifestNotCommitted() if self.phase is Phase.RECORDING:
                return self._on_skipped_committed(event, now)
            case ManifestCommitted() | ManifestNotCommitted():
                epoch.on_manifest_outcome(event)
        return []

    def _on_received(self, received: Received, now: float) -> list[CoordinatorEffect]:
        epoch = self.epoch
        match received.what:
            case Frame() | Heartbeat() as what if epoch is None or not epoch.has(what):
                return self._on_other_epoch(what, received.source, now)
            case Frame() as frame if epoch is not None:
                epoch.receive(frame, now)
            case Hello(job) as hello:
                if job in {"", self._spec.job}:
                    return self._on_hello(hello, now)
            case Heartbeat(_, _, sender, loaded) if epoch is not None:
                epoch.detector.on_heartbeat(sender, now)
                if self._loaded.get(sender) != loaded:
                    self._loaded[sender], self._loading_since = loaded, now
            case Goodbye(_, number, sender) as goodbye:
                if epoch is not None and number == epoch.number and sender in epoch.addresses:
                    return self._on_leave(epoch, goodbye, now)
            case _:
                pass
        return []

    def _on_other_epoch(
        self, what: Frame | Heartbeat, source: str, now: float
    ) -> list[CoordinatorEffect]:
        """Notify a worker that its epoch, or its part in it, is over: an earlier notice may be lost.

        While the lease is held, the epoch of this coordinator is the only one.
        """
        is_over = self.epoch is None or what.epoch <= self.epoch.number
        if not (is_over and self._fence.is_open(now)):
            return []
        return [*self._messages.end_part(what, source)]

    def _on_leave(
        self, epoch: CoordinatorEpoch, goodbye: Goodbye, now: float
    ) -> list[CoordinatorEffect]:
        if goodbye.sender in epoch.members.joining:
            return [*self._changes.drop(epoch, goodbye.sender)]
        why = f"worker {goodbye.sender} has left: {goodbye.reason}"
        if goodbye.broken_invariant:
            return self._on_broken_invariant(why, now)
        damaged = goodbye.state_damaged
        return self._fail(why, now, disk_failed=goodbye.disk_failed, state_damaged=damaged)

    def _on_hello(self, hello: Hello, now: float) -> list[CoordinatorEffect]:
        self._restarts.timeouts.on_computed(hello.computed, now)
        address = hello.address
        lost = self._members.on_hello(hello.worker, address, now)
        if lost is not None:
            return self._on_worker_lost(lost, f"the worker at {address} has started again", now)
        if self.phase is Phase.WAITING:
            return []
        # It may have to wait long, and must know that there is a coordinator.
        return [*self._messages.heartbeats([address], self.epoch)]

    def _on_worker_lost(self, number: int | None, why: str, now: float) -> list[CoordinatorEffect]:
        """End the epoch if a member is lost; drop a worker that was joining."""
        if number is None:
            return []
        if self.epoch is not None and number in self.epoch.members.joining:
            return [*self._changes.drop(self.epoch, number)]
        return self._give_up(why, now)

    def _on_epoch_taken(self, taken: EpochTaken, now: float) -> list[CoordinatorEffect]:
        self._asked = False
        if self.phase is not Phase.GATHERING or not self._members.are_enough(now):
            return []
        if taken.epoch <= self._newest:
            return []  # requested before the lease was lost
        self._newest = taken.epoch
        manifest = taken.manifest
        spec = self.ticks.on_epoch_taken(taken)
        self._members.wanted = spec.plan.workers
        if not self._members.are_enough(now):
            return []
        error = None if manifest is None else fault_of(manifest, spec.graph, spec.operators)
        if error is not None:
            return [Finish(diagnostics=diagnostics_bytes(error))]
        self._manifest = manifest
        addresses = self._members.choose(now)
        settings = replace(self._settings, failure_after=self._restarts.timeouts.silence)
        self.epoch = CoordinatorEpoch(spec, taken.epoch, manifest, addresses, settings, now)
        self.phase = Phase.OPENING
        self._loading_since = self._next_heartbeat = now
        self._loaded = {}
        return [OpenSinks(taken.epoch, self.epoch.start, self.epoch.writers.outputs)]

    def _advance(self, now: float) -> list[CoordinatorEffect]:
        """Begin the next phase if possible, and carry out what is due by the clock."""
        effects: list[CoordinatorEffect] = []
        epoch = self.epoch
        self._next_try = self._restarts.retry_at(now)
        self._advance_timeout(now)
        may_try = self.phase is Phase.GATHERING and not self._asked and self._next_try is None
        if may_try and self._members.are_enough(now):
            self._asked = True
            effects.append(TakeEpoch())
        if epoch is None:
            return effects
        if self.phase is Phase.OPENING and epoch.deliveries.are_open:
            effects += self._load_after(self._skipped.manifest(epoch, self._manifest), epoch, now)
        if self.phase is Phase.RESTORING and epoch.running:
            self.phase = Phase.RUNNING
            self._restarts.timeouts.on_loaded()
        if self.phase is Phase.RUNNING:
            effects += self.ticks.advance(epoch, now)
            self._members.wanted = self.ticks.workers
        if self.phase in {Phase.RESTORING, Phase.RUNNING}:
            effects += self._changes.advance(epoch, self._manifest, now)
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + self._settings.heartbeat_every
            effects += self._messages.heartbeats(epoch.addresses.values(), epoch)
        return effects + epoch.advance(now, may_release=self._fence.is_open(now))

    def _advance_timeout(self, now: float) -> None:
        """Let the failure timeout decay, unless a silence has shown that it is needed."""
        timeouts, epoch = self._restarts.timeouts, self.epoch
        if epoch is not None:
            timeouts.on_silence_ended(epoch.detector.longest_silence, now)
            epoch.detector.longest_silence = 0.0
        timeouts.advance(now)
        if epoch is not None:
            epoch.detector.timeout = timeouts.silence

    def _give_up_if_lost(self, now: float) -> list[CoordinatorEffect]:
        """End the epoch if a worker has failed; called when a timer fires and all input is processed."""
        epoch = self.epoch
        if epoch is None:
            return []
        failure = epoch.members.failure(now, running=epoch.running)
        if failure is not None:
            return self._give_up(failure, now)
        longest = self._restarts.timeouts.loading
        if self.phase is not Phase.RUNNING and now - self._loading_since > longest:
            self._restarts.timeouts.on_loading_too_long()
            return self._give_up("the workers were not ready in time", now)
        return []

    def _on_skipped_committed(
        self, event: ManifestCommitted | ManifestNotCommitted, now: float
    ) -> list[CoordinatorEffect]:
        assert self.epoch is not None
        assert self._manifest is not None
        if isinstance(event, ManifestNotCommitted):
            return self._fail(f"the skipped ranges cannot be stored: {event.reason}", now)
        second_manifest = self._skipped.second_manifest(self._manifest, self.epoch.number)
        return self._load_after(second_manifest, self.epoch, now)

    def _load_after(
        self, skipping: Manifest | None, epoch: CoordinatorEpoch, now: float
    ) -> list[CoordinatorEffect]:
        """If rows are skipped, first commit which ones; then have the workers load."""
        if skipping is None:
            self._restore(epoch, now)
            return []
        self.phase, self._manifest = Phase.RECORDING, skipping
        return [CommitManifest(skipping)]

    def _restore(self, epoch: CoordinatorEpoch, now: float) -> None:
        epoch.snapshots.skipped = () if self._manifest is None else self._manifest.skipped
        self.phase = Phase.RESTORING
        self._changes.begin_at(now)
        epoch.begin_loading(now)

    def _fail(
        self, why: str, now: float, *, disk_failed: bool = False, state_damaged: bool = False
    ) -> list[CoordinatorEffect]:
        """End the epoch after a failure that may recur, or the job if a disk stays full or damages state."""
        if self.epoch is not None:
            self._done = self.epoch.deliveries.min_stored_position()
            self._restarts.on_failure(self._done, now)
        if disk_failed:
            error = self._restarts.on_disk_failure(why, self._done, now, damaged=state_damaged)
            if error is not None:
                return [Finish(diagnostics=diagnostics_bytes(error))]
        return self._give_up(why, now)

    def _on_broken_invariant(self, why: str, now: float) -> list[CoordinatorEffect]:
        """End the epoch, or the job if further epochs have not helped."""
        done = START if self.epoch is None else self.epoch.deliveries.min_stored_position()
        error = self._restarts.on_broken_invariant(why, done)
        if error is None:
            return self._fail(why, now)
        return [Finish(diagnostics=diagnostics_bytes(error))]

    def _give_up(self, why: str, now: float) -> list[CoordinatorEffect]:
        """End the epoch, if there is one, and gather workers again."""
        epoch, self.epoch = self.epoch, None
        self._detail = why
        if epoch is None:
            return []
        self.phase = Phase.GATHERING
        self._next_heartbeat = now
        self._skipped.on_epoch_lost(epoch.acker.promises)
        self.ticks.on_epoch_lost(epoch)
        self._members.scatter()
        return [*self._messages.end_epoch(epoch.addresses.values(), epoch.number)]

    def _finish(self) -> list[CoordinatorEffect]:
        self.phase = Phase.FINISHED
        return [*self._messages.end_job(self._members.addresses(), self.epoch)]

    def _progress(self, now: float) -> Progress:
        workers, idle = self.ticks.workers_wanted, self._members.idle(now)
        if self.epoch is not None:
            progress = self.epoch.progress(self.phase, self._detail)
        else:
            progress = Progress(self.phase.value, 0, self._detail, Metrics(), (0, END), START)
        return replace(progress, workers=workers, idle=idle)


# The control messages of a coordinator to its workers: they are sent outside of links, and may be lost.


class ControlMessages:
    """Makes the messages of the coordinator of one job."""

    def __init__(self, spec: JobSpec, address: str) -> None:
        """Make messages to which workers reply at `address`."""
        self._spec = spec
        self._address = address

    def begin(
        self,
        epoch: CoordinatorEpoch,
        manifest: Manifest | None,
        names: Mapping[int, str],
    ) -> list[Transmit]:
        """Instruct the workers of an epoch that are not ready to load the manifest.

        `names` are those of the workers, by number.  A worker that joins has no state and no fronts; fronts
        may move to it later, and it skips the same rows of them as other workers.
        """
        spec = self._spec
        assert manifest is None or manifest.epoch <= epoch.number
        data = b"" if manifest is None else manifest_bytes(manifest)
        if manifest is not None and epoch.running:
            empty = msgspec.structs.replace(manifest, segments=(), fronts=())
            data = manifest_bytes(empty)
        return [
            Transmit(
                address,
                Begin(
                    spec.job,
                    spec.tick,
                    epoch.number,
                    names[number],
                    number,
                    self._address,
                    tuple(epoch.addresses[member] for member in epoch.members.numbers),
                    spec.description,
                    data,
                    epoch.detector.timeout,
                    epoch.ticks.owners.ranges,
                    tuple(epoch.members.numbers),
                    epoch.ticks.choices,
                    tuple(epoch.ticks.readers),
                    epoch.writers.count,
                    epoch.ticks.owners.exchange_ranges,
                ),
            )
            for number, address in epoch.addresses.items()
            if number in epoch.members.joining or not epoch.running
        ]

    def heartbeats(
        self, addresses: Iterable[str], epoch: CoordinatorEpoch | None
    ) -> list[Transmit]:
        """Send heartbeats to workers."""
        beat = Heartbeat(self._spec.job, _number(epoch), COORDINATOR)
        return [Transmit(address, beat) for address in addresses]

    def end_epoch(self, addresses: Iterable[str], epoch: int, member: int = -1) -> list[Transmit]:
        """Notify workers that an epoch is over, or that it is over for worker number `member` only."""
        goodbye = Goodbye(self._spec.job, epoch, COORDINATOR, finished=False, member=member)
        return [Transmit(address, goodbye) for address in addresses]

    def end_part(self, what: Frame | Heartbeat, address: str) -> list[Transmit]:
        """Notify the sender of a message that its part in the epoch is over."""
        if what.job != self._spec.job or what.sender == COORDINATOR:
            return []
        return self.end_epoch([address], what.epoch, what.sender)

    def end_job(self, addresses: Iterable[str], epoch: CoordinatorEpoch | None) -> list[Transmit]:
        """Notify workers that the job is finished."""
        goodbye = Goodbye(self._spec.job, _number(epoch), COORDINATOR, finished=True)
        return [Transmit(address, goodbye) for address in addresses]

    def repeat_end(self, event: CoordinatorEvent, epoch: CoordinatorEpoch | None) -> list[Transmit]:
        """Notify the sender of a message once more that the job is finished."""
        if not isinstance(event, Received) or isinstance(event.what, Goodbye):
            return []
        return self.end_job([event.source], epoch)


def _number(epoch: CoordinatorEpoch | None) -> int:
    return 0 if epoch is None else epoch.number


# Lets workers join a running epoch, and leave it; see `epoch_members`.
#
# Contract.  As many of the idle workers join as a proposed tick needs.  A worker that is lost before it is
# ready has no effect, and another one joins in its place.  Workers that are neither in the proposal nor in
# the layout leave.


class MemberChanges:
    """The workers that join and leave the epochs of one coordinator."""

    def __init__(
        self,
        members: Members,
        ticks: ProposedTicks,
        messages: ControlMessages,
        settings: Settings,
    ) -> None:
        self._members = members
        self._ticks = ticks
        self._messages = messages
        self._begin_every = settings.hello_every
        self._next_begin = 0.0

    def advance(
        self, epoch: CoordinatorEpoch, manifest: Manifest | None, now: float
    ) -> list[Transmit]:
        """Let workers begin, join and leave an epoch, which starts from `manifest`."""
        if not epoch.running:
            return self._begin(epoch, manifest, now)
        members = epoch.members
        missing = self._ticks.workers_wanted - len(members.numbers) - len(members.joining)
        effects: list[Transmit] = []
        if missing > 0 and not epoch.snapshots.is_committing:
            # A manifest that is being committed does not know their stores.
            joining = self._members.assign_idle(missing, members.next_number, now)
            members.join(joining, now)
            if joining:
                self._next_begin = now
        for number in members.joining[missing:] if missing < 0 else members.silent(now):
            effects += self.drop(epoch, number)
        if members.joining:
            effects += self._begin(epoch, manifest, now)
        # Workers that are ready wait until all that the tick needs are ready.
        may_leave = missing < 0 and not epoch.ticks.is_under_way
        for number, address in members.take_left() if may_leave else ():
            self._members.release(number)
            effects += self._messages.end_epoch([address], epoch.number, number)
        return effects

    def next_timer(self, epoch: CoordinatorEpoch) -> float:
        """Return the latest time at which to call `advance`, infinity for never."""
        is_needed = epoch.members.joining or not epoch.running
        return self._next_begin if is_needed else float("inf")

    def begin_at(self, now: float) -> None:
        """Let workers begin from now on."""
        self._next_begin = now

    def _begin(
        self, epoch: CoordinatorEpoch, manifest: Manifest | None, now: float
    ) -> list[Transmit]:
        if now < self._next_begin:
            return []
        self._next_begin = now + self._begin_every
        return self._messages.begin(epoch, manifest, self._members.names)

    def drop(self, epoch: CoordinatorEpoch, number: int) -> list[Transmit]:
        """Remove a worker that is not ready yet."""
        address = epoch.addresses[number]
        epoch.members.drop(number)
        self._members.release(number)
        return self._messages.end_epoch([address], epoch.number, number)


# The fence of the lease: no bundle is sent while another coordinator may hold the lease.


class LeaseFence:
    """Holds bundles back as soon as the lease may have expired."""

    def __init__(self) -> None:
        self._until = float("-inf")
        self._held_back: list[Deliver] = []

    def on_lease_held(self, until: float) -> None:
        """Record the time until which the lease is held."""
        self._until = until

    def on_lease_lost(self) -> None:
        """Record that another coordinator may hold the lease."""
        self._until = float("-inf")

    def is_open(self, now: float) -> bool:
        """Return whether bundles may be sent."""
        return now < self._until

    def filter(
        self, effects: list[CoordinatorEffect], epoch: int | None, now: float
    ) -> list[CoordinatorEffect]:
        """Return the effects to carry out now: while the fence is closed, all except bundles.

        Bundles that were held back are returned once it is open again, if `epoch` is still theirs.
        """
        held_back, self._held_back = self._held_back, []
        if epoch is not None and self.is_open(now):
            if not held_back:
                return effects
            return [*(each for each in held_back if each.epoch == epoch), *effects]
        self._held_back = [*held_back, *(each for each in effects if isinstance(each, Deliver))]
        return [each for each in effects if not isinstance(each, Deliver)]
