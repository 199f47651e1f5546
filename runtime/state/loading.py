"""Reading the state segments that a manifest names: each is complete and unchanged, or an error names it.

A store that has lost data can look empty.  So the manifest decides which segments exist, not the store.
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
    """A record that a manifest names cannot be read back; says which, and why.

    `passing` says that another attempt may help.
    """

    def __init__(self, record: StateSegment, reason: str, *, passing: bool = False) -> None:
        super().__init__(f'record "{record.key}" of worker {record.worker}: {reason}')
        self.record = record
        self.reason = reason
        self.passing = passing


def read_record(record: StateSegment, store: StateStore) -> IncrementalSnapshot:
    """Return the increment that a record holds.

    Raises:
        DamagedRecordError: if it is missing, or not what the manifest says.
    """
    data = _checked(record, store)
    try:
        return decoded(data)
    except UnreadableSnapshotError as error:
        raise DamagedRecordError(record, str(error)) from None


def _checked(record: StateSegment, store: StateStore) -> memoryview:
    """Return the bytes of a record, which are those that were written.

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
    """Check that records are those that were written; `store_of` returns the open store of a worker.

    What was written can be decoded, so that is not tried.

    Raises:
        DamagedRecordError: if any record is not, or its store cannot be opened.
    """
    for record in records:
        _checked(record, _opened(record, store_of))


def _opened(record: StateSegment, store_of: Callable[[int], StateStore]) -> StateStore:
    try:
        return store_of(record.worker)
    except StateStoreError as error:
        raise DamagedRecordError(record, str(error), passing=error.passing) from None


def read_state(
    records: Iterable[StateSegment], store_of: Callable[[int], StateStore]
) -> dict[str, tuple[IncrementalSnapshot, ...]]:
    """Return the increments of each operator, oldest first, as the order of `records` has them.

    Raises:
        DamagedRecordError: if any record cannot be read back, or its store cannot be opened.
    """
    found: dict[str, list[IncrementalSnapshot]] = {}
    for record in records:
        increment = read_record(record, _opened(record, store_of))
        found.setdefault(record.operator, []).append(increment)
    return {operator: tuple(increments) for operator, increments in found.items()}
