"""The process of a worker: its host on a real network, with real files, state and time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fsql.runtime.cluster.node import Received
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
"""How long to wait for anything before asking whether the launcher still lives."""


class WorkerProcess:
    """Runs until the job is done, or whoever started the worker is gone."""

    def __init__(
        self,
        node: WorkerMachine,
        transport: Transport,
        prepare: Prepare,
        supervisor: Supervisor | None,
        on_silence: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Take what a worker is made of.

        `on_silence` is told often for how many seconds nothing has come; it may raise to end the worker.
        """
        self._transport = transport
        self._supervisor = supervisor
        self._background = BackgroundThread(transport.wake)
        self._host = WorkerHost(node, time.monotonic, transport, self._background, prepare)
        self._on_silence = on_silence
        self._heard_at = time.monotonic()

    def run(self) -> bool:
        """Run; return whether the job is done (and not only the launcher gone)."""
        host = self._host
        try:
            while not host.done and (self._supervisor is None or self._supervisor.alive()):
                self._round()
        finally:
            self._background.close()
            host.close()
        return host.done

    def step(self, event: WorkerEvent) -> None:
        """Let the node deal with an event."""
        self._host.step(event)

    def _round(self) -> None:
        """Deal with everything that has come, then read once, then do what the time demands."""
        host = self._host
        now = time.monotonic()
        readable = host.node.readable(now)
        timer = host.next_timer()
        wait = IDLE_SECONDS_MAX if timer is None else min(IDLE_SECONDS_MAX, timer - now)
        if not readable:
            collect_while_idle()
        came = self._transport.receive(0.0 if readable else max(0.0, wait))
        if came:
            self._heard_at = now
        self._on_silence(now - self._heard_at)
        for source, what in came:
            host.step(Received(what, source))
        self._background.hand_over(host.step)
        host.read()
        host.tick()
