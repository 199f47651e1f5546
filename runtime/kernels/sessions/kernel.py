"""The kernel of sessions: emits the rows of each session when it closes.

in (time: word)   1: a   2: b   3: a   9: a            out, with a gap of 2 seconds
                                                       after 4   b [2, 4)
                                                       after 5   a [1, 5)  a [1, 5)

A row is emitted only when min time has passed its position.  A late row is emitted at its own root, without
bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.sqltypes import TIMESTAMP
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import PUNCTUATION, Batch
from fsql.runtime.kernels.expressions.vectors import Vector, to_array
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.kernels.keyed.slot_ends import ClosedColumns
from fsql.runtime.kernels.sessions.snapshots import SessionSnapshots
from fsql.runtime.kernels.sessions.state import Pending, SessionState
from fsql.runtime.order import concat, integers, key_values, position_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineSessions
    from fsql.compiler.owner_map import BinRanges
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.keyed.slots import SlotTable
    from fsql.runtime.kernels.sessions.state import ClosedRows, SessionRows


_BOUNDS = 3


class SessionsKernel:
    """`graph.CombineSessions` over slots.  Prepared columns: the partition, then those of the input."""

    def __init__(self, combine: CombineSessions, schema: Schema, depth: int) -> None:
        """Begin without rows; `schema` and `depth` are those of the input."""
        self._keys = len(combine.partition)
        self._key_types = [arrow_type(key.type) for key in combine.partition]
        self._order_column = combine.order_column
        self._evaluate = Evaluator(combine.partition)
        self._state = SessionState(combine)
        self._given_up: BinRanges = ()
        types = [arrow_type(column.type) for column in schema]
        self._snapshots = SessionSnapshots(self._state, self._key_types, types, depth)

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        del side
        keys, kept, errors = self._evaluate(batch)
        batch = batch if kept is None else batch.take(kept)
        return batch.with_columns([*map(key_values, keys), *batch.columns]), errors

    def keys(self, batch: Batch) -> Sequence[pa.Array]:
        return batch.columns[: self._keys]

    def slots(self, side: int, batch: Batch) -> Ints:
        del side
        found = self._state.table.find(self.keys(batch), len(batch))
        if found.any_new:
            self._state.grow()
        return found.slots

    def apply(self, sides: Sequence[KeyedRows | None], *, undoable: bool) -> ApplyResult[Pending]:
        """Keep the rows; they are placed in sessions when they are final."""
        del undoable
        assert sides[0] is not None
        batch, slot = sides[0]
        rows = batch.with_columns(batch.columns[self._keys :])
        return ApplyResult(None, None, self._state.add(rows, slot))

    @property
    def table(self) -> SlotTable:
        return self._state.table

    @property
    def snapshots(self) -> SessionSnapshots:
        return self._snapshots

    def restore(self, undo: Pending, affected: Bools) -> None:
        self._state.forget(undo, affected)

    def settle(self, undo: Pending | None) -> None:
        """See `Kernel`: `close` places the rows."""

    def expire(self, horizon: Root) -> None:
        """See `Kernel`."""

    def close(self, min_time: Root) -> ApplyResult[Pending] | None:
        placed = self._state.place_below(min_time)
        closed = self._state.pop_below(min_time)
        if placed is None and closed is None:
            return None
        changed: list[Ints] = []
        made: list[KeyedRows] = []
        if placed is not None:
            changed.append(placed.slots)
            if placed.late is not None:
                made.append(self._late_rows(placed.late))
        if closed is not None:
            changed.append(closed.slot)
            made.append(self._rows_of(closed))
        rows = self._merge_owned(made)  # This needs the keys of slots, which may be freed below.
        self._free_emptied(np.concatenate(changed))
        self._state.renumber_if_mostly_forgotten()
        return None if rows is None else ApplyResult(rows, None, None)

    def _free_emptied(self, changed: Ints) -> None:
        self._snapshots.on_change(changed)
        empty = self._state.without_rows(changed)
        if len(empty):
            self._snapshots.on_emptied(empty)
            self._state.free(empty)

    def _late_rows(self, late: SessionRows) -> KeyedRows:
        """Return late rows at their own roots."""
        batch = self._state.rows.take(late.number)
        self._state.rows.forget(len(late.number))
        nothing = pa.nulls(len(batch), arrow_type(TIMESTAMP))
        moved = self._move(batch, late.start, (batch.time, batch.origin), [nothing] * _BOUNDS)
        return KeyedRows(moved, late.slot)

    def _rows_of(self, closed: ClosedRows) -> KeyedRows:
        """Return the rows of sessions, with the times at which they close."""
        batch = self._state.rows.take(closed.number)
        self._state.rows.forget(len(batch))
        edges = (closed.start, closed.end, closed.end - 1)
        bounds = [to_array(Vector(each), TIMESTAMP, len(batch)) for each in edges]
        ClosedColumns().add(batch.columns)
        root = closed.close, np.full(len(batch), PUNCTUATION)
        return KeyedRows(self._move(batch, closed.start, root, bounds), closed.slot)

    def _move(
        self, batch: Batch, start: Ints, root: tuple[Ints, Ints], bounds: Sequence[pa.Array]
    ) -> Batch:
        """Return rows at other roots, with their original roots in their paths, and with bounds added."""
        path = (batch.time, batch.origin, *batch.path)
        if self._order_column is not None:
            path = (start, integers(batch.columns[self._order_column])[0], *path)
        return Batch([*batch.columns, *bounds], *root, path)

    def _merge_owned(self, made: list[KeyedRows]) -> KeyedRows | None:
        """Return the rows in order, without those of keys that were given up."""
        if not made:
            return None
        batch = concat([rows.batch for rows in made])
        slot = np.concatenate([rows.slot for rows in made])
        order = position_order(batch, ties=False)
        if self._given_up:
            order = np.arange(len(slot)) if order is None else order
            foreign = self.slots_in(self._given_up, np.unique(slot))
            order = order[~np.isin(slot[order], foreign)]
        if order is not None:
            batch, slot = batch.take(order), slot[order]
        return KeyedRows(batch, slot) if len(slot) else None

    def give_up(self, bins: BinRanges) -> None:
        self._given_up = bins

    def slots_in(self, bins: BinRanges, slots: Ints) -> Ints:
        return self._state.table.in_bins(bins, self._key_types, slots)

    def release(self, slots: Ints, marks: Bools) -> None:
        self._state.release(slots, marks)

    @property
    def releases_in_parts(self) -> bool:
        return True

    def next_close(self) -> Root | None:
        return self._state.least()

    def state_rows(self) -> int:
        return self._state.rows.live
