"""The kernel of joins whose left rows are joined once, with the rows that the right side has then.

Only the right side is kept: a multiset of rows with weights, as in `updates`.  A left row is joined with the
right rows whose lifetimes (`lifetimes`) include its root, after all changes of that root.  Changes of the
right side make no rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.runtime.batch import Batch, Root
from fsql.runtime.kernels.join.lifetimes import Lifetimes, lifetimes
from fsql.runtime.kernels.join.net_rows import ranges
from fsql.runtime.kernels.join.sides import LEFT, PAIRS_MAX, RIGHT
from fsql.runtime.kernels.join.updates import (
    JoinUpdatesKernel,
    SideChanges,
    changed_rows,
    changed_slots,
    number_roots,
)
from fsql.runtime.kernels.keyed.kernel import (
    ApplyResult,
    KeyedRows,
    merge_rows,
    split_at_position,
)
from fsql.runtime.kernels.keyed.prepare import Evaluator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.join.lifetimes import History


class _Found(NamedTuple):
    """For each left row the range of lifetimes of its slot."""

    lives: Lifetimes
    low: Ints
    size: Ints


class JoinOnceKernel(JoinUpdatesKernel):
    """`graph.CombineJoin` with `once` over slots."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema]) -> None:
        """Begin without rows; `schemas` are those of the sides."""
        super().__init__(combine, schemas)
        condition = combine.condition
        self._condition = None if condition is None else Evaluator((condition,))

    def apply(
        self, sides: Sequence[KeyedRows | None], *, undoable: bool
    ) -> ApplyResult[SideChanges]:
        rest = None
        numbers, times, origins = number_roots(sides)
        while True:
            right = self._history(RIGHT, sides, numbers, changed_slots(sides[LEFT]))
            found = _found(sides[LEFT], right, len(times))
            if len(times) <= 2 or found is None or found.size.sum() <= PAIRS_MAX:
                break
            middle = (len(times) + 1) // 2
            rest = Root(int(times[middle]), int(origins[middle]))
            sides = split_at_position(sides, rest)[0]
            numbers, times, origins = number_roots(sides)
        left = sides[LEFT]
        rows = errors = None
        if left is not None:
            rows, errors = self._pairs(left, numbers[LEFT], right, found)
        changes = SideChanges([None, changed_rows(right, times, origins)], changed_slots(left))
        self._sides.add(changes, undoable=undoable)
        if undoable:
            return ApplyResult(rows, errors, changes, rest)
        self._snapshots.on_settle(changes)
        return ApplyResult(rows, errors, None, rest)

    def _pairs(
        self, left: KeyedRows, roots: Ints, right: History | None, found: _Found | None
    ) -> tuple[KeyedRows | None, KeyedRows | None]:
        """Return the left rows with the right rows of their roots, and the pairs that fail.

        A LEFT join also returns the left rows without any.
        """
        parts: list[KeyedRows | None] = []
        errors = None
        partners = np.zeros(len(roots), np.int64)
        if right is not None and found is not None:
            mine, place = ranges(found.low, found.size)
            lives = found.lives.take(place)
            root = roots[mine]
            # A row that is removed before it is added is not there yet.
            there = (lives.start <= root) & (root < lives.end) & (lives.weight > 0)
            kept = np.flatnonzero(there)
            mine, lives = mine[kept], lives.take(kept)
            rights = right.rows.take(lives.row)
            pairs = self._part(left, mine, self._columns(RIGHT, rights), lives.weight)
            if pairs is not None and self._condition is not None:
                joined, errors = _where(self._condition, pairs)
                mine = mine[joined]
                pairs = KeyedRows(pairs.batch.take(joined), pairs.slot[joined])
            partners[mine] = 1
            parts.append(pairs)
        if self._combine.kind.keeps_left:
            alone = np.flatnonzero(partners == 0)
            nulls = [pa.nulls(len(alone), kind) for kind in self._types[RIGHT]]
            parts.append(self._part(left, alone, nulls, np.ones(len(alone), np.int64)))
        return merge_rows(parts), errors

    def _part(
        self, left: KeyedRows, rows: Ints, others: list[pa.Array], weight: Ints
    ) -> KeyedRows | None:
        """Return some left rows, each with a row of the other columns, which has a weight."""
        if len(rows) == 0:
            return None
        batch = left.batch.take(rows)
        path = (np.zeros(len(rows), np.int64),) * self._depth
        columns = [*batch.columns[self._keys :], *others]
        weight = batch.weights() * weight
        single = None if (weight == 1).all() else weight
        made = Batch(columns, batch.time, batch.origin, path, single)
        return KeyedRows(made, left.slot[rows])


def _where(condition: Evaluator, pairs: KeyedRows) -> tuple[Ints, KeyedRows | None]:
    """Return the pairs for which a condition is TRUE, and the errors of those on which it fails."""
    [truth], kept, errors = condition(pairs.batch)
    rows = np.arange(len(pairs.slot)) if kept is None else kept
    joined = rows[pc.fill_null(truth, fill_value=False).to_numpy(zero_copy_only=False)]
    if errors is None:
        return joined, None
    failing = np.setdiff1d(np.arange(len(pairs.slot)), rows, assume_unique=True)
    return joined, KeyedRows(errors, pairs.slot[failing])


def _found(left: KeyedRows | None, right: History | None, end: int) -> _Found | None:
    """Return the lifetimes of the right side, and for each left row the range of those of its slot."""
    if left is None or right is None:
        return None
    lives = lifetimes(right, end)
    low = lives.slot.searchsorted(left.slot, "left")
    return _Found(lives, low, lives.slot.searchsorted(left.slot, "right") - low)
