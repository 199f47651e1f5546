"""The kernel of tables of changes by key in which whole rows are removed, if they equal those that are kept.

    time  in                out
    1     +(k, a)           +(k, a)
    2     +(k, b)           -(k, a) +(k, b)
    3     -(k, a), whole
    4     -(k, b), whole    -(k, b)

Whether a removal has an effect is found out before the rows are applied.  It depends on the last row of its
key that is present, or removes whatever row there is.  Other removals of whole rows between the two need not
be looked at: after one with an effect there is no row, so that further ones have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.aggregate.grouped import AggregateKernel
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows
from fsql.runtime.order import (
    concat_arrays,
    identity_codes,
    key_values,
    stable_order,
    starts_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineChanges
    from fsql.runtime.arrays import Bools
    from fsql.runtime.kernels.aggregate.grouped import _Undo


class ComparedRowsKernel(AggregateKernel):
    """`graph.CombineChanges` with `whole`."""

    def __init__(self, combine: CombineChanges, *, marks_replacements: bool) -> None:
        super().__init__(combine, marks_replacements=marks_replacements)
        (self._present,), *values = self._arguments_of
        self._values = [column for (column,) in values]
        self._compared = combine.compared

    def apply(self, sides: Sequence[KeyedRows | None], *, undoable: bool) -> ApplyResult[_Undo]:
        assert sides[0] is not None
        batch, slot = sides[0]
        present = batch.columns[self._present].to_numpy(zero_copy_only=False)
        whole = batch.columns[-1].to_numpy(zero_copy_only=False) & ~present
        if not whole.any():
            return super().apply(sides, undoable=undoable)
        other = self._find_other_rows(sides[0], whole, present)
        kept = np.flatnonzero(~other)
        if not len(kept):
            return ApplyResult(None, None, self._undo(batch, np.unique(slot), undoable=undoable))
        columns = list(batch.columns)
        removes = pa.array(whole)
        for column in self._values:
            values = decode_dictionary(columns[column])
            columns[column] = pc.if_else(removes, pa.scalar(None, values.type), values)
        applied = KeyedRows(batch.with_columns(columns).take(kept), slot[kept])
        return super().apply([applied], undoable=undoable)

    def _find_other_rows(self, rows: KeyedRows, whole: Bools, present: Bools) -> Bools:
        """Return which of the `whole` rows remove nothing, because another row of their key is there.

        A removal that finds no row stays: its slot may be new, and is then found to be empty.
        """
        batch, slot = rows
        order = stable_order(slot)
        sorted_slot = slot[order]
        starts = starts_of_runs(sorted_slot)
        lengths = np.diff(np.append(starts, len(order)))
        slots, run = sorted_slot[starts], np.arange(len(starts)).repeat(lengths)
        last = np.maximum.accumulate(np.where(whole[order], -1, np.arange(len(order))))
        # The states of the slots are in front of the rows.
        before = np.where(last >= starts[run], last + len(slots), run)
        removals = np.flatnonzero(whole[order])
        exists = self._accumulators[0].read(slots).array.to_numpy() > 0
        found = np.concatenate([exists, present[order]])[before[removals]]
        same = np.ones(len(removals), np.bool_)
        indexes = pa.array(order)
        for each in self._compared:
            values = decode_dictionary(batch.columns[self._values[each]]).take(indexes)
            kept = self._accumulators[1 + each].read(slots).array
            codes = identity_codes(key_values(concat_arrays([kept, values])))
            same &= codes[before[removals]] == codes[removals + len(slots)]
        other = np.zeros(len(order), np.bool_)
        other[order[removals[found & ~same]]] = True
        return other
