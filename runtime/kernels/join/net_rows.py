"""A multiset of rows in columns, by slot: the state of one side of a join of updating inputs.

Each row has a weight, which may be negative.  Rows of one slot and one payload become one row with the sum of
the weights, or no row if the sum is 0.  The rows are in runs sorted by slot; runs are merged as they grow,
so each row is moved a logarithmic number of times.  Rows are undone by adding them with opposite weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.order import (
    concat_arrays,
    identity_codes,
    lexicographic_order,
    starts_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.compiler.graph import Closing
    from fsql.runtime.arrays import Bools, Ints


class WeightedRows(NamedTuple):
    """Rows in columns, the slot of each row's key, and the weight of each."""

    columns: Sequence[pa.Array]
    slot: Ints
    weight: Ints

    def take(self, rows: Ints) -> WeightedRows:
        """Return the rows at the given indexes, in that order."""
        indexes = pa.array(rows)
        columns = [column.take(indexes) for column in self.columns]
        return WeightedRows(columns, self.slot[rows], self.weight[rows])

    def of(self, slots: Bools) -> WeightedRows:
        """Return the rows of the slots that are marked."""
        return self.take(np.flatnonzero(slots[self.slot]))

    def negate(self) -> WeightedRows:
        """Return the rows with opposite weights."""
        return self._replace(weight=-self.weight)


def concat_rows(parts: Sequence[WeightedRows]) -> WeightedRows:
    """Return the rows of all parts, one after the other; there is at least one part."""
    if len(parts) == 1:
        return parts[0]
    return WeightedRows(
        [concat_arrays(columns) for columns in zip(*(p.columns for p in parts), strict=True)],
        np.concatenate([part.slot for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )


def net(rows: WeightedRows, keys: int) -> WeightedRows:
    """Return one row, with the sum of the weights, for each slot and payload; no row if the sum is 0.

    The first `keys` columns are the key of the slot.  The rows are sorted by slot.
    """
    if len(rows.slot) == 0:
        return rows
    codes = [rows.slot, *(identity_codes(column) for column in rows.columns[keys:])]
    order = lexicographic_order(codes)
    if order is None:
        order = np.arange(len(rows.slot))
    starts = starts_of_runs(*(code[order] for code in codes))
    sums = np.add.reduceat(rows.weight[order], starts)
    kept = np.flatnonzero(sums)
    return rows.take(order[starts[kept]])._replace(weight=sums[kept])


class NetRows:
    """The multiset.  Its runs are immutable: a copy of the list is a copy of the content."""

    def __init__(
        self, keys: int, *, counted: bool = False, closed: ClosedWindows | None = None
    ) -> None:
        """Begin without rows; `weights` requires `counted`.

        Rows of windows that have closed are dropped when runs are merged.
        """
        self._keys = keys
        self._closed = closed
        self.runs: list[WeightedRows] = []
        self._weights: Ints | None = np.zeros(0, np.int64) if counted else None

    def __len__(self) -> int:
        """Return the number of rows of the runs; runs that are not merged yet may share some."""
        return sum(len(run.slot) for run in self.runs)

    def add(self, rows: WeightedRows) -> bool:
        """Add rows; return whether runs were merged."""
        if self._weights is not None and len(rows.slot):
            self._weights = extend_with_zeros(self._weights, int(rows.slot.max()) + 1)
            np.add.at(self._weights, rows.slot, rows.weight)
        run = net(rows, self._keys)
        merging = [run]
        size = len(run.slot)
        while self.runs and len(self.runs[-1].slot) < 2 * size:
            merging.insert(0, self.runs.pop())
            size += len(merging[0].slot)
        if len(merging) > 1:
            run = self._open(net(concat_rows(merging), self._keys))
        if len(run.slot):
            self.runs.append(run)
        return len(merging) > 1

    def _open(self, rows: WeightedRows) -> WeightedRows:
        """Return the rows without those of windows that have closed."""
        kept = None if self._closed is None else self._closed.open(rows.columns)
        if kept is None or kept.all():
            return rows
        if self._weights is not None:
            np.subtract.at(self._weights, rows.slot[~kept], rows.weight[~kept])
        return rows.take(np.flatnonzero(kept))

    def find(self, slots: Ints) -> WeightedRows | None:
        """Return the rows of some slots, which ascend; None if they have no rows."""
        found = all_rows([run.take(rows_of(run.slot, slots)) for run in self.runs])
        return None if found is None else all_rows([net(found, self._keys)])

    def weights(self, slots: Ints) -> Ints:
        """Return the sum of the weights of each slot."""
        assert self._weights is not None
        if len(slots):
            self._weights = extend_with_zeros(self._weights, int(slots.max()) + 1)
        return self._weights[slots]

    def mark_slots(self, marks: Bools) -> None:
        """Mark the slots that have rows."""
        for run in self.runs:
            marks[run.slot] = True

    def drop(self, expired: Bools) -> None:
        """Remove the rows of the marked slots."""
        if self._weights is not None:
            self._weights = extend_with_zeros(self._weights, len(expired))
            self._weights[np.flatnonzero(expired)] = 0
        kept = [run.of(~expired) for run in self.runs]
        self.runs = [run for run in kept if len(run.slot)]


def extend_with_zeros(values: Ints, length: int) -> Ints:
    """Return the values, with zeros appended if there are fewer than `length`."""
    if len(values) >= length:
        return values
    return np.concatenate([values, np.zeros(2 * length - len(values), np.int64)])


def rows_of(sorted_slots: Ints, slots: Ints) -> Ints:
    """Return the indexes of the elements of `sorted_slots` that are in `slots`; both ascend."""
    low = sorted_slots.searchsorted(slots, "left")
    return ranges(low, sorted_slots.searchsorted(slots, "right") - low)[1]


def ranges(low: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return, for each integer of all ranges `[low, low + count)`, the index of its range, and itself."""
    number = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(number)) - np.repeat(np.cumsum(count) - count, count)
    return number, np.repeat(low, count) + within


def all_rows(parts: Iterable[WeightedRows | None]) -> WeightedRows | None:
    """Return the rows of all parts, or None if they have no rows."""
    some = [part for part in parts if part is not None and len(part.slot)]
    return concat_rows(some) if some else None


# The rows of a join of windows that are no longer needed: their windows have closed on both sides.


class ClosedWindows:
    """The bound up to which windows have closed.  The columns of rows begin with the keys of the join.

    Rows of keys that are about to be adopted are as of a position that may be below the bound, so nothing is
    dropped while such rows exist.
    """

    def __init__(self, closing: Closing) -> None:
        self._closing = closing
        self._bound: int | None = None
        self._staged = False

    def advance(self, horizon: Root) -> None:
        """Set the bound: no row below `horizon` will be applied or undone again."""
        self._bound = horizon.time if horizon.origin > PUNCTUATION else horizon.time - 1

    def keep_all(self, *, staged: bool) -> None:
        """Set whether there are rows of keys that are about to be adopted; nothing is dropped then."""
        self._staged = staged

    def close_times(self, columns: Sequence[pa.Array]) -> Ints:
        """Return the times of the punctuations at which the windows of rows close."""
        end = columns[self._closing.window_end].view(pa.int64()).to_numpy(zero_copy_only=False)
        grain = self._closing.grain_us
        return -(-end // grain) * grain + self._closing.delay_us

    def open(self, columns: Sequence[pa.Array]) -> Bools | None:
        """Return which rows are of windows that have not closed; None if no row can be excluded."""
        if self._bound is None or self._staged:
            return None
        return self.close_times(columns) > self._bound
