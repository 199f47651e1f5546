"""The common part of the kernels of ranks: keys of partitions, the columns that order rows, slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.kernels.keyed.group_kernel import GroupKernel, SlotUndo
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.kernels.keyed.slot_snapshots import SnapshotState
from fsql.runtime.order import key_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineRank
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch
    from fsql.runtime.kernels.keyed.steps import Values


UndoT = TypeVar("UndoT", bound=SlotUndo)


class PartitionRows(SnapshotState, Protocol):
    """The rows of all partitions; `columns` are lists, with an element for each row."""

    def read(self, slots: Ints) -> Values:
        """Return the number of rows of each slot."""


class PartitionedKernel(GroupKernel[UndoT]):
    """A kernel of `graph.CombineRank`.  Prepared columns: partition, order, then those of the input."""

    def __init__(self, combine: CombineRank, rows: PartitionRows) -> None:
        """Begin without rows; `rows` is the state of all partitions."""
        self._combine = combine
        self._keys = len(combine.partition)
        order = tuple(key.expression for key in combine.order)
        self._columns = self._keys + len(order)
        self._evaluate = Evaluator((*combine.partition, *order))
        key_types = [arrow_type(key.type) for key in combine.partition]
        super().__init__(key_types, [rows], rows, combine.closing, final=combine.final)

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        del side
        values, kept, errors = self._evaluate(batch)
        values[: self._keys] = map(key_values, values[: self._keys])
        batch = batch if kept is None else batch.take(kept)
        if self._closings is not None:
            self._closings.note(batch.columns[self._closings.window_end])
        return batch.with_columns([*values, *batch.columns]), errors

    def keys(self, batch: Batch) -> Sequence[pa.Array]:
        return batch.columns[: self._keys]

    def slots(self, side: int, batch: Batch) -> Ints:
        del side
        found = self._table.find(self.keys(batch), len(batch))
        if found.any_new:
            self._states[0].grow(len(self._table))
            if self._closings is not None:
                new, rows = found.new()
                ends = batch.columns[self._columns + self._closings.window_end]
                self._closings.open(ends.take(pa.array(rows)), new)
        return found.slots
