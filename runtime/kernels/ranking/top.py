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

from bisect import insort
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import RankFunction
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import Batch
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows
from fsql.runtime.kernels.keyed.numbered_rows import NumberedRows
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.kernels.keyed.steps import Values
from fsql.runtime.kernels.ranking.ordered_rows import ROWS, WEIGHT, column_name, position_name
from fsql.runtime.kernels.ranking.partitioned import PartitionedKernel
from fsql.runtime.kernels.ranking.sort_keys import CODES_OF_KEY, has_sort_codes, sort_codes
from fsql.runtime.order import lexicographic_order, roots_of, stable_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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


# The first rows of each slot, in their order, of rows that are never removed.
#
# A slot has the numbers of its rows, at most `limit`; `NumberedRows` has their columns.  The integers that
# order the rows, those of ORDER BY and then those of the position, are also stored by number.  Rows that no
# slot and no undo refers to are dropped when the number of rows has doubled since the last time.
#
# `TopRows` has the methods of an accumulator that snapshots use; its state columns are those of
# `OrderedRows`.


NONE: Final = -1
"""Represents the absence of a row."""
_KEPT_MIN: Final = 1 << 13
"""With fewer rows than this, no rows are dropped."""


class TopUndo:
    """The numbers that slots had before an application."""

    def __init__(self, slots: Ints, numbers: Ints) -> None:
        self.slots = slots
        self.numbers = numbers


class TopRows:
    """The first `limit` rows of each slot."""

    def __init__(
        self,
        limit: int,
        types: Sequence[pa.DataType],
        depth: int,
        codes: int,
        codes_of: Callable[[Sequence[pa.Array]], list[Ints]],
    ) -> None:
        """Begin empty; the rows have columns of `types` and a path of `depth` integers.

        The rows are ordered by `codes` integers, which `codes_of` computes from loaded columns, and by
        position.
        """
        self.limit = limit
        self._types = types
        self._positions = 2 + depth
        self._codes_of = codes_of
        self._keys = np.empty((codes + self._positions, 16), np.int64)
        self._numbers = np.full((16, limit), NONE)
        self._rows = NumberedRows()
        self._undos: dict[int, TopUndo] = {}
        self._renumbered_at = _KEPT_MIN

    def of(self, slots: Ints) -> Ints:
        """Return the numbers of the rows of each slot, as `(slots, limit)`, NONE after the last."""
        return self._numbers[slots]

    def set(self, slots: Ints, numbers: Ints) -> None:
        """Set the rows of slots."""
        self._numbers[slots] = numbers

    def add(self, batch: Batch, keys: Ints) -> Ints:
        """Add rows, at least one, to no slot; return their numbers.  `keys` is as `keys` returns it."""
        numbers = self._rows.add(batch)
        width, have = self._keys.shape
        if self._rows.end > have:
            more = np.empty((width, 2 * self._rows.end - have), np.int64)
            self._keys = np.concatenate([self._keys, more], axis=1)
        self._keys[:, self._rows.end - len(batch) : self._rows.end] = keys
        return numbers

    def take(self, numbers: Ints) -> Batch:
        """Return rows, at least one, in the form in which they were added."""
        return self._rows.take(numbers)

    def keys(self, numbers: Ints) -> Ints:
        """Return the integers that order rows, as `(integers, rows)`, the most significant one first."""
        return self._keys[:, numbers]

    @property
    def held(self) -> int:
        """Return the number of rows, including those that nothing refers to."""
        return self._rows.held

    def keep(self, undo: TopUndo) -> None:
        """Keep the rows of `undo` until `forget`."""
        self._undos[id(undo)] = undo

    def forget(self, undo: TopUndo) -> None:
        """Allow the rows of an undo, which was given to `keep`, to be dropped."""
        del self._undos[id(undo)]

    def restore(self, undo: TopUndo, affected: Bools) -> None:
        """Undo an application for the slots that are marked."""
        marked = affected[undo.slots]
        self.set(undo.slots[marked], undo.numbers[marked])

    def drop_unused(self) -> None:
        """Drop the rows that nothing refers to, once they may be the majority."""
        if self._rows.held <= self._renumbered_at:
            return
        tables = [self._numbers, *(undo.numbers for undo in self._undos.values())]
        used = np.zeros(self._rows.end, np.bool_)
        for table in tables:
            used[table[table != NONE]] = True
        old = np.flatnonzero(used)
        self._keys = self._keys[:, old]
        new = np.full(self._rows.end + 1, NONE)
        new[old] = self._rows.renumber(old)
        for table in tables:
            table[:] = new[table]
        self._renumbered_at = max(_KEPT_MIN, 2 * self._rows.held)

    def grow(self, slots: int) -> None:
        """See `Accumulator`."""
        have = len(self._numbers)
        if slots > have:
            more = np.full((2 * slots - have, self.limit), NONE)
            self._numbers = np.concatenate([self._numbers, more])

    def clear(self, slots: Ints) -> None:
        """See `Accumulator`."""
        self._numbers[slots] = NONE

    def read(self, slots: Ints) -> Values:
        """Return the number of rows of each slot."""
        return Values(pa.array(self._counts(slots)))

    def _counts(self, slots: Ints) -> Ints:
        return np.count_nonzero(self._numbers[slots] != NONE, axis=1)

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """See `Accumulator`: rows in their order, with weights and positions."""
        counts = self._counts(slots)
        numbers = self._numbers[slots]
        numbers = numbers[numbers != NONE]
        if len(numbers):
            batch = self.take(numbers)
            columns = [decode_dictionary(column) for column in batch.columns]
            positions = [pa.array(each) for each in (batch.time, batch.origin, *batch.path)]
        else:
            columns = [pa.array([], kind) for kind in self._types]
            positions = [pa.array([], pa.int64())] * self._positions
        flat = {WEIGHT: pa.array(np.ones(len(numbers), np.int64))}
        flat |= {column_name(index): column for index, column in enumerate(columns)}
        flat |= {position_name(index): column for index, column in enumerate(positions)}
        offsets = pa.array(np.append(0, np.cumsum(counts)).astype(np.int32))
        lists = {name: pa.ListArray.from_arrays(offsets, column) for name, column in flat.items()}
        return {ROWS: pa.array(counts, mask=counts == 0), **lists}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        """See `Accumulator`."""
        counts = columns[ROWS].fill_null(0).to_numpy(zero_copy_only=False)
        if not counts.any():
            return
        values = [columns[column_name(index)].flatten() for index in range(len(self._types))]
        time, origin, *path = (
            columns[position_name(index)].flatten().to_numpy() for index in range(self._positions)
        )
        batch = Batch(values, time, origin, tuple(path))
        keys = np.stack([*self._codes_of(values), time, origin, *path])
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        indexes = np.arange(len(batch)) - starts
        self._numbers[np.repeat(slots, counts), indexes] = self.add(batch, keys)


# The least ranks of each slot, after each of its rows: ranks that pass through a row of registers.
#
# A new rank passes through the registers of its slot one after the other.  Each register keeps the lesser of
# its own rank and the new one, and passes the greater one on:
#
#     new rank         30  10  20  40
#     register 1   -   30  10  10  10
#     register 2   -    -  30  20  20
#
# Over the rows of a slot, a register is a running minimum, and the ranks that it passes on are the input of
# the next register.  So a register takes a constant number of array operations for all slots and rows.  A
# few rows are processed one by one.


class NewRanks(NamedTuple):
    """New ranks, at least one, slot by slot, all different.

    `first` has the first row of each slot, `group` the first row of each root of a slot.  `held` has the
    initial ranks in the registers of each slot, ascending, as `(slots, registers)`; a register without a rank
    has `empty`, which is greater than all ranks.
    """

    rank: Ints
    first: Ints
    group: Ints
    held: Ints
    empty: int


class RegisterChanges(NamedTuple):
    """Changes of registers from the beginning of a root to its end: first row of the root, rank, weight."""

    row: Ints
    register: Ints
    rank: Ints
    weight: Ints

    def without_moved(self, empty: int) -> RegisterChanges:
        """Return the changes without those of ranks that move from one register to another."""
        change = self.row * (empty + 1) + self.rank
        removed, added = change[self.weight < 0], change[self.weight > 0]
        moved = np.intersect1d(removed, added, assume_unique=True)
        return self.take(~np.isin(change, moved))

    def take(self, changes: Ints | Bools) -> RegisterChanges:
        """Return some of the changes."""
        return RegisterChanges(*(column[changes] for column in self))


class RegisterResult(NamedTuple):
    """The final ranks in the registers, the rows that entered a register, and the changes of registers."""

    held: Ints
    entered: Ints
    changes: RegisterChanges


def pass_registers(coming: NewRanks, skipped: int, few_rows: int | None = None) -> RegisterResult:
    """Pass ranks through the registers; the changes are those of the registers from `skipped` on.

    `few_rows` affects speed only.
    """
    few = len(coming.rank) <= (FEW_ROWS if few_rows is None else few_rows)
    return _pass_one_by_one(coming, skipped) if few else _pass_together(coming, skipped)


def _pass_together(coming: NewRanks, skipped: int) -> RegisterResult:
    rows = len(coming.rank)
    last = np.append(coming.first[1:], rows) - 1
    group_last = np.append(coming.group[1:], rows) - 1
    held = np.empty_like(coming.held)
    changes, greatest = [], coming.rank
    for number, (before, after) in enumerate(_registers(coming)):
        held[:, number] = after[last]
        greatest = after
        if number >= skipped:
            old, new = before[coming.group], after[group_last]
            added = np.flatnonzero(old != new)
            removed = added[old[added] != coming.empty]
            changes += [
                (removed, np.full(len(removed), number), old[removed], np.full(len(removed), -1)),
                (added, np.full(len(added), number), new[added], np.ones(len(added), np.int64)),
            ]
    group, register, rank, weight = map(np.concatenate, zip(*changes, strict=True))
    entered = np.flatnonzero(coming.rank <= greatest)
    return RegisterResult(
        held, entered, RegisterChanges(coming.group[group], register, rank, weight)
    )


def _registers(coming: NewRanks) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rank in each register before and after each row, one register after the other."""
    first, rows = coming.first, len(coming.rank)
    # A running minimum begins again with each slot: all ranks of a slot are less than those of the slots
    # before it.
    lift = np.arange(len(first) - 1, -1, -1) * (coming.empty + 1)
    lifts = np.repeat(lift, np.diff(np.append(first, rows)))
    passed_on = coming.rank + lifts
    for own in coming.held.T:
        after = passed_on.copy()
        after[first] = np.minimum(after[first], own + lift)
        np.minimum.accumulate(after, out=after)
        before = np.empty_like(after)
        before[1:] = after[:-1]
        before[first] = own + lift
        yield before - lifts, after - lifts
        passed_on = np.maximum(before, passed_on)


def _pass_one_by_one(coming: NewRanks, skipped: int) -> RegisterResult:
    ranks, empty = coming.rank.tolist(), coming.empty
    starts, groups = {*coming.first.tolist()}, coming.group.tolist()
    held, registers = iter(coming.held.tolist()), []
    entered: list[int] = []
    changes: list[tuple[int, int, int, int]] = []
    for start, end in zip(groups, [*groups[1:], len(ranks)], strict=True):
        if start in starts:
            registers.append(next(held))
        own = registers[-1]
        before = own.copy()
        for row in range(start, end):
            insort(own, ranks[row])
            if own.pop() != ranks[row]:
                entered.append(row)
        for number in range(skipped, len(own)):
            if before[number] != own[number]:
                if before[number] != empty:
                    changes.append((start, number, before[number], -1))
                changes.append((start, number, own[number], 1))
    columns = np.array(changes, np.int64).reshape(-1, 4).T
    return RegisterResult(
        np.array(registers), np.array(entered, np.int64), RegisterChanges(*columns)
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
