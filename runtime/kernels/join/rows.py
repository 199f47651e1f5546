"""The rows that a join has: for each side, runs sorted by slot, which are merged as they grow.

Each row is moved a logarithmic number of times.  Rows of an application that may be taken back are
**pending**; when they are final they **settle**.  Rows that no later row can meet any more are dropped when
runs are merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import PUNCTUATION, TIME_START
from fsql.runtime.kernels.keyed.kernel import Slotted, joined_rows
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.order import stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.compiler.graph import CombineJoin
    from fsql.runtime.batch import Batch, Root

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

_Time = TypeVar("_Time", int, "NDArray[np.int64]")

LEFT, RIGHT = 0, 1


@dataclass(slots=True, eq=False)
class Stored:
    """The rows that one application stored, for each side; they settle when they are final."""

    sides: list[Slotted | None]

    def forget(self, affected: Bools) -> None:
        """Forget the rows of the slots that are marked."""
        for side, rows in enumerate(self.sides):
            if rows is not None:
                kept = np.flatnonzero(~affected[rows.slot])
                self.sides[side] = Slotted(rows.batch.take(kept), rows.slot[kept])


class JoinRows:
    """The rows of both sides.  Their columns: keys, then the input's."""

    def __init__(self, combine: CombineJoin) -> None:
        self.table = SlotTable()
        self._combine = combine
        self._keys = len(combine.left_keys)
        self._settled: tuple[list[Slotted], list[Slotted]] = ([], [])
        self._pending: list[Stored] = []
        self._bound: int | None = None

    def stored(self, side: int) -> list[Slotted]:
        """Return the runs of a side."""
        return [*self._settled[side], *self.pending(side)]

    def pending(self, side: int) -> list[Slotted]:
        """Return the runs of a side that have not settled."""
        runs = [stored.sides[side] for stored in self._pending]
        return [run for run in runs if run is not None]

    def add(self, stored: Stored) -> None:
        """Add rows that have yet to settle."""
        self._pending.append(stored)

    def remove(self, stored: Stored) -> None:
        """Have rows that were to settle no more."""
        self._pending.remove(stored)

    def settle(self, stored: Stored) -> None:
        """Have rows for good."""
        merged = [
            self._store(side, rows) for side, rows in enumerate(stored.sides) if rows is not None
        ]
        if any(merged):
            self._forget_slots()

    def rows(self) -> int:
        """Return how many rows there are."""
        return sum(len(run.slot) for side in (LEFT, RIGHT) for run in self.stored(side))

    def expire(self, horizon: Root) -> None:
        """Learn that no row below `horizon` will come any more."""
        if self._combine.time_range is not None:
            # At a punctuation, rows of the microsecond before are said to come still; as for windows.
            time = horizon.time if horizon.origin > PUNCTUATION else horizon.time - 1
            least = TIME_START + self._combine.delay_us + self._combine.grain_us
            self._bound = self.watermark(max(time, least))

    def event_time(self, batch: Batch, column: int) -> Ints:
        """Return a column of the input as microseconds."""
        values = batch.columns[self._keys + column]
        return values.view(pa.int64()).to_numpy(zero_copy_only=False)

    def watermark(self, time: _Time) -> _Time:
        """Return the watermark at positions of a time, or of some."""
        grain = self._combine.grain_us
        return (time - self._combine.delay_us) // grain * grain

    def expires(self, side: int, batch: Batch) -> Ints:
        """Return the times behind whose punctuation no row can meet these rows any more."""
        grain = self._combine.grain_us
        return (self._reach(side, batch) // grain + 1) * grain + self._combine.delay_us

    def _reach(self, side: int, batch: Batch) -> Ints:
        """Return the greatest watermark at which rows can be met."""
        bounds = self._combine.time_range
        assert bounds is not None
        if side == LEFT:
            return self.event_time(batch, bounds.left_time) + bounds.high_us
        return self.event_time(batch, bounds.right_time) - bounds.low_us

    def _store(self, side: int, run: Slotted) -> bool:
        """Add a run, merged with those behind it that are not at least twice as long, if any."""
        runs = self._settled[side]
        merging = [run]
        size = len(run.slot)
        while runs and len(runs[-1].slot) < 2 * size:
            merging.insert(0, runs.pop())
            size += len(merging[0].slot)
        if len(merging) > 1:
            run = self._merged(side, merging)
        if len(run.slot):
            runs.append(run)
        return len(merging) > 1

    def _merged(self, side: int, runs: list[Slotted]) -> Slotted:
        merged = joined_rows(runs)
        assert merged is not None
        merged = sorted_run(merged)
        kept = np.arange(len(merged.slot))
        if self._bound is not None:
            kept = np.flatnonzero(self._reach(side, merged.batch) >= self._bound)
        if len(kept) == len(merged.slot):
            return merged
        return Slotted(merged.batch.take(kept), merged.slot[kept])

    def _forget_slots(self) -> None:
        """Free slots that no stored row has, once they are the most."""
        runs = [run.slot for side in (LEFT, RIGHT) for run in self.stored(side)]
        if self.table.live > 1024 + 2 * sum(map(len, runs)):
            used = np.zeros(len(self.table), np.bool_)
            for slots in runs:
                used[slots] = True
            self.table.free_all_but(used)


def sorted_run(rows: Slotted) -> Slotted:
    """Return the rows sorted by slot, those of a slot in their given order."""
    if len(rows.slot) == 1:
        return rows
    order = stable_order(rows.slot)
    return Slotted(rows.batch.take(order), rows.slot[order])
