"""What the coordinator's process does for its node: lease, epochs, manifests, consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from fsql.runtime.cluster.frames import Begin
from fsql.runtime.cluster.node import (
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
from fsql.runtime.coordination.commits import Committed, commit_snapshot, committed, next_epoch
from fsql.runtime.coordination.lease import Lease
from fsql.runtime.coordination.port import (
    CoordinationError,
    CoordinationUnavailableError,
    SessionExpiredError,
)
from fsql.runtime.simulation.coordination import LEADER
from fsql.runtime.simulation.probes import look_at
from fsql.runtime.simulation.stores import (
    DamagedSnapshotError,
    finish_manifest,
    load_manifest,
    manifest_path,
    write_manifest,
)
from fsql.runtime.simulation.world import MILLISECOND, SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.cluster.manifest import Manifest
    from fsql.runtime.cluster.node import CoordinatorEvent
    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.consumers import Connection
    from fsql.runtime.simulation.hosts import Host

RETRY_US: Final = 100 * MILLISECOND


class CoordinatorDriver:
    """One coordinator process."""

    def __init__(self, host: Host, cluster: SimulatedCluster) -> None:
        self._host = host
        self._cluster = cluster
        self.machine = cluster.nodes.coordinator(cluster.spec(), host.name, cluster.settings)
        self._connections: dict[int, Connection] = {}
        self._phase = ""
        self._way = cluster.coordination.way()
        self._asked = 0.0
        self._held = False
        self.lease = Lease(
            self._way,
            LEADER,
            host.name.encode(),
            cluster.run_settings.lease_us / SECOND,
            lambda: self._asked,
        )
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
                look_at(what, cluster.coverage)
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
                has_lease = cluster.coordination.holds(self.lease)
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

    def woken(self) -> None:
        """See `hosts.Driver`."""

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
        self._asked = self._host.now
        lease = self.lease

        def answer(known: bool | None) -> None:  # noqa: FBT001 - a callback
            if known:
                self._held = True
                self._host.handle(LeaseHeld(lease.held_until))
            elif known is not None and self._held:
                self._held = False
                self._cluster.coverage.sometimes("lease lost")
                self._host.handle(LeaseLost())

        self._cluster.coordination.call(self._host, self._way, lease.hold, answer)
        self._host.later(self._cluster.run_settings.lease_us // 4, self._renew_lease)

    # Epochs and manifests.

    def _take_epoch(self) -> None:
        def operation() -> tuple[int, Committed | None] | None:
            if self.lease.held_until < 0:
                return None
            try:
                epoch = next_epoch(self._way, self.lease.session)
            except SessionExpiredError:
                return None
            return epoch, committed(self._way)

        def answer(taken: tuple[int, Committed | None] | None) -> None:
            if taken is None:
                self._host.later(RETRY_US, self._take_epoch)
            else:
                self._find_manifest(*taken)

        self._cluster.coordination.call(self._host, self._way, operation, answer)

    def _find_manifest(self, epoch: int, newest: Committed | None) -> None:
        manifest: Manifest | None = None
        for snapshot, digest in self._cluster.candidates(newest):
            try:
                manifest = load_manifest(self._cluster.disk, snapshot, digest)
                break
            except DamagedSnapshotError as error:
                self._host.note(str(error))
                if error.for_good:
                    self._cluster.disk.remove(manifest_path(snapshot))
                self._cluster.coverage.sometimes("older manifest used")
        if newest is not None and manifest is None:
            # Nothing that was committed can be read now: a disk that fails may recover.
            self._host.later(RETRY_US, self._find_manifest, epoch, newest)
            return
        self._host.handle(EpochTaken(epoch, manifest))

    def _write_manifest(self, manifest: Manifest) -> None:
        try:
            digest = write_manifest(self._cluster.disk, manifest)
        except OSError as error:
            self._not_committed(manifest, str(error.strerror))
            return
        self._host.later(self._cluster.disk_us(), self._finish_manifest, manifest, digest)

    def _finish_manifest(self, manifest: Manifest, digest: str) -> None:
        try:
            finish_manifest(self._cluster.disk, manifest.snapshot)
        except OSError as error:
            self._not_committed(manifest, str(error.strerror))
            return
        self._commit(manifest, digest)

    def _commit(self, manifest: Manifest, digest: str) -> None:
        new = Committed(manifest.snapshot, digest, manifest.epoch)

        def operation() -> str:
            try:
                commit_snapshot(self._way, self.lease.session, new)
            except CoordinationUnavailableError:
                raise
            except CoordinationError as error:
                return str(error)
            return ""

        def answer(refused: str | None) -> None:
            if refused is None:
                self._host.later(RETRY_US, self._commit, manifest, digest)
            elif refused:
                self._not_committed(manifest, refused)
            else:
                unneeded = self._cluster.committed(manifest)
                self._cluster.coverage.sometimes("snapshot committed")
                self._host.handle(ManifestCommitted(manifest.epoch, manifest.snapshot, unneeded))

        self._cluster.coordination.call(self._host, self._way, operation, answer)

    def _not_committed(self, manifest: Manifest, reason: str) -> None:
        self._cluster.coverage.sometimes("manifest not committed")
        self._host.handle(ManifestNotCommitted(manifest.epoch, manifest.snapshot, reason))
