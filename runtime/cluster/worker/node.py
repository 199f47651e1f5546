"""The worker node: runs a worker over a network that loses frames.

Contract.  `docs/internals/distribution.md`, sections 3 and 4.  In an epoch the node steps its `Worker`,
reads for its fronts while they are within their read-ahead, and takes part in snapshots.  All items of one
step for one receiver are sent in one frame, in their order; so a promise follows the acknowledgements of
everything sent before it.  A node that receives nothing from its coordinator, or cannot reach a peer, for the
timeout given in `Begin` leaves the epoch and sends a Hello again.

Not promised: that an epoch makes progress.  The coordinator decides when to begin another one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.runtime.cluster.delivery.delivery import PositionRefusedError
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    Begin,
    Failure,
    Frame,
    Goodbye,
    Heartbeat,
    Hello,
)
from fsql.runtime.cluster.links.links import WorkerLinks
from fsql.runtime.cluster.members.failure_detector import FailureDetector
from fsql.runtime.cluster.node import Computed, Received, TimerFired, Transmit
from fsql.runtime.cluster.worker.events import (
    ChunkRead,
    Close,
    LeaderFound,
    Leave,
    Load,
    Loaded,
    NotLoaded,
    Resumed,
    ShardLost,
    SourceFailed,
    StateRead,
)
from fsql.runtime.cluster.worker.loaded_epoch import LoadedEpoch
from fsql.runtime.dataflow.invariants import InvariantError

if TYPE_CHECKING:
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.worker.events import (
        EpochEvent,
        LoadedEvent,
        WorkerEffect,
        WorkerEvent,
    )


class WorkerNode:
    """One worker: idle, or in an epoch."""

    def __init__(
        self,
        job: str,
        name: str,
        address: str,
        settings: Settings,
    ) -> None:
        """Start idle; `name` is new at each start of the process, `address` is that of the node.

        A worker that does not know its job yet ("") takes part in the job of its coordinator.
        """
        self._hello = Hello(job, name, address)
        self._settings = settings
        self._leader: str | None = None
        self._next_hello = 0.0
        self._newest = 0, 0
        """Epoch and number of the last part in a job."""
        self.epoch: WorkerEpoch | None = None

    def step(self, event: WorkerEvent, now: float) -> list[WorkerEffect]:
        """Process an event; leave the epoch if an invariant is broken.

        Rows that cannot be processed would fail in every epoch, so their error ends the job.
        """
        try:
            return self._step(event, now)
        except FsqlError as error:
            assert self.epoch is not None
            return self.epoch.fail(diagnostics_bytes(error), now)
        except InvariantError as error:
            return self._leave(error.reason, now, broken_invariant=True)
        except PositionRefusedError as error:
            return self._leave(f"the sink of a shard: {error}", now)

    def _step(self, event: WorkerEvent, now: float) -> list[WorkerEffect]:
        effects = self._handle(event, now)
        if isinstance(event, TimerFired) and self.epoch is not None:
            # Only on timers, because all input is processed then.
            failure = self.epoch.failure(now)
            if failure is not None:
                effects += self._leave(failure, now)
            else:
                effects += self.epoch.continue_work(now)
        if self.epoch is not None and not isinstance(event, TimerFired):
            return effects + self.epoch.late_heartbeat(now)  # rows come before reports
        return effects + self._on_time(now)

    def readable(self, now: float) -> list[int]:
        """Return the numbers of the fronts that may read now, the one with the least promise first."""
        return [] if self.epoch is None else self.epoch.readable(now)

    def next_timer(self) -> float | None:
        """Return when to step with a `TimerFired` at the latest."""
        if self.epoch is not None:
            return self.epoch.next_timer()
        return None if self._leader is None else self._next_hello

    def _handle(  # noqa: C901 - one case for each kind
        self, event: WorkerEvent, now: float
    ) -> list[WorkerEffect]:
        epoch = self.epoch
        match event:
            case Received():
                return self._on_received(event, now)
            case LeaderFound(address):
                if address != self._leader:
                    self._leader, self._next_hello = address, now
            case TimerFired():
                pass
            case StateRead(segments):
                if epoch is not None:
                    epoch.on_state_read(segments)
            case Computed(seconds):
                self._hello = replace(self._hello, computed=max(seconds, self._hello.computed))
            case ChunkRead() | Resumed():
                return [] if epoch is None else epoch.on_event(event, now)
            case SourceFailed(diagnostics):
                return [] if epoch is None else epoch.report_failure(diagnostics, now)
            case _:
                if epoch is not None and epoch.number == event.epoch:
                    return self._on_answer(epoch, event, now)
        return []

    def _on_received(self, received: Received, now: float) -> list[WorkerEffect]:
        epoch = self.epoch
        match received.what:
            case Frame() as frame:
                return [] if epoch is None else epoch.receive(frame, now)
            case Begin() as begin:
                return self._begin(begin, now)
            case Heartbeat(_, number, sender):
                if epoch is not None and number == epoch.number and sender == COORDINATOR:
                    epoch.detector.on_heartbeat(COORDINATOR, now)
            case Goodbye() as goodbye:
                return self._on_goodbye(goodbye, now)
            case Hello():
                pass
        return []

    def _on_answer(self, epoch: WorkerEpoch, event: EpochEvent, now: float) -> list[WorkerEffect]:
        """Process an event of the current epoch."""
        match event:
            case Loaded():
                return epoch.on_loaded(event, now)
            case NotLoaded(_, reason, diagnostics):
                if diagnostics is not None:
                    return epoch.fail(diagnostics, now)  # a front that was adopted has no reader
                damaged = event.state_damaged
                return self._leave(
                    reason, now, disk_failed=event.disk_failed, state_damaged=damaged
                )
            case ShardLost():
                if event.diagnostics is not None:
                    return epoch.fail(event.diagnostics, now)
                return self._leave(event.reason, now, disk_failed=event.disk_failed)
            case _:
                return epoch.on_event(event, now)

    def _begin(self, begin: Begin, now: float) -> list[WorkerEffect]:
        if begin.worker != self._hello.worker or begin.identity <= self._newest:
            return []
        self._newest = begin.identity
        self._hello = replace(self._hello, computed=0.0)
        self._leader = begin.coordinator
        self.epoch = WorkerEpoch(begin, self._settings, now)
        return [Load(begin)]

    def _on_goodbye(self, goodbye: Goodbye, now: float) -> list[WorkerEffect]:
        own_job = self._hello.job in {"", goodbye.job}
        if goodbye.sender != COORDINATOR or not own_job:
            return []
        if goodbye.finished:
            self.epoch, self._leader = None, None
            return [Close(), Leave()]
        if self.epoch is not None and self.epoch.is_ended_by(goodbye):
            return self._become_idle(now)
        return []

    def _on_time(self, now: float) -> list[WorkerEffect]:
        """Carry out what is due by the clock."""
        if self.epoch is not None:
            return self.epoch.advance(now)
        if self._leader is None or now < self._next_hello:
            return []
        self._next_hello = now + self._settings.hello_every
        return [Transmit(self._leader, self._hello)]

    def _leave(
        self,
        reason: str,
        now: float,
        *,
        broken_invariant: bool = False,
        disk_failed: bool = False,
        state_damaged: bool = False,
    ) -> list[WorkerEffect]:
        """Leave the epoch, and send the coordinator the reason if possible."""
        assert self.epoch is not None
        begin = self.epoch.begin
        goodbye = Goodbye(
            begin.job,
            begin.epoch,
            begin.number,
            finished=False,
            reason=reason,
            broken_invariant=broken_invariant,
            disk_failed=disk_failed,
            state_damaged=state_damaged,
        )
        return [Transmit(begin.coordinator, goodbye), *self._become_idle(now)]

    def _become_idle(self, now: float) -> list[WorkerEffect]:
        self.epoch = None
        self._next_hello = now
        return [Close()]


# A worker's part in one epoch: its links, and, once the plan and the state are loaded, a `LoadedEpoch`.


class WorkerEpoch:
    """One worker in one epoch."""

    def __init__(self, begin: Begin, settings: Settings, now: float) -> None:
        """Start the epoch; the plan and the state are still to be loaded."""
        self.begin = begin
        self.number = begin.epoch
        self.detector: FailureDetector[int] = FailureDetector(begin.failure_after)
        self.detector.watch([COORDINATOR], now)
        self._links = WorkerLinks(begin, settings, now)
        self._loaded: LoadedEpoch | None = None
        """None before the state is loaded, and after a failure."""

    def readable(self, now: float) -> list[int]:
        """Return the numbers of the fronts that may read now, the one with the least promise first."""
        return [] if self._loaded is None else self._loaded.readable(now)

    def next_timer(self) -> float:
        """Return the latest time at which to call `advance`; 0 means immediately."""
        links = self._links
        due = min(links.next_timer(), links.next_heartbeat, self.detector.next_timer())
        return due if self._loaded is None else min(due, self._loaded.next_timer())

    def failure(self, now: float) -> str | None:
        """Return who of the coordinator and the peers has failed and how, in words; None if none has."""
        detector, seconds = self.detector, f"{self.detector.timeout:g} s"
        if detector.silent(now) is not None:
            return f"no message from the coordinator for {seconds}"
        stuck = detector.stuck(self._links.by_peer, now)
        if stuck is None:
            return None
        peer = "the coordinator" if stuck == COORDINATOR else f"worker {stuck}"
        return f"{peer} has not acknowledged for {seconds}"

    def is_ended_by(self, goodbye: Goodbye) -> bool:
        """Return whether a Goodbye of a coordinator ends the part of this worker in the epoch."""
        return goodbye.epoch == self.number and goodbye.member in {-1, self.begin.number}

    def on_loaded(self, loaded: Loaded, now: float) -> list[WorkerEffect]:
        """Build the worker as of the snapshot, and report that it is ready.

        A worker that was dropped while it loaded joins again under another number, which is loaded later.
        """
        if loaded.number != self.begin.number:
            return []
        self._links.heartbeat_every = loaded.settings.heartbeat_every
        self._loaded = LoadedEpoch(self.begin, loaded, self._links, now)
        return self._send(now)

    def on_state_read(self, segments: int) -> None:
        """Record how many state segments were read: the coordinator is told that loading goes on."""
        self._links.loaded = segments

    def receive(self, frame: Frame, now: float) -> list[WorkerEffect]:
        """Process a frame of one of the links."""
        loaded = self._loaded
        if loaded is None or frame.sender not in self._links.by_peer:
            return []  # the peer sends it again
        if frame.sender == COORDINATOR and frame.epoch == self.number:
            self.detector.on_heartbeat(COORDINATOR, now)
        items, answers = self._links.receive(frame, now)
        effects: list[WorkerEffect] = [*answers]
        for item in items:
            effects += loaded.on_item(frame.sender, item, now)
        return effects + self._send(now)

    def on_event(self, event: LoadedEvent, now: float) -> list[WorkerEffect]:
        """Process an event of the host, unless the worker has failed before."""
        return [] if self._loaded is None else self._loaded.on_event(event, now)

    def report_failure(self, diagnostics: bytes, now: float) -> list[WorkerEffect]:
        """Report why the job cannot continue."""
        self._links.put(COORDINATOR, Failure(diagnostics))
        return self._send(now)

    def fail(self, diagnostics: bytes, now: float) -> list[WorkerEffect]:
        """Report why rows cannot be processed, and drop the messages of the failed step."""
        self._loaded = None
        self._links.discard()
        return self.report_failure(diagnostics, now)

    def advance(self, now: float) -> list[WorkerEffect]:
        """Send heartbeats and metrics when it is time."""
        effects: list[WorkerEffect] = [*self._links.heartbeat(now)]
        return effects if self._loaded is None else effects + self._loaded.advance(now)

    def late_heartbeat(self, now: float) -> list[WorkerEffect]:
        """Send a heartbeat if one has been due for an interval: under steady input no timer fires."""
        return [*self._links.late_heartbeat(now)]

    def continue_work(self, now: float) -> list[WorkerEffect]:
        """Continue work that was left for later; to be called when all input is processed.

        Then acknowledge frames, and resend unacknowledged ones.
        """
        effects = [] if self._loaded is None else self._loaded.continue_work(now)
        return [*effects, *self._links.send_all_due(now)]

    def _send(self, now: float) -> list[WorkerEffect]:
        return [*self._links.send(now)] if self._loaded is None else self._loaded.send(now)
