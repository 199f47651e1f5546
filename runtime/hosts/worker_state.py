"""The state of a worker: its own store, and the segments that it reads from the stores of others."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.runtime.kernels.keyed.incremental_snapshot import StateTooLargeError, merge_snapshots
from fsql.runtime.state.loading import DamagedSegmentError
from fsql.runtime.state.segments import StateSegments
from fsql.runtime.state.shares import load_share
from fsql.runtime.state.snapshots import DamagedSnapshotError, Snapshots
from fsql.runtime.state.store import DamagedStoreError, StateStoreError, StoreInUseError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fsql.compiler.owners import BinSets
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.snapshots.manifest import Manifest, StateSegment
    from fsql.runtime.cluster.ticks.events import Ownership
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.state.directory import StateDirectory
    from fsql.runtime.state.store import StateStore


class StateFailedError(Exception):
    """State cannot be loaded or stored now; the message says why.

    If not `disk_failed`, another process has the store open.  If `damaged`, files are not what was written,
    and further attempts may fail in the same way.
    """

    def __init__(self, message: str, *, disk_failed: bool = True, damaged: bool = False) -> None:
        super().__init__(message)
        self.disk_failed = disk_failed
        self.damaged = damaged


class WorkerState:
    """The store of one worker, open, and its state segments in one epoch."""

    def __init__(self, directory: StateDirectory, store: int, unused: int | None = None) -> None:
        """Open store number `store` in the job's state directory.

        If another process has it open, or its files are damaged so that it cannot be written, open the store
        `unused` instead.  That process may be stopped for good, and nobody may be there to end it; what it
        writes when it goes on is in no manifest.  What can be read of the store is read all the same.

        Raises:
            StateFailedError: if no store can be opened.
        """
        self.number = store
        self.is_spoiled = False
        """Whether a write has met damage in the store: RocksDB would refuse others, too."""
        self.segments_read = 0
        """How many state segments were read, to be looked at while the background loads."""
        self._directory = directory
        try:
            try:
                self._store = directory.open_store(store)
            except (StoreInUseError, DamagedStoreError):
                if unused is None:
                    raise
                self.number = unused
                self._store = directory.open_store(unused)
        except StoreInUseError as error:
            raise StateFailedError(str(error), disk_failed=False) from None
        except StateStoreError as error:
            raise self._failure(error) from None
        self._segments: StateSegments | None = None

    def load(
        self, manifest: Manifest | None, epoch: int, bins: BinSets, held: BinSets | None = None
    ) -> dict[str, tuple[IncrementalSnapshot, ...]]:
        """Begin an epoch in which the worker owns `bins`: return the state of these as of the manifest.

        If it has copies of others, `held` are all those of which it has the state.

        Raises:
            StateFailedError: if a state segment that the manifest names cannot be read back.
            FsqlError: E616, if the state of an operator is too large for one worker.
        """
        self._segments = StateSegments(self._store, self.number, epoch, merge_snapshots, bins)
        try:
            state = {} if manifest is None else self._share(manifest, self._segments, held)
        except (StateStoreError, DamagedSegmentError) as error:
            raise self._failure(error) from None
        except StateTooLargeError as error:
            raise _size_error(error) from None
        with suppress(StateStoreError, DamagedSnapshotError, OSError):
            # Segments of snapshots that were never committed; they may stay until the next attempt.
            self._segments.sweep(Snapshots(self._directory).referenced_keys(self.number))
        return state

    def _share(
        self, manifest: Manifest, segments: StateSegments, held: BinSets | None
    ) -> dict[str, tuple[IncrementalSnapshot, ...]]:
        with ExitStack() as others:
            stores: dict[int, StateStore] = {self.number: self._store}

            def store_of(worker: int) -> StateStore:
                self.segments_read += 1
                if worker not in stores:
                    stores[worker] = self._directory.open_store(worker, read_only=True)
                    others.callback(stores[worker].close)
                return stores[worker]

            return load_share(manifest.segments, segments, store_of, manifest.root, held)

    def store(
        self, snapshot: int, position: Root, changes: Iterable[tuple[str, IncrementalSnapshot]]
    ) -> tuple[StateSegment, ...]:
        """Store incremental snapshots; return the segments of the state at `position`.

        Raises:
            StateFailedError: if they could not be stored; the next call stores them, too.
            FsqlError: E616, if the state of an operator is too large to be loaded again.
        """
        assert self._segments is not None
        try:
            return self._segments.store(snapshot, position, changes)
        except (StateStoreError, DamagedSegmentError) as error:
            raise self._failure(error) from None
        except StateTooLargeError as error:
            raise _size_error(error) from None

    @property
    def live(self) -> tuple[StateSegment, ...]:
        """Return the segments of the stored state."""
        assert self._segments is not None
        return self._segments.live

    def change_ownership(self, ownership: Ownership) -> None:
        """Own other bins from now on; the next call of `store` also stores the state that was adopted."""
        assert self._segments is not None
        self._segments.change_bins(ownership.bins)
        self._segments.take_over(ownership.adopted)

    def read(self, bins: BinSets) -> tuple[tuple[str, IncrementalSnapshot], ...]:
        """Return the state of some bins that `store` was given, by operator, oldest first.

        Raises:
            StateFailedError: if a state segment cannot be read back.
        """
        assert self._segments is not None
        try:
            return self._segments.read(bins)
        except (StateStoreError, DamagedSegmentError) as error:
            raise self._failure(error) from None

    def remove(self, keys: Collection[str]) -> None:
        """Remove state segments that are no longer needed; those that cannot be removed now are left."""
        if self._segments is not None:
            with suppress(StateStoreError):
                self._segments.remove(keys)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _failure(self, error: StateStoreError | DamagedSegmentError) -> StateFailedError:
        """Return the failure of this worker, with the file that is damaged, if one is."""
        if isinstance(error, DamagedSegmentError):
            store = self._directory.store_path(error.segment.worker)
            return StateFailedError(f'{error}, in "{store}"', damaged=not error.transient)
        self.is_spoiled |= isinstance(error, DamagedStoreError)
        return StateFailedError(str(error), damaged=isinstance(error, DamagedStoreError))


def _size_error(error: StateTooLargeError) -> FsqlError:
    return FsqlError([Diagnostic("E616", str(error), helps=(CODES["E616"].fix,))])
