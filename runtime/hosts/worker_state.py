"""The state of a worker: its own store, and what it reads of the stores of others."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fsql.runtime.kernels.keyed.increment import merged, owned_rows
from fsql.runtime.state.loading import DamagedRecordError, read_state
from fsql.runtime.state.records import Records
from fsql.runtime.state.snapshots import DamagedSnapshotError, Snapshots
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.manifest import Manifest, Record
    from fsql.runtime.kernels.keyed.increment import Increment
    from fsql.runtime.state.directory import StateDirectory
    from fsql.runtime.state.store import StateStore


class StateFailedError(Exception):
    """State cannot be loaded or stored now; says why."""


class WorkerState:
    """The store of one worker, open, and its records in one epoch."""

    def __init__(self, directory: StateDirectory, number: int) -> None:
        """Open the store of worker `number` in the job's state directory.

        Raises:
            StateFailedError: if it cannot be opened, because another process has it open, say.
        """
        self.number = number
        self._directory = directory
        try:
            self._store = directory.open_store(number)
        except StateStoreError as error:
            raise StateFailedError(str(error)) from None
        self._records: Records | None = None

    def load(
        self, manifest: Manifest | None, epoch: int, hash_ranges: Sequence[int]
    ) -> dict[str, tuple[Increment, ...]]:
        """Begin an epoch: return the state as of the manifest, as far as the worker's share is in it.

        Where as many workers saved it as there are now, that is what this worker has saved itself.

        Raises:
            StateFailedError: if a record that the manifest names cannot be read back.
        """
        self._records = Records(self._store, self.number, epoch, merged)
        try:
            state = {} if manifest is None else self._share(manifest, hash_ranges)
        except DamagedRecordError as error:
            raise StateFailedError(str(error)) from None
        with suppress(StateStoreError, DamagedSnapshotError, OSError):
            # What snapshots that were never committed have left behind; it may stay until next time.
            self._records.sweep(Snapshots(self._directory).named(self.number))
        return state

    def _share(
        self, manifest: Manifest, hash_ranges: Sequence[int]
    ) -> dict[str, tuple[Increment, ...]]:
        assert self._records is not None
        if manifest.workers != len(hash_ranges) - 1:
            return self._taken_over(manifest, hash_ranges)
        own = [record for record in manifest.records if record.worker == self.number]
        state = read_state(own, lambda _: self._store)
        self._records.resume(own, state)
        return state

    def _taken_over(
        self, manifest: Manifest, hash_ranges: Sequence[int]
    ) -> dict[str, tuple[Increment, ...]]:
        """Return the worker's share of what any number of workers have saved."""
        assert self._records is not None
        bounds = (hash_ranges[self.number], hash_ranges[self.number + 1])
        others: dict[int, StateStore] = {}

        def store_of(worker: int) -> StateStore:
            if worker == self.number:
                return self._store
            if worker not in others:
                others[worker] = self._directory.open_store(worker, read_only=True)
            return others[worker]

        try:
            state = read_state(manifest.records, store_of)
        finally:
            for store in others.values():
                store.close()
        shares = {
            operator: tuple(owned_rows(increment, bounds) for increment in increments)
            for operator, increments in state.items()
        }
        self._records.take_over(
            (operator, share) for operator, each in shares.items() for share in each
        )
        return shares

    def store(
        self, snapshot: int, position: Root, increments: Iterable[tuple[str, Increment]]
    ) -> tuple[Record, ...]:
        """Store increments; return what the worker's state at `position` is made of.

        Raises:
            StateFailedError: if they could not be stored; they go with those of the next call.
        """
        assert self._records is not None
        try:
            return self._records.store(snapshot, position, increments)
        except (StateStoreError, DamagedRecordError) as error:
            raise StateFailedError(str(error)) from None

    def remove(self, keys: Collection[str]) -> None:
        """Remove records that are not needed any more; what cannot be removed now stays."""
        if self._records is not None:
            with suppress(StateStoreError):
                self._records.remove(keys)

    def close(self) -> None:
        """Close the store."""
        self._store.close()
