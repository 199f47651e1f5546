"""The stored rows of a join: for each side, runs sorted by slot, which are merged as they grow.

If the join has a time range, the rows of a slot are sorted by event time, otherwise by position.  Each row
is moved a logarithmic number of times.  Rows of an application that may be undone are **pending**; they
**settle** when they are final.  Rows that no later row can join with are dropped when runs are merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from fsql.compiler.records import dataclass
from fsql.runtime.batch import PUNCTUATION, TIME_START
from fsql.runtime.kernels.join.keyed_join import LEFT, RIGHT
from fsql.runtime.kernels.keyed.kernel import KeyedRows, filter_rows, merge_rows
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.order import lexicographic_order, stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.compiler.graph import CombineJoin
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Batch, Root


_Time = TypeVar("_Time", int, "NDArray[np.int64]")


@dataclass(slots=True, eq=False)
class StoredRows:
    """The rows that one application stored for each side; they settle when they are final."""

    sides: list[KeyedRows | None]

    def forget(self, affected: Bools) -> None:
        """Forget the rows of the slots that are marked."""
        for side, rows in enumerate(self.sides):
            if rows is not None:
                kept = np.flatnonzero(~affected[rows.slot])
                self.sides[side] = KeyedRows(rows.batch.take(kept), rows.slot[kept])


class JoinRows:
    """The rows of both sides.  Their columns: keys, then those of the input."""

    def __init__(self, combine: CombineJoin) -> None:
        self.table = SlotTable()
        self._combine = combine
        self._keys = len(combine.left_keys)
        self._settled: tuple[list[KeyedRows], list[KeyedRows]] = ([], [])
        self._pending: list[StoredRows] = []
        self._bound: int | None = None

    def runs(self, side: int) -> list[KeyedRows]:
        """Return the runs of a side."""
        return [*self._settled[side], *self.pending(side)]

    def pending(self, side: int) -> list[KeyedRows]:
        """Return the runs of a side that have not settled."""
        runs = [stored.sides[side] for stored in self._pending]
        return [run for run in runs if run is not None]

    def add(self, stored: StoredRows) -> None:
        """Add rows that are not final."""
        self._pending.append(stored)

    def remove(self, stored: StoredRows) -> None:
        """Remove rows that are not final."""
        self._pending.remove(stored)

    def settle(self, stored: StoredRows) -> None:
        """Make rows final."""
        merged = [
            self._store(side, rows) for side, rows in enumerate(stored.sides) if rows is not None
        ]
        if any(merged):
            self._forget_slots()

    def drop(self, marks: Bools) -> None:
        """Drop the rows of the slots that are marked."""
        for runs in self._settled:
            kept = [filter_rows(run, ~marks[run.slot]) for run in runs]
            runs[:] = [run for run in kept if run is not None]
        for stored in self._pending:
            stored.forget(marks)

    def rows(self) -> int:
        """Return the number of rows."""
        return sum(len(run.slot) for side in (LEFT, RIGHT) for run in self.runs(side))

    def expire(self, horizon: Root) -> None:
        """Drop the rows that can only join with rows below `horizon`, none of which can arrive."""
        if self._combine.time_range is not None:
            # As for windows, rows of the microsecond before a punctuation can still arrive.
            time = horizon.time if horizon.origin > PUNCTUATION else horizon.time - 1
            least = TIME_START + self._combine.delay_us + self._combine.grain_us
            self._bound = self.watermark(max(time, least))

    def run_order(self, side: int, rows: KeyedRows) -> Ints:
        """Return the order of a run: by slot, then by event time if there is a time range."""
        if self._combine.time_range is None:
            return stable_order(rows.slot)
        order = lexicographic_order([rows.slot, self._event_time(side, rows.batch)])
        return np.arange(len(rows.slot)) if order is None else order

    def sorted_run(self, side: int, rows: KeyedRows) -> KeyedRows:
        """Return rows as a run."""
        order = self.run_order(side, rows)
        return KeyedRows(rows.batch.take(order), rows.slot[order])

    def range(self, side: int, rows: KeyedRows, run: KeyedRows) -> tuple[Ints, Ints]:
        """Return for each row of a side the range of rows in a run of the other side that it joins with.

        They have its key, and are within the time range: from `low`, inclusive, to `high`, exclusive.
        """
        low = run.slot.searchsorted(rows.slot, "left")
        high = run.slot.searchsorted(rows.slot, "right")
        bounds = self._combine.time_range
        if bounds is None:
            return low, high
        time = self._event_time(side, rows.batch)
        # The watermark must not be beyond the greatest time that the earlier row can match.
        since = np.maximum(time, self.watermark(rows.batch.time))
        if side == LEFT:
            least, greatest = since + bounds.low_us, time + bounds.high_us
        else:
            least, greatest = since - bounds.high_us, time - bounds.low_us
        times = self._event_time(1 - side, run.batch)
        first = _bisect(times, low, high, least)
        return first, _bisect(times, first, high, greatest + 1)

    def _event_time(self, side: int, batch: Batch) -> Ints:
        """Return the time column of a side's rows as microseconds."""
        bounds = self._combine.time_range
        assert bounds is not None
        column = bounds.left_time if side == LEFT else bounds.right_time
        values = batch.columns[self._keys + column]
        return values.view(pa.int64()).to_numpy(zero_copy_only=False)

    def watermark(self, time: _Time) -> _Time:
        """Return the watermark at positions of one time, or of several."""
        grain = self._combine.grain_us
        return (time - self._combine.delay_us) // grain * grain

    def expires(self, side: int, batch: Batch) -> Ints:
        """Return the times after whose punctuation no row can join with these rows."""
        grain = self._combine.grain_us
        return (self._reach(side, batch) // grain + 1) * grain + self._combine.delay_us

    def _reach(self, side: int, batch: Batch) -> Ints:
        """Return the greatest watermark at which another row can join with these rows."""
        bounds = self._combine.time_range
        assert bounds is not None
        return self._event_time(side, batch) + (bounds.high_us if side == LEFT else -bounds.low_us)

    def _store(self, side: int, run: KeyedRows) -> bool:
        """Add a run, merged with the last runs that are less than twice as long."""
        runs = self._settled[side]
        merging = [run]
        size = len(run.slot)
        while runs and len(runs[-1].slot) < 2 * size:
            merging.insert(0, runs.pop())
            size += len(merging[0].slot)
        if len(merging) > 1:
            run = self._merge(side, merging)
        if len(run.slot):
            runs.append(run)
        return len(merging) > 1

    def _merge(self, side: int, runs: list[KeyedRows]) -> KeyedRows:
        merged = merge_rows(runs)
        assert merged is not None
        rows = self.run_order(side, merged)
        if self._bound is not None:
            rows = rows[self._reach(side, merged.batch)[rows] >= self._bound]
        return KeyedRows(merged.batch.take(rows), merged.slot[rows])

    def _forget_slots(self) -> None:
        """Free slots without stored rows, if they are the majority."""
        runs = [run.slot for side in (LEFT, RIGHT) for run in self.runs(side)]
        if self.table.live > 1024 + 2 * sum(map(len, runs)):
            used = np.zeros(len(self.table), np.bool_)
            for slots in runs:
                used[slots] = True
            self.table.free_all_but(used)


def _bisect(values: Ints, low: Ints, high: Ints, wanted: Ints) -> Ints:
    """Return for each range `[low, high)` of `values`, which ascend in it, the insertion point of `wanted`.

    That is the index of the first value that is not less, or `high`.  The number of steps is the binary
    logarithm of the longest range.
    """
    low, high = low.copy(), high.copy()
    last = max(len(values) - 1, 0)
    while (searching := low < high).any():
        middle = (low + high) >> 1
        less = searching & (values[np.minimum(middle, last)] < wanted)
        low = np.where(less, middle + 1, low)
        high = np.where(searching & ~less, middle, high)
    return low
