"""The kernel of the inner equi-join.

Each side's rows live in runs sorted by slot, which are merged as they grow (each row is moved a
logarithmic number of times).  New rows are matched with the stored rows of the other side, and with each
other; a pair belongs to its later row.  Matching is `searchsorted` per run, so no Python per row.

    left   x@1           y@3         out   x⋈u@2, x⋈v@4, y⋈u@3, y⋈v@4    (all of one key)
    right        u@2           v@4
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch, Root
from fsql.runtime.kernels.kernel import Applied, Slotted, joined_rows
from fsql.runtime.kernels.prepare import Evaluator
from fsql.runtime.kernels.slots import SlotTable
from fsql.runtime.order import (
    lexicographic_order,
    sameness,
    stable_order,
    starts_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.graph import CombineJoin

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

LEFT, RIGHT = 0, 1


@dataclass(slots=True, eq=False)
class _Undo:
    """The rows that one application stored, for each side; they settle when they are final."""

    stored: list[Slotted | None]


class JoinKernel:
    """`graph.CombineJoin` over slots.  Prepared columns: keys, then the input's."""

    def __init__(self, combine: CombineJoin) -> None:
        self._combine = combine
        self._evaluate = (Evaluator(combine.left_keys), Evaluator(combine.right_keys))
        self._keys = len(combine.left_keys)
        self._depth = max(combine.left_depth, combine.right_depth)
        self._table = SlotTable()
        self._settled: tuple[list[Slotted], list[Slotted]] = ([], [])
        self._pending: list[_Undo] = []
        self._bound: int | None = None

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        """See `Kernel`; rows with a NULL key are left out."""
        keys, kept, errors = self._evaluate[side](batch)
        batch = batch if kept is None else batch.take(kept)
        prepared = batch.with_columns([*keys, *batch.columns])
        if any(key.null_count for key in keys):
            valid = np.logical_and.reduce(
                [key.is_valid().to_numpy(zero_copy_only=False) for key in keys]
            )
            prepared = prepared.take(np.flatnonzero(valid))
        return prepared, errors

    def slots(self, side: int, batch: Batch) -> Ints:
        del side
        return self._table.find(batch.columns[: self._keys], len(batch)).slots

    def apply(self, sides: Sequence[Slotted | None], *, undoable: bool) -> Applied:
        new_left, new_right = (None if side is None else self._sorted_run(side) for side in sides)
        lefts, rights, later_is_right, later_row = [], [], [], []
        first_right = 0 if new_left is None else len(new_left.slot)
        for left, right, stored_side in self._meetings(new_left, new_right):
            left_rows, right_rows = _matches(left, right)
            if len(left_rows) == 0:
                continue
            a = Slotted(left.batch.take(left_rows), left.slot[left_rows])
            b = Slotted(right.batch.take(right_rows), right.slot[right_rows])
            if stored_side is None:
                is_right = _later(a.batch, b.batch, self._depth)
            else:
                is_right = np.full(len(left_rows), stored_side == LEFT)
            later_is_right.append(is_right)
            later_row.append(np.where(is_right, first_right + right_rows, left_rows))
            lefts.append(a)
            rights.append(b)
        undo = _Undo([new_left, new_right])
        if undoable:
            self._pending.append(undo)
        else:
            self._settle(undo)
        if not lefts:
            return Applied(None, None, undo if undoable else None)
        all_left, all_right = joined_rows(lefts), joined_rows(rights)
        assert all_left is not None
        assert all_right is not None
        rows = self._pairs(
            all_left, all_right, np.concatenate(later_is_right), np.concatenate(later_row)
        )
        return Applied(rows, None, undo if undoable else None)

    def _meetings(
        self, new_left: Slotted | None, new_right: Slotted | None
    ) -> Iterator[tuple[Slotted, Slotted, int | None]]:
        """Yield which left and right rows have not met yet, and which of them were stored before."""
        if new_left is not None:
            for stored in self._stored(RIGHT):
                yield new_left, stored, RIGHT
        if new_right is not None:
            for stored in self._stored(LEFT):
                yield stored, new_right, LEFT
        if new_left is not None and new_right is not None:
            yield new_left, new_right, None

    @staticmethod
    def _sorted_run(rows: Slotted) -> Slotted:
        order = stable_order(rows.slot)
        return Slotted(rows.batch.take(order), rows.slot[order])

    def _stored(self, side: int) -> list[Slotted]:
        pending = [undo.stored[side] for undo in self._pending]
        return [*self._settled[side], *(run for run in pending if run is not None)]

    def _pairs(
        self, left: Slotted, right: Slotted, later_is_right: Bools, later_row: Ints
    ) -> Slotted | None:
        """Return the rows of the pairs that the time range admits, at their later row's position.

        `later_row` tells later rows apart, also those that share a position.
        """
        if self._combine.time_range is not None:
            kept = np.flatnonzero(self._in_range(left.batch, right.batch, later_is_right))
            left = Slotted(left.batch.take(kept), left.slot[kept])
            right = Slotted(right.batch.take(kept), right.slot[kept])
            later_is_right, later_row = later_is_right[kept], later_row[kept]
        if len(left.slot) == 0:
            return None
        left_place, right_place = (
            [batch.time, batch.origin, *_padded(batch, self._depth)]
            for batch in (left.batch, right.batch)
        )
        later = [
            np.where(later_is_right, b, a) for a, b in zip(left_place, right_place, strict=True)
        ]
        earlier = [
            np.where(later_is_right, a, b) for a, b in zip(left_place, right_place, strict=True)
        ]
        order = lexicographic_order([*later, later_row, *earlier])
        if order is None:
            order = np.arange(len(left.slot))
        later = [column[order] for column in later]
        ordinal = _ordinals(later_row[order], [column[order] for column in earlier])
        columns = [
            *left.batch.take(order).columns[self._keys :],
            *right.batch.take(order).columns[self._keys :],
        ]
        weight = None
        if left.batch.weight is not None or right.batch.weight is not None:
            weight = (left.batch.weights() * right.batch.weights())[order]
        made = Batch(columns, later[0], later[1], (*later[2:], ordinal), weight)
        return Slotted(made, left.slot[order])

    def _in_range(self, left: Batch, right: Batch, later_is_right: Bools) -> Bools:
        bounds = self._combine.time_range
        assert bounds is not None
        left_time = self._event_time(left, bounds.left_time)
        right_time = self._event_time(right, bounds.right_time)
        apart = right_time - left_time
        reach = np.where(later_is_right, left_time + bounds.high_us, right_time - bounds.low_us)
        watermark = self._watermark(np.where(later_is_right, right.time, left.time))
        return (bounds.low_us <= apart) & (apart <= bounds.high_us) & (watermark <= reach)

    def _event_time(self, batch: Batch, column: int) -> Ints:
        values = batch.columns[self._keys + column]
        return values.view(pa.int64()).to_numpy(zero_copy_only=False)

    def _watermark(self, time: Ints) -> Ints:
        grain = self._combine.grain_us
        return (time - self._combine.delay_us) // grain * grain

    @property
    def table(self) -> SlotTable:
        return self._table

    def restore(self, undo: object, affected: Bools) -> None:
        assert isinstance(undo, _Undo)
        for side, stored in enumerate(undo.stored):
            if stored is not None:
                kept = np.flatnonzero(~affected[stored.slot])
                undo.stored[side] = Slotted(stored.batch.take(kept), stored.slot[kept])

    def settle(self, undo: object | None) -> None:
        assert isinstance(undo, _Undo)
        self._pending.remove(undo)
        self._settle(undo)

    def expire(self, horizon: Root) -> None:
        if self._combine.time_range is not None:
            self._bound = int(self._watermark(np.array([horizon.time]))[0])

    def _settle(self, undo: _Undo) -> None:
        merged = [
            self._store(side, stored)
            for side, stored in enumerate(undo.stored)
            if stored is not None
        ]
        if any(merged):
            self._forget_slots()

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
        merged = self._sorted_run(merged)
        kept = np.arange(len(merged.slot))
        if self._bound is not None:
            kept = np.flatnonzero(self._reach(side, merged.batch) >= self._bound)
        if not self._combine.input_append_only:
            kept = kept[_net_rows(merged.batch.take(kept), merged.slot[kept])]
        if len(kept) == len(merged.slot):
            return merged
        return Slotted(merged.batch.take(kept), merged.slot[kept])

    def _reach(self, side: int, batch: Batch) -> Ints:
        bounds = self._combine.time_range
        assert bounds is not None
        if side == LEFT:
            return self._event_time(batch, bounds.left_time) + bounds.high_us
        return self._event_time(batch, bounds.right_time) - bounds.low_us

    def _forget_slots(self) -> None:
        """Free slots that no stored row has, once they are the most."""
        runs = [run.slot for side in (LEFT, RIGHT) for run in self._stored(side)]
        if self._table.live > 1024 + 2 * sum(map(len, runs)):
            used = np.zeros(len(self._table), np.bool_)
            for slots in runs:
                used[slots] = True
            self._table.free_all_but(used)

    def close(self, min_time: Root) -> Applied | None:
        """See `Kernel`: there are no windows."""
        del min_time
        return None

    def next_close(self) -> Root | None:
        return None

    def state_rows(self) -> int:
        return sum(len(run.slot) for side in (LEFT, RIGHT) for run in self._stored(side))


def _matches(probe: Slotted, run: Slotted) -> tuple[Ints, Ints]:
    """Return the rows of `probe` and of `run` that have equal slots; both are sorted by slot."""
    low = np.searchsorted(run.slot, probe.slot, "left")
    count = np.searchsorted(run.slot, probe.slot, "right") - low
    rows = np.repeat(np.arange(len(probe.slot)), count)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    return rows, np.repeat(low, count) + within


def _padded(batch: Batch, depth: int) -> list[Ints]:
    padding = np.full(len(batch), -1, np.int64)
    return [*batch.path, *(padding for _ in range(depth - len(batch.path)))]


def _ordinals(later_row: Ints, earlier: list[Ints]) -> Ints:
    """Number the earlier positions that each later row meets, from 0; the rows are sorted by both."""
    new_pair = np.zeros(len(later_row), np.int64)
    new_pair[starts_of_runs(later_row, *earlier)] = 1
    rank = np.cumsum(new_pair)
    starts = starts_of_runs(later_row)
    return rank - np.repeat(rank[starts], np.diff(np.append(starts, len(later_row))))


def _later(left: Batch, right: Batch, depth: int) -> Bools:
    """Return where the right row is the later one; of equal positions it is."""
    left_columns = [left.time, left.origin, *_padded(left, depth)]
    right_columns = [right.time, right.origin, *_padded(right, depth)]
    later = np.ones(len(left), np.bool_)
    for a, b in zip(reversed(left_columns), reversed(right_columns), strict=True):
        later = np.where(a == b, later, a < b)
    return later


def _net_rows(batch: Batch, slot: Ints) -> Ints:
    """Return rows that stand for the net content: those of a key and payload that sum to 0 go."""
    columns = [slot, *(sameness(column) for column in batch.columns)]
    order = lexicographic_order(columns)
    if order is None:
        order = np.arange(len(slot))
    starts = starts_of_runs(*(column[order] for column in columns))
    sums = np.add.reduceat(batch.weights()[order], starts) if len(starts) else starts
    alive = np.repeat(sums != 0, np.diff(np.append(starts, len(order))))
    return np.sort(order[alive])
