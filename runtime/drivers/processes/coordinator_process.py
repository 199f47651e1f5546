"""The process of a coordinator: its host on a real network, with real files, state and time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fsql.runtime.cluster.coordinator.events import WorkerExited
from fsql.runtime.cluster.node import Received
from fsql.runtime.drivers.memory import collect_while_idle
from fsql.runtime.drivers.processes.background import BackgroundThread
from fsql.runtime.drivers.processes.lease_keeper import LeaseKeeper
from fsql.runtime.drivers.processes.stopwatch import Stopwatch
from fsql.runtime.hosts.coordinator_host import CoordinatorHost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.drivers.processes.supervised import Supervisor
    from fsql.runtime.drivers.transport import ZeroMqTransport
    from fsql.runtime.hosts.job_state import JobState
    from fsql.runtime.hosts.ports import CoordinatorMachine, Transport
    from fsql.runtime.sink import Sink

IDLE_SECONDS_MAX = 0.1
"""Seconds to wait for input before checking whether the launcher is alive."""

CONSUMER_SECONDS = 0.001
"""The maximum seconds to wait while rows for a sink have not been sent yet."""


class CoordinatorProcess:
    """Runs until the job is over or the launcher has ended."""

    def __init__(  # noqa: PLR0913 - it stands between many
        self,
        node: CoordinatorMachine,
        spec: JobSpec,
        transport: ZeroMqTransport,
        state: JobState,
        sinks: Sequence[Sink],
        supervisor: Supervisor,
        *,
        restarted: bool = False,
        sending: Transport | None = None,
    ) -> None:
        """Take the parts of a coordinator; `restarted` says that an earlier one of this run has ended.

        It sends by `sending` where this is given.
        """
        self._transport = transport
        self._supervisor = supervisor
        self._background = BackgroundThread(transport.wake)
        self._lease_executor = BackgroundThread(transport.wake)
        self.host = CoordinatorHost(
            node,
            spec,
            time.monotonic,
            transport=sending or transport,
            background=self._background,
            lease_executor=self._lease_executor,
            state=state,
            sinks=sinks,
            monitor=supervisor,
            restarted=restarted,
        )
        self._lease_keeper = LeaseKeeper(self.host.keep_lease, state.renewal_seconds)

    def run(self) -> bool:
        """Run; return whether the job is over, False if only the launcher has ended."""
        host = self.host
        stopwatch = Stopwatch()
        try:
            while self.is_running():
                seconds, descriptors = self.wait_bounds()
                collect_while_idle()
                received = self._transport.receive(seconds, descriptors)
                for event in stopwatch.lap():
                    host.step(event)
                for source, what in received:
                    host.step(Received(what, source))
                self.process_events()
                host.tick()
        finally:
            self.close()
            stopwatch.close()
        return host.done

    def is_running(self) -> bool:
        """Return whether neither the job is over nor the launcher has ended."""
        return not self.host.done and self._supervisor.alive()

    def wait_bounds(self) -> tuple[float, list[int]]:
        """Return the maximum number of seconds to wait for input, and the descriptors to wait for."""
        wait = min(IDLE_SECONDS_MAX, self.host.next_timer() - time.monotonic())
        descriptors = self.host.descriptors_to_wait_for()
        if None in descriptors:
            wait = min(wait, CONSUMER_SECONDS)
        descriptors.append(self._supervisor.descriptor)
        return max(0.0, wait), [each for each in descriptors if each is not None]

    def process_events(self) -> None:
        """Process what has come from the launcher, the sinks and the background."""
        host = self.host
        for address in self._supervisor.take_exited_workers():
            host.step(WorkerExited(address))
        host.poll_sinks()
        self._background.hand_over(host.step)
        self._lease_executor.hand_over(host.step)

    def close(self) -> None:
        """Finish the work in the background, and close the host."""
        self._lease_keeper.close()
        self._background.close()
        self._lease_executor.close()
        self.host.close()
