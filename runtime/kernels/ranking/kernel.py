"""The kernel of ranks: the rows of each partition in their order, and the changes of the visible rows.

At every root position that changes the visible rows of a partition, the kernel retracts rows and adds rows:

    time  in      out (the two least, with ROW_NUMBER)
    1     30      +(30, 1)
    2     10      -(30, 1) +(10, 1) +(30, 2)
    3     20      -(30, 2) +(20, 2)                     30 is dropped: no later row can make it visible again

The cost of a row is a search in its partition, and the changes that it makes.  A row after all visible rows
is recognized by a comparison with the last visible row; of append-only input such rows are not kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import PUNCTUATION, Batch, Root
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows, merge_results
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.kernels.keyed.slot_ends import ClosedColumns, split_slots
from fsql.runtime.kernels.ranking.ordered_rows import Change, OrderedRows
from fsql.runtime.kernels.ranking.partitioned import PartitionedKernel
from fsql.runtime.kernels.ranking.ranks import UNRANKED, Ranks, end_of_equal
from fsql.runtime.kernels.ranking.sort_keys import integer_bytes, row_bytes, sort_bytes
from fsql.runtime.order import roots_of, stable_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.graph import CombineRank
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.ranking.ordered_rows import Partition, Row
    from fsql.runtime.kernels.ranking.ranks import Key


class _Undo(NamedTuple):
    """The changes of an application, by slot."""

    slots: Ints
    changes: dict[int, list[Change]]


class _VisibleChange(NamedTuple):
    """A change of the visible rows."""

    row: Row
    rank: int
    weight: int
    root: int
    slot: int


class RankKernel(PartitionedKernel[_Undo]):
    """`graph.CombineRank` of any kind over slots."""

    def __init__(self, combine: CombineRank, schema: Schema, depth: int) -> None:
        """Begin without rows; the input's rows have columns `schema` and a path of `depth` integers."""
        self._order = Evaluator([key.expression for key in combine.order])
        self._ranks = Ranks(
            combine.function, ranked=combine.ranked, skipped=combine.skipped, limit=combine.limit
        )
        self._forgets = combine.by_position and combine.limit is not None
        width = 2 + depth if combine.by_position else 0
        self._rows = OrderedRows(schema, width, self._keys_of_loaded)
        super().__init__(combine, self._rows)

    def _sort_keys(
        self, order: Sequence[pa.Array], columns: Sequence[pa.Array], positions: Sequence[Ints]
    ) -> list[Key]:
        """Return the sort keys of rows; `positions` are empty if rows are not ordered by position."""
        count = len(columns[0])
        keys = self._combine.order
        orders = [b""] * count
        if order:
            descending = [key.descending for key in keys]
            orders = sort_bytes(order, descending, [key.nulls_first for key in keys])
        if not positions:
            ties = row_bytes(columns, count)
        else:
            ties = integer_bytes(positions)
            if self._combine.may_tie:
                pairs = zip(ties, row_bytes(columns, count), strict=True)
                ties = [position + own for position, own in pairs]
        return list(zip(orders, ties, strict=True))

    def _keys_of_loaded(self, columns: Sequence[pa.Array], positions: Sequence[Ints]) -> list[Key]:
        none = np.zeros(len(columns[0]), np.int64)
        values, kept, _ = self._order(Batch(list(columns), none, none, ()))
        assert kept is None, "rows that fail are not in the state"
        return self._sort_keys(values, columns, positions)

    def apply(self, sides: Sequence[KeyedRows | None], *, undoable: bool) -> ApplyResult[_Undo]:
        assert sides[0] is not None
        batch, slot = sides[0]
        slots = np.unique(slot)
        if self._emptied is not None and (undoable or batch.weight is not None):
            self._emptied.on_apply(slots, undoable=undoable)
        journal: dict[int, list[Change]] = {}
        roots = roots_of(batch)
        made: list[_VisibleChange] = []
        for of, root, changes in self._changes(batch, slot, roots.number):
            partition = self._rows.partition(of)
            if self._combine.final:
                self._keep(partition, changes)
            else:
                shown = self._apply_shown(partition, changes)
                made.extend(
                    _VisibleChange(row, rank, weight, root, of) for row, rank, weight in shown
                )
            journal.setdefault(of, []).extend(changes)
            if self._forgets:
                journal[of].extend(self._forget(partition))
        undo = _Undo(slots, journal) if undoable else None
        return ApplyResult(self._make_rows(made, roots.time, roots.origin), None, undo)

    def _keep(self, partition: Partition, changes: Iterable[Change]) -> None:
        """Apply changes to rows that are released when their window closes.

        Their order is needed before only to forget those after all visible ones.
        """
        add = partition.add if self._forgets else partition.add_unordered
        for change in changes:
            add(change)

    def _changes(
        self, batch: Batch, slot: Ints, number: NDArray[np.int32]
    ) -> Iterator[tuple[int, int, list[Change]]]:
        """Yield the changes of each root in each slot, with the slot and the number of the root."""
        order = stable_order(slot)
        order_values = batch.columns[self._keys : self._columns]
        columns = batch.columns[self._columns :]
        combine = self._combine
        positions = (batch.time, batch.origin, *batch.path) if combine.by_position else ()
        keys = self._sort_keys(order_values, columns, positions)
        slot_of = slot.tolist()
        if self._forgets:
            indexes = order.tolist()
            if combine.final and batch.weight is None:
                indexes = self._first_of_slots(indexes, slot_of, keys)
            indexes = [
                index
                for index in indexes
                if not self._ranks.never_shows(
                    self._rows.partition(slot_of[index]).keys, keys[index]
                )
            ]
            if not indexes:
                return
            order = np.array(indexes, np.int64)
        taken = pa.array(order)
        rows = self._rows.rows_of([column.take(taken) for column in columns])
        weights = batch.weights()[order].tolist()
        roots = number[order].tolist()
        changes: dict[Key, Change] = {}
        last: tuple[int, int] | None = None
        for index, row, weight, root in zip(order.tolist(), rows, weights, roots, strict=True):
            of, key = slot_of[index], keys[index]
            if (of, root) != last:
                if last is not None and (some := _net(changes)):
                    yield *last, some
                last, changes = (of, root), {}
            before = changes[key].weight if key in changes else 0
            changes[key] = Change(key, row, before + weight)
        if last is not None and (some := _net(changes)):
            yield *last, some

    def _first_of_slots(self, indexes: list[int], slot_of: list[int], keys: list[Key]) -> list[int]:
        """Return the rows that are not hidden by others of their slot among them.

        Only what is visible when the window closes matters, so rows need not be applied one by one.
        """
        return [
            index
            for _, group in groupby(indexes, slot_of.__getitem__)
            for index in self._ranks.select_first(list(group), keys)
        ]

    def _apply_shown(
        self, partition: Partition, changes: Sequence[Change]
    ) -> Iterator[tuple[Row, int, int]]:
        """Apply the changes of one root; yield the changes of the visible rows: row, rank and weight."""
        rows = {change.key: change.row for change in changes}
        if self._ranks.shows_by_index:
            differences = self._apply_by_index(partition, changes)
        else:
            differences = self._apply_by_rank(partition, changes)
        for (key, rank), weight in differences.items():
            if weight:
                row = rows[key] if key in rows else partition.rows[key][0]
                yield row, rank, weight

    def _apply_by_index(
        self, partition: Partition, changes: Sequence[Change]
    ) -> dict[tuple[Key, int], int]:
        """Apply changes; return the change of how often each row is visible, if only its index matters.

        The indexes of other rows change at most by the number of changed rows, so only rows near a bound can
        cross it.
        """
        ranks, keys = self._ranks, partition.keys
        near = dict.fromkeys(change.key for change in changes)
        near |= dict.fromkeys(ranks.near_bounds(keys, sum(abs(each.weight) for each in changes)))
        before = [ranks.times_shown(keys, key) for key in near]
        for change in changes:
            partition.add(change)
        return {
            (key, UNRANKED): ranks.times_shown(keys, key) - shown
            for key, shown in zip(near, before, strict=True)
        }

    def _apply_by_rank(
        self, partition: Partition, changes: Sequence[Change]
    ) -> dict[tuple[Key, int], int]:
        """Apply changes; return the change of how often each row is visible with each rank.

        Rows before all changes keep their ranks.  If the number of rows does not change, so do the rows after
        all changes and after the rows that are equal to changed ones, except with DENSE_RANK.
        """
        ranks, keys = self._ranks, partition.keys
        start = min(bisect_left(keys, change.key) for change in changes)
        stop = None
        if not ranks.tail_moves(grown=sum(map(partition.copies, changes)) != 0):
            stop = max(end_of_equal(keys, change.key) for change in changes)
        differences: Counter[tuple[Key, int]] = Counter()
        differences.subtract(ranks.visible_rows(keys, start, stop))
        for change in changes:
            partition.add(change)
        differences.update(ranks.visible_rows(keys, start, stop))
        return differences

    def _forget(self, partition: Partition) -> list[Change]:
        """Drop the rows after all visible rows; return the changes."""
        hidden = partition.keys[self._ranks.end_of_shown(partition.keys) :]
        forgotten = [Change(key, partition.rows[key][0], -1) for key in reversed(hidden)]
        for change in forgotten:
            partition.add(change)
        return forgotten

    def _make_rows(
        self, made: Sequence[_VisibleChange], times: Ints, origins: Ints
    ) -> KeyedRows | None:
        if not made:
            return None
        rows, ranks, weights, roots, slots = zip(*made, strict=True)
        columns = self._rows.batch_columns(rows)
        if self._combine.ranked:
            columns.append(pa.array(ranks, pa.int64()))
        root = np.array(roots)
        path = np.full(len(made), self._combine.scan_number, np.int64)
        weight = None if min(weights) == max(weights) == 1 else np.array(weights, np.int64)
        batch = Batch(columns, times[root], origins[root], (path,), weight)
        return KeyedRows(batch, np.array(slots, np.int64))

    def restore(self, undo: _Undo, affected: Bools) -> None:
        for slot in undo.slots[affected[undo.slots]].tolist():
            partition = self._rows.partition(slot)
            undone = (
                change._replace(weight=-change.weight)
                for change in reversed(undo.changes.get(slot, ()))
            )
            if self._combine.final:
                self._keep(partition, undone)
            else:
                for change in undone:
                    partition.add(change)

    def close(self, min_time: Root) -> ApplyResult[_Undo] | None:
        if self._closings is None:
            return None
        sizes, closed = ClosedColumns(), []
        for time, slots in self._closings.pop_below(min_time):
            if self._combine.final:
                shown = np.setdiff1d(slots, self.slots_in(self._given_up, slots))
                closed += [self._final_rows(time, part, sizes) for part in split_slots(shown)]
            self._free(slots)
        return merge_results(closed)

    def _final_rows(self, time: int, slots: Ints, sizes: ClosedColumns) -> ApplyResult[_Undo]:
        rows = self._visible_rows(slots, Root(time, PUNCTUATION))
        if rows is not None:
            sizes.add(rows.batch.columns)
        return ApplyResult(rows, None, None)

    def _visible_rows(self, slots: Ints, root: Root) -> KeyedRows | None:
        made: list[_VisibleChange] = []
        for slot in slots.tolist():
            partition = self._rows.partition(slot)
            made.extend(
                _VisibleChange(partition.rows[key][0], rank, 1, 0, slot)
                for key, rank in self._ranks.visible_rows(partition.keys)
            )
        return self._make_rows(made, np.array([root.time]), np.array([root.origin]))

    def result(self, root: Root) -> Batch | None:
        """Return the visible rows of all partitions; see `kernel.KeptResult`."""
        rows = self._visible_rows(np.sort(self._table.live_slots()), root)
        return None if rows is None else rows.batch


def _net(changes: dict[Key, Change]) -> list[Change]:
    return [change for change in changes.values() if change.weight]
