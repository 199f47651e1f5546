"""The kernel of the equi-join of updating inputs, and of all outer, semi and anti joins.

A side is a multiset of rows with weights (`net_rows`); only the root of the position of a row matters.  An
application has the changes of many roots.  For each slot, the changes of the product of the two sides are the
sum of three kinds of pairs:

    a change of the left side      with the right rows that do not change
    a change of the right side     with the left rows that do not change
    a left row that is added or removed    with such a right row, where their lifetimes overlap

A pair of the third kind is added at the root at which the later of its rows is added, and removed at the root
at which the first of them is removed.  The changes of a root in both sides are thus combined, and no pair is
made that the same root removes.  Except for sorting, the cost is linear in the changes and the pairs.
Rows without a partner are the product of one side with the markers of the other (`markers`).
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import JoinKind
from fsql.compiler.records import dataclass
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import Batch, Root
from fsql.runtime.kernels.join.lifetimes import (
    BEFORE,
    History,
    Lifetimes,
    history,
    lifetimes,
    overlap_count,
    overlaps,
)
from fsql.runtime.kernels.join.net_rows import (
    ClosedWindows,
    NetRows,
    WeightedRows,
    all_rows,
    concat_rows,
    ranges,
)
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
    split_rows,
)
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.order import below, lexicographic_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Bools, Ints


_ONE_ROOT: Final = 2
"""The length of a table of roots that has one root after `BEFORE`."""

_PRODUCTS_MAX: Final = 3

_BOTH: Final = (LEFT, RIGHT)

_NO_SLOTS: Final = np.empty(0, np.int64)

_Product = tuple["History | None", "History | None"]


class _Products(NamedTuple):
    """The histories of the sides' rows, and the pairs of histories whose products are the result."""

    sides: tuple[History | None, History | None]
    both: list[_Product]


class _Pairs(NamedTuple):
    """Rows of both histories that join, the root at which the pair changes, and its weight."""

    left: Ints
    right: Ints
    root: Ints
    weight: Ints


class JoinUpdatesKernel(KeyedJoin):
    """`graph.CombineJoin` of updating inputs over slots."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema]) -> None:
        """Begin without rows; `schemas` are those of the sides."""
        assert combine.time_range is None
        keys = len(combine.left_keys)
        closed = None if combine.closing is None else ClosedWindows(combine.closing)
        counted = combine.kind is not JoinKind.INNER and not combine.once
        self._sides = UpdatingSides(keys, counted=counted, closed=closed)
        super().__init__(combine, self._sides.table)
        self._depth = max(combine.left_depth, combine.right_depth) + 1
        self._schemas = schemas
        self._types = [[arrow_type(column.type) for column in schema] for schema in schemas]
        self._snapshots = JoinUpdatesSnapshots(combine, schemas, self._sides)

    def apply(
        self, sides: Sequence[KeyedRows | None], *, undoable: bool
    ) -> ApplyResult[SideChanges]:
        rest = None
        numbers, times, origins = number_roots(sides)
        products = self._products(sides, numbers)
        while len(times) > _ONE_ROOT and _makes_too_many(products.both, len(times)):
            middle = (len(times) + 1) // 2
            rest = Root(int(times[middle]), int(origins[middle]))
            sides = split_at_position(sides, rest)[0]
            numbers, times, origins = number_roots(sides)
            products = self._products(sides, numbers)
        changes = SideChanges([changed_rows(one, times, origins) for one in products.sides])
        made = [self._rows(*one, times, origins) for one in products.both]
        rows = merge_rows(made) if self._combine.kind is not JoinKind.INNER else made[0]
        self._sides.add(changes, undoable=undoable)
        if undoable:
            return ApplyResult(rows, None, changes, rest)
        self._snapshots.on_settle(changes)
        return ApplyResult(rows, None, None, rest)

    def _products(self, sides: Sequence[KeyedRows | None], numbers: Sequence[Ints]) -> _Products:
        """Return the histories of both sides, and the pairs of histories whose products are the result."""
        kind = self._combine.kind
        if kind is JoinKind.INNER:
            left, right = (
                self._history(side, sides, numbers, changed_slots(sides[1 - side]))
                for side in _BOTH
            )
            return _Products((left, right), [(left, right)])
        slots = np.unique(np.concatenate([changed_slots(rows) for rows in sides]))
        marked = kind is JoinKind.SEMI
        if not kind.makes_pairs:
            right = self._history(RIGHT, sides, numbers, _NO_SLOTS)
            marks = self._marker(RIGHT, right, slots, present=marked)
            left = self._history(LEFT, sides, numbers, flips(marks))
            return _Products((left, right), [(left, marks)])
        left, right = (
            self._history(side, sides, numbers, changed_slots(sides[1 - side])) for side in _BOTH
        )
        both = [(left, right)]
        if kind.keeps_left:
            both.append((left, self._marker(RIGHT, right, slots, present=False)))
        if kind.keeps_right:
            both.append((self._marker(LEFT, left, slots, present=False), right))
        return _Products((left, right), both)

    def _marker(self, side: int, of: History | None, slots: Ints, *, present: bool) -> History:
        """Return the history of the markers of a side."""
        weights = self._sides.rows[side].weights(slots)
        changed = _NO_SLOTS, _NO_SLOTS, _NO_SLOTS
        if of is not None:
            new = np.flatnonzero(of.root > BEFORE)
            changed = of.rows.slot[new], of.root[new], of.rows.weight[new]
        return marker(slots, weights, changed, present=present)

    def _history(
        self,
        side: int,
        sides: Sequence[KeyedRows | None],
        numbers: Sequence[Ints],
        slots: Ints,
    ) -> History | None:
        """Return the history of a side, including the rows that it has in `slots`, which ascend."""
        new = sides[side]
        stored = self._sides.rows[side].find(slots) if len(slots) else None
        changed = None if new is None else weighted(new)
        rows = all_rows([stored, changed])
        if rows is None:
            return None
        before = np.full(0 if stored is None else len(stored.slot), BEFORE)
        return history(rows, np.concatenate([before, numbers[side]]), self._keys)

    def _rows(
        self, left: History | None, right: History | None, times: Ints, origins: Ints
    ) -> KeyedRows | None:
        if left is None or right is None:
            return None
        pairs = _pairs(left, right, len(times))
        count = len(pairs.root)
        if count == 0:
            return None
        lefts, rights = left.rows.take(pairs.left), right.rows.take(pairs.right)
        columns = self._columns(LEFT, lefts)
        if self._combine.kind.makes_pairs:
            columns += self._columns(RIGHT, rights)
        path = np.zeros(count, np.int64)
        made = Batch(
            columns,
            times[pairs.root],
            origins[pairs.root],
            (path,) * self._depth,
            pairs.weight,
        )
        return KeyedRows(made, lefts.slot)

    def _columns(self, side: int, rows: WeightedRows) -> list[pa.Array]:
        """Return the columns of a side; those of a marker are NULL."""
        if rows.columns:
            return [*rows.columns[self._keys :]]
        return [pa.nulls(len(rows.slot), kind) for kind in self._types[side]]

    def result(self, root: Root) -> Batch | None:
        """Return what an empty kernel makes of all stored rows at one root; see `kernel.KeptResult`."""
        stored = [all_rows(rows.runs) for rows in self._sides.rows]
        if all(rows is None for rows in stored):
            return None
        empty = JoinUpdatesKernel(self._combine, self._schemas)
        made = empty.apply([_rows_at(rows, root) for rows in stored], undoable=False).rows
        return None if made is None else made.batch

    @property
    def snapshots(self) -> JoinUpdatesSnapshots:
        return self._snapshots

    def restore(self, undo: SideChanges, affected: Bools) -> None:
        self._sides.take_back(undo, affected)

    def settle(self, undo: SideChanges | None) -> None:
        assert undo is not None
        self._sides.settle(undo)
        self._snapshots.on_settle(undo)

    def expire(self, horizon: Root) -> None:
        if self._sides.closed is not None:
            self._sides.closed.advance(horizon)

    def release(self, slots: Ints, marks: Bools) -> None:
        self._sides.drop(marks)
        self._table.free(slots)

    def state_rows(self) -> int:
        return sum(map(len, self._sides.rows))


def _rows_at(rows: WeightedRows | None, root: Root) -> KeyedRows | None:
    if rows is None:
        return None
    times, origins = (np.full(len(rows.slot), part, np.int64) for part in root)
    return KeyedRows(Batch(rows.columns, times, origins, (), rows.weight), rows.slot)


def changed_slots(rows: KeyedRows | None) -> Ints:
    """Return the slots in which a side changes, ascending."""
    return _NO_SLOTS if rows is None else np.unique(rows.slot)


def _makes_too_many(both: Sequence[_Product], roots: int) -> bool:
    """Return whether the changes may make more than `PAIRS_MAX` pairs, by an upper bound."""
    return sum(_most_pairs(left, right, roots) for left, right in both) > PAIRS_MAX


def _most_pairs(left: History | None, right: History | None, roots: int) -> int:
    """Return an upper bound of the pairs of a product: the product of the sizes if that is small enough."""
    if left is None or right is None:
        return 0
    if len(left.root) * len(right.root) <= PAIRS_MAX // _PRODUCTS_MAX:
        return len(left.root) * len(right.root)
    staying_left, passing_left = _split(left, roots)
    staying_right, passing_right = _split(right, roots)
    pairs = 0
    for of, staying in ((left, staying_right), (right, staying_left)):
        slots = of.rows.slot[of.root > BEFORE]
        low = staying.slot.searchsorted(slots, "left")
        pairs += int((staying.slot.searchsorted(slots, "right") - low).sum())
    if len(passing_left.row) and len(passing_right.row):
        pairs += 2 * overlap_count(passing_left, passing_right, roots)
    return pairs


def number_roots(sides: Sequence[KeyedRows | None]) -> tuple[list[Ints], Ints, Ints]:
    """Return the number of each row's root, by side, and the time and origin of each number.

    Numbers begin at 1, in the order of the roots; number 0 is `BEFORE`.
    """
    batches = [side.batch for side in sides if side is not None]
    time = np.concatenate([batch.time for batch in batches])
    origin = np.concatenate([batch.origin for batch in batches])
    order = lexicographic_order([time, origin])
    if order is None:
        order = np.arange(len(time))
    starts = starts_of_runs(time[order], origin[order])
    number = np.zeros(len(time), np.int64)
    number[starts] = 1
    numbers = np.empty_like(number)
    numbers[order] = np.cumsum(number)
    left = sides[LEFT]
    cut = 0 if left is None else len(left.slot)
    firsts = order[starts]
    times, origins = (np.concatenate([[0], column[firsts]]) for column in (time, origin))
    return [numbers[:cut], numbers[cut:]], times, origins


def changed_rows(of: History | None, times: Ints, origins: Ints) -> KeyedRows | None:
    """Return the rows of a history that are new, sorted by slot."""
    if of is None:
        return None
    new = np.flatnonzero(of.root > BEFORE)
    if len(new) == 0:
        return None
    rows, root = of.rows.take(new), of.root[new]
    return KeyedRows(Batch(rows.columns, times[root], origins[root], (), rows.weight), rows.slot)


def _pairs(left: History, right: History, roots: int) -> _Pairs:
    """Return the changes of the product of both sides at the roots with numbers below `roots`."""
    staying_left, passing_left = _split(left, roots)
    staying_right, passing_right = _split(right, roots)
    parts = [
        _pairs_of_changes(left, staying_right, swap=False),
        _pairs_of_changes(right, staying_left, swap=True),
    ]
    if len(passing_left.row) and len(passing_right.row):
        parts.append(_pairs_of_lifetimes(passing_left, passing_right, roots))
    return _Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _split(of: History, end: int) -> tuple[Lifetimes, Lifetimes]:
    """Return the lifetimes that cover all roots, and the others."""
    if (of.root == BEFORE).all():
        rows, none = np.arange(len(of.root)), np.empty(0, np.int64)
        whole = Lifetimes(rows, of.rows.slot, of.root, np.full(len(rows), end), of.rows.weight)
        return whole, Lifetimes(none, none, none, none, none)
    lives = lifetimes(of, end)
    stays = (lives.start == BEFORE) & (lives.end == end)
    return lives.take(np.flatnonzero(stays)), lives.take(np.flatnonzero(~stays))


def _pairs_of_changes(of: History, staying: Lifetimes, *, swap: bool) -> _Pairs:
    """Return the pairs of the changes of a side with rows of the other side that do not change."""
    changes = np.flatnonzero(of.root > BEFORE)
    slots = of.rows.slot[changes]
    low = staying.slot.searchsorted(slots, "left")
    which, partner = ranges(low, staying.slot.searchsorted(slots, "right") - low)
    mine = changes[which]
    theirs = staying.row[partner]
    weight = of.rows.weight[mine] * staying.weight[partner]
    left, right = (theirs, mine) if swap else (mine, theirs)
    return _Pairs(left, right, of.root[mine], weight)


def _pairs_of_lifetimes(left: Lifetimes, right: Lifetimes, end: int) -> _Pairs:
    """Return the additions and removals of pairs whose lifetimes overlap."""
    lefts, rights = overlaps(left, right, end)
    one, other = left.take(lefts), right.take(rights)
    weight = one.weight * other.weight
    comes = np.maximum(one.start, other.start)
    goes = np.minimum(one.end, other.end)
    coming, going = np.flatnonzero(comes > BEFORE), np.flatnonzero(goes < end)
    which = np.concatenate([coming, going])
    return _Pairs(
        one.row[which],
        other.row[which],
        np.concatenate([comes[coming], goes[going]]),
        np.concatenate([weight[coming], -weight[going]]),
    )


# The two sides of a join of updating inputs: their net rows, and changes that may be undone.


_KEYS_MIN = 1024
"""With fewer keys than this, keys without rows are not searched for."""


@dataclass(slots=True, eq=False)
class SideChanges:
    """The changes of one application in each side; rows are sorted by slot.

    `passed` are slots of rows that were applied and not kept.
    """

    sides: list[KeyedRows | None]
    passed: Ints = field(default_factory=lambda: np.empty(0, np.int64))


class UpdatingSides:
    """The rows of both sides.  Their columns: keys, then those of the input."""

    def __init__(
        self, keys: int, *, counted: bool = False, closed: ClosedWindows | None = None
    ) -> None:
        """Begin without rows; `counted` is whether the rows of each slot are counted."""
        self.table = SlotTable()
        self.closed = closed
        left, right = (NetRows(keys, counted=counted, closed=closed) for _ in (LEFT, RIGHT))
        self.rows = (left, right)
        self.pending: list[SideChanges] = []
        """The changes that may be undone, in the order in which they were applied."""

    def add(self, changes: SideChanges, *, undoable: bool) -> None:
        """Add the changes of an application."""
        if undoable:
            self.pending.append(changes)
        merged = [
            self.rows[side].add(weighted(rows))
            for side, rows in enumerate(changes.sides)
            if rows is not None
        ]
        if any(merged) or len(changes.passed):
            self._forget_slots()

    def take_back(self, changes: SideChanges, affected: Bools) -> None:
        """Undo the changes of the slots that are marked."""
        for side, rows in enumerate(changes.sides):
            changes.sides[side], taken = split_rows(rows, affected)
            if taken is not None:
                self.rows[side].add(weighted(taken).negate())

    def drop(self, marks: Bools) -> None:
        """Drop the rows of the slots that are marked."""
        for rows in self.rows:
            rows.drop(marks)
        for changes in self.pending:
            changes.sides = [split_rows(rows, marks)[0] for rows in changes.sides]

    def settle(self, changes: SideChanges) -> None:
        """Record that an application will not be undone."""
        self.pending.remove(changes)

    def _forget_slots(self) -> None:
        """Free the slots without rows, if they are the majority.

        Slots that changed in an application that may be undone are kept: undoing may restore their rows.
        """
        if self.table.live <= _KEYS_MIN + 2 * sum(map(len, self.rows)):
            return
        used = np.zeros(len(self.table), np.bool_)
        for rows in self.rows:
            rows.mark_slots(used)
        for changes in self.pending:
            used[changes.passed] = True
            for side in changes.sides:
                if side is not None:
                    used[side.slot] = True
        self.table.free_all_but(used)


def weighted(rows: KeyedRows) -> WeightedRows:
    """Return rows as rows of a multiset."""
    return WeightedRows(rows.batch.columns, rows.slot, rows.batch.weights())


# Markers: for each slot, a row that exists while a side has no row in the slot, or while it has one.
#
# An outer join is an inner join in which a side has a row of NULLs while it has no other row:
#
#     right side    -          u@2        -u@5                 marker "absent"    +@0   -@2   +@5
#     left side     x@1                                         x with NULLs       +@1   -@2   +@5
#
# A left row paired with the marker is an unmatched row.  SEMI and ANTI joins use only the marker, present or
# absent.  The cost is linear in the changes, and in the rows that gain their first partner or lose the last
# one.


def marker(
    slots: Ints, weights: Ints, changed: tuple[Ints, Ints, Ints], *, present: bool
) -> History:
    """Return the history of the markers of `slots`, which ascend.

    Args:
        slots: All slots that change in either side.
        weights: The number of the side's rows in each of them before.
        changed: The slot, the root and the weight of each row that changes in the side.
        present: If true, the marker exists while there are rows; if false, while there are no rows.
    """
    slot, root, weight = changed
    slot = np.concatenate([slots, slot])
    root = np.concatenate([np.full(len(slots), BEFORE), root])
    weight = np.concatenate([weights, weight])
    order = lexicographic_order([slot, root])
    if order is not None:
        slot, root, weight = slot[order], root[order], weight[order]
    # Every slot begins with its weight before, so the sums of each slot follow from those over all slots.
    total = np.cumsum(weight)
    firsts = starts_of_runs(slot)
    before = np.repeat(total[firsts] - weight[firsts], np.diff(np.append(firsts, len(slot))))
    last = np.append(starts_of_runs(slot, root)[1:], len(slot)) - 1
    slot, root = slot[last], root[last]
    marked = (((total - before)[last] > 0) == present).astype(np.int64)
    previous = np.roll(marked, 1)
    previous[starts_of_runs(slot)] = 0
    step = marked - previous
    kept = np.flatnonzero(step)
    payload = np.cumsum(np.diff(slot[kept], prepend=-1) != 0)
    return History(WeightedRows((), slot[kept], step[kept]), root[kept], payload)


def flips(of: History) -> Ints:
    """Return the slots in which a marker changes, ascending."""
    return np.unique(of.rows.slot[of.root > BEFORE])


# Snapshots of joins of updating inputs: each has the net changes since the previous one.
#
# The first snapshot has the whole content.  After that, the net final changes are kept until the next
# snapshot; the root of a change determines whether it was saved before it was final.  All positions in the
# snapshots are 0, so that a row and its retraction differ in their weight only.


class JoinUpdatesSnapshots(SideSnapshots[WeightedRows]):
    """`kernel.KernelSnapshots` over the net rows of a join."""

    def __init__(
        self, combine: CombineJoin, schemas: Sequence[Schema], sides: UpdatingSides
    ) -> None:
        super().__init__(combine, schemas, sides.table)
        self._sides = sides
        self._position_columns = (2 + combine.left_depth, 2 + combine.right_depth)
        self._settled: tuple[NetRows, NetRows] | None = None

    def on_settle(self, changes: SideChanges) -> None:
        """Record that changes are final.  After a repair they may have been saved already."""
        if self._settled is None:
            return
        for side, rows in enumerate(changes.sides):
            new = None if rows is None else filter_rows(rows, ~below(rows.batch, self._saved_to))
            if new is not None:
                self._settled[side].add(weighted(new))

    def changed_keys(self) -> int:
        return sum(map(len, self._sides.rows if self._settled is None else self._settled))

    def _record_from_now(self) -> None:
        self._settled = (NetRows(self._keys), NetRows(self._keys))

    def _unsaved_rows(self, side: int, position: Root) -> list[WeightedRows]:
        pending = [rows for each in self._sides.pending if (rows := each.sides[side]) is not None]
        if self._settled is None:
            above = [filter_rows(rows, ~below(rows.batch, position)) for rows in pending]
            taken_out = [weighted(rows).negate() for rows in above if rows is not None]
            return [*self._sides.rows[side].runs, *taken_out]
        new = [
            filter_rows(rows, below(rows.batch, position) & ~below(rows.batch, self._saved_to))
            for rows in pending
        ]
        return [*self._settled[side].runs, *(weighted(rows) for rows in new if rows is not None)]

    def _encode(self, side: int, parts: list[WeightedRows]) -> KeysAndState:
        none = np.empty(0, np.int64)
        rows = concat_rows([WeightedRows(self._encoding.no_rows(side), none, none), *parts])
        count = len(rows.slot)
        positions = self._encoding.positions(
            [np.zeros(count, np.int64)] * self._position_columns[side]
        )
        closed = self._sides.closed
        expires = np.full(count, NEVER) if closed is None else closed.close_times(rows.columns)
        return self._encoding.rows_of(side, rows.columns, positions, rows.weight, expires)

    def stage(self, state: IncrementalSnapshot) -> None:
        self._keep_all(staged=True)
        super().stage(state)

    def adopt(self, position: Root) -> None:
        """Drop closed windows again from now on; see `SideSnapshots`."""
        super().adopt(position)
        self._keep_all(staged=False)

    def discard_staged(self) -> None:
        super().discard_staged()
        self._keep_all(staged=False)

    def _keep_all(self, *, staged: bool) -> None:
        if self._sides.closed is not None:
            self._sides.closed.keep_all(staged=staged)

    def _add(self, state: IncrementalSnapshot, slots: Ints) -> None:
        weights = state.rows.column(WEIGHT).to_numpy()
        for side in (LEFT, RIGHT):
            rows = rows_of_side(state, side)
            columns = self._encoding.columns_of(side, state.rows.take(pa.array(rows)))
            self._sides.rows[side].add(WeightedRows(columns, slots[rows], weights[rows]))
