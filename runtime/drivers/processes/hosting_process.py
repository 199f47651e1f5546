"""A process with two nodes: a coordinator and a worker, stepped by one loop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.runtime.drivers.memory import collect_while_idle
from fsql.runtime.drivers.processes.stopwatch import Stopwatch
from fsql.runtime.hosts.hosted_nodes import HostedNodes

if TYPE_CHECKING:
    from fsql.runtime.drivers.processes.coordinator_process import CoordinatorProcess
    from fsql.runtime.drivers.processes.worker_process import WorkerProcess
    from fsql.runtime.drivers.transport import ZeroMqTransport
    from fsql.runtime.hosts.hosted_nodes import HostedTransport

LOAD_EVERY: Final = 0.5
"""Seconds between two measurements of the load."""


class HostingProcess:
    """Runs until the job is over or the launcher has ended."""

    def __init__(
        self,
        coordinator: CoordinatorProcess,
        worker: WorkerProcess,
        transport: ZeroMqTransport,
        hosted: HostedTransport,
    ) -> None:
        """Take both processes, which send by `hosted`."""
        self._coordinator = coordinator
        self._worker = worker
        self._transport = transport
        self._nodes = HostedNodes(coordinator.host, worker.host, hosted)
        self._measured_at = time.monotonic()
        self._waited_seconds = 0.0

    def run(self) -> bool:
        """Run; return whether the job is over, False if only the launcher has ended."""
        stopwatch = Stopwatch()
        try:
            while self._coordinator.is_running():
                self._step_nodes(stopwatch)
        finally:
            self._worker.close()
            self._coordinator.close()
            stopwatch.close()
        return self._coordinator.host.done

    def _measure_load(self, now: float) -> None:
        """Measure, every `LOAD_EVERY` seconds, the fraction of time in which the loop did not wait for input.

        Processor time would not show that the loop is behind because other programs use the machine.
        """
        seconds = now - self._measured_at
        if seconds < LOAD_EVERY:
            return
        waited, self._waited_seconds = self._waited_seconds, 0.0
        self._measured_at = now
        self._coordinator.host.on_load(max(0.0, 1.0 - waited / seconds))

    def _step_nodes(self, stopwatch: Stopwatch) -> None:
        """Process all input that has arrived, read once, and advance the time.

        Timers come last, so that available results do not wait for heartbeats and reports.
        """
        nodes, worker, coordinator = self._nodes, self._worker, self._coordinator
        seconds, descriptors = coordinator.wait_bounds()
        now = time.monotonic()
        seconds = min(seconds, worker.wait_seconds(now))
        if seconds:
            collect_while_idle()
        received = self._transport.receive(seconds, descriptors)
        self._waited_seconds += time.monotonic() - now if seconds else 0.0
        for event in stopwatch.lap():
            worker.step(event)
            coordinator.host.step(event)
        for source, what in received:
            nodes.receive(what, source)
            nodes.exchange()
        worker.update_leader()
        worker.read()
        nodes.exchange()
        coordinator.process_events()
        nodes.exchange()
        worker.host.tick()
        coordinator.host.tick()
        self._measure_load(time.monotonic())
        nodes.exchange()
