"""The state segments of one worker: stores incremental snapshots, and returns what a snapshot consists of.

There is at most one segment for each operator and snapshot; `compaction` decides what is merged into it.
Merging reads pieces back from the store, so that no state is held in memory twice.

A partial merge must keep expired rows, unless rows are only ever added: an expired row may have replaced a
row of an older piece, which would reappear without it.

Segments that are merged into others stay in the store until `remove` or `sweep` is called because no manifest
needs them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec
import pyarrow as pa

from fsql.compiler.owner_map import common_bins
from fsql.compiler.owners import ALL_BINS_OF_ALL
from fsql.runtime.batch import START
from fsql.runtime.cluster.snapshots.manifest import StateSegment
from fsql.runtime.kernels.keyed import incremental_snapshot
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    StateTooLargeError,
    rows_of_bins,
    text_bytes,
)
from fsql.runtime.state.compaction import ChainPiece, expiry, plan
from fsql.runtime.state.encoding import encode_snapshot, hash_of
from fsql.runtime.state.loading import read_segment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fsql.compiler.owners import BinSets
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.state.store import Octets, StateStore


_OVERFLOW: Final = re.compile("overflow|cannot contain more than|capacity", re.IGNORECASE)
"""Matches Arrow's messages about arrays that are too large."""


class Merge(Protocol):
    """`merge_snapshots` of `fsql.runtime.kernels.keyed.incremental_snapshot`."""

    def __call__(
        self, snapshots: Sequence[IncrementalSnapshot], position: Root, *, whole: bool = False
    ) -> IncrementalSnapshot:
        """Return one snapshot that replaces several; `whole` means that there are no older ones."""


class _ChainUpdate(NamedTuple):
    """The new chain of an operator, and the values to put for it."""

    chain: list[ChainPiece]
    values: dict[str, Octets]


class StateSegments:
    """The live state segments of a worker in one epoch.

    Args:
        store: the worker's store.
        worker: its number.
        epoch: part of the keys, so that no segment of another epoch is overwritten.
        merge: merges incremental snapshots.
        bins: the hash bins of each exchange that the worker owns.
    """

    def __init__(
        self,
        store: StateStore,
        worker: int,
        epoch: int,
        merge: Merge,
        bins: BinSets = ALL_BINS_OF_ALL,
    ) -> None:
        self.worker = worker
        self.bins = bins
        self._store = store
        self._epoch = epoch
        self._merge = merge
        self._chains: dict[str, list[ChainPiece]] = {}
        self._pending: dict[str, IncrementalSnapshot] = {}

    def resume(
        self, segments: Iterable[StateSegment], state: Mapping[str, Sequence[IncrementalSnapshot]]
    ) -> None:
        """Continue from the worker's own segments, read as `state`, whose valid bins the worker owns."""
        for segment in segments:
            assert segment.worker == self.worker, (
                "segments of other workers are added by `take_over`"
            )
            chain = self._chains.setdefault(segment.operator, [])
            change = state[segment.operator][len(chain)]
            chain.append(ChainPiece(segment, expiry(change), tuple(text_bytes([change]))))

    def change_bins(self, bins: BinSets) -> None:
        """Change the bins that the worker owns; stored state of bins that were given away becomes invalid."""
        self.bins = bins
        for operator, chain in self._chains.items():
            owned = bins.of(operator)
            valid = [(piece, common_bins(piece.segment.bins, owned)) for piece in chain]
            self._chains[operator] = [
                replace(piece, segment=msgspec.structs.replace(piece.segment, bins=common))
                for piece, common in valid
                if common
            ]
        for operator, pending in self._pending.items():
            self._pending[operator] = rows_of_bins(pending, bins.of(operator))

    def read(self, bins: BinSets) -> tuple[tuple[str, IncrementalSnapshot], ...]:
        """Return the state of some bins, by operator, oldest first.

        Raises:
            StateStoreError: if the store cannot be read.
            DamagedSegmentError: if a segment cannot be read back.
        """
        found = [
            (operator, rows_of_bins(read_segment(piece.segment, self._store), common))
            for operator, chain in sorted(self._chains.items())
            for piece in chain
            if (common := common_bins(piece.segment.bins, bins.of(operator)))
        ]
        pending = sorted(self._pending.items())
        return (
            *found,
            *((operator, rows_of_bins(rows, bins.of(operator))) for operator, rows in pending),
        )

    def take_over(self, changes: Iterable[tuple[str, IncrementalSnapshot]]) -> None:
        """Add state that was read from other segments; the next `store` stores it in this store."""
        parts: dict[str, list[IncrementalSnapshot]] = {}
        for operator, change in changes:
            if change.rows.num_rows:
                parts.setdefault(operator, []).append(change)
        for operator, of_operator in parts.items():
            self._add_pending(operator, self._merge(of_operator, START))

    def store(
        self, snapshot: int, position: Root, changes: Iterable[tuple[str, IncrementalSnapshot]]
    ) -> tuple[StateSegment, ...]:
        """Store incremental snapshots; return the segments of the worker's state at `position`.

        Segments of one operator are in order, oldest first.  If this fails, nothing is stored: the snapshots
        are kept in memory and stored by the next call.

        Raises:
            StateStoreError: if they could not be stored.
            DamagedSegmentError: if a segment that is to be merged cannot be read.
            StateTooLargeError: if the state of an operator would be too large to be loaded.
        """
        for operator, change in changes:
            self._add_pending(operator, change)
        chains: dict[str, list[ChainPiece]] = {}
        values: dict[str, Octets] = {}
        for operator in sorted(self._pending):
            update = self._update(operator, snapshot, position)
            chains[operator] = update.chain
            values.update(update.values)
        if values:
            self._store.put(values)
        self._chains.update(chains)
        self._pending.clear()
        return self.live

    @property
    def live(self) -> tuple[StateSegment, ...]:
        """Return the segments of the stored state."""
        return tuple(
            piece.segment for operator in sorted(self._chains) for piece in self._chains[operator]
        )

    @property
    def pending_rows(self) -> int:
        """Return the number of rows in memory that could not be stored yet."""
        return sum(change.rows.num_rows for change in self._pending.values())

    def _add_pending(self, operator: str, change: IncrementalSnapshot) -> None:
        if change.rows.num_rows == 0:
            return
        before = self._pending.get(operator)
        if before is not None:
            change = self._merge((before, change), START)
        self._pending[operator] = change

    def _update(self, operator: str, snapshot: int, position: Root) -> _ChainUpdate:
        """Return the chain of an operator with its pending snapshot, and the values to put."""
        try:
            return self._merge_chain(operator, snapshot, position)
        except StateTooLargeError:
            raise StateTooLargeError(operator) from None
        except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
            if _OVERFLOW.search(str(error)):
                raise StateTooLargeError(operator) from None
            raise

    def _merge_chain(self, operator: str, snapshot: int, position: Root) -> _ChainUpdate:
        chain = self._chains.get(operator, [])
        change = self._pending[operator]
        data = encode_snapshot(change)
        start, level = plan(chain, len(data), position.time)
        if chain and _overflows(chain, change):
            # A chain this large could not be loaded; merged into one segment it may fit, or is refused.
            start, level = 0, 0
        if start < len(chain):
            older = [
                rows_of_bins(read_segment(piece.segment, self._store), piece.segment.bins)
                for piece in chain[start:]
            ]
            droppable = start == 0 or change.appends
            change = self._merge(
                (*older, change), position if droppable else START, whole=start == 0
            )
            data = encode_snapshot(change)
        kept = chain[:start]
        if change.rows.num_rows == 0:
            return _ChainUpdate(kept, {})
        key = f"{self._epoch:08d}/{snapshot:012d}/{operator}"
        segment = StateSegment(
            worker=self.worker,
            key=key,
            operator=operator,
            snapshot=snapshot,
            level=level,
            rows=change.rows.num_rows,
            size=len(data),
            hash=hash_of(data),
            bins=self.bins.of(operator),
        )
        piece = ChainPiece(segment, expiry(change), tuple(text_bytes([change])))
        return _ChainUpdate([*kept, piece], {key: data})

    def remove(self, keys: Collection[str]) -> None:
        """Remove segments that no kept manifest names.

        Raises:
            StateStoreError: if they could not be removed; the call may be repeated.
        """
        live = {segment.key for segment in self.live}
        assert live.isdisjoint(keys), "a segment that the next manifest names must not be removed"
        self._store.remove(keys)

    def sweep(self, referenced: Collection[str]) -> None:
        """Remove the remains of a crash: segments that are neither live nor under the keys `referenced`.

        Called before the first `store`, with all keys that manifests name.

        Raises:
            StateStoreError: if they could not be removed.
        """
        needed = {segment.key for segment in self.live} | set(referenced)
        self._store.remove([key for key in self._store.keys() if key not in needed])  # noqa: SIM118


def _overflows(chain: Sequence[ChainPiece], change: IncrementalSnapshot) -> bool:
    """Return whether a column of all pieces and a new snapshot may exceed the size limit."""
    texts = [piece.text for piece in chain]
    sums = map(sum, zip(*texts, text_bytes([change]), strict=True))
    return max(sums, default=0) > incremental_snapshot.TEXT_BYTES_MAX
