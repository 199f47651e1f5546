"""Snapshots of joins of updating inputs: each has the net changes since the previous one.

The first snapshot has the whole content.  After that, the net final changes are kept until the next snapshot;
the root of a change determines whether it was saved before it was final.  All positions in the snapshots
are 0, so that a row and its retraction differ in their weight only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.kernels.join.encoding import KeysAndState, rows_of_side
from fsql.runtime.kernels.join.keyed_join import LEFT, RIGHT
from fsql.runtime.kernels.join.net_rows import NetRows, WeightedRows, concat_rows
from fsql.runtime.kernels.join.side_snapshots import SideSnapshots
from fsql.runtime.kernels.join.updating_sides import SideChanges, UpdatingSides, weighted
from fsql.runtime.kernels.keyed.incremental_snapshot import NEVER, WEIGHT, IncrementalSnapshot
from fsql.runtime.kernels.keyed.kernel import filter_rows
from fsql.runtime.order import below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root


class JoinUpdatesSnapshots(SideSnapshots[WeightedRows]):
    """`kernel.KernelSnapshots` over the net rows of a join."""

    def __init__(
        self, combine: CombineJoin, schemas: Sequence[Schema], sides: UpdatingSides
    ) -> None:
        super().__init__(combine, schemas, sides.table)
        self._sides = sides
        self._position_columns = (2 + combine.left_depth, 2 + combine.right_depth)
        self._settled: tuple[NetRows, NetRows] | None = None

    def on_settle(self, changes: SideChanges) -> None:
        """Record that changes are final.  After a repair they may have been saved already."""
        if self._settled is None:
            return
        for side, rows in enumerate(changes.sides):
            new = None if rows is None else filter_rows(rows, ~below(rows.batch, self._saved_to))
            if new is not None:
                self._settled[side].add(weighted(new))

    def changed_keys(self) -> int:
        return sum(map(len, self._sides.rows if self._settled is None else self._settled))

    def _record_from_now(self) -> None:
        self._settled = (NetRows(self._keys), NetRows(self._keys))

    def _unsaved_rows(self, side: int, position: Root) -> list[WeightedRows]:
        pending = [rows for each in self._sides.pending if (rows := each.sides[side]) is not None]
        if self._settled is None:
            above = [filter_rows(rows, ~below(rows.batch, position)) for rows in pending]
            taken_out = [weighted(rows).negate() for rows in above if rows is not None]
            return [*self._sides.rows[side].runs, *taken_out]
        new = [
            filter_rows(rows, below(rows.batch, position) & ~below(rows.batch, self._saved_to))
            for rows in pending
        ]
        return [*self._settled[side].runs, *(weighted(rows) for rows in new if rows is not None)]

    def _encode(self, side: int, parts: list[WeightedRows]) -> KeysAndState:
        none = np.empty(0, np.int64)
        rows = concat_rows([WeightedRows(self._encoding.no_rows(side), none, none), *parts])
        count = len(rows.slot)
        positions = self._encoding.positions(
            [np.zeros(count, np.int64)] * self._position_columns[side]
        )
        closed = self._sides.closed
        expires = np.full(count, NEVER) if closed is None else closed.close_times(rows.columns)
        return self._encoding.rows_of(side, rows.columns, positions, rows.weight, expires)

    def stage(self, state: IncrementalSnapshot) -> None:
        self._keep_all(staged=True)
        super().stage(state)

    def adopt(self, position: Root) -> None:
        """Drop closed windows again from now on; see `SideSnapshots`."""
        super().adopt(position)
        self._keep_all(staged=False)

    def discard_staged(self) -> None:
        super().discard_staged()
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
