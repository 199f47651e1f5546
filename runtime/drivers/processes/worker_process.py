"""The process of a worker: its host on a real network, with real files, state and time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from fsql.runtime.cluster.node import LeaderFound, Received
from fsql.runtime.drivers.memory import collect_while_idle
from fsql.runtime.drivers.processes.background import BackgroundThread
from fsql.runtime.hosts.worker_host import WorkerHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.cluster.node import WorkerEvent
    from fsql.runtime.drivers.processes.supervised import Supervisor
    from fsql.runtime.drivers.transport import Transport
    from fsql.runtime.hosts.ports import WorkerMachine
    from fsql.runtime.hosts.prepared import Prepare

IDLE_SECONDS_MAX = 0.1
"""Seconds to wait for input before checking whether the launcher is alive."""


class MessageDeadline(Protocol):
    """Ends a worker that gets no messages; times are in seconds of the monotonic clock."""

    def start(self, now: float) -> None:
        """Begin to wait for messages."""

    def on_message(self, now: float) -> None:
        """Record a message."""

    def check(self, now: float) -> None:
        """Check the deadline; called often.

        Raises:
            FsqlError: to end the worker.
        """


class WorkerProcess:
    """Runs until the job is done or the supervisor has ended."""

    def __init__(
        self,
        node: WorkerMachine,
        transport: Transport,
        prepare: Prepare,
        supervisor: Supervisor | None,
        deadline: MessageDeadline | None = None,
        find_leader: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Take the parts of a worker; `deadline` ends one that has no supervisor.

        `find_leader` is called often; it returns the address of the coordinator each time it changes.
        """
        self._transport = transport
        self._supervisor = supervisor
        self._background = BackgroundThread(transport.wake)
        self._host = WorkerHost(node, time.monotonic, transport, self._background, prepare)
        self._deadline = deadline
        self._find_leader = find_leader

    def run(self) -> bool:
        """Run; return whether the job is done, False if only the launcher has ended."""
        host = self._host
        if self._deadline is not None:
            self._deadline.start(time.monotonic())
        try:
            while not host.done and (self._supervisor is None or self._supervisor.alive()):
                self._round()
        finally:
            self._background.close()
            host.close()
        return host.done

    def step(self, event: WorkerEvent) -> None:
        """Give an event to the node."""
        self._host.step(event)

    def _round(self) -> None:
        """Process all input that has come, read once, and advance the time."""
        host = self._host
        now = time.monotonic()
        readable = host.node.readable(now)
        timer = host.next_timer()
        wait = IDLE_SECONDS_MAX if timer is None else min(IDLE_SECONDS_MAX, timer - now)
        if not readable:
            collect_while_idle()
        came = self._transport.receive(0.0 if readable else max(0.0, wait))
        if self._deadline is not None:
            if came:
                self._deadline.on_message(now)
            self._deadline.check(now)
        leader = self._find_leader()
        if leader is not None:
            host.step(LeaderFound(leader))
        for source, what in came:
            host.step(Received(what, source))
        self._background.hand_over(host.step)
        host.read()
        host.tick()
