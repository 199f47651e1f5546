"""Snapshots of joins of append-only inputs: each has the rows since the previous one.

A join stores rows, not states of keys.  The roots of the rows determine which are new: a snapshot has the
rows between the position of the previous snapshot and its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch
from fsql.runtime.kernels.join.encoding import KeysAndState, rows_of_side
from fsql.runtime.kernels.join.keyed_join import LEFT, RIGHT
from fsql.runtime.kernels.join.rows import JoinRows, StoredRows
from fsql.runtime.kernels.join.side_snapshots import SideSnapshots
from fsql.runtime.kernels.keyed.incremental_snapshot import NEVER, WEIGHT, IncrementalSnapshot
from fsql.runtime.kernels.keyed.kernel import KeyedRows
from fsql.runtime.order import below, concat
from fsql.runtime.weights import expand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root


class JoinSnapshots(SideSnapshots[Batch]):
    """`kernel.KernelSnapshots` over the stored rows of a join."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema], rows: JoinRows) -> None:
        super().__init__(combine, schemas, rows.table)
        self._combine = combine
        self._rows = rows
        self._depths = (combine.left_depth, combine.right_depth)
        self._settled: tuple[list[Batch], list[Batch]] | None = None

    def on_settle(self, stored: StoredRows) -> None:
        """Record that rows are final.  After a repair they may have been saved already."""
        if self._settled is not None:
            for side, rows in enumerate(stored.sides):
                if rows is not None and len(rows.slot):
                    self._settled[side].append(rows.batch)

    def changed_keys(self) -> int:
        if self._settled is None:
            return self._rows.rows()
        return sum(len(batch) for side in self._settled for batch in side)

    def _record_from_now(self) -> None:
        self._settled = ([], [])

    def _unsaved_rows(self, side: int, position: Root) -> list[Batch]:
        if self._settled is None:
            batches = [run.batch for run in self._rows.runs(side)]
        else:
            pending = [run.batch for run in self._rows.pending(side)]
            batches = [*self._settled[side], *pending]
        found = []
        for batch in batches:
            new = below(batch, position) & ~below(batch, self._saved_to)
            if new.any():
                found.append(batch.take(np.flatnonzero(new)))
        return found

    def _encode(self, side: int, parts: list[Batch]) -> KeysAndState:
        batch = concat([_no_rows(self._encoding.no_rows(side), self._depths[side]), *parts])
        count = len(batch)
        positions = self._encoding.positions([batch.time, batch.origin, *batch.path])
        expires = np.full(count, NEVER)
        if self._combine.time_range is not None:
            expires = self._rows.expires(side, batch)
        return self._encoding.rows_of(side, batch.columns, positions, batch.weights(), expires)

    def _add(self, state: IncrementalSnapshot, slots: Ints) -> None:
        loaded: list[KeyedRows | None] = []
        for side in (LEFT, RIGHT):
            indexes = rows_of_side(state, side)
            rows = self._keyed_rows(side, state.rows.take(pa.array(indexes)), slots[indexes])
            loaded.append(self._rows.sorted_run(side, rows) if len(rows.slot) else None)
        self._rows.settle(StoredRows(loaded))

    def _keyed_rows(self, side: int, rows: pa.RecordBatch, slots: Ints) -> KeyedRows:
        path = [f"path_{level}" for level in range(self._depths[side])]
        time, origin, weight, *levels = (
            rows.column(name).to_numpy() for name in ("time", "origin", WEIGHT, *path)
        )
        columns = self._encoding.columns_of(side, rows)
        batch = Batch(columns, time, origin, tuple(levels), weight)
        return KeyedRows(expand(batch), np.repeat(slots, weight))


def _no_rows(columns: Sequence[pa.Array], depth: int) -> Batch:
    none = np.empty(0, np.int64)
    return Batch(columns, none, none, (none,) * depth)
