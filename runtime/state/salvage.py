"""Replaces a damaged store by a new one with everything that can still be read.

RocksDB stops writing once it has found damage.  So all undamaged segments that snapshots name are copied, the
damaged store is renamed, and the copy takes its place.  After a crash in between, the copy is complete, and
the next attempt continues from there.
"""

from __future__ import annotations

import fcntl
import shutil
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from fsql.runtime.state.encoding import UnreadableSnapshotError, decode_snapshot
from fsql.runtime.state.local_directory import sync_directory, worker_directory
from fsql.runtime.state.rocks import RocksStore
from fsql.runtime.state.store import StateStoreError, StoreInUseError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from fsql.runtime.state.store import StateStore


class Salvaged(NamedTuple):
    """The keys of the segments in the new store, and the new path of the damaged store."""

    keys: tuple[str, ...]
    damaged: Path


def salvage(state: Path, worker: int, keys: Collection[str]) -> Salvaged:
    """Replace a worker's store by a new one with the undamaged segments under `keys`.

    This process must not have the store open.

    Raises:
        StateStoreError: if another process has it open, or the new one cannot be written.
        OSError: if directories cannot be renamed.
    """
    directory = worker_directory(state, worker)
    partial = directory.with_name(f"{directory.name}.partial")
    complete = directory.with_name(f"{directory.name}.salvaged")
    damaged = next(
        path
        for number in count(1)
        if not (path := directory.with_name(f"{directory.name}.damaged-{number}")).exists()
    )
    with _lock(directory):
        if directory.exists():
            for left in (partial, complete):
                shutil.rmtree(left, ignore_errors=True)
            _copy(directory, partial, keys)
            partial.rename(complete)
            sync_directory(state)
            directory.rename(damaged)
        complete.rename(directory)
        sync_directory(state)
    store = RocksStore(directory, read_only=True)
    try:
        return Salvaged(store.keys(), damaged)
    finally:
        store.close()


@contextmanager
def _lock(directory: Path) -> Iterator[None]:
    """Hold RocksDB's lock of a store."""
    if not directory.exists():
        yield
        return
    with (directory / "LOCK").open("ab") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreInUseError(f'"{directory}" is in use by another process') from None
        yield


def _copy(source: Path, target: Path, keys: Collection[str]) -> None:
    new = RocksStore(target)
    try:
        old = RocksStore(source, read_only=True)
    except StateStoreError:
        new.put({})
        new.close()
        return  # nothing of it can be read
    try:
        for key in sorted(keys):
            value = _read_undamaged(old, key)
            if value is not None:
                new.put({key: value})
        new.put({})
    finally:
        old.close()
        new.close()


def _read_undamaged(store: StateStore, key: str) -> memoryview | None:
    try:
        value = store.get(key)
        if value is not None:
            decode_snapshot(value)
    except (StateStoreError, UnreadableSnapshotError):
        return None
    return value
