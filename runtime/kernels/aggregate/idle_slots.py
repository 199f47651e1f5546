"""The end of slots without new rows for a time: `idle_us` of running and grouped aggregates.

A slot **ends** when min time has passed the punctuation of the root time of its last row, plus `idle_us` and
1 microsecond: rows up to that time still belong to its group.  Ended slots are freed, which changes no
result.  The time of the last row is part of the state of a slot, so undoing and snapshots have it as well.

The times of checks are in a heap; a slot that has received rows in the meantime is checked again later. So a
slot is checked at most once per `idle_us`, and once after its first row.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import PUNCTUATION, TIME_END, TIME_START, Root
from fsql.runtime.order import stable_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.aggregate.steps import Steps


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

    def open_again(self, times: Ints, slots: Ints) -> None:
        """Record slots whose state was loaded."""
        del times
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
