"""Frames of running aggregates that begin a number of rows or a time before each row, or end with peers.

The frame of a row is the frame before it, without the rows that leave and with those that enter.  So an
accumulator that can be retracted from gives the aggregates: it has the frame of the last row of each slot,
and the rows of that frame are held, because they will leave.

    times   1  2  2  5        RANGE 3 PRECEDING     enter 1;  enter 2 and 2;  leave 1, enter 5
                              ROWS 1 PRECEDING      enter 1;  enter 2;  leave 1, enter 2;  leave 2, enter 5

Rows of one time are peers: they have one root, so they come together, and RANGE has one frame for them.
FIRST_VALUE, LAST_VALUE, NTH_VALUE and LAG have no accumulator: they are read from the rows that are held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.sqltypes import FLOATING
from fsql.runtime.arrow_types import arrow_type, from_arrow, to_arrow
from fsql.runtime.kernels.aggregate.accumulators import Accumulator, accumulator, by_total_order
from fsql.runtime.kernels.aggregate.frame_rows import FrameRows, Held, ranges, rows_of
from fsql.runtime.kernels.aggregate.ordered_values import canonical
from fsql.runtime.kernels.aggregate.steps import Steps, Values
from fsql.runtime.order import concat, concat_arrays, plain, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import AggregateCall
    from fsql.runtime.batch import Batch

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


class _Together(NamedTuple):
    """The rows that slots hold and the new ones after them, slot after slot.

    `first` and `end` are the places of the rows of each slot, `held` how many of them are not new; `new`
    has the places of the new rows, and `group` for each of them its slot's index.
    """

    rows: Batch
    first: Ints
    end: Ints
    held: Ints
    new: Ints
    group: Ints


class _Events(NamedTuple):
    """The rows that leave and enter, their weights (None if all enter), and the frames that change as steps.

    `places` has for each frame the last step, or the number of steps and its slot's index if there is none
    up to it; None if each frame is a step.
    """

    rows: Ints
    weights: Ints | None
    steps: Steps
    places: Ints | None


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
        arguments = dict.fromkeys(call.argument for call in calls if call.argument is not None)
        self.arguments = list(arguments)
        """The arguments whose columns `add` takes."""
        self._argument_of = [
            None if call.argument is None else self.arguments.index(call.argument) for call in calls
        ]
        self.accumulators: list[Accumulator | None] = [
            None
            if preceding is not None and by_total_order(call)
            else accumulator(call, append_only=preceding is None)
            for call in calls
        ]
        """The accumulators of the calls; None for those that are read from the rows."""
        self.rows = None
        if preceding is not None or not by_time:
            self.rows = FrameRows([arrow_type(argument.type) for argument in self.arguments])

    def add(self, columns: Sequence[pa.Array], time: Ints | None, rows: Steps) -> list[Values]:
        """Add rows, each of which is a step; return the values of each call, one for each row."""
        if time is None:
            time = np.zeros(rows.rows, np.int64)
        together = self._together(rows_of(columns, time), rows)
        step = np.arange(rows.rows)
        if self._by_time:
            step = starts_of_runs(together.group, time)
        start, end = self._bounds(together, step)
        group = together.group[step]
        first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        events = None
        if any(one is not None for one in self.accumulators):
            steps = Steps(step, len(step), rows.slots[group], first)
            events = _events(*self._last_frames(together), start, end, steps)
        values = []
        for call, one, index in zip(self._calls, self.accumulators, self._argument_of, strict=True):
            column = None if index is None else together.rows.columns[index]
            if one is None:
                assert column is not None
                values.append(_read(call, plain(column), start, end))
                continue
            assert events is not None
            given = None if column is None else column.take(pa.array(events.rows))
            values.append(_added(one, given, events, rows.slots))
        last = np.append(first[1:], len(step)) - 1
        self._hold(together, start[last], end[last], rows.slots)
        if len(step) == rows.rows:
            return values
        sizes = np.diff(np.append(step, rows.rows))
        return [_repeated(each, np.repeat(np.arange(len(step)), sizes)) for each in values]

    def _together(self, new: Batch, rows: Steps) -> _Together:
        sizes = np.diff(np.append(rows.first, rows.rows))
        group = np.repeat(np.arange(len(sizes)), sizes)
        if self.rows is None:
            none = np.zeros(len(sizes), np.int64)
            return _Together(new, rows.first, rows.first + sizes, none, np.arange(len(new)), group)
        held = self.rows.take(rows.slots)
        end = np.cumsum(held.sizes + sizes)
        place_of_new = ranges(end - sizes, sizes)
        every = new
        if held.rows is not None:
            order = np.empty(len(held.rows) + len(new), np.int64)
            order[ranges(end - sizes - held.sizes, held.sizes)] = np.arange(len(held.rows))
            order[place_of_new] = np.arange(len(held.rows), len(order))
            every = concat([held.rows, new]).take(order)
        return _Together(every, end - sizes - held.sizes, end, held.sizes, place_of_new, group)

    def _bounds(self, together: _Together, step: Ints) -> tuple[Ints, Ints]:
        """Return where the frames of new rows begin and end; `step` are the first of each frame."""
        index, group = together.new[step], together.group[step]
        first = together.first[group]
        if not self._by_time:
            return self._bounds_by_rows(index, first)
        following = np.append(index[1:], 0)
        last = np.append(group[1:] != group[:-1], True)
        end = np.where(last, together.end[group], following)
        if self._preceding is None:
            return first, end
        return self._place_of_time(together, index, group), end

    def _bounds_by_rows(self, index: Ints, first: Ints) -> tuple[Ints, Ints]:
        """Return where the frames of rows begin and end; `first` are the first rows of their slots."""
        row = index - self._behind
        end = np.where(row < first, first, np.maximum(row + 1 - self._end_preceding, first))
        if self._preceding is None:
            return first, end
        return np.clip(row - self._preceding, first, end), end

    def _last_frames(self, together: _Together) -> tuple[Ints, Ints]:
        """Return where the frame begins and ends that the accumulators of each slot have."""
        first, held = together.first, together.held
        if self._by_time:
            return first, first + held
        # Of a slot without rows, `place` is before its first, so its frame is empty.
        return self._bounds_by_rows(first + held - 1, first)

    def _place_of_time(self, together: _Together, index: Ints, group: Ints) -> Ints:
        """Return the first row of the slot that is not too long before each row; times ascend in a slot."""
        assert self._preceding is not None
        time = together.rows.time
        wanted = time[index] - self._preceding
        distinct, rank = np.unique(np.concatenate([time, wanted]), return_inverse=True)
        slot_of_row = np.repeat(np.arange(len(together.first)), together.end - together.first)
        # One search for all slots: ranks are offset by slot.
        keys = slot_of_row * len(distinct) + rank[: len(time)]
        return np.searchsorted(keys, group * len(distinct) + rank[len(time) :], "left")

    def _hold(self, together: _Together, start: Ints, end: Ints, slots: Ints) -> None:
        """Hold the rows from where the frames of the last rows begin, or from the row that has the frame."""
        if self.rows is not None:
            if not self._by_time:
                leaves = end if self._preceding is None else start
                start = np.minimum(leaves, together.end - 1 - self._behind)
                start = np.maximum(start, together.first)
            sizes = together.end - start
            self.rows.put(slots, Held(sizes, together.rows.take(ranges(start, sizes))))


def _events(start_before: Ints, end_before: Ints, start: Ints, end: Ints, frames: Steps) -> _Events:
    """Return the rows that leave and enter with each frame; before are the last frames of slots."""
    first = frames.first
    left, entered = np.empty_like(start), np.empty_like(end)
    left[1:], entered[1:] = start[:-1], end[:-1]
    left[first], entered[first] = start_before, end_before
    leaving, entering = start - left, end - entered
    size = leaving + entering
    indexes, slot = None, frames.slot
    if not size.all():
        changes = np.flatnonzero(size)
        indexes = _places(size > 0, frames)
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


def _places(changes: Bools, frames: Steps) -> Ints:
    """Return the `places` of `_Events`, from which frames change."""
    number = np.cumsum(changes)
    before = frames.of_slots((number - changes)[frames.first])
    return np.where(number > before, number - 1, int(number[-1]) + frames.group)


def _added(one: Accumulator, values: pa.Array | None, events: _Events, slots: Ints) -> Values:
    """Add what leaves and enters; return the aggregate of each frame."""
    if events.places is None:
        return one.add(values, events.weights, events.steps)
    before = one.read(slots)
    if not events.steps.rows:
        return chosen(before, before, events.places)
    return chosen(one.add(values, events.weights, events.steps), before, events.places)


def chosen(after: Values, before: Values, indexes: Ints) -> Values:
    """Return values by index in `after` followed by `before`."""
    array = concat_arrays([after.array, before.array]).take(pa.array(indexes))
    if after.failed is None and before.failed is None:
        return Values(array)
    parts = [
        np.zeros(len(part.array), np.bool_) if part.failed is None else part.failed
        for part in (after, before)
    ]
    return Values(array, np.concatenate(parts)[indexes])


def _read(call: AggregateCall, column: pa.Array, start: Ints, end: Ints) -> Values:
    """Return the first, the n-th or the last value of each frame that is not NULL, with 0.0 for -0.0."""
    present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    if call.function is AggregateFunction.LAST_VALUE:
        number = np.searchsorted(present, end) - 1
    else:
        number = np.searchsorted(present, start) + int(call.parameter or 1) - 1
    index = np.append(present, len(column))[np.clip(number, 0, len(present))]
    absent = (index < start) | (index >= end)
    found = column.take(pa.array(index, mask=absent))
    if call.type.kind in FLOATING:
        found = pc.add(found, 0.0)
    elif call.type.contains(*FLOATING):
        found = to_arrow([canonical(value) for value in from_arrow(found, call.type)], call.type)
    return Values(found)


def _repeated(values: Values, indexes: Ints) -> Values:
    """Return the values of frames, one for each row."""
    failed = None if values.failed is None else values.failed[indexes]
    return Values(values.array.take(pa.array(indexes)), failed)
