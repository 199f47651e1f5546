"""The process of a worker: its host, with simulated ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.node import Computed
from fsql.runtime.cluster.worker.events import LeaderFound
from fsql.runtime.coordination.port import CoordinationUnavailableError
from fsql.runtime.hosts.job_state import LEADER
from fsql.runtime.hosts.prepared import Prepared, PreparedShards
from fsql.runtime.hosts.worker_host import WorkerHost
from fsql.runtime.simulation.background import SimulatedBackground
from fsql.runtime.simulation.coordination import SimulatedCoordination
from fsql.runtime.simulation.process import WatchedNode
from fsql.runtime.simulation.sinks import SimulatedSink
from fsql.runtime.simulation.sources import LongStepError, ProcessHangsError
from fsql.runtime.simulation.transport import SimulatedTransport
from fsql.runtime.simulation.world import MILLISECOND, SECOND

if TYPE_CHECKING:
    from fsql.runtime.hosts.ports import Transport, Work
    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.process import Process

LEADER_QUERY_US: Final = 200 * MILLISECOND
"""How often an idle worker asks coordination for the address of the coordinator."""

READ_US: Final = 20
"""How long a read takes."""

HANG_US_MAX: Final = 6 * SECOND
"""The maximum time for which a row hangs a process."""


class WorkerProgram:
    """One worker process."""

    def __init__(
        self,
        process: Process,
        cluster: SimulatedCluster,
        transport: Transport | None = None,
    ) -> None:
        """Start the worker; in the process of a coordinator it sends by `transport`, which is given there."""
        self._process = process
        self._is_hosted = transport is not None
        self._cluster = cluster
        name = f"{process.name} {process.starts}"
        self.node = cluster.nodes.worker(cluster.job, name, process.name, cluster.settings)
        self._directory = cluster.state.directory(process)
        self._host = WorkerHost(
            WatchedNode(process, self.node, lambda _: None),
            lambda: process.now,
            transport or SimulatedTransport(process, cluster),
            SimulatedBackground(process),
            self._prepare,
        )
        self.step = self._host.step
        self.next_timer = self._host.next_timer
        self._reads = False
        self._client = SimulatedCoordination(cluster.coordination, process)
        self._leader_queries = SimulatedBackground(process)
        cluster.network.listen(process.name, process.receive)
        process.later(0, self._query_leader)

    def on_timer(self) -> None:
        """Read for the front that has waited longest for its source, if any front waits."""
        self._read_now()
        self._host.tick()

    def on_step(self) -> None:
        """Read if a front may, after all messages that have arrived by then."""
        if self._host.done:
            if not self._is_hosted:
                self._process.end()
        elif not self._reads and self.node.readable(self._process.now):
            self._reads = True
            self._process.later(READ_US, self._read)

    def on_end(self) -> None:
        """See `Program`."""
        self._cluster.on_process_end(self._process)

    def _query_leader(self) -> None:
        if self.node.epoch is None:
            self._leader_queries.submit(self._leader())
        self._process.later(LEADER_QUERY_US, self._query_leader)

    def _leader(self) -> Work:
        try:
            entry = self._client.get(LEADER)
        except CoordinationUnavailableError:
            return
        if entry is not None:
            yield LeaderFound(entry.value.decode())

    def _prepare(self, description: bytes) -> Prepared:
        cluster = self._cluster
        plan = cluster.plan_of(description)
        return Prepared(
            plan,
            cluster.fronts(plan),
            cluster.splits_for(self._process),
            cluster.settings,
            self._directory,
            cluster.run_settings.encodings(plan),
            shards=PreparedShards(
                cluster.run_settings.shardings(plan),
                {number: each for number, each in enumerate(cluster.outputs) if each.shard},
                self._shard_sink,
            ),
        )

    def _shard_sink(self, number: int) -> SimulatedSink:
        sink = self._cluster.sinks[number]
        return SimulatedSink(self._process, sink, lambda: None, self._host.collect_acknowledgements)

    def _read(self) -> None:
        self._reads = False
        self._read_now()

    def _read_now(self) -> None:
        try:
            self._host.read()
        except ProcessHangsError:
            self._process.hang(self._read_now)
            hung_us = self._cluster.world.tape.stream("poison").below(HANG_US_MAX)
            self._cluster.world.after(hung_us, self._process.resume_if_stopped)
        except LongStepError as step:
            self._compute(step.seconds)

    def _compute(self, seconds: float) -> None:
        """Compute for long; in the process of a coordinator, which would lose its lease here, for no time.

        A real one renews its lease in a thread.
        """
        if self._is_hosted:
            self._read_now()
            return
        self._process.hang(self._end_long_step, seconds)
        self._cluster.world.after(round(seconds * SECOND), self._process.resume_if_stopped)

    def _end_long_step(self, seconds: float) -> None:
        """Report the step and carry out what is due, as a process does; what was to be read is read next."""
        self.step(Computed(seconds))
        self._host.tick()
