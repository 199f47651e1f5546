"""The kernel of tables of changes without a key: how often each row is there.

At every root position, the rows that were added to those that equal them, less the removed ones, come out:

    time  in           out
    1     +a, +a       +a, +a
    2     -a, +b       -a, +b
    3     -b, +b
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch
from fsql.runtime.kernels.aggregate.grouped import AggregateKernel
from fsql.runtime.kernels.aggregate.steps import steps_of
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows
from fsql.runtime.order import roots_of, stable_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineChanges
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.aggregate.grouped import _Undo


NOT_THERE = 526


class EqualRowsKernel(AggregateKernel):
    """`graph.CombineChanges` with `counted`, over slots of equal rows."""

    def __init__(self, combine: CombineChanges) -> None:
        super().__init__(combine, marks_replacements=False)
        self._path = combine.scan_number

    def apply(self, sides: Sequence[KeyedRows | None], *, undoable: bool) -> ApplyResult[_Undo]:
        assert sides[0] is not None
        batch, slot = sides[0]
        order = stable_order(slot)
        sorted_slot, roots = slot[order], roots_of(batch)
        steps = steps_of(sorted_slot, starts_of_runs(sorted_slot, roots.number[order]))
        undo = self._undo(batch, steps.slots, undoable=undoable)
        initial = self._accumulators[0].read(steps.slots).array.to_numpy()
        after = self._add(batch, order, steps)[0].array.to_numpy()
        before = steps.before(after, initial)
        first_rows = order[steps.start]
        failing = np.flatnonzero((after < 0) & (before >= 0))
        errors = None
        if len(failing):
            codes = pa.array(np.full(len(failing), NOT_THERE, np.int16))
            rows = first_rows[failing]
            failed = Batch([codes], batch.time[rows], batch.origin[rows], ())
            errors = KeyedRows(failed, steps.slot[failing])
        added = np.maximum(after, 0) - np.maximum(before, 0)
        return ApplyResult(self._changes(batch, first_rows, added, steps.slot), errors, undo)

    def _changes(self, batch: Batch, rows: Ints, added: Ints, slot: Ints) -> KeyedRows | None:
        """Return the rows that were added for each step, or removed if the number is negative."""
        counts = np.abs(added)
        taken = rows.repeat(counts)
        if len(taken) == 0:
            return None
        weight = np.sign(added).repeat(counts) if (added < 0).any() else None
        path = np.full(len(taken), self._path, np.int64)
        columns = [column.take(pa.array(taken)) for column in self.keys(batch)]
        made = Batch(columns, batch.time[taken], batch.origin[taken], (path,), weight)
        return KeyedRows(made, slot.repeat(counts))

    def result(self, root: Root) -> Batch:
        """Return each row as often as it is there; see `kernel.KeptResult`."""
        slots = self._table.live_slots()
        counts = self._accumulators[0].read(slots).array.to_numpy()
        slots, counts = slots[counts > 0], counts[counts > 0]
        times, origins = (np.full(len(slots), part, np.int64) for part in root)
        path = np.full(len(slots), self._path, np.int64)
        keys = self._table.keys(slots, self._key_types)
        return Batch(keys, times, origins, (path,), counts)
