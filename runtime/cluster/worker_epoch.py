"""A worker's part in one epoch: its links, and, once the plan and the state are loaded, a `LoadedEpoch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.failure_detector import FailureDetector
from fsql.runtime.cluster.frames import COORDINATOR, Begin, Failure, Frame
from fsql.runtime.cluster.loaded_epoch import LoadedEpoch
from fsql.runtime.cluster.worker_links import WorkerLinks

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Goodbye
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.worker_events import Loaded, LoadedEvent, WorkerEffect


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
