"""The gate of a sink: consolidates, labels and orders the rows that are final.

The changes of one root position are one group; `docs/internals/semantics.md` has its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.compiler.logical import Changes
from fsql.runtime.batch import Batch
from fsql.runtime.change_order import canonical_order, order_of_replacements
from fsql.runtime.dataflow.invariants import InvariantError
from fsql.runtime.dataflow.waiting_rows import WaitingRows
from fsql.runtime.dictionaries import DictionaryRanks
from fsql.runtime.order import (
    below,
    canonical_rank,
    concat,
    lexicographic_order,
    position_order,
)
from fsql.runtime.ports import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Release
from fsql.runtime.weights import consolidate, expand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.compiler.tick_plan import SinkPort
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.row_encoding import RowEncoding

    Operations = NDArray[np.int8]

_MOVING_MIN: Final = 1 << 16


class MovingRows:
    """The changes below a position, which move to it: their sum is one group there."""

    def __init__(self, position: Root) -> None:
        self.position = position
        self._parts: list[Batch] = []
        self._summed = 0
        """How many rows there were when they were last added up."""

    @property
    def rows(self) -> int:
        """Return the number of rows, some of which may cancel."""
        return sum(map(len, self._parts))

    def accept(self, batch: Batch) -> Batch:
        """Accept the rows below the position; return the others."""
        under = below(batch, self.position)
        if under.any():
            moved = batch if under.all() else batch.take(np.flatnonzero(under))
            times, origins = (np.full(len(moved), part, np.int64) for part in self.position)
            self._parts.append(Batch(moved.columns, times, origins, moved.path, moved.weight))
            # Each row is added up a logarithmic number of times; there are at most twice as many as needed.
            if self.rows > _MOVING_MIN + 2 * self._summed:
                self._parts = [consolidate(concat(self._parts), by_path=False)]
                self._summed = self.rows
        return batch if not under.any() else batch.take(np.flatnonzero(~under))

    def take(self) -> list[Batch]:
        """Remove and return the rows."""
        parts, self._parts = self._parts, []
        return parts


class SinkGate:
    """The gate of one sink, or of one shard of a table."""

    def __init__(
        self, port: SinkPort, encoding: RowEncoding | None, moves_to: Root | None = None
    ) -> None:
        """Begin without rows; those below `moves_to`, which are not encoded, move to this position."""
        assert moves_to is None or encoding is None
        self._port = port
        self._encoding = encoding
        self._made = None if encoding is None else encoding.made_columns
        self._pending = WaitingRows()
        self._repaired = False
        self._ranks = [DictionaryRanks() for _ in port.table.key or ()]
        self._moving = None if moves_to is None else MovingRows(moves_to)

    def accept(self, batch: Batch, *, repairs: bool) -> None:
        """Accept rows; `repairs` says that they correct earlier rows."""
        if self._moving is not None:
            batch = self._moving.accept(batch)
            if not len(batch):
                return
        self._pending.append(batch)
        self._repaired |= repairs

    def rows_buffered(self) -> int:
        """Return the number of rows that wait to be released."""
        return self._pending.rows + (0 if self._moving is None else self._moving.rows)

    def release(self, bound: Root) -> Release | None:
        """Remove and return the rows below `bound`, in their order; None if there are none.

        Raises:
            InvariantError: if a row is retracted that was never added.
        """
        passed = self._pending.take_below(bound)
        if self._moving is not None and self._moving.position < bound:
            passed = [*self._moving.take(), *passed]
            self._moving, self._repaired = None, True
        if not passed:
            return None
        rows = concat(passed)
        release = self._append(rows) if self._port.append_only else self._changes(rows)
        if not self._pending.rows:
            self._repaired = False
        return release if len(release.time) else None

    def _values(self, rows: Batch) -> Batch:
        """Return the rows without their lines, if workers have encoded them."""
        return rows if self._made is None else rows.with_columns(rows.columns[self._made :])

    def _append(self, rows: Batch) -> Release:
        if rows.weight is not None:
            rows = consolidate(rows, by_path=True)
            if not (rows.weights() > 0).all():
                raise InvariantError("a row was retracted that was never added")
            rows = expand(rows)
        order = position_order(self._values(rows), ties=True)
        operations = None
        if self._port.table.changes is not Changes.APPEND:
            operations = np.full(len(rows), INSERT, np.int8)
        return self._release(rows, order, operations)

    def _release(self, rows: Batch, order: Ints | None, operations: Operations | None) -> Release:
        """Return rows in the given order, with their operations in that order."""
        encoding = self._encoding
        if encoding is not None:
            rows = rows.with_columns(rows.columns[: self._made])
        if order is not None:
            rows = rows.take(order)
        if encoding is None:
            return Release(rows.columns, operations, rows.time, rows.origin)
        lines, *shards = rows.columns
        if operations is not None:
            lines = encoding.label(lines, operations)
        return Release([lines, *shards], None, rows.time, rows.origin, encoded=True)

    def _changes(self, rows: Batch) -> Release:
        if self._port.marked:
            return self._marked_changes(rows)
        values, key = self._values(rows), self._port.table.key
        found = order_of_replacements(values, key)
        if found is None:
            if self._repaired or not self._port.consolidated:
                rows = consolidate(rows, by_path=False, by=values.columns)
                values = self._values(rows)
            found = canonical_order(values, key)
        order, paired = found
        weight = rows.weights()[order]
        operations = np.where(weight > 0, INSERT, DELETE).astype(np.int8)
        operations[paired] = UPDATE_BEFORE
        operations[paired + 1] = UPDATE_AFTER
        count = np.abs(weight)
        if self._port.table.changes is Changes.UPSERT:
            count[paired] = 0
        if not (count == 1).all():
            kept = np.repeat(np.arange(len(order)), count)
            order, operations = order[kept], operations[kept]
        in_order = len(order) == len(rows) and bool((order[:-1] < order[1:]).all())
        return self._release(rows, None if in_order else order, operations)

    def _marked_changes(self, rows: Batch) -> Release:
        """Label rows, at most one for each key; the last column marks updates."""
        if self._repaired or not self._port.consolidated:
            rows = consolidate(rows, by_path=False)
        key = self._port.table.key or ()
        keys = [rows.columns[index] for index in key]
        if self._encoding is None:
            replaces = rows.columns[-1].to_numpy(zero_copy_only=False)
            operations = np.where(replaces, np.int8(UPDATE_AFTER), np.int8(INSERT))
            rows = rows.with_columns(rows.columns[:-1])
        else:
            operations = np.full(len(rows), INSERT, np.int8)
            keys = [*rows.columns[self._made :]]
        if rows.weight is not None:
            operations[rows.weight < 0] = DELETE
        order = None
        if len(rows) > 1:
            ranks = map(canonical_rank, keys, self._ranks)
            order = lexicographic_order([rows.time, rows.origin, *ranks])
        if order is not None:
            operations = operations[order]
        rows = Batch(rows.columns, rows.time, rows.origin, ())
        return self._release(rows, order, operations)
