"""The kernel of grouped aggregates: updating ones, and windows.

The result of an updating aggregate is a table with one row for each group.  At every root position that
changes the row of a group, the kernel retracts the old row and adds the new one:

    time  in          out (COUNT(*) by word)
    1     a           +(a, 1)
    2     b, a, a     +(b, 1)   -(a, 1) +(a, 3)

A window that emits only its final row emits nothing before its punctuation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import AggregateCall, AggregateFunction
from fsql.compiler.graph import CombineAggregate, CombineChanges
from fsql.compiler.sqltypes import BIGINT
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import PUNCTUATION, Batch, Root
from fsql.runtime.kernels.accumulators.accumulator import SUM_OVERFLOW, struct_of
from fsql.runtime.kernels.accumulators.of_call import accumulator, by_total_order, collector
from fsql.runtime.kernels.keyed.group_kernel import GroupKernel
from fsql.runtime.kernels.keyed.kernel import (
    ApplyResult,
    KeyedRows,
    merge_results,
    split_at_position,
)
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.kernels.keyed.slot_ends import ClosedColumns, IdleSlots, split_slots
from fsql.runtime.kernels.keyed.steps import (
    ONLY_ROW,
    Steps,
    Values,
    only_step,
    order_within_ties,
    steps_of,
)
from fsql.runtime.order import (
    concat_arrays,
    identity_codes,
    key_values,
    roots_of,
    stable_order,
    starts_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.accumulators.accumulator import Accumulator, Collector
    from fsql.runtime.kernels.keyed.slot_ends import Closings
    from fsql.runtime.kernels.keyed.slot_snapshots import UndoableState
    from fsql.runtime.order import Roots


# The state that a kernel of groups keeps for each group.


_ROWS_OF_GROUP = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
"""COUNT(*), the sum of the weights of a group, is always computed: a group exists while it is positive."""


class GroupState(NamedTuple):
    """The accumulators of a group, and their arguments.

    A group exists while the value of the first accumulator is positive.  `shown` has the indexes of those
    whose values are columns of the row of the group; `in_order` marks those that take the rows of one
    position in canonical order.  With `rows_remove`, a row of weight 1 can end the group.  `collectors` are
    those of the accumulators whose results have many values; `others` are expressions that the kernel reads.
    """

    arguments: Sequence[tuple[Expression, ...]]
    accumulators: list[Accumulator]
    shown: list[int]
    in_order: list[bool]
    rows_remove: bool
    collectors: Sequence[Collector] = ()
    others: tuple[Expression, ...] = ()
    calls: Sequence[AggregateCall] = ()


def aggregate_state(combine: CombineAggregate) -> GroupState:
    """Return the empty state of the groups of an aggregate."""
    calls = list(dict.fromkeys((_ROWS_OF_GROUP, *combine.aggregates)))
    accumulators = [
        accumulator(call, append_only=combine.input_append_only, shown=not combine.final)
        for call in calls
    ]
    collectors = map(collector, calls, accumulators)
    return GroupState(
        [call.arguments for call in calls],
        accumulators,
        [calls.index(call) for call in combine.aggregates],
        [by_total_order(call) for call in calls],
        rows_remove=False,
        collectors=[each for each in collectors if each is not None],
        calls=calls,
    )


# The values of groups before and after each step, and the changes of the rows of the groups.


class GroupValues(NamedTuple):
    """The values of groups; which groups have a row, and which groups exist but fail."""

    values: list[Values]
    shown: Bools
    fails: Bools


class Group(NamedTuple):
    """The values of one group; whether it has a row, or exists but fails."""

    columns: list[pa.Array]
    shows: bool
    fails: bool

    @staticmethod
    def of(values: list[Values], shown: list[int]) -> Group:
        exists = values[0].array[0].as_py() > 0
        results = [values[index] for index in shown]
        fails = any(value.failed is not None and value.failed[0] for value in results)
        columns = [value.array for value in results]
        return Group(columns, exists and not fails, exists and fails)


def same_value(one: pa.Array, other: pa.Array) -> bool:
    """Return whether two columns of one row have the same value (-0.0 is not 0.0)."""
    if pa.types.is_integer(one.type):
        return bool(one.equals(other))
    first, second = identity_codes(concat_arrays([one, other])).tolist()
    return bool(first == second)


class GroupChanges(NamedTuple):
    """Which steps retract their group's previous row, and which add a new one; both if they differ.

    `shown_before` and `shown_after` mark the steps before and after which the group has a row.
    `columns` have the values after all steps, then the values before the first step of each slot.
    """

    removed: Ints
    added: Ints
    failing: Ints
    shown_before: Bools
    shown_after: Bools
    columns: list[pa.Array]


def changes_of(steps: Steps, before: GroupValues, after: GroupValues) -> GroupChanges:
    """Return how the rows of groups change, from their values before the steps and after each."""
    size = len(steps.slot)
    columns = [
        concat_arrays([a.array, b.array]) for a, b in zip(after.values, before.values, strict=True)
    ]
    failing = after.fails & ~steps.before(after.fails, before.fails)
    shown_after, shown_before = after.shown, steps.before(after.shown, before.shown)
    differs = np.zeros(size, np.bool_)
    for column in columns:
        codes = (
            identity_codes(column)
            if not pa.types.is_integer(column.type) or column.null_count
            else None
        )
        if codes is None:
            codes = column.to_numpy(zero_copy_only=False)
        differs |= codes[:size] != steps.before(codes[:size], codes[size:])
    return GroupChanges(
        np.flatnonzero(shown_before & (differs | ~shown_after)),
        np.flatnonzero(shown_after & (differs | ~shown_before)),
        np.flatnonzero(failing),
        shown_before,
        shown_after,
        columns,
    )


VALUES_MAX: Final = 1 << 20
"""The greatest number of values that the results of one step have, except if one root has more."""


class _Undo(NamedTuple):
    slots: Ints
    saved: list[Any]


class AggregateKernel(GroupKernel[_Undo]):
    """`graph.CombineAggregate` and `graph.CombineChanges` over slots."""

    def __init__(
        self,
        combine: CombineAggregate | CombineChanges,
        state: GroupState | None = None,
        *,
        marks_replacements: bool,
        closings: Closings | None = None,
    ) -> None:
        """Begin without groups; `state` is theirs, if it is not that of the calls of an aggregate.

        `closings` are those of windows, if they are not those of `combine`.
        """
        self._marks_replacements = marks_replacements
        self._combine = combine
        self._keys = len(combine.keys)
        if state is None:
            assert isinstance(combine, CombineAggregate)
            state = aggregate_state(combine)
        arguments, self._accumulators, self._shown = (
            state.arguments,
            state.accumulators,
            state.shown,
        )
        self._calls = state.calls
        self._in_order, self._rows_remove = state.in_order, state.rows_remove
        self._collectors = state.collectors
        distinct = list(dict.fromkeys(each for given in arguments for each in given))
        self._arguments_of = [
            [self._keys + distinct.index(each) for each in given] for given in arguments
        ]
        self._evaluate = Evaluator((*combine.keys, *distinct, *state.others))
        key_types = [arrow_type(key.type) for key in combine.keys]
        idle_us = combine.idle_us if isinstance(combine, CombineAggregate) else None
        idle = None if idle_us is None else IdleSlots(idle_us)
        self._undoable: list[UndoableState] = [*self._accumulators]
        if idle is not None:
            self._undoable.append(idle)
        super().__init__(
            key_types,
            self._undoable,
            self._accumulators[0],
            combine.closing if closings is None else closings,
            final=combine.final,
            idle=idle,
        )

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        """Return the keys, then the distinct arguments of the aggregates, then the end of the window.

        The values of `GroupState.others` are the last.
        """
        del side
        values, kept, errors = self._evaluate(batch)
        values[: self._keys] = map(key_values, values[: self._keys])
        if self._closings is not None:
            batch = batch if kept is None else batch.take(kept)
            ends = batch.columns[self._closings.window_end]
            self._closings.note(ends)
            return batch.with_columns([*values, ends]), errors
        positions = Batch((), batch.time, batch.origin, batch.path, batch.weight)
        positions = positions if kept is None else positions.take(kept)
        return positions.with_columns(values), errors

    def keys(self, batch: Batch) -> Sequence[pa.Array]:
        return batch.columns[: self._keys]

    def slots(self, side: int, batch: Batch) -> Ints:
        del side
        found = self._table.find(self.keys(batch), len(batch))
        if found.any_new:
            for one in self._states:
                one.grow(len(self._table))
            if self._closings is not None:
                new, rows = found.new()
                self._open(batch, rows, new)
        return found.slots

    def _open(self, batch: Batch, rows: Ints, new: Ints) -> None:
        """Open the windows of new slots, for each of which one row of the batch is given."""
        assert self._closings is not None
        self._closings.open(batch.columns[-1].take(pa.array(rows)), new)

    def apply(self, sides: Sequence[KeyedRows | None], *, undoable: bool) -> ApplyResult[_Undo]:
        assert sides[0] is not None
        batch, slot = sides[0]
        if len(slot) == 1:
            return self._apply_only(batch, slot, undoable=undoable)
        rest = self._root_of_rest(batch, slot)
        if rest is not None:
            (applied,), _ = split_at_position(sides, rest)
            assert applied is not None
            batch, slot = applied
        order = stable_order(slot)
        sorted_slot = slot[order]
        if self._combine.final:
            steps = steps_of(sorted_slot, starts_of_runs(sorted_slot))
        else:
            roots = roots_of(batch)
            sorted_root = roots.number[order]
            steps = steps_of(sorted_slot, starts_of_runs(sorted_slot, sorted_root))
        undo = self._undo(batch, steps.slots, undoable=undoable)
        if self._combine.final:
            self._add(batch, order, steps)
            return ApplyResult(None, None, undo)
        before = [one.read(steps.slots) for one in self._accumulators]
        after = self._add(batch, order, steps)
        changes = changes_of(steps, self._groups(before), self._groups(after))
        first_rows = order[steps.start]
        step_roots = roots._replace(number=sorted_root[steps.start])
        return ApplyResult(
            self._rows(batch, step_roots, first_rows, steps, changes),
            errors_of(batch, first_rows[changes.failing], steps.slot[changes.failing]),
            undo,
            rest,
        )

    def _root_of_rest(self, batch: Batch, slot: Ints) -> Root | None:
        """Return the root from which on results have too many values for one step; None if all fit.

        Each row of a group may have a result with all values of the group.
        """
        if self._combine.final or not self._collectors:
            return None
        slots, index, rows = np.unique(slot, return_inverse=True, return_counts=True)
        sizes = rows + np.maximum(sum(one.result_sizes(slots) for one in self._collectors), 0)
        if (sizes * rows).sum() <= VALUES_MAX:
            return None
        roots = roots_of(batch)
        values = np.bincount(roots.number, sizes[index]).cumsum()
        first = max(1, int(values.searchsorted(VALUES_MAX, "right")))
        if first >= len(values):
            return None
        return Root(int(roots.time[first]), int(roots.origin[first]))

    def _undo(self, batch: Batch, slots: Ints, *, undoable: bool) -> _Undo | None:
        """Prepare for an application to slots; return its undo, if requested."""
        removes = self._rows_remove or batch.weight is not None
        if self._emptied is not None and (undoable or removes):
            self._emptied.on_apply(slots, undoable=undoable)
        if not undoable:
            return None
        return _Undo(slots, [one.save(slots) for one in self._undoable])

    def _apply_only(self, batch: Batch, slot: Ints, *, undoable: bool) -> ApplyResult[_Undo]:
        """Apply a single row: like `apply`, with a third of the calls."""
        undo = self._undo(batch, slot, undoable=undoable)
        if self._combine.final:
            self._add(batch, ONLY_ROW, only_step(slot))
            return ApplyResult(None, None, undo)
        before = Group.of([one.read(slot) for one in self._accumulators], self._shown)
        after = Group.of(self._add(batch, ONLY_ROW, only_step(slot)), self._shown)
        differs = not all(map(same_value, before.columns, after.columns))
        removed = before.shows and (differs or not after.shows)
        added = after.shows and (differs or not before.shows)
        if self._marks_replacements:
            removed = removed and not after.shows
        failing = ONLY_ROW if after.fails and not before.fails else ONLY_ROW[:0]
        errors = errors_of(batch, failing, slot[failing])
        parts = [before.columns] * removed + [after.columns] * added
        if not parts:
            return ApplyResult(None, errors, undo)
        key = batch.columns[: self._keys]
        columns = [
            concat_arrays(each) for each in zip(*([*key, *part] for part in parts), strict=True)
        ]
        if self._marks_replacements:
            columns.append(pa.array([False] * removed + [before.shows] * added))
        weight = np.array([-1] * removed + [1] * added) if removed else None
        time, origin = batch.time.repeat(len(parts)), batch.origin.repeat(len(parts))
        path = np.full(len(parts), self._combine.scan_number, np.int64)
        rows = Batch(columns, time, origin, (path,), weight)
        return ApplyResult(KeyedRows(rows, slot.repeat(len(parts))), errors, undo)

    def _add(self, batch: Batch, order: Ints, steps: Steps) -> list[Values]:
        if self._idle is not None:
            self._idle.touch(batch.time[order], steps)
        indexes = pa.array(order)
        weights = None if batch.weight is None else batch.weight[order]
        sorted_columns: dict[int, pa.Array] = {}
        results = []
        for one, columns, in_order in zip(
            self._accumulators, self._arguments_of, self._in_order, strict=True
        ):
            if not columns:
                results.append(one.add(None, weights, steps))
                continue
            for column in columns:
                if column not in sorted_columns:
                    values = batch.columns[column]
                    sorted_columns[column] = values if len(order) == 1 else values.take(indexes)
            values = sorted_columns[columns[0]]
            if len(columns) > 1:
                values = struct_of([sorted_columns[column] for column in columns])
            elif in_order and len(order) > 1:
                tie_order = order_within_ties(batch, order, values, steps)
                if tie_order is not None:
                    tied_weights = None if weights is None else weights[tie_order]
                    results.append(one.add(values.take(pa.array(tie_order)), tied_weights, steps))
                    continue
            results.append(one.add(values, weights, steps))
        return results

    def _groups(self, values: list[Values]) -> GroupValues:
        """Return the state of groups from the values of their accumulators."""
        exists = values[0].array.to_numpy() > 0
        shown = [values[index] for index in self._shown]
        failed = np.zeros(len(exists), np.bool_)
        for value in shown:
            if value.failed is not None:
                failed |= value.failed
        return GroupValues(shown, exists & ~failed, exists & failed)

    def _rows(
        self, batch: Batch, roots: Roots, first_rows: Ints, steps: Steps, changes: GroupChanges
    ) -> KeyedRows | None:
        removed, added = changes.removed, changes.added
        if self._marks_replacements:
            removed = removed[~changes.shown_after[removed]]
        count = len(removed) + len(added)
        if count == 0:
            return None
        weight = None
        if len(added) == count == len(first_rows):
            rows, root, slot = first_rows, roots.number, steps.slot
            replaces = changes.shown_before
            values = [column.slice(0, count) for column in changes.columns]
        else:
            taken = np.concatenate([removed, added])
            rows, root, slot = first_rows[taken], roots.number[taken], steps.slot[taken]
            replaces = changes.shown_before[taken]
            replaces[: len(removed)] = False
            value_indexes = pa.array(np.concatenate([steps.indexes_before[removed], added]))
            values = [column.take(value_indexes) for column in changes.columns]
        if len(removed):
            weight = np.ones(count, np.int64)
            weight[: len(removed)] = -1
        if self._marks_replacements:
            values.append(pa.array(replaces))
        indexes = pa.array(rows)
        keys = [column.take(indexes) for column in batch.columns[: self._keys]]
        path = np.full(count, self._combine.scan_number, np.int64)
        made = Batch([*keys, *values], roots.time[root], roots.origin[root], (path,), weight)
        return KeyedRows(made, slot)

    def restore(self, undo: _Undo, affected: Bools) -> None:
        kept = np.flatnonzero(affected[undo.slots])
        for one, saved in zip(self._undoable, undo.saved, strict=True):
            one.restore(undo.slots, saved, kept)

    def close(self, min_time: Root) -> ApplyResult[_Undo] | None:
        if self._closings is None:
            return None
        popped = self._closings.pop_below(min_time)
        if not popped:
            return None
        # Sessions close at many times; their groups are closed together.
        slots = np.concatenate([slots for _, slots in popped])
        times = np.repeat([time for time, _ in popped], [len(slots) for _, slots in popped])
        return merge_results(self._close(times, slots))

    def _close(self, times: Ints, slots: Ints) -> list[ApplyResult[_Undo]]:
        """Close the windows of slots, whose close times ascend; return their rows."""
        made = []
        if self._combine.final:
            shown = np.arange(len(slots))
            if self._given_up:
                foreign = self.slots_in(self._given_up, slots)
                shown = np.flatnonzero(~np.isin(slots, foreign))
            sizes = ClosedColumns()
            made = [
                self._final_rows(times[part], slots[part], sizes) for part in split_slots(shown)
            ]
        self._free(slots)
        return made

    def _final_rows(self, times: Ints, slots: Ints, sizes: ClosedColumns) -> ApplyResult[_Undo]:
        origins = np.full(len(slots), PUNCTUATION, np.int64)
        batch, groups = self._group_rows(slots, times, origins)
        sizes.add(batch.columns)
        shown, failing = np.flatnonzero(groups.shown), np.flatnonzero(groups.fails)
        rows = KeyedRows(batch.take(shown), slots[shown])
        return ApplyResult(rows, errors_of(batch, failing, slots[failing]), None)

    def _group_rows(self, slots: Ints, times: Ints, origins: Ints) -> tuple[Batch, GroupValues]:
        """Return the row of each slot at its root, and which of the rows are shown."""
        groups = self._groups([one.read(slots) for one in self._accumulators])
        keys = self._table.keys(slots, self._key_types)
        path = np.full(len(slots), self._combine.scan_number, np.int64)
        columns = [*keys, *(value.array for value in groups.values)]
        return Batch(columns, times, origins, (path,)), groups

    def result(self, root: Root) -> Batch:
        """Return the rows of all groups, without marks of replacements; see `kernel.KeptResult`."""
        slots = self._table.live_slots()
        times, origins = (np.full(len(slots), part, np.int64) for part in root)
        batch, groups = self._group_rows(slots, times, origins)
        return batch.take(np.flatnonzero(groups.shown))


def errors_of(batch: Batch, rows: Ints, slots: Ints) -> KeyedRows | None:
    """Return the errors of sums that overflow, at some rows of a batch."""
    if len(rows) == 0:
        return None
    codes = pa.array(np.full(len(rows), SUM_OVERFLOW, np.int16))
    return KeyedRows(Batch([codes], batch.time[rows], batch.origin[rows], ()), slots)
