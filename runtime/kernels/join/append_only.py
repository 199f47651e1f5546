"""The kernel of the inner equi-join of append-only inputs.

The rows of each side are in runs (`rows`), sorted by slot and, if the join has a time range, by event time.
A new row joins with the earlier rows of the other side, which are adjacent in each run and are found by two
binary searches.  Only pairs in the time range are examined, and no Python code runs per row.

    left   x@1           y@3         out   x⋈u@2, x⋈v@4, y⋈u@3, y⋈v@4    (all of one key)
    right        u@2           v@4

An application that would make more than `PAIRS_MAX` pairs applies the rows of the first roots only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from fsql.compiler.records import dataclass
from fsql.runtime.batch import PUNCTUATION, TIME_START, Batch, Root
from fsql.runtime.kernels.join.net_rows import ranges
from fsql.runtime.kernels.join.sides import (
    LEFT,
    PAIRS_MAX,
    RIGHT,
    KeyedJoin,
    KeysAndState,
    SideSnapshots,
    rows_of_side,
)
from fsql.runtime.kernels.keyed.incremental_snapshot import NEVER, WEIGHT, IncrementalSnapshot
from fsql.runtime.kernels.keyed.kernel import (
    ApplyResult,
    KeyedRows,
    filter_rows,
    merge_rows,
    split_at_position,
)
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.order import below, concat, lexicographic_order, stable_order, starts_of_runs
from fsql.runtime.weights import expand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Bools, Ints


class _Candidates(NamedTuple):
    """New rows, and for each of them the range of rows in a run of the other side with which it may join.

    `ranks` has the ranks of both in the total order, if the range has rows that are not earlier.
    """

    new: KeyedRows
    run: KeyedRows
    low: Ints
    size: Ints
    ranks: tuple[Ints, Ints] | None = None

    def pairs(self) -> tuple[Ints, Ints]:
        """Return the rows of `new` and of `run` that join."""
        later, earlier = ranges(self.low, self.size)
        if self.ranks is None:
            return later, earlier
        own, other = self.ranks
        kept = np.flatnonzero(other[earlier] < own[later])
        return later[kept], earlier[kept]


class JoinKernel(KeyedJoin):
    """`graph.CombineJoin` of append-only inputs over slots."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema]) -> None:
        """Begin without rows; `schemas` are those of the sides."""
        self._rows = JoinRows(combine)
        super().__init__(combine, self._rows.table)
        self._depth = max(combine.left_depth, combine.right_depth)
        self._snapshots = JoinSnapshots(combine, schemas, self._rows)

    def apply(
        self, sides: Sequence[KeyedRows | None], *, undoable: bool
    ) -> ApplyResult[StoredRows]:
        new, candidates = self._meetings(sides)
        rest = _root_of_rest(candidates)
        if rest is not None:
            new, candidates = self._meetings(split_at_position(sides, rest)[0])
        rows = merge_rows([self._pairs(side, candidates[side]) for side in (LEFT, RIGHT)])
        undo = StoredRows(new)
        if undoable:
            self._rows.add(undo)
            return ApplyResult(rows, None, undo, rest)
        self._settle(undo)
        return ApplyResult(rows, None, None, rest)

    def _meetings(
        self, sides: Sequence[KeyedRows | None]
    ) -> tuple[list[KeyedRows | None], list[list[_Candidates]]]:
        """Return the new rows, sorted as runs, and by side the rows that its new rows may join with."""
        new: list[KeyedRows | None] = [None, None]
        ranks: list[Ints] = [_NO_ROWS, _NO_ROWS]
        for side, (rows, rank) in enumerate(zip(sides, self._ranks(sides), strict=True)):
            if rows is not None:
                order = self._rows.run_order(side, rows)
                ranks[side] = rank[order]
                new[side] = KeyedRows(rows.batch.take(order), rows.slot[order])
        candidates: list[list[_Candidates]] = [[], []]
        for side, rows in enumerate(new):
            if rows is None:
                continue
            for run in self._rows.runs(1 - side):
                low, high = self._rows.range(side, rows, run)
                candidates[side].append(_Candidates(rows, run, low, high - low))
            other = new[1 - side]
            if other is not None:
                candidates[side].append(self._new_candidates(side, rows, other, ranks))
        return new, candidates

    def _new_candidates(
        self, side: int, rows: KeyedRows, other: KeyedRows, ranks: Sequence[Ints]
    ) -> _Candidates:
        """Return the earlier new rows of the other side that new rows may join with."""
        low, high = self._rows.range(side, rows, other)
        own_rank, other_rank = ranks[side], ranks[1 - side]
        if self._combine.time_range is not None:
            return _Candidates(rows, other, low, high - low, (own_rank, other_rank))
        # The rows of a slot are in the total order, so the earlier ones are first.
        count = len(own_rank) + len(other_rank)
        high = (other.slot * count + other_rank).searchsorted(rows.slot * count + own_rank)
        return _Candidates(rows, other, low, high - low)

    def _ranks(self, sides: Sequence[KeyedRows | None]) -> list[Ints]:
        """Return the ranks of the new rows in the total order of both sides; of equal ones, left first."""
        left, right = sides
        if left is None or right is None:
            return [_NO_ROWS if rows is None else np.arange(len(rows.slot)) for rows in sides]
        columns = [
            np.concatenate(both)
            for both in zip(self._position(left.batch), self._position(right.batch), strict=True)
        ]
        order = lexicographic_order(columns)
        ranks = np.arange(len(columns[0]))
        if order is not None:
            ranks[order] = np.arange(len(order))
        return [ranks[: len(left.slot)], ranks[len(left.slot) :]]

    def _position(self, batch: Batch) -> list[Ints]:
        """Return the columns of the rows' positions; all paths are of one depth."""
        padding = np.full(len(batch), -1, np.int64)
        missing = self._depth - len(batch.path)
        return [batch.time, batch.origin, *batch.path, *(padding for _ in range(missing))]

    def _pairs(self, side: int, candidates: list[_Candidates]) -> KeyedRows | None:
        """Return the pairs whose later row is a new row of the side, at that row's position."""
        laters, earliers = [], []
        for meeting in candidates:
            later, earlier = meeting.pairs()
            if len(later):
                laters.append(later)
                earliers.append(meeting.run.batch.take(earlier))
        if not laters:
            return None
        later_row, earlier_rows = np.concatenate(laters), concat(earliers)
        order = lexicographic_order([later_row, *self._position(earlier_rows)])
        if order is not None:
            later_row, earlier_rows = later_row[order], earlier_rows.take(order)
        new = candidates[0].new
        later_rows = new.batch.take(later_row)
        left, right = (later_rows, earlier_rows) if side == LEFT else (earlier_rows, later_rows)
        columns = [*left.columns[self._keys :], *right.columns[self._keys :]]
        time, origin, *path = self._position(later_rows)
        below = self._below(later_row, self._position(earlier_rows))
        return KeyedRows(Batch(columns, time, origin, (*path, *below)), new.slot[later_row])

    def result(self, root: Root) -> Batch | None:
        """Return the pairs of all stored rows; see `kernel.KeptResult`."""
        assert self._combine.time_range is None, "expired rows are not stored"
        parts = []
        for left in self._rows.runs(LEFT):
            for right in self._rows.runs(RIGHT):
                low, high = self._rows.range(LEFT, left, right)
                lefts, rights = ranges(low, high - low)
                rows, others = left.batch.take(lefts), right.batch.take(rights)
                columns = [*rows.columns[self._keys :], *others.columns[self._keys :]]
                times, origins = (np.full(len(lefts), part, np.int64) for part in root)
                parts.append(Batch(columns, times, origins, ()))
        return concat(parts) if parts else None

    def _below(self, later_row: Ints, earlier: list[Ints]) -> list[Ints]:
        """Return the levels of the paths of pairs below those of their later rows."""
        return earlier if self._combine.by_position else [_ordinals(later_row, earlier)]

    @property
    def snapshots(self) -> JoinSnapshots:
        return self._snapshots

    def restore(self, undo: StoredRows, affected: Bools) -> None:
        undo.forget(affected)

    def settle(self, undo: StoredRows | None) -> None:
        assert undo is not None
        self._rows.remove(undo)
        self._settle(undo)

    def _settle(self, stored: StoredRows) -> None:
        self._snapshots.on_settle(stored)
        self._rows.settle(stored)

    def expire(self, horizon: Root) -> None:
        self._rows.expire(horizon)

    def release(self, slots: Ints, marks: Bools) -> None:
        self._rows.drop(marks)
        self._table.free(slots)

    def state_rows(self) -> int:
        return self._rows.rows()


_NO_ROWS: Final = np.empty(0, np.int64)


def _root_of_rest(candidates: Sequence[Sequence[_Candidates]]) -> Root | None:
    """Return the root from which on the new rows make too many pairs; None if all rows can be applied.

    The least root is always applied.
    """
    of_all = [meeting for of_side in candidates for meeting in of_side]
    if sum(int(meeting.size.sum()) for meeting in of_all) <= PAIRS_MAX:
        return None
    time = np.concatenate([meeting.new.batch.time for meeting in of_all])
    origin = np.concatenate([meeting.new.batch.origin for meeting in of_all])
    count = np.concatenate([meeting.size for meeting in of_all])
    order = lexicographic_order([time, origin])
    if order is not None:
        time, origin, count = time[order], origin[order], count[order]
    starts = starts_of_runs(time, origin)
    pairs = np.add.reduceat(count, starts).cumsum()
    first = max(1, int(pairs.searchsorted(PAIRS_MAX, "right")))
    if first == len(starts):
        return None
    return Root(int(time[starts[first]]), int(origin[starts[first]]))


def _ordinals(later_row: Ints, earlier: list[Ints]) -> Ints:
    """Number the earlier positions that each later row joins with, from 0; rows are sorted by both."""
    new_pair = np.zeros(len(later_row), np.int64)
    new_pair[starts_of_runs(later_row, *earlier)] = 1
    rank = np.cumsum(new_pair)
    starts = starts_of_runs(later_row)
    return rank - np.repeat(rank[starts], np.diff(np.append(starts, len(later_row))))


# The stored rows of a join: for each side, runs sorted by slot, which are merged as they grow.
#
# If the join has a time range, the rows of a slot are sorted by event time, otherwise by position.  Each row
# is moved a logarithmic number of times.  Rows of an application that may be undone are **pending**; they
# **settle** when they are final.  Rows that no later row can join with are dropped when runs are merged.


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


# Snapshots of joins of append-only inputs: each has the rows since the previous one.
#
# A join stores rows, not states of keys.  The roots of the rows determine which are new: a snapshot has the
# rows between the position of the previous snapshot and its own.


class JoinSnapshots(SideSnapshots[Batch]):
    """`kernel.KernelSnapshots` over the stored rows of a join."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema], rows: JoinRows) -> None:
        super().__init__(combine, schemas, rows.table)
        self._combine = combine
        self._rows = rows
        self._depths = (combine.left_depth, combine.right_depth)
        self._settled: tuple[list[Batch], list[Batch]] | None = None

    def on_settle(self, stored: StoredRows) -> None:
        """Record that rows are final.  After a repair they may have been saved already."""
        if self._settled is not None:
            for side, rows in enumerate(stored.sides):
                if rows is not None and len(rows.slot):
                    self._settled[side].append(rows.batch)

    def changed_keys(self) -> int:
        if self._settled is None:
            return self._rows.rows()
        return sum(len(batch) for side in self._settled for batch in side)

    def _record_from_now(self) -> None:
        self._settled = ([], [])

    def _unsaved_rows(self, side: int, position: Root) -> list[Batch]:
        if self._settled is None:
            batches = [run.batch for run in self._rows.runs(side)]
        else:
            pending = [run.batch for run in self._rows.pending(side)]
            batches = [*self._settled[side], *pending]
        found = []
        for batch in batches:
            new = below(batch, position) & ~below(batch, self._saved_to)
            if new.any():
                found.append(batch.take(np.flatnonzero(new)))
        return found

    def _encode(self, side: int, parts: list[Batch]) -> KeysAndState:
        batch = concat([_no_rows(self._encoding.no_rows(side), self._depths[side]), *parts])
        count = len(batch)
        positions = self._encoding.positions([batch.time, batch.origin, *batch.path])
        expires = np.full(count, NEVER)
        if self._combine.time_range is not None:
            expires = self._rows.expires(side, batch)
        return self._encoding.rows_of(side, batch.columns, positions, batch.weights(), expires)

    def _add(self, state: IncrementalSnapshot, slots: Ints) -> None:
        loaded: list[KeyedRows | None] = []
        for side in (LEFT, RIGHT):
            indexes = rows_of_side(state, side)
            rows = self._keyed_rows(side, state.rows.take(pa.array(indexes)), slots[indexes])
            loaded.append(self._rows.sorted_run(side, rows) if len(rows.slot) else None)
        self._rows.settle(StoredRows(loaded))

    def _keyed_rows(self, side: int, rows: pa.RecordBatch, slots: Ints) -> KeyedRows:
        path = [f"path_{level}" for level in range(self._depths[side])]
        time, origin, weight, *levels = (
            rows.column(name).to_numpy() for name in ("time", "origin", WEIGHT, *path)
        )
        columns = self._encoding.columns_of(side, rows)
        batch = Batch(columns, time, origin, tuple(levels), weight)
        return KeyedRows(expand(batch), np.repeat(slots, weight))


def _no_rows(columns: Sequence[pa.Array], depth: int) -> Batch:
    none = np.empty(0, np.int64)
    return Batch(columns, none, none, (none,) * depth)
