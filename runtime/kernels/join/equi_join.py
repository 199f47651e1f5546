"""The kernel of the inner equi-join of append-only inputs.

The rows of each side are in runs (`rows`), sorted by slot and, if the join has a time range, by event time.
A new row joins with the earlier rows of the other side, which are adjacent in each run and are found by two
binary searches.  Only pairs in the time range are examined, and no Python code runs per row.

    left   x@1           y@3         out   x⋈u@2, x⋈v@4, y⋈u@3, y⋈v@4    (all of one key)
    right        u@2           v@4

An application that would make more than `PAIRS_MAX` pairs applies the rows of the first roots only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fsql.runtime.batch import Batch, Root
from fsql.runtime.kernels.join.keyed_join import LEFT, PAIRS_MAX, RIGHT, KeyedJoin
from fsql.runtime.kernels.join.net_rows import ranges
from fsql.runtime.kernels.join.rows import JoinRows, StoredRows
from fsql.runtime.kernels.join.snapshots import JoinSnapshots
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows, merge_rows, split_at_position
from fsql.runtime.order import concat, lexicographic_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

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
