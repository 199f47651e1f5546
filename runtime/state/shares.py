"""A worker's share of a snapshot under an owner map, which may differ from that of the snapshot.

A segment names its valid bins, and only those are loaded.  State from segments of other workers, or with
bins of others, is stored again by its new owner with the next snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.owner_map import common_bins
from fsql.runtime.batch import START
from fsql.runtime.kernels.keyed import incremental_snapshot as increments
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    StateTooLargeError,
    merge_snapshots,
    rows_of_bins,
    text_bytes,
)
from fsql.runtime.state.loading import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.manifest import Manifest, StateSegment
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.state.records import Records
    from fsql.runtime.state.store import StateStore


def load_share(
    named: Sequence[StateSegment],
    records: Records,
    store_of: Callable[[int], StateStore],
    position: Root = START,
) -> dict[str, tuple[IncrementalSnapshot, ...]]:
    """Return the incremental snapshots of each operator with keys in the worker's bins, oldest first.

    Args:
        named: the segments of the manifest.
        records: the worker's segments, which are empty and continue from what is loaded.
        store_of: returns the open store of a worker.
        position: the position of the snapshot.

    Raises:
        DamagedRecordError: if a segment cannot be read.
        StateTooLargeError: if the state of an operator is too large for one worker.
    """
    bins = records.bins
    chains: dict[str, list[StateSegment]] = {}
    for record in named:
        if common_bins(record.bins, bins):
            chains.setdefault(record.operator, []).append(record)
    shares: dict[str, tuple[IncrementalSnapshot, ...]] = {}
    for operator, chain in sorted(chains.items()):
        state = read_state(chain, store_of)
        shares[operator] = tuple(
            rows_of_bins(increment, common_bins(record.bins, bins))
            for record, increment in zip(chain, state[operator], strict=True)
        )
        if all(_is_own(record, records) for record in chain):
            records.resume(chain, state)
        else:
            shares[operator] = _that_fit(shares[operator], operator, position)
            records.take_over((operator, share) for share in shares[operator])
    return shares


def _that_fit(
    shares: tuple[IncrementalSnapshot, ...], operator: str, position: Root
) -> tuple[IncrementalSnapshot, ...]:
    """Return the snapshots, merged into one if together they exceed the size limit."""
    if max(text_bytes(shares), default=0) <= increments.TEXT_BYTES_MAX:
        return shares
    try:
        return (merge_snapshots(shares, position, whole=True),)
    except StateTooLargeError:
        raise StateTooLargeError(operator) from None


def check_loading(manifest: Manifest, store_of: Callable[[int], StateStore]) -> None:
    """Load all segments of a manifest, under the owner map of the manifest.

    Raises:
        DamagedRecordError: if a segment cannot be read.
        StateTooLargeError: if the state of an operator is too large for one worker.
    """
    chains: dict[tuple[int, str], list[StateSegment]] = {}
    for record in manifest.records:
        chains.setdefault((record.worker, record.operator), []).append(record)
    for (_, operator), chain in sorted(chains.items()):
        found = read_state(chain, store_of)[operator]
        shares = tuple(rows_of_bins(one, r.bins) for r, one in zip(chain, found, strict=True))
        _that_fit(shares, operator, manifest.root)


def _is_own(record: StateSegment, records: Records) -> bool:
    """Return whether a segment is in the worker's store, and all its valid bins are the worker's."""
    valid = common_bins(record.bins, records.bins)
    return record.worker == records.worker and valid == record.bins
