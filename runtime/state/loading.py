"""Reads the state segments that a manifest names; a missing or changed segment is an error.

A store that has lost data can appear empty, so the manifest determines which segments exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.state.encoding import UnreadableSnapshotError, decoded, hash_of, rows_of
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fsql.runtime.cluster.manifest import StateSegment
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.state.store import StateStore


class DamagedRecordError(Exception):
    """A state segment that a manifest names cannot be read; says which, and why.

    If `passing`, another attempt may succeed.
    """

    def __init__(self, record: StateSegment, reason: str, *, passing: bool = False) -> None:
        super().__init__(f'record "{record.key}" of worker {record.worker}: {reason}')
        self.record = record
        self.reason = reason
        self.passing = passing


def read_record(record: StateSegment, store: StateStore) -> IncrementalSnapshot:
    """Return the incremental snapshot in a state segment.

    Raises:
        DamagedRecordError: if it is missing, or not what the manifest says.
    """
    data = checked_record(record, store)
    try:
        return decoded(data)
    except UnreadableSnapshotError as error:
        raise DamagedRecordError(record, str(error)) from None


def checked_record(record: StateSegment, store: StateStore) -> memoryview:
    """Return the bytes of a state segment, after checking that they are those that were written.

    Raises:
        DamagedRecordError: if it is missing, or not what the manifest says.
    """
    try:
        data = store.get(record.key)
        if data is None:
            raise DamagedRecordError(record, "it is missing from the store")
        if len(data) != record.size:
            raise DamagedRecordError(
                record, f"it has {len(data)} bytes, and the manifest says {record.size}"
            )
        rows = rows_of(data)
    except StateStoreError as error:
        raise DamagedRecordError(record, str(error), passing=error.passing) from None
    except UnreadableSnapshotError as error:
        raise DamagedRecordError(record, str(error)) from None
    if hash_of(data) != record.hash:
        raise DamagedRecordError(record, "it is another than the manifest names")
    if rows != record.rows:
        raise DamagedRecordError(record, f"it has {rows} rows, and the manifest says {record.rows}")
    return data


def check_records(records: Iterable[StateSegment], store_of: Callable[[int], StateStore]) -> None:
    """Check sizes and hashes of state segments; `store_of` returns the open store of a worker.

    Unchanged bytes can be decoded, so decoding is not tried.

    Raises:
        DamagedRecordError: if a segment is damaged, or its store cannot be opened.
    """
    for record in records:
        checked_record(record, _opened(record, store_of))


def _opened(record: StateSegment, store_of: Callable[[int], StateStore]) -> StateStore:
    try:
        return store_of(record.worker)
    except StateStoreError as error:
        raise DamagedRecordError(record, str(error), passing=error.passing) from None


def read_state(
    records: Iterable[StateSegment], store_of: Callable[[int], StateStore]
) -> dict[str, tuple[IncrementalSnapshot, ...]]:
    """Return the incremental snapshots of each operator, in the order of the segments.

    Raises:
        DamagedRecordError: if a segment cannot be read, or its store cannot be opened.
    """
    found: dict[str, list[IncrementalSnapshot]] = {}
    for record in records:
        increment = read_record(record, _opened(record, store_of))
        found.setdefault(record.operator, []).append(increment)
    return {operator: tuple(increments) for operator, increments in found.items()}
