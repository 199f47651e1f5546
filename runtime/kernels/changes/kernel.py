"""Tables of changes: the state of a key's row, and the kernels of the kinds of changes.

Rows replace each other by key (`ChangesKernel`).  Rows without a key are counted, rows may leave out values,
and rows may be removed only if they equal those that are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.logical import mark_count
from fsql.runtime.arrow_types import arrow_type, struct_of
from fsql.runtime.batch import Batch
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.accumulators.count import Count
from fsql.runtime.kernels.aggregate.kernel import AggregateKernel, GroupState
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows
from fsql.runtime.kernels.keyed.steps import StateColumn, Values, count_column, or_ones, steps_of
from fsql.runtime.order import (
    concat_arrays,
    identity_codes,
    key_values,
    roots_of,
    stable_order,
    starts_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.graph import CombineChanges
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.aggregate.kernel import _Undo
    from fsql.runtime.kernels.keyed.steps import Steps


# The last value of each slot, and whether or how often it has a row: the state of `graph.CombineChanges`.
#
# Values of any type are kept in chunks, which are Arrow arrays: the values of each batch are appended, and
# a slot has the index of its value.  Chunks are merged so that each is at least twice as long as the next,
# and are packed when half of their values no longer belong to a slot.  The cost of a change does not depend
# on the number of slots.


_PACKED_FROM: Final = 4096
"""Chunks with fewer values than this are not packed."""
_MERGED_BYTES_MAX: Final = 1 << 30
"""Chunks are not merged beyond this size: the offsets of Arrow's strings have 32 bits."""


class Present:
    """1 for a slot whose last row is present, else 0; the values are BOOLEAN, not NULL."""

    def __init__(self) -> None:
        self._present = StateColumn()

    def grow(self, slots: int) -> None:
        self._present.grow(slots)

    def clear(self, slots: Ints) -> None:
        self._present.values[slots] = 0

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        del weights
        assert values is not None
        after = values.to_numpy(zero_copy_only=False)[_last_rows(steps)].astype(np.int64)
        self._present.set(after, steps)
        return Values(pa.array(after))

    def read(self, slots: Ints) -> Values:
        return Values(pa.array(self._present.values[slots]))

    def save(self, slots: Ints) -> Ints:
        return self._present.values[slots]

    def restore(self, slots: Ints, saved: Ints, kept: Ints) -> None:
        self._present.values[slots[kept]] = saved[kept]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {"present": count_column(self._present, slots)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        self._present.values[slots] = columns["present"].fill_null(0).to_numpy()


class Balance(Count):
    """The added rows of each slot less the removed ones; the values are BOOLEAN, TRUE for an added row."""

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        added = values.to_numpy(zero_copy_only=False).astype(np.int64)
        signs = (2 * added - 1) * or_ones(weights)
        return Values(pa.array(self._count.add(steps.sums(signs), steps)))


class LastValue:
    """The value of the last row of each slot, NULL for none."""

    def __init__(self, sql_type: SqlType) -> None:
        self._type = arrow_type(sql_type)
        self._index = StateColumn()
        """For each slot the index of its value in all chunks, from 1; 0 for NULL."""
        self._chunks: list[pa.Array] = []
        self._starts = np.zeros(1, np.int64)
        """The number of values before each chunk, and in all chunks."""
        self._packed_at = _PACKED_FROM

    def grow(self, slots: int) -> None:
        self._index.grow(slots)

    def clear(self, slots: Ints) -> None:
        self._index.values[slots] = 0

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        del weights
        assert values is not None
        after = decode_dictionary(values).take(pa.array(_last_rows(steps)))
        last = after if steps.one_a_slot else after.take(pa.array(steps.last))
        self._set(steps.slots, last)
        return Values(after)

    def read(self, slots: Ints) -> Values:
        return Values(self._values(self._index.values[slots]))

    def save(self, slots: Ints) -> pa.Array:
        """Return the values: indexes change when chunks are packed."""
        return self._values(self._index.values[slots])

    def restore(self, slots: Ints, saved: pa.Array, kept: Ints) -> None:
        self._set(slots[kept], saved.take(pa.array(kept)))

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {"value": self.read(slots).array}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        self._set(slots, columns["value"])

    def _set(self, slots: Ints, values: pa.Array) -> None:
        """Append the values of slots, which are distinct."""
        some = values.is_valid().to_numpy(zero_copy_only=False)
        indexes = np.cumsum(some) + self._starts[-1]
        self._index.values[slots] = np.where(some, indexes, 0)
        chunk = values.drop_null() if values.null_count else values
        if len(chunk):
            self._chunks.append(chunk)
            self._merge()
            if self._starts[-1] >= self._packed_at:
                self._pack()

    def _merge(self) -> None:
        while len(self._chunks) > 1 and len(self._chunks[-2]) < 2 * len(self._chunks[-1]):
            if self._chunks[-2].nbytes + self._chunks[-1].nbytes > _MERGED_BYTES_MAX:
                break
            last = self._chunks.pop()
            self._chunks[-1] = pa.concat_arrays([self._chunks[-1], last])
        self._starts = np.cumsum([0, *map(len, self._chunks)])

    def _pack(self) -> None:
        """Drop the values that belong to no slot."""
        slots = np.flatnonzero(self._index.values)
        slots = slots[np.argsort(self._index.values[slots], kind="stable")]
        indexes = self._index.values[slots] - 1
        bounds = np.searchsorted(indexes, self._starts)
        self._chunks = [
            chunk.take(pa.array(indexes[low:high] - start))
            for chunk, start, low, high in zip(
                self._chunks, self._starts, bounds, bounds[1:], strict=False
            )
            if high > low
        ]
        self._index.values[slots] = np.arange(1, len(slots) + 1)
        self._packed_at = 2 * len(slots) + _PACKED_FROM
        self._merge()

    def _values(self, indexes: Ints) -> pa.Array:
        if len(self._chunks) == 1:
            return self._chunks[0].take(pa.array(indexes - 1, mask=indexes == 0))
        chunk_of = np.searchsorted(self._starts[1:-1], indexes - 1, side="right")
        order = np.argsort(chunk_of, kind="stable")
        bounds = np.searchsorted(chunk_of[order], np.arange(len(self._chunks) + 1))
        parts = [pa.nulls(0, self._type)]
        for chunk, start, low, high in zip(
            self._chunks, self._starts, bounds, bounds[1:], strict=False
        ):
            if high > low:
                wanted = indexes[order[low:high]]
                parts.append(chunk.take(pa.array(wanted - 1 - start, mask=wanted == 0)))
        if not self._chunks:
            return pa.nulls(len(indexes), self._type)
        back = np.empty(len(indexes), np.int64)
        back[order] = np.arange(len(indexes))
        return pa.concat_arrays(parts).take(pa.array(back))


def _last_rows(steps: Steps) -> Ints:
    """Return the last row of each step."""
    return np.append(steps.start[1:], steps.rows) - 1


class ChangesKernel(AggregateKernel):
    """`graph.CombineChanges`: a group is a key, and its row is the last one."""

    def __init__(self, combine: CombineChanges, *, marks_replacements: bool) -> None:
        super().__init__(combine, _state_of(combine), marks_replacements=marks_replacements)


def _state_of(combine: CombineChanges) -> GroupState:
    """Return the empty state of keys: how often there is a row, or the values of the last one."""
    if combine.counted:
        return GroupState([(combine.present,)], [Balance()], [], [False], rows_remove=True)
    values = [LastValue(value.type) for value in combine.values]
    return GroupState(
        [(combine.present,), *((value,) for value in combine.values)],
        [Present(), *values],
        list(range(1, len(values) + 1)),
        [False] * (len(values) + 1),
        rows_remove=True,
        others=tuple(e for e in (combine.unavailable, combine.whole) if e is not None),
    )


# The kernel of tables of changes without a key: how often each row is there.
#
# At every root position, the rows that were added to those that equal them, less the removed ones, come out:
#
#     time  in           out
#     1     +a, +a       +a, +a
#     2     -a, +b       -a, +b
#     3     -b, +b


NOT_THERE = 526


class EqualRowsKernel(ChangesKernel):
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


# The kernel of tables of changes by key whose rows may lack values: those of the replaced row are kept.
#
#     time  in                        out
#     1     k, (a, b)                 +(k, a, b)
#     2     k, (c, not available)     -(k, a, b) +(k, c, b)
#     3     j, (d, not available)     error: there is no row of j
#
# The rows are made whole before they are applied.  A row that fails becomes the removal of a row that is not
# there, which has no effect.


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


class KeptValuesKernel(ChangesKernel):
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


# The kernel of tables of changes by key in which whole rows are removed, if they equal those that are kept.
#
#     time  in                out
#     1     +(k, a)           +(k, a)
#     2     +(k, b)           -(k, a) +(k, b)
#     3     -(k, a), whole
#     4     -(k, b), whole    -(k, b)
#
# Whether a removal has an effect is found out before the rows are applied.  It depends on the last row of
# its key that is present, or removes whatever row there is.  Other removals of whole rows between the two
# need not be looked at: after one with an effect there is no row, so that further ones have none.


class ComparedRowsKernel(ChangesKernel):
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
