"""What the coordinator's process does for its node: lease, epochs, manifests, consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from fsql.runtime.protocol.frames import Begin
from fsql.runtime.protocol.node import (
    CommitManifest,
    Deliver,
    EpochTaken,
    Finish,
    LeaseHeld,
    LeaseLost,
    ManifestCommitted,
    ManifestNotCommitted,
    OpenOutputs,
    Progress,
    TakeEpoch,
    Transmit,
)
from fsql.runtime.simulation.stores import DamagedStateError, load_manifest, store_manifest
from fsql.runtime.simulation.world import MILLISECOND, SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.protocol.manifest import Manifest
    from fsql.runtime.protocol.node import CoordinatorEvent
    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.consumers import Connection
    from fsql.runtime.simulation.hosts import Host

RETRY_US: Final = 100 * MILLISECOND

LEASE_MARGIN: Final = 0.01
"""By which part a lease is taken to be shorter than it is: clocks drift."""


class CoordinatorDriver:
    """One coordinator process."""

    def __init__(self, host: Host, cluster: SimulatedCluster) -> None:
        self._host = host
        self._cluster = cluster
        self._me = (host.name, host.starts)
        self.machine = cluster.nodes.coordinator(cluster.spec(), host.name, cluster.settings)
        self._connections: dict[int, Connection] = {}
        self._held = False
        self._phase = ""
        cluster.leading[host.name] = self
        cluster.network.listen(host.name, host.receive)
        host.later(0, self._renew_lease)

    def step(self, event: object, now: float) -> Sequence[object]:
        """See `hosts.Driver`."""
        return self.machine.step(cast("CoordinatorEvent", event), now)

    def next_timer(self) -> float | None:
        """See `hosts.Driver`."""
        return self.machine.next_timer()

    def carry_out(self, effect: object) -> None:
        """See `hosts.Driver`."""
        cluster = self._cluster
        match effect:
            case Transmit(address, what):
                if isinstance(what, Begin):
                    cluster.begins(what)
                cluster.network.transmit(self._host.name, address, what)
            case TakeEpoch():
                self._take_epoch()
            case OpenOutputs(epoch):
                self._connections = {
                    consumer.number: consumer.open(epoch, self._host)
                    for consumer in cluster.consumers
                }
            case Deliver(_, output, bundle):
                has_lease = cluster.coordination.holds(*self._me)
                cluster.judge.delivers(self._host.name, has_lease=has_lease)
                cluster.consumers[output].send(self._connections[output], bundle)
            case CommitManifest(manifest):
                self._host.later(cluster.disk_us(), self._write_manifest, manifest)
            case Progress():
                self._progressed(effect)
            case Finish():
                cluster.finish(effect)
            case _:
                raise AssertionError(effect)

    def stepped(self) -> None:
        """See `hosts.Driver`."""

    def killed(self) -> None:
        """See `hosts.Driver`."""
        self._cluster.network.leave(self._host.name)

    def _progressed(self, progress: Progress) -> None:
        if progress.phase != self._phase:
            self._phase = progress.phase
            self._host.note(f"{progress.phase}, epoch {progress.epoch}: {progress.detail}")
            self._cluster.phase_begins(progress)

    # The lease.

    def _renew_lease(self) -> None:
        coordination = self._cluster.coordination
        asked = self._host.now

        def answer(got: bool | None) -> None:  # noqa: FBT001 - a callback
            if got is None:
                return
            if got:
                self._held = True
                lease = coordination.lease_us / SECOND * (1 - LEASE_MARGIN)
                self._host.handle(LeaseHeld(asked + lease))
            elif self._held:
                self._held = False
                self._cluster.coverage.sometimes("lease lost")
                self._host.handle(LeaseLost())

        coordination.call(self._host, lambda: coordination.lease(*self._me), answer)
        self._host.later(coordination.lease_us // 4, self._renew_lease)

    # Epochs and manifests.

    def _take_epoch(self) -> None:
        coordination = self._cluster.coordination

        def operation() -> tuple[int | None, list[tuple[int, str]]]:
            return coordination.take_epoch(*self._me), list(coordination.registers.snapshots)

        def answer(taken: tuple[int | None, list[tuple[int, str]]] | None) -> None:
            if taken is None or taken[0] is None:
                self._host.later(RETRY_US, self._take_epoch)
            else:
                self._find_manifest(taken[0], taken[1])

        coordination.call(self._host, operation, answer)

    def _find_manifest(self, epoch: int, snapshots: list[tuple[int, str]]) -> None:
        manifest: Manifest | None = None
        for snapshot, digest in reversed(snapshots):
            try:
                manifest = load_manifest(self._cluster.disk, snapshot, digest)
                break
            except DamagedStateError as error:
                self._host.note(str(error))
                self._cluster.coverage.sometimes("older manifest used")
        if snapshots and manifest is None:
            # Nothing that was committed can be read now: a disk that fails may recover.
            self._host.later(RETRY_US, self._find_manifest, epoch, snapshots)
            return
        self._host.handle(EpochTaken(epoch, manifest))

    def _write_manifest(self, manifest: Manifest) -> None:
        try:
            digest = store_manifest(self._cluster.disk, manifest)
        except OSError as error:
            self._not_committed(manifest, str(error.strerror))
            return
        self._commit(manifest, digest)

    def _commit(self, manifest: Manifest, digest: str) -> None:
        coordination = self._cluster.coordination

        def operation() -> tuple[bool, list[int]]:
            kept = coordination.commit(manifest.epoch, manifest.snapshot, digest)
            return kept, [number for number, _ in coordination.registers.snapshots]

        def answer(committed: tuple[bool, list[int]] | None) -> None:
            if committed is None:
                self._host.later(RETRY_US, self._commit, manifest, digest)
            elif committed[0]:
                unneeded = self._cluster.unneeded(manifest, committed[1])
                self._cluster.coverage.sometimes("snapshot committed")
                self._host.handle(ManifestCommitted(manifest.epoch, manifest.snapshot, unneeded))
            else:
                self._not_committed(manifest, "there is a newer epoch")

        coordination.call(self._host, operation, answer)

    def _not_committed(self, manifest: Manifest, reason: str) -> None:
        self._cluster.coverage.sometimes("manifest not committed")
        self._host.handle(ManifestNotCommitted(manifest.epoch, manifest.snapshot, reason))
