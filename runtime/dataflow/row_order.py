"""Sorts rows into the total order before a fold applies them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.kernels.keyed.kernel import KeyedRows
from fsql.runtime.order import position_order
from fsql.runtime.weights import consolidate, expand

if TYPE_CHECKING:
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch


class RowOrder:
    """Adds up the weights of equal rows if they may be undone, and sorts rows by position.

    A kernel that `multiplies` treats a row of weight n as n rows.
    """

    def __init__(self, *, ties: bool, append_only: bool, multiplies: bool = False) -> None:
        self._multiplies = multiplies
        self._ties = ties
        self._append_only = append_only

    def __call__(self, rows: KeyedRows, *, undoable: bool) -> tuple[KeyedRows | None, Batch | None]:
        """Return the rows in order, if any are left, and the undo rows that arrived before their rows.

        An undo may arrive first, because it uses another link.  In an append-only input, no other rows have
        negative weights.
        """
        early = None
        if self._has_to_sum(rows.batch.weight, undoable=undoable):
            rows, early = self._net(rows)
        order = position_order(rows.batch, ties=self._ties)
        if order is not None:
            rows = KeyedRows(rows.batch.take(order), rows.slot[order])
        return (rows if len(rows.slot) else None), early

    def _has_to_sum(self, weight: Ints | None, *, undoable: bool) -> bool:
        if weight is None or not (self._append_only or undoable):
            return False
        return not self._multiplies or bool(weight.min(initial=1) < 0)

    def _net(self, rows: KeyedRows) -> tuple[KeyedRows, Batch | None]:
        """Add up the weights of equal rows at equal positions."""
        batch = rows.batch.with_columns([*rows.batch.columns, pa.array(rows.slot)])
        batch = consolidate(batch, by_path=self._append_only)
        early = None
        if self._append_only:
            negative = batch.weights() < 0
            if negative.any():
                victims = batch.take(np.flatnonzero(negative))
                early = victims.with_columns(victims.columns[:-1])
                batch = batch.take(np.flatnonzero(~negative))
            batch = expand(batch)
        slot = batch.columns[-1].to_numpy(zero_copy_only=False)
        return KeyedRows(batch.with_columns(batch.columns[:-1]), slot), early
