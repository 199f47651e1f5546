"""What is kept on the cluster's disk: the stores of the workers, and manifests.

State goes through `fsql.runtime.state`, as with every driver; what is imitated here is the store below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import xxhash

from fsql.runtime.cluster.manifest import (
    DamagedManifestError,
    Manifest,
    manifest_bytes,
    manifest_of,
)
from fsql.runtime.kernels.keyed.increment import merged
from fsql.runtime.state.loading import DamagedRecordError, read_state
from fsql.runtime.state.records import Records
from fsql.runtime.state.shares import load_share
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.compiler.owner_map import OwnerMap
    from fsql.runtime.cluster.manifest import Record
    from fsql.runtime.kernels.keyed.increment import Increment
    from fsql.runtime.simulation.disk import Disk
    from fsql.runtime.state.store import Octets

LOADING_FAILS: Final = (DamagedRecordError, StateStoreError)


class SimulatedStore:
    """A worker's store on a simulated disk."""

    def __init__(self, disk: Disk, worker: int) -> None:
        self._disk = disk
        self._prefix = f"worker-{worker}/"

    def put(self, records: Mapping[str, Octets]) -> None:
        """See `StateStore`."""
        try:
            for key, value in records.items():
                self._disk.write(self._prefix + key, bytes(value))
                self._disk.sync(self._prefix + key)
        except OSError as error:
            self.remove(records)
            raise StateStoreError(str(error)) from None

    def get(self, key: str) -> memoryview | None:
        """See `StateStore`."""
        try:
            return memoryview(self._disk.read(self._prefix + key))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateStoreError(str(error)) from None

    def keys(self) -> tuple[str, ...]:
        """See `StateStore`."""
        paths = self._disk.paths(self._prefix)
        return tuple(path.removeprefix(self._prefix) for path in paths)

    def remove(self, keys: Iterable[str]) -> None:
        """See `StateStore`."""
        for key in keys:
            self._disk.remove(self._prefix + key)

    def close(self) -> None:
        """See `StateStore`."""


class LoadedState:
    """A worker's records in one epoch, and the state to begin with."""

    def __init__(
        self,
        disk: Disk,
        manifest: Manifest | None,
        place: tuple[int, int],
        owners: OwnerMap,
    ) -> None:
        """Load the share of the worker; `place` is its number and the epoch.

        Raises:
            DamagedRecordError: if a record cannot be read back.
        """
        number, epoch = place
        store = SimulatedStore(disk, number)
        self.records = Records(store, number, epoch, merged, owners.bins_of(number))
        self.increments: dict[str, tuple[Increment, ...]] = {}
        if manifest is not None:
            self.increments = load_share(
                manifest.records, self.records, lambda worker: SimulatedStore(disk, worker)
            )


class DamagedSnapshotError(Exception):
    """A manifest, or a record that it names, is not what was stored, or cannot be read now."""

    def __init__(self, reason: str, *, for_good: bool = True) -> None:
        super().__init__(reason)
        self.for_good = for_good


def write_manifest(disk: Disk, manifest: Manifest) -> str:
    """Write a manifest that a crash may still tear; return its hash.

    Raises:
        OSError: if the disk fails.
    """
    content = manifest_bytes(manifest)
    disk.write(_unfinished(manifest.snapshot), content)
    return xxhash.xxh3_128_hexdigest(content)


def finish_manifest(disk: Disk, snapshot: int) -> None:
    """Make a manifest that was written durable.

    Raises:
        OSError: if the disk fails.
    """
    disk.sync(_unfinished(snapshot))
    disk.rename(_unfinished(snapshot), manifest_path(snapshot))
    disk.sync(manifest_path(snapshot))


def load_manifest(disk: Disk, snapshot: int, digest: str | None) -> Manifest:
    """Return a manifest of which every record is there; `digest` is what was committed, if that is known.

    Raises:
        DamagedSnapshotError: if anything of it is not what was stored.
    """
    manifest = read_manifest(disk, snapshot, digest)
    try:
        read_state(manifest.records, lambda worker: SimulatedStore(disk, worker))
    except DamagedRecordError as error:
        reason = f"snapshot {snapshot}: {error}"
        raise DamagedSnapshotError(reason, for_good=not disk.failure_rate) from None
    return manifest


def read_manifest(disk: Disk, snapshot: int, digest: str | None = None) -> Manifest:
    """Return a manifest without looking at its records.

    Raises:
        DamagedSnapshotError: if it is not what was stored.
    """
    try:
        content = disk.read(manifest_path(snapshot))
        if digest is not None and xxhash.xxh3_128_hexdigest(content) != digest:
            raise DamagedSnapshotError(f"manifest {snapshot} is not the one that was committed")
        return manifest_of(content)
    except (OSError, DamagedManifestError) as error:
        reason = f"manifest {snapshot}: {error}"
        raise DamagedSnapshotError(reason, for_good=not disk.failure_rate) from None


def record_path(record: Record) -> str:
    """Return the file of a record."""
    return f"worker-{record.worker}/{record.key}"


def manifest_path(snapshot: int) -> str:
    """Return the file of a manifest."""
    return f"snapshots/{snapshot}"


def _unfinished(snapshot: int) -> str:
    return f"{manifest_path(snapshot)}.unfinished"
