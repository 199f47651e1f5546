"""The kernel of tables of changes by key whose rows may lack values: those of the replaced row are kept.

    time  in                        out
    1     k, (a, b)                 +(k, a, b)
    2     k, (c, not available)     -(k, a, b) +(k, c, b)
    3     j, (d, not available)     error: there is no row of j

The rows are made whole before they are applied.  A row that fails becomes the removal of a row that is not
there, which has no effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.logical import mark_count
from fsql.runtime.arrow_types import struct_of
from fsql.runtime.batch import Batch
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.aggregate.grouped import AggregateKernel
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows
from fsql.runtime.order import stable_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineChanges
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.aggregate.grouped import _Undo


NO_EARLIER_ROW = 527
_MARKED = ord("1")


class _SlotRows(NamedTuple):
    """Rows sorted by slot: the index of the first row of each one's slot, and which slot of all that is."""

    first: Ints
    number: Ints

    def last(self, whole: Bools) -> Ints:
        """Return for each row the last one of its slot up to it that is `whole`.

        Where there is none, the index stands for the slot's state, which comes before all rows: they are
        counted from the number of slots on.
        """
        slots = int(self.number[-1]) + 1
        last = np.maximum.accumulate(np.where(whole, np.arange(len(whole)), -1))
        return np.where(last >= self.first, last + slots, self.number)


class KeptValuesKernel(AggregateKernel):
    """`graph.CombineChanges` with `unavailable`."""

    def __init__(self, combine: CombineChanges, *, marks_replacements: bool) -> None:
        super().__init__(combine, marks_replacements=marks_replacements)
        (self._present,), *arguments = self._arguments_of
        self._values = [
            (column, mark, value.type)
            for (column,), mark, value in zip(arguments, combine.marks, combine.values, strict=True)
        ]

    def apply(self, sides: Sequence[KeyedRows | None], *, undoable: bool) -> ApplyResult[_Undo]:
        assert sides[0] is not None
        batch, slot = sides[0]
        unavailable = batch.columns[-1]
        if unavailable.null_count == len(batch):
            return super().apply(sides, undoable=undoable)
        batch, failing = self._whole_rows(batch, slot)
        applied = super().apply([KeyedRows(batch, slot)], undoable=undoable)
        if len(failing):
            codes = pa.array(np.full(len(failing), NO_EARLIER_ROW, np.int16))
            errors = Batch([codes], batch.time[failing], batch.origin[failing], ())
            applied.errors = KeyedRows(errors, slot[failing])
        return applied

    def _whole_rows(self, batch: Batch, slot: Ints) -> tuple[Batch, Ints]:
        """Return the rows with all values, and the indexes of those that fail."""
        order = stable_order(slot)
        sorted_slot = slot[order]
        starts = starts_of_runs(sorted_slot)
        lengths = np.diff(np.append(starts, len(order)))
        runs = _SlotRows(starts.repeat(lengths), np.arange(len(starts)).repeat(lengths))
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        columns = list(batch.columns)
        slots, indexes = sorted_slot[starts], pa.array(order)
        texts = decode_dictionary(columns[-1]).take(indexes)
        partial = texts.is_valid().to_numpy(zero_copy_only=False)
        present = columns[self._present].to_numpy(zero_copy_only=False)[order]
        before = self._accumulators[0].read(slots).array.to_numpy() > 0
        known = np.concatenate([before, present])[runs.last(~partial)]
        failing = partial & ~known
        partial &= known
        columns[self._present] = pa.array((present & ~failing)[back])
        marks = _marks(texts, partial)
        for (column, mark, sql_type), state in zip(
            self._values, self._accumulators[1:], strict=True
        ):
            values = decode_dictionary(columns[column]).take(indexes)
            if failing.any():
                values = pc.if_else(pa.array(failing), pa.scalar(None, values.type), values)
            if marks[:, mark : mark + mark_count(sql_type)].any():
                values = pa.concat_arrays([state.read(slots).array, values])
                values = _kept(values, sql_type, marks[:, mark:], runs)
            columns[column] = values.take(pa.array(back))
        return batch.with_columns(columns), np.flatnonzero(failing[back])


def _marks(texts: pa.StringArray, partial: Bools) -> Bools:
    """Return the marks of each row, those of `partial` ones from their texts, which are equally long."""
    rows = int(partial.sum())
    octets = "".join(texts.filter(pa.array(partial)).to_pylist()).encode()
    marks = np.zeros((len(partial), len(octets) // max(rows, 1)), np.bool_)
    marks[partial] = np.frombuffer(octets, np.uint8).reshape(rows, marks.shape[1]) == _MARKED
    return marks


def _kept(values: pa.Array, sql_type: SqlType, marks: Bools, runs: _SlotRows) -> pa.Array:
    """Return the values of rows, with those of earlier rows where the first mark is set.

    Before the values of the rows are those of the states of their slots.
    """
    made = values.take(pa.array(runs.last(~marks[:, 0])))
    if not marks[:, 1 : mark_count(sql_type)].any():
        return made
    children, first = [], 1
    for index, child in enumerate(sql_type.field_types):
        of_child = marks[:, first:] | marks[:, :1]
        children.append(_kept(pc.struct_field(values, index), child, of_child, runs))
        first += mark_count(child)
    null = made.is_null().to_numpy(zero_copy_only=False)
    return struct_of(children, sql_type, null)
