"""A simulated process with a coordinator and a worker, which end together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.runtime.cluster.node import Received, TimerFired
from fsql.runtime.cluster.ticks.events import BinsCopied, BinsNotCopied
from fsql.runtime.cluster.worker.events import (
    ChunkRead,
    LeaderFound,
    Loaded,
    NotLoaded,
    NotStored,
    Resumed,
    ShardLost,
    ShardStored,
    SinksSynced,
    SourceFailed,
    Stored,
)
from fsql.runtime.hosts.hosted_nodes import HostedNodes, HostedTransport
from fsql.runtime.simulation.coordinator_process import CoordinatorProgram
from fsql.runtime.simulation.transport import SimulatedTransport
from fsql.runtime.simulation.worker_process import WorkerProgram

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Datagram, Frame
    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.process import Process

_OF_WORKER = (
    ChunkRead,
    LeaderFound,
    Loaded,
    NotLoaded,
    NotStored,
    Resumed,
    SourceFailed,
    Stored,
    BinsCopied,
    BinsNotCopied,
    ShardStored,
    ShardLost,
    SinksSynced,
)


class _WatchedTransport(HostedTransport):
    """A `HostedTransport` that also records what the nodes send to each other."""

    def __init__(self, process: Process, cluster: SimulatedCluster) -> None:
        self._simulated = SimulatedTransport(process, cluster)
        super().__init__(self._simulated, process.name)

    def send(self, address: str, what: Frame | Datagram) -> object:
        """See `HostedTransport`."""
        if address == self.address:
            self._simulated.record_probes(what)
        return super().send(address, what)


class HostingProgram:
    """Both nodes; see `fsql.runtime.drivers.processes.hosting_process`."""

    def __init__(self, process: Process, cluster: SimulatedCluster) -> None:
        transport = _WatchedTransport(process, cluster)
        self._worker = WorkerProgram(process, cluster, transport)
        self._coordinator = CoordinatorProgram(process, cluster, transport)
        self._nodes = HostedNodes(self._coordinator, self._worker, transport)
        self._process = process

    def step(self, event: Any) -> None:  # noqa: ANN401 - either kind of node has its own
        """Step the node to which an event belongs."""
        if isinstance(event, Received):
            self._nodes.receive(event.what, event.source)
        elif isinstance(event, TimerFired):
            self._worker.step(event)
            self._coordinator.step(event)
        elif isinstance(event, _OF_WORKER):
            self._worker.step(event)
        else:
            self._coordinator.step(event)

    def next_timer(self) -> float | None:
        """See `Program`."""
        timers = (self._worker.next_timer(), self._coordinator.next_timer())
        return min((timer for timer in timers if timer is not None), default=None)

    def on_timer(self) -> None:
        """See `Program`."""
        now, timer = self._process.now, self._worker.next_timer()
        if timer is not None and timer <= now:
            self._worker.on_timer()
        self._coordinator.on_timer()

    def on_step(self) -> None:
        """Let the nodes exchange what they have sent to each other."""
        self._nodes.exchange()
        self._worker.on_step()
        self._coordinator.on_step()

    def on_end(self) -> None:
        """See `Program`."""
        self._coordinator.on_end()
