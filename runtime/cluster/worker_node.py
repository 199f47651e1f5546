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
from fsql.runtime.cluster.delivery import PositionRefusedError
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    Begin,
    Frame,
    Goodbye,
    Heartbeat,
    Hello,
)
from fsql.runtime.cluster.node import Computed, Received, TimerFired, Transmit
from fsql.runtime.cluster.worker_epoch import WorkerEpoch
from fsql.runtime.cluster.worker_events import (
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
from fsql.runtime.dataflow.invariants import InvariantError

if TYPE_CHECKING:
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.worker_events import EpochEvent, WorkerEffect, WorkerEvent


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
