"""Snapshots of joins of updating inputs: each has the net changes since the previous one.

The first snapshot has the whole content.  After that, net final changes are kept until the next snapshot;
the root of a change determines whether it was saved before it was final.  All positions in the snapshots
are 0, so that a row and its retraction are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import START
from fsql.runtime.kernels.join.encoding import (
    JoinEncoding,
    KeysAndState,
    merged_rows,
    rows_of_side,
)
from fsql.runtime.kernels.join.net_rows import NetRows, WeightedRows, together
from fsql.runtime.kernels.join.updating_sides import LEFT, RIGHT, Changes, UpdatingSides, weighted
from fsql.runtime.kernels.keyed.incremental_snapshot import HASH, NEVER, WEIGHT, IncrementalSnapshot
from fsql.runtime.kernels.keyed.kernel import filter_rows
from fsql.runtime.order import below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.keyed.kernel import KeyedRows

    Ints = NDArray[np.int64]


class JoinUpdatesSnapshots:
    """`kernel.KernelSnapshots` over the net rows of a join."""

    def __init__(
        self, combine: CombineJoin, schemas: Sequence[Schema], sides: UpdatingSides
    ) -> None:
        """Start without a snapshot: the first one has all rows, and no changes are recorded before it."""
        self.position: Root | None = None
        self._encoding = JoinEncoding(combine, schemas)
        self._sides = sides
        self._keys = len(combine.left_keys)
        self._places = (2 + combine.left_depth, 2 + combine.right_depth)
        self._saved_to = START
        self._unsaved: tuple[NetRows, NetRows] | None = None

    def announce(self, position: Root) -> None:
        self.position = position

    def cancel(self) -> None:
        self.position = None

    def on_apply(self, sides: Sequence[KeyedRows | None]) -> None:
        """Do nothing: changes are recorded when they become final."""

    def on_undo(self, slots: Ints, greatest: Root) -> None:
        """Do nothing: what is undone was not final."""

    def on_slots_freed(self, slots: list[int]) -> None:
        """Do nothing: incremental snapshots have keys, not slots."""

    def on_settle(self, changes: Changes) -> None:
        """Record that changes are final.  After a repair they may have been saved already."""
        if self._unsaved is None:
            return
        for side, rows in enumerate(changes.sides):
            new = None if rows is None else filter_rows(rows, ~below(rows.batch, self._saved_to))
            if new is not None:
                self._unsaved[side].add(weighted(new))

    def take(self) -> IncrementalSnapshot | None:
        position = self.position
        assert position is not None
        changed = [self._changed(side, position) for side in (LEFT, RIGHT)]

        def rows() -> pa.RecordBatch:
            parts = [self._rows(side, runs) for side, runs in enumerate(changed)]
            return merged_rows(parts, position)

        self._saved_to = position
        self._unsaved = (NetRows(self._keys), NetRows(self._keys))
        self.position = None
        return IncrementalSnapshot(rows, self._keys, appends=True) if any(changed) else None

    def _changed(self, side: int, position: Root) -> list[WeightedRows]:
        """Return the changes of a side between the last snapshot and `position`.

        Changes below it that have not settled follow others in the fold's log, and are final as well.
        """
        pending = [rows for each in self._sides.pending if (rows := each.sides[side]) is not None]
        if self._unsaved is None:
            above = [filter_rows(rows, ~below(rows.batch, position)) for rows in pending]
            taken_out = [weighted(rows).negated() for rows in above if rows is not None]
            return [*self._sides.rows[side].runs, *taken_out]
        new = [
            filter_rows(rows, below(rows.batch, position) & ~below(rows.batch, self._saved_to))
            for rows in pending
        ]
        return [*self._unsaved[side].runs, *(weighted(rows) for rows in new if rows is not None)]

    def _rows(self, side: int, runs: list[WeightedRows]) -> KeysAndState:
        none = np.empty(0, np.int64)
        rows = together([WeightedRows(self._encoding.no_rows(side), none, none), *runs])
        count = len(rows.slot)
        positions = self._encoding.positions([np.zeros(count, np.int64)] * self._places[side])
        closed = self._sides.closed
        expires = np.full(count, NEVER) if closed is None else closed.close_times(rows.columns)
        return self._encoding.rows_of(side, rows.columns, positions, rows.weight, expires)

    def load(self, state: IncrementalSnapshot, position: Root) -> None:
        self._saved_to = position
        self._unsaved = (NetRows(self._keys), NetRows(self._keys))
        hashes = state.rows.column(HASH).to_numpy()
        self._add(state, self._sides.table.load(state.rows.columns[: state.keys], hashes))

    def stage(self, state: IncrementalSnapshot) -> None:
        self._keep_all(staged=True)
        if len(state):
            keys = state.rows.columns[: state.keys]
            self._add(state, self._sides.table.find(keys, len(state)).slots)

    def adopt(self, position: Root) -> None:
        """Let closed windows be dropped again; rows are found by their keys, of which none came before."""
        del position
        self._keep_all(staged=False)

    def discard_staged(self) -> None:
        self._keep_all(staged=False)

    def _keep_all(self, *, staged: bool) -> None:
        if self._sides.closed is not None:
            self._sides.closed.keep_all(staged=staged)

    def _add(self, state: IncrementalSnapshot, slots: Ints) -> None:
        weights = state.rows.column(WEIGHT).to_numpy()
        for side in (LEFT, RIGHT):
            rows = rows_of_side(state, side)
            columns = self._encoding.columns_of(side, state.rows.take(pa.array(rows)))
            self._sides.rows[side].add(WeightedRows(columns, slots[rows], weights[rows]))
