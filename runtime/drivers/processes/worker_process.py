"""The process of a worker: its host on a real network, with real files, state and time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from fsql.runtime.cluster.node import Received
from fsql.runtime.cluster.worker.events import LeaderFound
from fsql.runtime.drivers.memory import collect_while_idle
from fsql.runtime.drivers.processes.background import BackgroundThread
from fsql.runtime.drivers.processes.stopwatch import Stopwatch
from fsql.runtime.hosts.worker_host import WorkerHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.cluster.worker.events import WorkerEvent
    from fsql.runtime.drivers.processes.supervised import Supervisor
    from fsql.runtime.drivers.transport import ZeroMqTransport
    from fsql.runtime.hosts.ports import Transport, WorkerMachine
    from fsql.runtime.hosts.prepared import Prepare

IDLE_SECONDS_MAX = 0.1
"""Seconds to wait for input before checking whether the launcher is alive."""


class MessageDeadline(Protocol):
    """Ends a worker that receives no messages; times are in seconds of the monotonic clock."""

    def start(self, now: float) -> None:
        """Begin to wait for messages."""

    def on_message(self, now: float) -> None:
        """Record a message."""

    def check(self, now: float) -> None:
        """Raise an error if the deadline has passed; called often.

        Raises:
            FsqlError: to end the worker.
        """


class WorkerProcess:
    """Runs until the job is done or the launcher has ended."""

    def __init__(
        self,
        node: WorkerMachine,
        transport: ZeroMqTransport,
        prepare: Prepare,
        supervisor: Supervisor | None,
        deadline: MessageDeadline | None = None,
        find_leader: Callable[[], str | None] = lambda: None,
        *,
        sending: Transport | None = None,
    ) -> None:
        """Take the parts of a worker; `deadline` ends a worker that has no supervisor.

        `find_leader` is called often; it returns the address of the coordinator each time it changes.
        The worker sends by `sending` where this is given.
        """
        self._transport = transport
        self._supervisor = supervisor
        self._background = BackgroundThread(transport.wake)
        self.host = WorkerHost(
            *(node, time.monotonic, sending or transport, self._background, prepare),
            busy_clock=time.thread_time,
        )
        self._deadline = deadline
        self._find_leader = find_leader

    def run(self) -> bool:
        """Run; return whether the job is done, False if only the launcher has ended."""
        host = self.host
        if self._deadline is not None:
            self._deadline.start(time.monotonic())
        stopwatch = Stopwatch()
        try:
            while not host.done and (self._supervisor is None or self._supervisor.alive()):
                self._round(stopwatch)
        finally:
            self.close()
            stopwatch.close()
        return host.done

    def step(self, event: WorkerEvent) -> None:
        """Step the node with an event."""
        self.host.step(event)

    def _round(self, stopwatch: Stopwatch) -> None:
        """Process all input that has arrived, read once, and advance the time."""
        now = time.monotonic()
        seconds = self.wait_seconds(now)
        if seconds:
            collect_while_idle()
        received = self._transport.receive(seconds)
        if self._deadline is not None:
            if received:
                self._deadline.on_message(now)
            self._deadline.check(now)
        for event in stopwatch.lap():
            self.step(event)
        self.update_leader()
        for source, what in received:
            self.step(Received(what, source))
        self.read()
        self.host.tick()

    def wait_seconds(self, now: float) -> float:
        """Return the maximum number of seconds to wait for input; 0 if a front may read."""
        if self.host.node.readable(now):
            return 0.0
        timer = self.host.next_timer()
        wait = IDLE_SECONDS_MAX if timer is None else min(IDLE_SECONDS_MAX, timer - now)
        return max(0.0, wait)

    def update_leader(self) -> None:
        """Inform the node if the address of the coordinator has changed."""
        leader = self._find_leader()
        if leader is not None:
            self.step(LeaderFound(leader))

    def read(self) -> None:
        """Process the events of background work, and read once if a front may."""
        self._background.hand_over(self.step)
        self.host.read()

    def close(self) -> None:
        """Finish the work in the background, and close the host."""
        self._background.close()
        self.host.close()
