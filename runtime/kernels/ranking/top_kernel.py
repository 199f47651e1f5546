"""The kernel of ROW_NUMBER up to a limit, over rows that are never removed: whole batches at once.

The rows of a batch and the visible rows of their slots are numbered by ORDER BY and position; this number is
called their *rank* here.  New ranks pass the registers of their slot (`registers`), which hold the ranks of
the visible rows.  The changes of a root are the differences between the registers before and after its rows:

    time  in      out (the two least)
    1     30      +(30, 1)
    2     10      -(30, 1) +(10, 1) +(30, 2)
    3     20      -(30, 2) +(20, 2)                     30 is dropped: no later row can make it visible again

The cost is that of sorting the rows of the batch and the visible rows of their slots, and of `limit` passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import RankFunction
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import Batch
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.kernels.ranking.partitioned import PartitionedKernel
from fsql.runtime.kernels.ranking.registers import NewRanks, RegisterChanges, pass_registers
from fsql.runtime.kernels.ranking.sort_codes import CODES_OF_KEY, has_sort_codes, sort_codes
from fsql.runtime.kernels.ranking.top_rows import NONE, TopRows, TopUndo
from fsql.runtime.order import (
    lexicographic_order,
    roots_of,
    stable_order,
    starts_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineRank
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Root


LIMIT_MAX: Final = 32
"""The maximum limit: a slot has memory for `limit` numbers, and a batch takes as many passes."""


def shows_first_rows(combine: CombineRank) -> bool:
    """Return whether `TopKernel` can compute a rank: the first rows, of rows that are never removed."""
    return (
        combine.function is RankFunction.ROW_NUMBER
        and combine.limit is not None
        and combine.limit <= LIMIT_MAX
        and combine.by_position
        and not combine.may_tie
        and combine.closing is None
        and all(map(has_sort_codes, combine.order))
    )


class _NewRows(NamedTuple):
    """New rows by slot, within a slot in the total order: their indexes in the batch, and their ranks.

    `slot` has for each row the number of its slot, `first` the first row of each slot; `slots` and `held`
    have the slots, and the ranks of their visible rows.
    """

    row: Ints
    rank: Ints
    slot: Ints
    first: Ints
    slots: Ints
    held: Ints

    def entering(self) -> _NewRows:
        """Return the rows without those after all rows of a full slot."""
        kept = np.flatnonzero(self.rank < self.held[self.slot, -1])
        if len(kept) == len(self.slot):
            return self
        slot = self.slot[kept]
        first = starts_of_runs(slot)
        some = slot[first]
        number = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(slot))))
        return _NewRows(
            self.row[kept], self.rank[kept], number, first, self.slots[some], self.held[some]
        )


class TopKernel(PartitionedKernel[TopUndo]):
    """`graph.CombineRank` if `shows_first_rows`."""

    def __init__(self, combine: CombineRank, schema: Schema, depth: int) -> None:
        """Begin without rows; the input's rows have columns `schema` and a path of `depth` integers."""
        assert combine.limit is not None
        self._order = Evaluator([key.expression for key in combine.order])
        types = [arrow_type(column.type) for column in schema]
        codes = CODES_OF_KEY * len(combine.order)
        self._rows = TopRows(combine.limit, types, depth, codes, self._codes_of_loaded)
        super().__init__(combine, self._rows)

    def _codes(self, columns: Sequence[pa.Array]) -> list[Ints]:
        """Return the columns of ORDER BY as integers."""
        codes = map(sort_codes, columns, self._combine.order)
        return [code for of_key in codes for code in of_key]

    def _codes_of_loaded(self, columns: Sequence[pa.Array]) -> list[Ints]:
        none = np.zeros(len(columns[0]), np.int64)
        values, kept, _ = self._order(Batch(list(columns), none, none, ()))
        assert kept is None, "rows that fail are not in the state"
        return self._codes(values)

    def apply(self, sides: Sequence[KeyedRows | None], *, undoable: bool) -> ApplyResult[TopUndo]:
        assert sides[0] is not None
        batch, slot = sides[0]
        assert batch.weight is None, "rows are added one by one, and never removed"
        codes = self._codes(batch.columns[self._keys : self._columns])
        batch = batch.with_columns(batch.columns[self._columns :])
        order = stable_order(slot)
        first = starts_of_runs(slot[order])
        slots = slot[order[first]]
        numbers = self._rows.of(slots)
        undo = self._undo(slots, numbers) if undoable else None
        there = numbers != NONE
        shown = numbers[there]
        keys = np.stack([*codes, batch.time, batch.origin, *batch.path])
        ranks = _ranks(np.concatenate([self._rows.keys(shown), keys], axis=1))
        held = np.full(numbers.shape, len(ranks))
        held[there] = ranks[: len(shown)]
        number_of = np.full(len(ranks) + 1, NONE)
        number_of[ranks[: len(shown)]] = shown
        of_slot = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
        new = _NewRows(order, ranks[len(shown) :][order], of_slot, first, slots, held).entering()
        rows = self._enter(batch, keys, new, number_of) if len(new.row) else None
        self._rows.drop_unused()
        return ApplyResult(rows, None, undo)

    def _undo(self, slots: Ints, numbers: Ints) -> TopUndo:
        undo = TopUndo(slots, numbers)
        self._rows.keep(undo)
        if self._emptied is not None:
            self._emptied.on_apply(slots, undoable=True)
        return undo

    def _enter(self, batch: Batch, keys: Ints, new: _NewRows, number_of: Ints) -> KeyedRows | None:
        """Pass new ranks through the registers; set the state, and return its changes.

        `number_of` has the numbers of rows by rank; those of new rows are filled in.
        """
        group = starts_of_runs(new.slot, roots_of(batch).number[new.row])
        empty = len(number_of) - 1
        passed = pass_registers(
            NewRanks(new.rank, new.first, group, new.held, empty), self._combine.skipped
        )
        if len(passed.entered) == 0:
            return None
        entered = passed.entered[stable_order(new.row[passed.entered])]
        added = new.row[entered]  # In the order of the batch, which is the fastest one to copy.
        rows = batch if len(added) == len(batch) else batch.take(added)
        number_of[new.rank[entered]] = self._rows.add(rows, keys[:, added])
        self._rows.set(new.slots, number_of[passed.held])
        changes = passed.changes
        if not self._combine.ranked and self._rows.limit > 1:
            changes = changes.without_moved(empty)
        if len(changes.rank) == 0:
            return None
        # The order of most outputs, so that the rows need not be copied again to be sorted.
        order = lexicographic_order([new.row[changes.row], changes.register, changes.weight])
        changes = changes if order is None else changes.take(order)
        at = new.row[changes.row]
        root = batch.time[at], batch.origin[at]
        slot = new.slots[new.slot[changes.row]]
        return self._make_rows(changes, number_of[changes.rank], root, slot)

    def _make_rows(
        self, changes: RegisterChanges, numbers: Ints, root: tuple[Ints, Ints], slot: Ints
    ) -> KeyedRows:
        """Return the rows of changes, with their ranks if the query returns ranks."""
        columns = list(self._rows.take(numbers).columns)
        if self._combine.ranked:
            columns.append(pa.array(changes.register + 1))
        path = np.full(len(slot), self._combine.scan_number, np.int64)
        weight = None if (changes.weight == 1).all() else changes.weight
        return KeyedRows(Batch(columns, *root, (path,), weight), slot)

    def result(self, root: Root) -> Batch | None:
        """Return the visible rows of all partitions; see `kernel.KeptResult`."""
        numbers = self._rows.of(np.sort(self._table.live_slots()))
        numbers[:, : self._combine.skipped] = NONE
        rows, registers = np.nonzero(numbers != NONE)
        if not len(rows):
            return None
        columns = list(self._rows.take(numbers[rows, registers]).columns)
        if self._combine.ranked:
            columns.append(pa.array(registers + 1))
        times, origins = (np.full(len(rows), part, np.int64) for part in root)
        path = np.full(len(rows), self._combine.scan_number, np.int64)
        return Batch(columns, times, origins, (path,))

    def settle(self, undo: TopUndo | None) -> None:
        super().settle(undo)
        if undo is not None:
            self._rows.forget(undo)

    def restore(self, undo: TopUndo, affected: Bools) -> None:
        self._rows.restore(undo, affected)

    @property
    def held(self) -> int:
        """Return the number of rows of the kernel, including those that are no longer visible."""
        return self._rows.held

    def close(self, min_time: Root) -> ApplyResult[TopUndo] | None:
        """See `Kernel`: there are no windows."""
        del min_time
        return None


def _ranks(keys: Ints) -> Ints:
    """Return the ranks of rows; each row of `keys` is one integer of their sort keys, for all rows."""
    count = keys.shape[1]
    order = lexicographic_order(list(keys))
    if order is None:
        return np.arange(count)
    ranks = np.empty(count, np.int64)
    ranks[order] = np.arange(count)
    return ranks
