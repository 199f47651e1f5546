"""The kernel of the inner equi-join.

Each side's rows live in runs sorted by slot (`join_rows`).  New rows are matched with the stored rows of
the other side, and with each other; a pair belongs to its later row.  Matching is `searchsorted` per run,
so no Python per row.

    left   x@1           y@3         out   x⋈u@2, x⋈v@4, y⋈u@3, y⋈v@4    (all of one key)
    right        u@2           v@4
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.runtime.batch import Batch, Root
from fsql.runtime.kernels.join.rows import LEFT, RIGHT, JoinRows, Stored, sorted_run
from fsql.runtime.kernels.join.saving import JoinSaving
from fsql.runtime.kernels.keyed.kernel import Applied, Slotted, joined_rows
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.order import (
    lexicographic_order,
    starts_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.kernels.keyed.slots import SlotTable

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


class JoinKernel:
    """`graph.CombineJoin` over slots.  Prepared columns: keys, then the input's."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema]) -> None:
        """Begin without rows; `schemas` are those of the sides."""
        self._combine = combine
        self._evaluate = (Evaluator(combine.left_keys), Evaluator(combine.right_keys))
        self._keys = len(combine.left_keys)
        self._depth = max(combine.left_depth, combine.right_depth)
        self._rows = JoinRows(combine)
        self._saving = JoinSaving(combine, schemas, self._rows)

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
        return self._rows.table.find(batch.columns[: self._keys], len(batch)).slots

    def apply(self, sides: Sequence[Slotted | None], *, undoable: bool) -> Applied:
        new_left, new_right = (None if side is None else sorted_run(side) for side in sides)
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
        undo = Stored([new_left, new_right])
        if undoable:
            self._rows.add(undo)
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
            for stored in self._rows.stored(RIGHT):
                yield new_left, stored, RIGHT
        if new_right is not None:
            for stored in self._rows.stored(LEFT):
                yield stored, new_right, LEFT
        if new_left is not None and new_right is not None:
            yield new_left, new_right, None

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
        left_time = self._rows.event_time(left, bounds.left_time)
        right_time = self._rows.event_time(right, bounds.right_time)
        apart = right_time - left_time
        reach = np.where(later_is_right, left_time + bounds.high_us, right_time - bounds.low_us)
        watermark = self._rows.watermark(np.where(later_is_right, right.time, left.time))
        return (bounds.low_us <= apart) & (apart <= bounds.high_us) & (watermark <= reach)

    @property
    def table(self) -> SlotTable:
        return self._rows.table

    @property
    def saving(self) -> JoinSaving:
        return self._saving

    def restore(self, undo: object, affected: Bools) -> None:
        assert isinstance(undo, Stored)
        undo.forget(affected)

    def settle(self, undo: object | None) -> None:
        assert isinstance(undo, Stored)
        self._rows.remove(undo)
        self._settle(undo)

    def _settle(self, stored: Stored) -> None:
        self._saving.settled(stored)
        self._rows.settle(stored)

    def expire(self, horizon: Root) -> None:
        self._rows.expire(horizon)

    def close(self, min_time: Root) -> Applied | None:
        """See `Kernel`: there are no windows."""
        del min_time
        return None

    def next_close(self) -> Root | None:
        return None

    def state_rows(self) -> int:
        return self._rows.rows()


_NO_ROWS: Final = np.empty(0, np.int64)


def _matches(probe: Slotted, run: Slotted) -> tuple[Ints, Ints]:
    """Return the rows of `probe` and of `run` that have equal slots; both are sorted by slot."""
    low = run.slot.searchsorted(probe.slot, "left")
    count = run.slot.searchsorted(probe.slot, "right") - low
    if not count.any():
        return _NO_ROWS, _NO_ROWS
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
