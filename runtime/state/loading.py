"""Reads the state segments that a manifest names; a missing or changed segment is an error.

A store that has lost data can appear empty, so the manifest determines which segments exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.state.encoding import UnreadableSnapshotError, decode_snapshot, hash_of, rows_of
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fsql.runtime.cluster.snapshots.manifest import StateSegment
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.state.store import StateStore


class DamagedSegmentError(Exception):
    """A state segment that a manifest names cannot be read; the message names it and the reason.

    If `transient`, another attempt may succeed.
    """

    def __init__(self, segment: StateSegment, reason: str, *, transient: bool = False) -> None:
        super().__init__(f'state segment "{segment.key}" of worker {segment.worker}: {reason}')
        self.segment = segment
        self.reason = reason
        self.transient = transient


def read_segment(segment: StateSegment, store: StateStore) -> IncrementalSnapshot:
    """Return the incremental snapshot in a state segment.

    Raises:
        DamagedSegmentError: if it is missing, or not what the manifest says.
    """
    data = segment_bytes(segment, store)
    try:
        return decode_snapshot(data)
    except UnreadableSnapshotError as error:
        raise DamagedSegmentError(segment, str(error)) from None


def segment_bytes(segment: StateSegment, store: StateStore) -> memoryview:
    """Return the bytes of a state segment, after checking that they are those that were written.

    Raises:
        DamagedSegmentError: if it is missing, or not what the manifest says.
    """
    try:
        data = store.get(segment.key)
        if data is None:
            raise DamagedSegmentError(segment, "it is missing from the store")
        if len(data) != segment.size:
            raise DamagedSegmentError(
                segment, f"it has {len(data)} bytes, and the manifest says {segment.size}"
            )
        rows = rows_of(data)
    except StateStoreError as error:
        raise DamagedSegmentError(segment, str(error), transient=error.transient) from None
    except UnreadableSnapshotError as error:
        raise DamagedSegmentError(segment, str(error)) from None
    if hash_of(data) != segment.hash:
        raise DamagedSegmentError(segment, "it is not the one that the manifest names")
    if rows != segment.rows:
        raise DamagedSegmentError(
            segment, f"it has {rows} rows, and the manifest says {segment.rows}"
        )
    return data


def check_segments(segments: Iterable[StateSegment], store_of: Callable[[int], StateStore]) -> None:
    """Check sizes and hashes of state segments; `store_of` returns the open store of a worker.

    Unchanged bytes can be decoded, so decoding is not tried.

    Raises:
        DamagedSegmentError: if a segment is damaged, or its store cannot be opened.
    """
    for segment in segments:
        segment_bytes(segment, _open_store(segment, store_of))


def _open_store(segment: StateSegment, store_of: Callable[[int], StateStore]) -> StateStore:
    try:
        return store_of(segment.worker)
    except StateStoreError as error:
        raise DamagedSegmentError(segment, str(error), transient=error.transient) from None


def read_state(
    segments: Iterable[StateSegment], store_of: Callable[[int], StateStore]
) -> dict[str, tuple[IncrementalSnapshot, ...]]:
    """Return the incremental snapshots of each operator, in the order of the segments.

    Raises:
        DamagedSegmentError: if a segment cannot be read, or its store cannot be opened.
    """
    found: dict[str, list[IncrementalSnapshot]] = {}
    for segment in segments:
        snapshot = read_segment(segment, _open_store(segment, store_of))
        found.setdefault(segment.operator, []).append(snapshot)
    return {operator: tuple(snapshots) for operator, snapshots in found.items()}
