"""Which slices join the windows of their keys when, and which leave them.

The windows of a key that contain a slice end at `first`, `first + slide`, … `last`.  The slice **enters** the
running total of its key before the window at `first` closes, and **leaves** it after that at `last`:

    slide 1            slice     first  last        closes    enters   leaves after it
    size 3             [0, 1)    1      3           1         [0, 1)
                       [1, 2)    2      4           2         [1, 2)
                       [2, 3)    3      5           3         [2, 3)   [0, 1)

All rows of a slice are below the punctuation of its first window: rows that come after it form another slice,
with a later `first`.  So a slice that has entered never changes.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from fsql.compiler.logical import close_time
from fsql.compiler.sqltypes import TIMESTAMP_MAX
from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.kernels.keyed.slot_ends import Closings
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.kernels.keyed.steps import StateColumn
from fsql.runtime.order import stable_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from fsql.compiler.graph import SliceClosing
    from fsql.runtime.arrays import Bools, Ints

NEVER_CLOSED: Final = -(2**62)
"""Before the end of any window."""
_NO_KEY: Final = -1
_NONE: Final = np.empty(0, np.int64)


class ClosedWindows(NamedTuple):
    """The windows that close, by key and end: `keys` has the number of the key of each, `ends` its end.

    `entering` and `leaving` are the slots that join and leave the running totals of their keys.
    """

    keys: Ints
    ends: Ints
    entering: Ints
    leaving: Ints


class _ByEnd:
    """Slots by the end of a window, in a heap."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._slots: dict[int, list[Ints]] = {}

    def add(self, ends: Ints, slots: Ints) -> None:
        if len(slots) == 0:
            return
        order = stable_order(ends)
        starts = starts_of_runs(ends[order])
        for part in np.split(order, starts[1:]):
            end = int(ends[part[0]])
            if end not in self._slots:
                self._slots[end] = []
                heapq.heappush(self._ends, end)
            self._slots[end].append(slots[part])

    def least(self) -> int | None:
        return self._ends[0] if self._ends else None

    def pop(self, bound: int) -> Ints:
        """Remove and return the slots of ends up to `bound`, in the order of the ends."""
        parts = [_NONE]
        while self._ends and self._ends[0] <= bound:
            parts += self._slots.pop(heapq.heappop(self._ends))
        return np.concatenate(parts)

    def forget(self, marks: Bools) -> None:
        for end, parts in self._slots.items():
            self._slots[end] = [kept for part in parts if len(kept := part[~marks[part]])]


class OpenSlices(Closings):
    """The slices of all slots, and the keys with slices, which have numbers.

    The last two key columns of `table` are the ends of the first and the last window of a slice; those before
    are the **partition**, the key of the windows.  `keys` has its numbers.
    """

    def __init__(self, closing: SliceClosing, partition: int) -> None:
        """Begin without slices; the keys of windows are the first `partition` key columns of slots."""
        super().__init__(closing)
        self.hashed = partition
        self.keys = SlotTable()
        self._slide = closing.slide_us
        self._offset = closing.end_offset_us
        self._table: SlotTable | None = None
        self._key_types: Sequence[pa.DataType] = ()
        self._first, self._last, self._key = StateColumn(), StateColumn(), StateColumn()
        self._entering, self._leaving = _ByEnd(), _ByEnd()
        self._reached = np.full(16, NEVER_CLOSED)
        """For each key the end up to which its windows have closed."""
        self._until = np.full(16, NEVER_CLOSED)
        """For each key the end of the last window of the slices that have entered."""
        self._count = StateColumn()
        """For each key how many slices it has."""
        self._active = _NONE
        """The keys that have windows to come from slices that have entered."""
        self._next_of_active: int | None = None
        self._staged_slots: list[Ints] = []

    def bind(
        self, table: SlotTable, key_types: Sequence[pa.DataType], freed: Callable[[Ints], None]
    ) -> None:
        """Set the table of the slots, and the types of its keys; `freed` takes keys without slices."""
        self._table, self._key_types, self._freed = table, key_types, freed

    @property
    def partition_types(self) -> Sequence[pa.DataType]:
        """Return the types of the keys of windows."""
        return self._key_types[:-2]

    def open_slices(self, keys: Sequence[pa.Array], slots: Ints) -> None:
        """Record the slices of new slots with these keys."""
        self._place(keys, slots, NEVER_CLOSED)

    def _place(self, keys: Sequence[pa.Array], slots: Ints, closed_to: int) -> None:
        if len(slots) == 0:
            return
        first, last = (_integers(column) for column in keys[-2:])
        # A slice whose first windows have closed enters before the next one.
        first = np.maximum(first, self._next_end(closed_to))
        numbers = self.keys.find(keys[:-2], len(slots)).slots
        size = len(self.keys)
        if size > len(self._reached):
            more = np.full(2 * size - len(self._reached), NEVER_CLOSED)
            self._reached = np.append(self._reached, more)
            self._until = np.append(self._until, more)
        self._count.grow(size)
        np.add.at(self._count.values, numbers, 1)
        np.maximum.at(self._reached, numbers, closed_to)
        top = int(slots.max()) + 1
        for column, values in (
            (self._first, first),
            (self._last, last),
            (self._key, numbers),
        ):
            column.grow(top)
            column.values[slots] = values
        self._entering.add(first, slots)

    def keys_of(self, slots: Ints) -> Ints:
        """Return the number of the key of each slot."""
        return self._key.values[slots]

    def first_ends(self, slots: Ints) -> Ints:
        """Return the end of the window before which each slot enters."""
        return self._first.values[slots]

    def last_ends(self, slots: Ints) -> Ints:
        """Return the end of the last window of each slot."""
        return self._last.values[slots]

    def times(self, slots: Ints) -> Ints:
        """Return the close times of the last windows of slots."""
        return self.close_times(self._last.values[slots])

    def close_times(self, ends: Ints) -> Ints:
        """Return the close times of windows that end at `ends`."""
        return -(-ends // self._grain) * self._grain + self._delay

    def note(self, ends: pa.Array) -> None:
        """Do nothing: windows without a slot need no punctuation."""

    def open_again(self, times: Ints, slots: Ints, position: Root) -> None:
        """Record slots whose state as of `position` was loaded."""
        del times
        self._place_as_of(position, slots)

    def _place_as_of(self, position: Root, slots: Ints) -> None:
        assert self._table is not None
        self._place(self._table.keys(slots, self._key_types), slots, self._closed_below(position))

    def _closed_below(self, position: Root) -> int:
        """Return the greatest time up to which windows end whose punctuations are below `position`."""
        time = position.time - (position.origin <= PUNCTUATION)
        return max(min((time - self._delay) // self._grain * self._grain, 2**61), NEVER_CLOSED)

    def stage(self, times: Ints, slots: Ints) -> None:
        """Record slots whose state is staged."""
        del times
        self._staged_slots.append(slots)

    def adopt(self, position: Root) -> Ints:
        """Begin with the staged slots as of `position`; return those of which all windows closed below it."""
        assert self._table is not None
        staged = np.concatenate([_NONE, *self._staged_slots])
        self._staged_slots = []
        if len(staged) == 0:
            return staged
        last = _integers(self._table.keys(staged, self._key_types)[-1])
        open_still = last > self._closed_below(position)
        self._place_as_of(position, staged[open_still])
        return staged[~open_still]

    def forget_staged(self) -> None:
        """Forget the staged slots."""
        self._staged_slots = []

    def forget(self, slots: Ints, marks: Bools) -> None:
        """Forget the slices of these slots, which are marked."""
        self._entering.forget(marks)
        self._leaving.forget(marks)
        self._staged_slots = [part[~marks[part]] for part in self._staged_slots]
        self._key.grow(int(slots.max(initial=-1)) + 1)
        self.release_keys(slots[self._key.values[slots] != _NO_KEY])

    def least(self) -> Root | None:
        """Return the least punctuation that closes a window."""
        ends = [end for end in (self._entering.least(), self._next_of_active) if end is not None]
        if not ends:
            return None
        return Root(close_time(min(ends), self._delay, self._grain), PUNCTUATION)

    def close(self, bound: Root) -> ClosedWindows | None:
        """Close the windows whose punctuation is below `bound`; None if there are none."""
        reach = min(self._closed_below(bound), TIMESTAMP_MAX + self._slide)
        entering = self._entering.pop(reach)
        if not len(entering) and (self._next_of_active is None or self._next_of_active > reach):
            return None
        self._leaving.add(self._last.values[entering], entering)
        leaving = self._leaving.pop(reach)
        return ClosedWindows(*self._windows(entering, reach), entering, leaving)

    def _windows(self, entering: Ints, reach: int) -> tuple[Ints, Ints]:
        """Return the keys and the ends of the windows up to `reach`, by key and end, and advance to it."""
        new = self._key.values[entering]
        keys = np.concatenate([self._active, new])
        next_ends = self._next_end(self._reached[keys])
        since = np.concatenate([_NONE, next_ends])
        since[len(self._active) :] = np.maximum(
            since[len(self._active) :], self._first.values[entering]
        )
        until = np.concatenate([self._until[self._active], self._last.values[entering]])
        np.maximum.at(self._until, new, self._last.values[entering])
        order = np.lexsort((since, keys))
        keys, since, until = keys[order], since[order], until[order]
        before = _greatest_before(keys, until)
        since = np.maximum(since, before + self._slide)
        last = np.minimum(until, self._greatest_end(reach))
        counts = np.maximum((last - since) // self._slide + 1, 0)
        ordinal = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        ends = np.repeat(since, counts) + ordinal * self._slide
        distinct = keys[starts_of_runs(keys)] if len(keys) else keys
        self._reached[distinct] = np.maximum(self._reached[distinct], reach)
        self._set_active(distinct[self._until[distinct] > self._reached[distinct]])
        return np.repeat(keys, counts), ends

    def _set_active(self, keys: Ints) -> None:
        self._active = keys
        self._next_of_active = None
        if len(keys):
            self._next_of_active = int(self._next_end(self._reached[keys]).min())

    def _next_end(self, ends: Any) -> Any:  # noqa: ANN401 - integers, or one
        """Return the least end of a window after each of some times."""
        return (ends - self._offset) // self._slide * self._slide + (self._offset + self._slide)

    def _greatest_end(self, time: int) -> int:
        """Return the greatest end of a window up to a time."""
        return (time - self._offset) // self._slide * self._slide + self._offset

    def release_keys(self, slots: Ints) -> Ints:
        """Forget which keys slots have; return the keys without other slots, whose numbers are free."""
        keys = self._key.values[slots]
        self._key.values[slots] = _NO_KEY
        np.subtract.at(self._count.values, keys, 1)
        gone = np.unique(keys)
        gone = gone[self._count.values[gone] == 0]
        if len(gone):
            self._reached[gone] = self._until[gone] = NEVER_CLOSED
            self._set_active(self._active[~np.isin(self._active, gone)])
            self.keys.free(gone)
            self.keys.recycle(self.keys.take_retired())
            self._freed(gone)
        return gone


def _integers(column: pa.Array) -> Ints:
    values: Ints = column.view("int64").to_numpy(zero_copy_only=False)
    return values


def _greatest_before(keys: Ints, values: Ints) -> Ints:
    """Return the greatest value of the same key in earlier rows, `NEVER_CLOSED` for the first of a key."""
    if len(keys) == 0:
        return keys
    distinct, ranks = np.unique(values, return_inverse=True)
    starts = starts_of_runs(keys)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(keys))))
    below = group * len(distinct)
    greatest = distinct[np.maximum.accumulate(ranks + below) - below]
    before = np.empty_like(values)
    before[1:] = greatest[:-1]
    before[starts] = NEVER_CLOSED
    return before
