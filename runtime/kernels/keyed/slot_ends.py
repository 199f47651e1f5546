"""When the state of a slot can be dropped: windows that close, groups that idle, groups without rows.

`Closings` has the close times of windows, `IdleSlots` the times of the last rows of groups, `EmptiedSlots`
the groups whose rows have all been removed.

"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.runtime.batch import PUNCTUATION, TIME_END, TIME_START, Root
from fsql.runtime.kernels.keyed.steps import StateColumn
from fsql.runtime.order import stable_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.compiler.graph import Closing
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.keyed.steps import Steps, Values


# The close times of the windows of a kernel's slots.
#
# A window that ends at e closes at the punctuation (close_time(e), PUNCTUATION); see `logical.close_time`.


COLUMN_BYTES_MAX: Final = 2**31 - 1
"""The maximum number of bytes of a column of texts or arrays: Arrow's offsets have 32 bits."""
_SLOTS_OF_PART: Final = 1 << 14
_BUFFERS_OF_NUMBERS: Final = 2


class ClosedColumns:
    """Counts the bytes of the rows of windows that close together, which become one batch."""

    def __init__(self) -> None:
        self._bytes: dict[int, int] = {}

    def add(self, columns: Sequence[pa.Array | pa.ChunkedArray]) -> None:
        """Count the bytes of a part of the rows.

        Raises:
            FsqlError: E507, if a column has more than `COLUMN_BYTES_MAX`.
        """
        for index, column in enumerate(columns):
            if column.type.num_buffers > _BUFFERS_OF_NUMBERS or pa.types.is_nested(column.type):
                self._bytes[index] = self._bytes.get(index, 0) + column.nbytes
            # Arrow returns several chunks if the values do not fit one array.
            if self._bytes.get(index, 0) > COLUMN_BYTES_MAX or isinstance(column, pa.ChunkedArray):
                message = (
                    f"windows that close together have more than {COLUMN_BYTES_MAX:,} bytes"
                    " in one column on one worker"
                )
                raise FsqlError([Diagnostic("E507", message, helps=(CODES["E507"].fix,))])


def split_slots(slots: Ints) -> Iterator[Ints]:
    """Yield the slots in parts whose rows probably fit one batch."""
    for start in range(0, len(slots), _SLOTS_OF_PART):
        yield slots[start : start + _SLOTS_OF_PART]


class Closings:
    """A heap of close times, the slots of each, and the close time of each slot."""

    hashed: int | None = None
    """How many of the key columns determine the owner of a slot; None for all."""

    def __init__(self, closing: Closing) -> None:
        self.window_end = closing.window_end
        self._delay = closing.delay_us
        self._grain = closing.grain_us
        self._times: list[int] = []
        self._slots: dict[int, list[Ints]] = {}
        self._time_of_slot = StateColumn()
        self._staged: dict[int, list[Ints]] = {}
        """The slots of windows that must not close yet, by close time."""

    def _close_times(self, ends: pa.Array) -> Ints:
        microseconds = ends.view(pa.int64()).to_numpy(zero_copy_only=False)
        return -(-microseconds // self._grain) * self._grain + self._delay

    def note(self, ends: pa.Array) -> None:
        """Record the ends of windows that may open."""
        if len(ends) == 0:
            return
        self._note_times(self._close_times(ends))

    def _note_times(self, times: Ints) -> None:
        for time in np.unique(times).tolist():
            self._note_time(time)

    def _note_time(self, time: int) -> None:
        if time not in self._slots:
            self._slots[time] = []
            heapq.heappush(self._times, time)

    def open(self, ends: pa.Array, slots: Ints) -> None:
        """Record the ends of the windows of new slots."""
        self._open(self._close_times(ends), slots, self._slots)

    def open_again(self, times: Ints, slots: Ints, position: Root) -> None:
        """Record the close times of the windows of new slots, given by `times`."""
        del position
        self._note_times(times)
        self._open(times, slots, self._slots)

    def stage(self, times: Ints, slots: Ints) -> None:
        """Record the close times of the windows of new slots, which do not close before `adopt`."""
        self._open(times, slots, self._staged)

    def adopt(self, position: Root) -> Ints:
        """Open the staged windows that close at or above `position`; return the slots of the others."""
        staged, self._staged = self._staged, {}
        closed = [np.empty(0, np.int64)]
        for time, parts in sorted(staged.items()):
            if Root(time, PUNCTUATION) < position:
                closed += parts
            else:
                self._note_time(time)
                self._slots[time] += parts
        return np.concatenate(closed)

    def forget_staged(self) -> None:
        """Forget the staged windows."""
        self._staged.clear()

    def times(self, slots: Ints) -> Ints:
        """Return the close times of the windows of open slots."""
        return self._time_of_slot.values[slots]

    def _open(self, times: Ints, slots: Ints, slots_of: dict[int, list[Ints]]) -> None:
        if len(slots) == 0:
            return
        self._time_of_slot.grow(int(slots.max()) + 1)
        self._time_of_slot.values[slots] = times
        order = stable_order(times)
        starts = starts_of_runs(times[order])
        for part in np.split(order, starts[1:]):
            slots_of.setdefault(int(times[part[0]]), []).append(slots[part])

    def forget(self, slots: Ints, marks: Bools) -> None:
        """Forget the windows of these slots, which are marked."""
        del slots
        for time, parts in self._slots.items():
            self._slots[time] = [kept for part in parts if len(kept := part[~marks[part]])]

    def least(self) -> Root | None:
        """Return the least punctuation that closes a window."""
        return Root(self._times[0], PUNCTUATION) if self._times else None

    def pop_below(self, bound: Root) -> list[tuple[int, Ints]]:
        """Remove and return the windows that close below `bound`, in the order of their closing."""
        popped = []
        while self._times and Root(self._times[0], PUNCTUATION) < bound:
            time = heapq.heappop(self._times)
            slots = self._slots.pop(time)
            if slots:
                popped.append((time, np.concatenate(slots)))
        return popped


# The end of slots without new rows for a time: `idle_us` of running and grouped aggregates.
#
# A slot **ends** when min time has passed the punctuation of the root time of its last row, plus `idle_us`
# and 1 microsecond: rows up to that time still belong to its group.  Ended slots are freed, which changes
# no result.  The time of the last row is part of the state of a slot, so undoing and snapshots have it as
# well.
#
# The times of checks are in a heap; a slot that has received rows in the meantime is checked again later.
# So a slot is checked at most once per `idle_us`, and once after its first row.


_NONE: Final = TIME_START - 1
"""The time of a slot without rows."""
_CHECKS_OF_IDLE: Final = 16
"""Checks are at multiples of `idle_us` divided by this, so that the heap contains few times."""


class IdleSlots:
    """The time of the last row of each slot: a state, with the methods of closings for `SlotSnapshots`."""

    def __init__(self, idle_us: int) -> None:
        self._idle_us = idle_us
        self._grain = max(idle_us // _CHECKS_OF_IDLE, 1)
        self._last = np.full(16, _NONE)
        self._times: list[int] = []
        self._slots: dict[int, list[Ints]] = {}
        self._staged: list[Ints] = []

    # The part of `UndoableState`.

    def grow(self, slots: int) -> None:
        if slots > len(self._last):
            self._last = np.append(self._last, np.full(2 * slots - len(self._last), _NONE))

    def clear(self, slots: Ints) -> None:
        self._last[slots] = _NONE

    def touch(self, times: Ints, steps: Steps) -> None:
        """Record the root times of rows that were applied, in the order of `steps`."""
        ends = np.append(steps.start[1:], steps.rows) - 1
        slots = steps.slots
        new = slots[self._last[slots] == _NONE]
        self._last[slots] = times[ends[steps.last]]
        if len(new):
            self._check_later(new)

    def save(self, slots: Ints) -> Ints:
        return self._last[slots]

    def restore(self, slots: Ints, saved: Ints, kept: Ints) -> None:
        self._last[slots[kept]] = saved[kept]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        times = self._last[slots]
        return {"time": pa.array(times, mask=times == _NONE)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        times = columns["time"].fill_null(_NONE).to_numpy(zero_copy_only=False)
        self._last[slots] = times

    # The part of closings.

    def times(self, slots: Ints) -> Ints:
        """Return the times at whose punctuation slots with rows end."""
        last = np.clip(self._last[slots], TIME_START, TIME_END - self._idle_us - 2)
        ends: Ints = last + (self._idle_us + 1)
        return ends

    def open_again(self, times: Ints, slots: Ints, position: Root) -> None:
        """Record slots whose state was loaded."""
        del times, position
        self._check_later(slots)

    def stage(self, times: Ints, slots: Ints) -> None:
        """Record slots whose state is staged; they do not end before `adopt`."""
        del times
        self._staged.append(slots)

    def adopt(self, position: Root) -> Ints:
        """Begin to check the staged slots; return those that have ended below `position`, or are empty."""
        slots = np.concatenate([np.empty(0, np.int64), *self._staged])
        self._staged = []
        ended = self._find_ended(slots, position)
        self._check_later(slots[~ended])
        return slots[ended]

    def forget_staged(self) -> None:
        """Forget the staged slots."""
        self._staged = []

    def take_ended(self, horizon: Root) -> Ints:
        """Return the slots that have ended below `horizon`, and those without rows, each once."""
        popped = []
        while self._times and Root(self._times[0], PUNCTUATION) < horizon:
            popped += self._slots.pop(heapq.heappop(self._times))
        if not popped:
            return np.empty(0, np.int64)
        slots = np.unique(np.concatenate(popped))
        ended = self._find_ended(slots, horizon)
        self._check_later(slots[~ended])
        return slots[ended]

    def _find_ended(self, slots: Ints, horizon: Root) -> Bools:
        times = self.times(slots)
        ended: Bools = times < horizon.time
        if horizon.origin > PUNCTUATION:
            ended |= times == horizon.time
        return ended | (self._last[slots] == _NONE)

    def _check_later(self, slots: Ints) -> None:
        """Check slots again at the time when they may have ended."""
        if not len(slots):
            return
        times = self.times(slots)
        times += -times % self._grain
        order = stable_order(times)
        for part in np.split(order, starts_of_runs(times[order])[1:]):
            time = int(times[part[0]])
            if time not in self._slots:
                self._slots[time] = []
                heapq.heappush(self._times, time)
            self._slots[time].append(slots[part])


# The slots of groups without rows, which can be freed.
#
# A slot can be freed when its group has no row and no undo refers to it: everything applied to it is then
# final, and its rows have cancelled out.  Slots are checked when a row is finally removed and when an undo is
# discarded, so the cost is proportional to the changes.


class CountsRows(Protocol):
    """A state that counts the rows of each slot."""

    def read(self, slots: Ints) -> Values:
        """Return the number of rows of each of the slots."""


class EmptiedSlots:
    """Slots that may be freed soon, and the number of undos that refer to each slot."""

    def __init__(self) -> None:
        self._undos = StateColumn()
        self._noted: list[Ints] = []

    def on_apply(self, slots: Ints, *, undoable: bool) -> None:
        """Record an application to slots, which are distinct."""
        if undoable:
            self._undos.grow(int(slots.max()) + 1)
            self._undos.values[slots] += 1
        else:
            self._noted.append(slots)

    def on_settle(self, slots: Ints) -> None:
        """Record that the undo of an application to these slots was discarded."""
        self._undos.values[slots] -= 1
        self._noted.append(slots)

    def take(self, rows: CountsRows) -> Ints:
        """Return the slots that can be freed, ascending, each once; `rows` counts the rows of each slot."""
        if not self._noted:
            return np.empty(0, np.int64)
        slots, self._noted = np.concatenate(self._noted), []
        slots = slots[rows.read(slots).array.to_numpy() == 0]
        if len(slots):
            self._undos.grow(int(slots.max()) + 1)
        return np.unique(slots[self._undos.values[slots] == 0])
