"""The close times of the windows of a kernel's slots.

A window that ends at e closes at the punctuation (close_time(e), PUNCTUATION); see `logical.close_time`.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.kernels.aggregate.state_column import StateColumn
from fsql.runtime.order import stable_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.graph import Closing
    from fsql.runtime.arrays import Bools, Ints


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

    def open_again(self, times: Ints, slots: Ints) -> None:
        """Record the close times of the windows of new slots, given by `times`."""
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

    def forget(self, marks: Bools) -> None:
        """Forget the windows of the slots that are marked."""
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
