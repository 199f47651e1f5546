"""Snapshots on disk: manifests in `STATE/snapshots`, and state segments in `STATE/worker-K`.

A manifest becomes visible as a whole: it is written under another name, synced, renamed, and the directory is
synced.  It is valid once coordination names its number and hash; a newer one was never committed.

It is an error if there are committed snapshots and none of them verifies.
"""

from __future__ import annotations

import re
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.runtime.cluster.snapshots.manifest import (
    KEPT,
    DamagedManifestError,
    OtherFormatError,
    manifest_bytes,
    manifest_hash,
    manifest_of,
    own_store,
)
from fsql.runtime.kernels.keyed.incremental_snapshot import StateTooLargeError
from fsql.runtime.state.loading import DamagedSegmentError, check_segments, read_state
from fsql.runtime.state.shares import check_loading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from fsql.runtime.cluster.snapshots.manifest import Manifest, StateSegment
    from fsql.runtime.coordination.commits import Committed
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.state.directory import StateDirectory
    from fsql.runtime.state.store import StateStore

_NAME: Final = re.compile(r"(0|[1-9][0-9]*)\.json")
_PARTIAL: Final = ".partial"
_DIRECTORY: Final = "snapshots"


class SnapshotNotWrittenError(Exception):
    """A manifest could not be written; the text says why."""


class DamagedSnapshotError(Exception):
    """A snapshot cannot be restored: its manifest, or a state segment that it names, is damaged.

    If `transient`, a segment could not be read, and another attempt may succeed.
    """

    def __init__(
        self,
        snapshot: int,
        path: Path,
        reason: str,
        segment: StateSegment | None = None,
        *,
        transient: bool = False,
    ) -> None:
        super().__init__(f'snapshot {snapshot} ("{path}"): {reason}')
        self.snapshot = snapshot
        self.path = path
        self.reason = reason
        self.segment = segment
        self.transient = transient


class OtherFormatSnapshotError(DamagedSnapshotError):
    """A snapshot is of a format that this version of fsql does not read."""


class TooLargeSnapshotError(DamagedSnapshotError):
    """A snapshot is undamaged, but the state of an operator is too large for one worker."""


class NoSnapshotError(Exception):
    """A snapshot has been committed, but none verifies; `refused` has the reason for each."""

    def __init__(self, refused: tuple[DamagedSnapshotError, ...]) -> None:
        super().__init__("; ".join(str(each) for each in refused))
        self.refused = refused
        self.transient = any(each.transient for each in refused)
        """Whether another attempt may succeed."""


class FoundSnapshots(NamedTuple):
    """The newest snapshot that verifies (None if none was committed), and newer ones that do not."""

    manifest: Manifest | None
    refused: tuple[DamagedSnapshotError, ...]


class Snapshots:
    """The snapshots in a state directory."""

    def __init__(self, directory: StateDirectory) -> None:
        self._files = directory

    def path(self, snapshot: int) -> Path:
        """Return the path of a manifest."""
        return self._files.path / _name(snapshot)

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of all manifests, newest first.

        Raises:
            OSError: if the directory cannot be read; a missing directory is empty.
        """
        names = self._files.names(_DIRECTORY)
        found = [int(match[1]) for name in names if (match := _NAME.fullmatch(name))]
        return tuple(sorted(found, reverse=True))

    def write(self, manifest: Manifest) -> str:
        """Write a manifest and return its hash, which the commit contains.

        Raises:
            SnapshotNotWrittenError: if it could not be written.
        """
        data = manifest_bytes(manifest)
        name = _name(manifest.snapshot)
        partial = name + _PARTIAL
        files = self._files
        try:
            files.make_directory(_DIRECTORY)
            files.write(partial, data)
            files.sync(partial)
            files.rename(partial, name)
            files.sync(_DIRECTORY)
        except OSError as error:
            with suppress(OSError):
                files.remove(partial)
            path = self.path(manifest.snapshot)
            raise SnapshotNotWrittenError(f'cannot write "{path}": {error.strerror}') from None
        return _hash(data)

    def read(self, snapshot: int, committed: Committed | None = None) -> Manifest:
        """Return a manifest; the committed one must have the committed hash.

        Raises:
            OtherFormatSnapshotError: if it is of another format.
            DamagedSnapshotError: if it is missing or damaged.
            OSError: if it cannot be read.
        """
        path = self.path(snapshot)
        try:
            data = self._files.read(_name(snapshot))
            manifest = manifest_of(data)
        except FileNotFoundError:
            raise DamagedSnapshotError(snapshot, path, "it is missing") from None
        except OtherFormatError as error:
            raise OtherFormatSnapshotError(snapshot, path, str(error)) from None
        except DamagedManifestError as error:
            raise DamagedSnapshotError(snapshot, path, str(error)) from None
        if manifest.snapshot != snapshot:
            reason = f"it is the manifest of snapshot {manifest.snapshot}"
            raise DamagedSnapshotError(snapshot, path, reason)
        if committed and committed.snapshot == snapshot and committed.hash != _hash(data):
            raise DamagedSnapshotError(snapshot, path, "another one was committed")
        return manifest

    def verify(self, manifest: Manifest, *, load: bool = False) -> None:
        """Read every segment that a manifest names; with `load`, also load them.

        Raises:
            DamagedSnapshotError: if one cannot be read.
            TooLargeSnapshotError: with `load`, if the state of an operator is too large for one worker.
        """
        try:
            with ExitStack() as open_stores:
                store_of = self._stores(open_stores)
                check_segments(manifest.segments, store_of)
                if load:
                    check_loading(manifest, store_of)
        except StateTooLargeError as error:
            path = self.path(manifest.snapshot)
            raise TooLargeSnapshotError(manifest.snapshot, path, str(error)) from None
        except DamagedSegmentError as error:
            path = self.path(manifest.snapshot)
            raise DamagedSnapshotError(
                manifest.snapshot, path, str(error), error.segment, transient=error.transient
            ) from None

    def load(self, segments: Iterable[StateSegment]) -> dict[str, tuple[IncrementalSnapshot, ...]]:
        """Return the incremental snapshots of each operator, oldest first; stores are opened for reading.

        Raises:
            DamagedSegmentError: if a segment cannot be read.
        """
        with ExitStack() as open_stores:
            return read_state(segments, self._stores(open_stores))

    def _stores(self, open_stores: ExitStack) -> Callable[[int], StateStore]:
        opened: dict[int, StateStore] = {}

        def store_of(worker: int) -> StateStore:
            if worker not in opened:
                opened[worker] = self._files.open_store(worker, read_only=True)
                open_stores.callback(opened[worker].close)
            return opened[worker]

        return store_of

    def newest(self, committed: Committed | None) -> FoundSnapshots:
        """Return the newest snapshot that verifies, up to the committed one.

        Raises:
            OtherFormatSnapshotError: if a snapshot of another format is found; older ones are not tried.
            NoSnapshotError: if one is committed but none verifies.
            OSError: if the manifests cannot be read.
        """
        if committed is None:
            return FoundSnapshots(None, ())
        older = [number for number in self.numbers() if number < committed.snapshot]
        refused = []
        for number in (committed.snapshot, *older):
            try:
                manifest = self.read(number, committed)
                self.verify(manifest)
            except OtherFormatSnapshotError:
                raise
            except DamagedSnapshotError as error:
                refused.append(error)
            else:
                return FoundSnapshots(manifest, tuple(refused))
        raise NoSnapshotError(tuple(refused))

    def retire(self, newest: int) -> dict[int, tuple[str, ...]]:
        """Delete all but the newest `KEPT` undamaged manifests up to `newest`.

        Also delete the stores that no worker can have, if no remaining manifest needs them.

        Return, by store, the keys of segments that only deleted manifests name.  Segments are not read for
        this: reading the whole state at each snapshot would be too expensive.

        Raises:
            OtherFormatSnapshotError: if a snapshot of another format is found; nothing is deleted then.
            OSError: if manifests cannot be read or deleted.
        """
        whole = self._read_all()
        kept = sorted((number for number in whole if number <= newest), reverse=True)[:KEPT]
        if len(kept) < KEPT:
            return {}
        retired = [number for number in self.numbers() if number < kept[-1]]
        for number in retired:
            self._files.remove(_name(number))
        for name in sorted(self._files.names(_DIRECTORY)):
            if name.endswith(_PARTIAL):
                self._files.remove(f"{_DIRECTORY}/{name}")
        self._files.sync(_DIRECTORY)
        needed = {
            (segment.worker, segment.key)
            for number, manifest in whole.items()
            if number not in retired
            for segment in manifest.segments
        }
        newest_kept = whole[kept[0]]
        present = newest_kept.present or newest_kept.numbers
        own = {own_store(worker, newest_kept.epoch) for worker in present}
        self._forget_stores({*present, *own, *(store for store, _ in needed)})
        unneeded: dict[int, list[str]] = {}
        retired_keys = {
            (segment.worker, segment.key)
            for number in retired
            if number in whole
            for segment in whole[number].segments
        }
        for worker, key in sorted(retired_keys - needed):
            unneeded.setdefault(worker, []).append(key)
        return {worker: tuple(keys) for worker, keys in unneeded.items()}

    def _forget_stores(self, needed: Collection[int]) -> None:
        """Delete all stores except those in `needed`."""
        for store in self._files.stores():
            if store not in needed:
                self._files.remove_store(store)

    def referenced_keys(self, worker: int) -> frozenset[str]:
        """Return the keys of a worker's segments that any manifest names, committed or not.

        Raises:
            OtherFormatSnapshotError: if a snapshot of another format is found.
            OSError: if the manifests cannot be read.
        """
        manifests = self._read_all().values()
        segments = [segment for manifest in manifests for segment in manifest.segments]
        return frozenset(segment.key for segment in segments if segment.worker == worker)

    def _read_all(self) -> dict[int, Manifest]:
        """Return the manifests that can be read, by number."""
        found = {}
        for number in self.numbers():
            try:
                found[number] = self.read(number)
            except OtherFormatSnapshotError:
                raise
            except DamagedSnapshotError:
                continue
        return found


def _name(snapshot: int) -> str:
    """Return the name of a manifest's file in the state directory."""
    return f"{_DIRECTORY}/{snapshot}.json"


def _hash(data: bytes) -> str:
    """Return the hash of a manifest's bytes, which `manifest_bytes` made."""
    return manifest_hash(data.partition(b"\n")[0])
