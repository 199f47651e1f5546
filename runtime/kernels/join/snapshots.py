"""Snapshots of joins of append-only inputs: each has the rows since the previous one.

A join stores rows, not states of keys.  Their roots determine which are new: a snapshot has those between
the position of the previous one and its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import START, Batch
from fsql.runtime.kernels.join.encoding import (
    JoinEncoding,
    KeysAndState,
    merged_rows,
    rows_of_side,
)
from fsql.runtime.kernels.join.rows import LEFT, RIGHT, JoinRows, Stored
from fsql.runtime.kernels.keyed.incremental_snapshot import HASH, NEVER, WEIGHT, IncrementalSnapshot
from fsql.runtime.kernels.keyed.kernel import KeyedRows
from fsql.runtime.order import below, concat
from fsql.runtime.weights import expanded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.batch import Root

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


class JoinSnapshots:
    """`kernel.KernelSnapshots` over the stored rows of a join."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema], rows: JoinRows) -> None:
        """Start without a snapshot: the first one has all rows, and no changes are recorded before it."""
        self.position: Root | None = None
        self._combine = combine
        self._rows = rows
        self._encoding = JoinEncoding(combine, schemas)
        self._keys = len(combine.left_keys)
        self._depths = (combine.left_depth, combine.right_depth)
        self._saved_to = START
        self._settled: tuple[list[Batch], list[Batch]] | None = None

    def announce(self, position: Root) -> None:
        self.position = position

    def cancel(self) -> None:
        self.position = None

    def on_apply(self, sides: Sequence[KeyedRows | None]) -> None:
        """Do nothing: rows are recorded when they become final."""

    def on_undo(self, slots: Ints, greatest: Root) -> None:
        """Do nothing: what is undone was not final."""

    def on_slots_freed(self, slots: list[int]) -> None:
        """Do nothing: incremental snapshots have keys, not slots."""

    def on_settle(self, stored: Stored) -> None:
        """Record that rows are final.  After a repair they may have been saved already."""
        if self._settled is not None:
            for side, rows in enumerate(stored.sides):
                if rows is not None and len(rows.slot):
                    self._settled[side].append(rows.batch)

    def take(self) -> IncrementalSnapshot | None:
        position = self.position
        assert position is not None
        unsaved = [self._unsaved(side) for side in (LEFT, RIGHT)]

        def rows() -> pa.RecordBatch:
            parts = [self._rows_of(side, batches) for side, batches in enumerate(unsaved)]
            return merged_rows(parts, position)

        self._saved_to = position
        self._settled = ([], [])
        self.position = None
        return IncrementalSnapshot(rows, self._keys, appends=True) if any(unsaved) else None

    def _unsaved(self, side: int) -> list[Batch]:
        """Return the rows between the position of the last snapshot and the announced one.

        Rows below it that have not settled follow others in the fold's log, and are final as well.
        """
        assert self.position is not None
        if self._settled is None:
            batches = [run.batch for run in self._rows.stored(side)]
        else:
            pending = [run.batch for run in self._rows.pending(side)]
            batches = [*self._settled[side], *pending]
        found = []
        for batch in batches:
            new = below(batch, self.position) & ~below(batch, self._saved_to)
            if new.any():
                found.append(batch.take(np.flatnonzero(new)))
        return found

    def _rows_of(self, side: int, batches: list[Batch]) -> KeysAndState:
        """Return the keys of rows of a side, and the columns after them."""
        batch = concat([_no_rows(self._encoding.no_rows(side), self._depths[side]), *batches])
        count = len(batch)
        positions = self._encoding.positions([batch.time, batch.origin, *batch.path])
        expires = np.full(count, NEVER)
        if self._combine.time_range is not None:
            expires = self._rows.expires(side, batch)
        return self._encoding.rows_of(side, batch.columns, positions, batch.weights(), expires)

    def load(self, state: IncrementalSnapshot, position: Root) -> None:
        self._saved_to = position
        self._settled = ([], [])
        hashes = state.rows.column(HASH).to_numpy()
        self._add(state, self._rows.table.load(state.rows.columns[: state.keys], hashes))

    def stage(self, state: IncrementalSnapshot) -> None:
        if len(state):
            keys = state.rows.columns[: state.keys]
            self._add(state, self._rows.table.find(keys, len(state)).slots)

    def adopt(self, position: Root) -> None:
        """Do nothing: rows are found by their keys, of which none came before."""

    def discard_staged(self) -> None:
        """Do nothing: as for `adopt`."""

    def _add(self, state: IncrementalSnapshot, slots: Ints) -> None:
        loaded: list[KeyedRows | None] = []
        for side in (LEFT, RIGHT):
            indexes = rows_of_side(state, side)
            rows = self._slotted(side, state.rows.take(pa.array(indexes)), slots[indexes])
            loaded.append(self._rows.sorted_run(side, rows) if len(rows.slot) else None)
        self._rows.settle(Stored(loaded))

    def _slotted(self, side: int, rows: pa.RecordBatch, slots: Ints) -> KeyedRows:
        path = [f"path_{level}" for level in range(self._depths[side])]
        time, origin, weight, *levels = (
            rows.column(name).to_numpy() for name in ("time", "origin", WEIGHT, *path)
        )
        columns = self._encoding.columns_of(side, rows)
        batch = Batch(columns, time, origin, tuple(levels), weight)
        return KeyedRows(expanded(batch), np.repeat(slots, weight))


def _no_rows(columns: Sequence[pa.Array], depth: int) -> Batch:
    none = np.empty(0, np.int64)
    return Batch(columns, none, none, (none,) * depth)
