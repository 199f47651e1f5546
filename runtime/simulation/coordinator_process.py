"""The process of a coordinator: its host, with simulated ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.runtime.cluster.coordinator.events import (
    EpochTaken,
    Finish,
    LeaseHeld,
    LeaseLost,
    ManifestCommitted,
    ManifestNotCommitted,
    Progress,
)
from fsql.runtime.cluster.ticks.events import TickEnded
from fsql.runtime.hosts.coordinator_host import CoordinatorHost
from fsql.runtime.hosts.front_logs import FrontLogs
from fsql.runtime.hosts.job_state import JobState
from fsql.runtime.simulation.background import SimulatedBackground
from fsql.runtime.simulation.coordination import SimulatedCoordination
from fsql.runtime.simulation.process import WatchedNode
from fsql.runtime.simulation.sinks import SimulatedSink
from fsql.runtime.simulation.transport import SimulatedTransport
from fsql.runtime.simulation.world import SECOND

if TYPE_CHECKING:
    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.hosts.ports import Transport
    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.process import Process


class CoordinatorProgram:
    """One coordinator process."""

    def __init__(
        self,
        process: Process,
        cluster: SimulatedCluster,
        transport: Transport | None = None,
    ) -> None:
        """Start the coordinator, which sends by `transport` if that is given."""
        self._process = process
        self._cluster = cluster
        spec = cluster.spec()
        self.node = cluster.nodes.coordinator(spec, process.name, cluster.settings)
        coordination = cluster.coordination
        self._state = JobState(
            cluster.state.directory(process),
            SimulatedCoordination(coordination, process),
            SimulatedCoordination(coordination, process),
            process.name,
            lambda: process.now,
            logs=FrontLogs(cluster.front_logs(process)),
            lease_seconds=cluster.run_settings.lease_us / SECOND,
        )
        self._host = CoordinatorHost(
            WatchedNode(process, self.node, self._record_event),
            spec,
            lambda: process.now,
            transport=transport or SimulatedTransport(process, cluster),
            background=SimulatedBackground(process),
            lease_executor=SimulatedBackground(process),
            state=self._state,
            sinks=[
                SimulatedSink(process, sink, self.on_delivery, self.poll_sinks)
                for sink in cluster.sinks
            ],
            monitor=self,
            restarted=True,
        )
        self.step = self._host.step
        self.next_timer = self._host.next_timer
        self.on_timer = self._host.tick
        self._phase = ""
        self._held = False
        self._held_until = 0.0
        self._manifest: Manifest | None = None
        self._members: tuple[int, ...] = ()
        cluster.leading[process.name] = self
        cluster.network.listen(process.name, process.receive)

    def on_step(self) -> None:
        """See `Program`; a coordinator that has finished remains, and replies to other nodes."""

    def on_end(self) -> None:
        """See `Program`."""
        self._cluster.on_process_end(self._process)

    def poll_sinks(self) -> None:
        """Process the acknowledgements of sinks."""
        self._host.poll_sinks()

    def on_delivery(self) -> None:
        """Record that the coordinator sends a bundle."""
        has_lease = self._cluster.coordination.holds(self._state.lease)
        self._cluster.checker.on_delivery(self._process.name, has_lease=has_lease)

    def report(self, effect: Progress | Finish | TickEnded) -> None:
        """See `Monitor`."""
        if isinstance(effect, Finish):
            self._cluster.on_finish(effect)
        elif isinstance(effect, TickEnded):
            self._cluster.coverage.sometimes("tick refused" if effect.refused else "tick taken")
            if effect.changes:
                self._cluster.coverage.sometimes("plan changed")
            self._process.record(f"tick {effect.tick}: {effect.refused or 'taken'}")
        elif effect.phase != self._phase:
            self._phase = effect.phase
            self._process.record(f"{effect.phase}, epoch {effect.epoch}: {effect.detail}")
            self._cluster.on_phase(effect, self._manifest)

    def _record_members(self) -> None:
        """Record that workers have joined or left a running epoch."""
        epoch, before = self.node.epoch, self._members
        if epoch is None or not epoch.running:
            self._members = ()
            return
        self._members = epoch.number, *epoch.members.numbers
        if self._members != before and self._members[:1] == before[:1]:
            joined = len(self._members) > len(before)
            self._cluster.coverage.sometimes("worker joined" if joined else "worker left")
            self._process.record(f"members {self._members[1:]}")

    def _record_event(self, event: Any) -> None:  # noqa: ANN401 - any event of its node
        coverage = self._cluster.coverage
        self._record_members()
        match event:
            case LeaseHeld(until):
                if self._held and self._held_until <= self._process.now < until:
                    coverage.sometimes("lease renewed after it ran out")
                self._held, self._held_until = True, until
            case LeaseLost() if self._held:
                self._held = False
                coverage.sometimes("lease lost")
            case EpochTaken(_, manifest):
                self._manifest = manifest
                newest = self._cluster.coordination.newest_committed()
                if (
                    manifest is not None
                    and newest is not None
                    and manifest.snapshot < newest.snapshot
                ):
                    coverage.sometimes("older manifest used")
            case ManifestCommitted():
                coverage.sometimes("snapshot committed")
                self._cluster.state.on_committed()
            case ManifestNotCommitted():
                coverage.sometimes("manifest not committed")
            case _:
                pass
