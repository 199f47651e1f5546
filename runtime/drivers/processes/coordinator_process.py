"""The process of a coordinator: its host on a real network, with real files, state and time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fsql.runtime.cluster.node import Received, WorkerExited
from fsql.runtime.drivers.memory import collect_while_idle
from fsql.runtime.drivers.processes.background import BackgroundThread
from fsql.runtime.hosts.coordinator_host import CoordinatorHost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.drivers.processes.supervised import Supervisor
    from fsql.runtime.drivers.transport import Transport
    from fsql.runtime.hosts.job_state import JobState
    from fsql.runtime.hosts.ports import CoordinatorMachine
    from fsql.runtime.sink import Sink

IDLE_SECONDS_MAX = 0.1
"""Seconds to wait for input before checking whether the launcher is alive."""

CONSUMER_SECONDS = 0.001
"""Seconds to wait at most while rows for a sink are not sent yet."""


class CoordinatorProcess:
    """Runs until the job is over or the launcher has ended."""

    def __init__(  # noqa: PLR0913 - it stands between many
        self,
        node: CoordinatorMachine,
        spec: JobSpec,
        transport: Transport,
        state: JobState,
        sinks: Sequence[Sink],
        supervisor: Supervisor,
        *,
        again: bool = False,
    ) -> None:
        """Take the parts of a coordinator; `again` says that an earlier one of this run has ended."""
        self._transport = transport
        self._supervisor = supervisor
        self._background = BackgroundThread(transport.wake)
        self._keeper = BackgroundThread(transport.wake)
        self._host = CoordinatorHost(
            node,
            spec,
            time.monotonic,
            transport=transport,
            background=self._background,
            keeper=self._keeper,
            state=state,
            sinks=sinks,
            monitor=supervisor,
            again=again,
        )

    def run(self) -> bool:
        """Run; return whether the job is over, False if only the launcher has ended."""
        host = self._host
        try:
            while not host.done and self._supervisor.alive():
                self._round()
        finally:
            self._background.close()
            self._keeper.close()
            host.close()
        return host.done

    def _round(self) -> None:
        """Process all input that has come, and advance the time."""
        host = self._host
        wait = min(IDLE_SECONDS_MAX, host.next_timer() - time.monotonic())
        descriptors = host.awaited()
        if None in descriptors:
            wait = min(wait, CONSUMER_SECONDS)
        descriptors.append(self._supervisor.descriptor)
        awaited = [each for each in descriptors if each is not None]
        collect_while_idle()
        for source, what in self._transport.receive(max(0.0, wait), awaited):
            host.step(Received(what, source))
        for address in self._supervisor.take_exited():
            host.step(WorkerExited(address))
        host.hear()
        self._background.hand_over(host.step)
        self._keeper.hand_over(host.step)
        host.tick()
