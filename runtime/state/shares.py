"""A worker's share of a snapshot under owner maps, which may differ from those of the snapshot.

A segment names its valid bins, and only those are loaded.  If a segment is in the store of another worker, or
has bins of other workers, the new owner stores the loaded state again with the next snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.owner_map import common_bins
from fsql.runtime.batch import START
from fsql.runtime.kernels.keyed import incremental_snapshot
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    StateTooLargeError,
    merge_snapshots,
    rows_of_bins,
    text_bytes,
)
from fsql.runtime.state.loading import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fsql.compiler.owner_map import BinRanges
    from fsql.compiler.owners import BinSets
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.snapshots.manifest import Manifest, StateSegment
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.state.segments import StateSegments
    from fsql.runtime.state.store import StateStore


def load_share(
    named: Sequence[StateSegment],
    segments: StateSegments,
    store_of: Callable[[int], StateStore],
    position: Root = START,
    held: BinSets | None = None,
) -> dict[str, tuple[IncrementalSnapshot, ...]]:
    """Return the incremental snapshots of each operator with keys in the bins that are held, oldest first.

    Args:
        named: the segments of the manifest.
        segments: the worker's segments, which are empty and continue from what is loaded.
        store_of: returns the open store of a worker.
        position: the position of the snapshot.
        held: the bins that the worker holds; if it is None, those of its segments, which it owns.

    Raises:
        DamagedSegmentError: if a segment cannot be read.
        StateTooLargeError: if the state of an operator is too large for one worker.
    """
    held = segments.bins if held is None else held
    chains: dict[str, list[StateSegment]] = {}
    for segment in named:
        if common_bins(segment.bins, held.of(segment.operator)):
            chains.setdefault(segment.operator, []).append(segment)
    shares: dict[str, tuple[IncrementalSnapshot, ...]] = {}
    for operator, chain in sorted(chains.items()):
        state = read_state(chain, store_of)
        pairs = list(zip(chain, state[operator], strict=True))
        share = _share(pairs, held.of(operator))
        owned = [pair for pair in pairs if common_bins(pair[0].bins, segments.bins.of(operator))]
        if all(_is_own(segment, segments) for segment, _ in owned):
            if owned:
                segments.resume(
                    [segment for segment, _ in owned], {operator: tuple(one for _, one in owned)}
                )
            shares[operator] = share
            continue
        shares[operator] = _merge_if_too_large(share, operator, position)
        taken = shares[operator]
        if held.of(operator) != segments.bins.of(operator):
            taken = _merge_if_too_large(
                _share(owned, segments.bins.of(operator)), operator, position
            )
        segments.take_over((operator, one) for one in taken)
    return shares


def _share(
    pairs: Iterable[tuple[StateSegment, IncrementalSnapshot]], bins: BinRanges
) -> tuple[IncrementalSnapshot, ...]:
    """Return the valid rows of segments that are in some bins."""
    return tuple(
        rows_of_bins(snapshot, common_bins(segment.bins, bins)) for segment, snapshot in pairs
    )


def _merge_if_too_large(
    shares: tuple[IncrementalSnapshot, ...], operator: str, position: Root
) -> tuple[IncrementalSnapshot, ...]:
    """Return the snapshots, merged into one if together they exceed the size limit."""
    if max(text_bytes(shares), default=0) <= incremental_snapshot.TEXT_BYTES_MAX:
        return shares
    try:
        return (merge_snapshots(shares, position, whole=True),)
    except StateTooLargeError:
        raise StateTooLargeError(operator) from None


def check_loading(manifest: Manifest, store_of: Callable[[int], StateStore]) -> None:
    """Load all segments of a manifest, under the owner map of the manifest.

    Raises:
        DamagedSegmentError: if a segment cannot be read.
        StateTooLargeError: if the state of an operator is too large for one worker.
    """
    chains: dict[tuple[int, str], list[StateSegment]] = {}
    for segment in manifest.segments:
        chains.setdefault((segment.worker, segment.operator), []).append(segment)
    for (_, operator), chain in sorted(chains.items()):
        found = read_state(chain, store_of)[operator]
        shares = tuple(rows_of_bins(one, r.bins) for r, one in zip(chain, found, strict=True))
        _merge_if_too_large(shares, operator, manifest.root)


def _is_own(segment: StateSegment, segments: StateSegments) -> bool:
    """Return whether a segment is in the worker's store, and all its valid bins are the worker's."""
    valid = common_bins(segment.bins, segments.bins.of(segment.operator))
    return segment.worker == segments.worker and valid == segment.bins
