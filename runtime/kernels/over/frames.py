"""Frames of running aggregates that begin a number of rows or a time before each row, or end with peers.

The frame of a row is the frame of the preceding row, without the rows that leave and with the rows that
enter. The aggregates are therefore computed by an accumulator with retraction: it contains the frame of the
last row of each slot, and the rows of that frame are held, because they leave later.

    times   1  2  2  5        RANGE 3 PRECEDING     enter 1;  enter 2 and 2;  leave 1, enter 5
                              ROWS 1 PRECEDING      enter 1;  enter 2;  leave 1, enter 2;  leave 2, enter 5

Rows of one time are peers: they have the same root, so they are in one application, and have the same RANGE
frame. FIRST_VALUE, LAST_VALUE, NTH_VALUE, LAG and ARRAY_AGG have no accumulator: they are read from the rows
that are held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.sqltypes import FLOATING
from fsql.runtime.arrow_types import arrow_type, from_arrow, to_arrow
from fsql.runtime.batch import Batch
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.accumulators.of_call import accumulator, by_total_order
from fsql.runtime.kernels.accumulators.ordered_values import canonical
from fsql.runtime.kernels.keyed.numbered_rows import NumberedRows
from fsql.runtime.kernels.keyed.steps import StateColumn, Steps, Values
from fsql.runtime.order import concat, concat_arrays, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.accumulators.accumulator import Accumulator


class _MergedRows(NamedTuple):
    """The rows that slots hold, followed by the new ones, slot by slot.

    `first` and `end` bound the rows of each slot, `held` is the number of its rows that are not new; `new`
    has the indexes of the new rows, and `group` the index of the slot of each of them.
    """

    rows: Batch
    first: Ints
    end: Ints
    held: Ints
    new: Ints
    group: Ints


class _Events(NamedTuple):
    """The rows that leave and enter, their weights (None if all enter), and the frames that change as steps.

    `indexes` has for each frame its last step; if no step precedes the end of the frame, the number of steps
    plus the index of its slot.  It is None if each frame is a step.
    """

    rows: Ints
    weights: Ints | None
    steps: Steps
    indexes: Ints | None


class Frames:
    """The calls of one frame: their accumulators, and the rows that they hold."""

    def __init__(
        self,
        calls: Sequence[AggregateCall],
        preceding: int | None,
        end_preceding: int,
        behind: int,
        *,
        by_time: bool,
    ) -> None:
        """Begin empty; see `logical.OverCall`."""
        self._calls = calls
        self._preceding = preceding
        self._end_preceding = end_preceding
        self._behind = behind
        self._by_time = by_time
        self.arguments = list(dict.fromkeys(call.arguments for call in calls if call.arguments))
        """The arguments whose columns `add` takes; several arguments of a call are one column of rows."""
        self._argument_of = [
            self.arguments.index(call.arguments) if call.arguments else None for call in calls
        ]
        self.accumulators: list[Accumulator | None] = [
            None
            if preceding is not None and by_total_order(call)
            else accumulator(call, append_only=preceding is None)
            for call in calls
        ]
        """The accumulators of the calls; None for the calls that are read from the rows."""
        self.rows = None
        if preceding is not None or end_preceding or not by_time:
            self.rows = FrameRows([*map(_column_type, self.arguments)])

    def add(self, columns: Sequence[pa.Array], time: Ints | None, rows: Steps) -> list[Values]:
        """Add rows, each of which is a step; return the values of each call, one for each row."""
        if time is None:
            time = np.zeros(rows.rows, np.int64)
        merged = self._merge_rows(rows_of(columns, time), rows)
        step = np.arange(rows.rows)
        if self._by_time:
            step = starts_of_runs(merged.group, time)
        start, end = self._bounds(merged, step)
        group = merged.group[step]
        first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        events = None
        if any(one is not None for one in self.accumulators):
            steps = Steps(step, len(step), rows.slots[group], first)
            events = _events(*self._last_frames(merged), start, end, steps)
        values = []
        for call, one, index in zip(self._calls, self.accumulators, self._argument_of, strict=True):
            column = None if index is None else merged.rows.columns[index]
            if one is None:
                assert column is not None
                values.append(_read(call, decode_dictionary(column), start, end))
                continue
            assert events is not None
            given = None if column is None else column.take(pa.array(events.rows))
            values.append(_add_events(one, given, events, rows.slots))
        last = np.append(first[1:], len(step)) - 1
        self._hold(merged, start[last], end[last], rows.slots)
        if len(step) == rows.rows:
            return values
        sizes = np.diff(np.append(step, rows.rows))
        return [_repeat(each, np.repeat(np.arange(len(step)), sizes)) for each in values]

    def _merge_rows(self, new: Batch, rows: Steps) -> _MergedRows:
        sizes = np.diff(np.append(rows.first, rows.rows))
        group = np.repeat(np.arange(len(sizes)), sizes)
        if self.rows is None:
            none = np.zeros(len(sizes), np.int64)
            return _MergedRows(
                new, rows.first, rows.first + sizes, none, np.arange(len(new)), group
            )
        held = self.rows.take(rows.slots)
        end = np.cumsum(held.sizes + sizes)
        index_of_new = ranges(end - sizes, sizes)
        every = new
        if held.rows is not None:
            order = np.empty(len(held.rows) + len(new), np.int64)
            order[ranges(end - sizes - held.sizes, held.sizes)] = np.arange(len(held.rows))
            order[index_of_new] = np.arange(len(held.rows), len(order))
            every = concat([held.rows, new]).take(order)
        return _MergedRows(every, end - sizes - held.sizes, end, held.sizes, index_of_new, group)

    def _bounds(self, merged: _MergedRows, step: Ints) -> tuple[Ints, Ints]:
        """Return where the frames of new rows begin and end; `step` has the first row of each frame."""
        index, group = merged.new[step], merged.group[step]
        first = merged.first[group]
        if not self._by_time:
            return self._bounds_by_rows(index, first)
        time = merged.rows.time[index]
        if self._end_preceding:
            end = _rows_by_time(merged, time - self._end_preceding, group, "right")
        else:
            following = np.append(index[1:], 0)
            last = np.append(group[1:] != group[:-1], True)
            end = np.where(last, merged.end[group], following)
        if self._preceding is None:
            return first, end
        return _rows_by_time(merged, time - self._preceding, group, "left"), end

    def _bounds_by_rows(self, index: Ints, first: Ints) -> tuple[Ints, Ints]:
        """Return where the frames of rows begin and end; `first` is the first row of the slot of each row."""
        row = index - self._behind
        end = np.where(row < first, first, np.maximum(row + 1 - self._end_preceding, first))
        if self._preceding is None:
            return first, end
        return np.clip(row - self._preceding, first, end), end

    def _last_frames(self, merged: _MergedRows) -> tuple[Ints, Ints]:
        """Return where the frame begins and ends that is in the accumulators of each slot."""
        first, held = merged.first, merged.held
        if self._by_time and not self._end_preceding:
            return first, first + held
        if self._by_time:
            filled = np.flatnonzero(held)
            last = merged.rows.time[first[filled] + held[filled] - 1]
            end = first.copy()
            end[filled] = _rows_by_time(merged, last - self._end_preceding, filled, "right")
            return first, np.minimum(end, first + held)
        # In a slot without rows, the index is before the first row, so the frame is empty.
        return self._bounds_by_rows(first + held - 1, first)

    def _hold(self, merged: _MergedRows, start: Ints, end: Ints, slots: Ints) -> None:
        """Hold the rows from the beginning of the last frame on, or from the row that has this frame."""
        if self.rows is not None:
            start = end if self._preceding is None else start
            if not self._by_time:
                start = np.minimum(start, merged.end - 1 - self._behind)
                start = np.maximum(start, merged.first)
            sizes = merged.end - start
            self.rows.put(slots, SlotRows(sizes, merged.rows.take(ranges(start, sizes))))


def _rows_by_time(
    merged: _MergedRows, wanted: Ints, group: Ints, side: Literal["left", "right"]
) -> Ints:
    """Return the first row of a slot whose time is at least, or greater than, each wanted one.

    Times ascend in a slot; `group` has the index of the slot for each wanted time.
    """
    time = merged.rows.time
    distinct, rank = np.unique(np.concatenate([time, wanted]), return_inverse=True)
    slot_of_row = np.repeat(np.arange(len(merged.first)), merged.end - merged.first)
    # One search for all slots: ranks are offset by slot.
    keys = slot_of_row * len(distinct) + rank[: len(time)]
    return np.searchsorted(keys, group * len(distinct) + rank[len(time) :], side)


def _events(start_before: Ints, end_before: Ints, start: Ints, end: Ints, frames: Steps) -> _Events:
    """Return the rows that leave and enter with each frame; `…_before` are the last frames of the slots."""
    first = frames.first
    left, entered = np.empty_like(start), np.empty_like(end)
    left[1:], entered[1:] = start[:-1], end[:-1]
    left[first], entered[first] = start_before, end_before
    # A row that precedes the beginning of the frame before it has entered does not enter.
    leaving = np.minimum(start, entered) - left
    entered = np.maximum(start, entered)
    entering = end - entered
    size = leaving + entering
    indexes, slot = None, frames.slot
    if not size.all():
        changes = np.flatnonzero(size)
        indexes = _event_indexes(size > 0, frames)
        leaving, entering, size = leaving[changes], entering[changes], size[changes]
        left, entered, slot = left[changes], entered[changes], slot[changes]
        first = np.flatnonzero(np.append(True, slot[1:] != slot[:-1])[: len(slot)])
    step = np.cumsum(size) - size
    steps = Steps(step, int(size.sum()), slot, first)
    if not leaving.any():
        return _Events(ranges(entered, entering), None, steps, indexes)
    events = np.empty(steps.rows, np.int64)
    weights = np.ones(steps.rows, np.int64)
    leave = ranges(step, leaving)
    events[leave] = ranges(left, leaving)
    weights[leave] = -1
    events[ranges(step + leaving, entering)] = ranges(entered, entering)
    return _Events(events, weights, steps, indexes)


def _event_indexes(changes: Bools, frames: Steps) -> Ints:
    """Return the `indexes` of `_Events`; `changes` marks the frames that change."""
    number = np.cumsum(changes)
    before = frames.of_slots((number - changes)[frames.first])
    return np.where(number > before, number - 1, int(number[-1]) + frames.group)


def _add_events(one: Accumulator, values: pa.Array | None, events: _Events, slots: Ints) -> Values:
    """Add the rows that leave and enter; return the aggregate of each frame."""
    if events.indexes is None:
        return one.add(values, events.weights, events.steps)
    before = one.read(slots)
    if not events.steps.rows:
        return take_values(before, before, events.indexes)
    return take_values(one.add(values, events.weights, events.steps), before, events.indexes)


def take_values(after: Values, before: Values, indexes: Ints) -> Values:
    """Return values by index in `after` followed by `before`."""
    array = concat_arrays([after.array, before.array]).take(pa.array(indexes))
    if after.failed is None and before.failed is None:
        return Values(array)
    parts = [
        np.zeros(len(part.array), np.bool_) if part.failed is None else part.failed
        for part in (after, before)
    ]
    return Values(array, np.concatenate(parts)[indexes])


def _column_type(arguments: Sequence[Expression]) -> pa.DataType:
    """Return the type of the column of a call's arguments."""
    types = [arrow_type(argument.type) for argument in arguments]
    if len(types) == 1:
        return types[0]
    return pa.struct([(str(index), each) for index, each in enumerate(types)])


def _collect(call: AggregateCall, column: pa.Array, start: Ints, end: Ints) -> Values:
    """Return the array of the values of each frame; NULL for one without values."""
    if call.ignore_nulls and column.null_count:
        present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        column = column.take(pa.array(present))
        start, end = np.searchsorted(present, start), np.searchsorted(present, end)
    sizes = end - start
    elements = column.take(pa.array(ranges(start, sizes)))
    offsets = pa.array(np.append(0, np.cumsum(sizes)), pa.int32())
    lists = pa.ListArray.from_arrays(
        offsets, elements, arrow_type(call.type), mask=pa.array(sizes == 0)
    )
    return Values(lists)


def _read(call: AggregateCall, column: pa.Array, start: Ints, end: Ints) -> Values:
    """Return the first, the n-th or the last value of each frame that is not NULL, with 0.0 for -0.0."""
    if call.function is AggregateFunction.ARRAY_AGG:
        return _collect(call, column, start, end)
    present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    if call.function is AggregateFunction.LAST_VALUE:
        number = np.searchsorted(present, end) - int(call.parameter or 1)
    else:
        number = np.searchsorted(present, start) + int(call.parameter or 1) - 1
    number = np.where(number < 0, len(present), np.minimum(number, len(present)))
    index = np.append(present, len(column))[number]
    absent = (index < start) | (index >= end)
    found = column.take(pa.array(index, mask=absent))
    if call.type.kind in FLOATING:
        found = pc.add(found, 0.0)
    elif call.type.contains(*FLOATING):
        found = to_arrow([canonical(value) for value in from_arrow(found, call.type)], call.type)
    return Values(found)


def _repeat(values: Values, indexes: Ints) -> Values:
    """Return the values of frames, one for each row."""
    failed = None if values.failed is None else values.failed[indexes]
    return Values(values.array.take(pa.array(indexes)), failed)


# The rows that frames hold, by slot: those in the frame of the last row of the slot.
#
# The rows are numbered, and the rows of a slot have consecutive numbers.  `FrameRows` has the methods of an
# accumulator that snapshots and undoing use: the state of a slot is a list for each column.


class SlotRows(NamedTuple):
    """The rows of some slots, slot by slot, and the number of rows of each slot; None for no rows."""

    sizes: Ints
    rows: Batch | None


def ranges(start: Ints, size: Ints) -> Ints:
    """Return the integers of ranges, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(size) - size
    return np.arange(int(size.sum())) + np.repeat(start - before, size)


class FrameRows:
    """The rows that each slot holds: their times, and arguments."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        """Begin without rows; `types` are those of the arguments."""
        self._types = types
        self._rows = NumberedRows()
        self._start = StateColumn()
        self._size = StateColumn()

    def grow(self, slots: int) -> None:
        """See `Accumulator`."""
        self._start.grow(slots)
        self._size.grow(slots)

    def clear(self, slots: Ints) -> None:
        """See `Accumulator`."""
        self._rows.forget(int(self._size.values[slots].sum()))
        self._size.values[slots] = 0

    def read(self, slots: Ints) -> Values:
        """Return the number of rows of each slot."""
        return Values(pa.array(self._size.values[slots]))

    def take(self, slots: Ints) -> SlotRows:
        """Return the rows of slots."""
        sizes = self._size.values[slots]
        numbers = ranges(self._start.values[slots], sizes)
        return SlotRows(sizes, self._rows.take(numbers) if len(numbers) else None)

    def put(self, slots: Ints, held: SlotRows) -> None:
        """Replace the rows of slots."""
        self.clear(slots)
        if held.rows is not None:
            first = int(self._rows.add(held.rows)[0])
            self._start.values[slots] = first + np.cumsum(held.sizes) - held.sizes
            self._size.values[slots] = held.sizes
        if self._rows.mostly_forgotten:
            self._renumber()

    def _renumber(self) -> None:
        """Drop the rows that no slot holds."""
        slots = np.flatnonzero(self._size.values)
        start, size = self._start.values[slots], self._size.values[slots]
        order = np.argsort(start)
        slots, start, size = slots[order], start[order], size[order]
        numbers = self._rows.renumber(ranges(start, size))
        if len(numbers):
            self._start.values[slots] = numbers[0] + np.cumsum(size) - size

    def save(self, slots: Ints) -> SlotRows:
        """See `Accumulator`."""
        return self.take(slots)

    def restore(self, slots: Ints, saved: SlotRows, kept: Ints) -> None:
        """See `Accumulator`."""
        sizes = saved.sizes[kept]
        if saved.rows is None or not sizes.any():
            self.clear(slots[kept])
            return
        start = np.cumsum(saved.sizes) - saved.sizes
        self.put(slots[kept], SlotRows(sizes, saved.rows.take(ranges(start[kept], sizes))))

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """See `Accumulator`: NULL for slots that hold nothing."""
        sizes, rows = self.take(slots)
        offsets = pa.array(np.append(0, np.cumsum(sizes)), pa.int32())
        if rows is None:
            flat = [pa.array([], pa.int64()), *(pa.array([], kind) for kind in self._types)]
        else:
            flat = [pa.array(rows.time), *map(decode_dictionary, rows.columns)]
        empty = pa.array(sizes == 0)
        return {
            name: pa.ListArray.from_arrays(offsets, column, mask=empty)
            for name, column in zip(self._names(), flat, strict=True)
        }

    def _names(self) -> list[str]:
        return ["time", *(f"argument{index}" for index in range(len(self._types)))]

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        """See `Accumulator`."""
        lists = [columns[name] for name in self._names()]
        sizes = lists[0].value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        time, *arguments = (each.flatten() for each in lists)
        if len(time):
            self.put(slots, SlotRows(sizes.astype(np.int64), rows_of(arguments, time.to_numpy())))


def rows_of(arguments: Sequence[pa.Array], time: Ints) -> Batch:
    """Return rows to hold."""
    return Batch(list(arguments), time, np.zeros(len(time), np.int64), ())
