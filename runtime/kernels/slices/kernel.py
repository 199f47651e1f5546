"""The kernel of window aggregates that are computed from slices (`compiler.analysis.slices`).

The state is one group for each slice of a key, like that of a window: snapshots, undo and repairs are those
of groups.  For each key there is also the **running total** of the windows that are closing: slices are
combined into it when they enter, and taken out of it when they leave.  It follows from the slices that have
entered, none of which can change, so it is in no snapshot: after a load the slices enter once more.

A window costs what enters and leaves with it, and its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import ColumnRef
from fsql.compiler.graph import CombineAggregate, CombineSlices
from fsql.compiler.logical import WindowBound
from fsql.compiler.sqltypes import TIMESTAMP
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import PUNCTUATION, Batch, Root
from fsql.runtime.kernels.accumulators.of_call import merging
from fsql.runtime.kernels.aggregate.kernel import AggregateKernel, errors_of
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows, merge_results
from fsql.runtime.kernels.keyed.slot_ends import ClosedColumns, split_slots
from fsql.runtime.kernels.keyed.steps import Values, steps_of
from fsql.runtime.kernels.slices.open_slices import OpenSlices
from fsql.runtime.order import concat_arrays, stable_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.accumulators.accumulator import Merging
    from fsql.runtime.kernels.aggregate.kernel import _Undo
    from fsql.runtime.kernels.slices.open_slices import ClosedWindows


class SlicesKernel(AggregateKernel):
    """`graph.CombineSlices` over slots: one for each slice of each key."""

    def __init__(self, combine: CombineSlices) -> None:
        closing = combine.closing
        ends = tuple(
            ColumnRef(TIMESTAMP, False, index)  # noqa: FBT003 - a node
            for index in (closing.window_end, closing.last_end)
        )
        self._slices = combine
        self._open_slices = OpenSlices(closing, len(combine.partition))
        groups = CombineAggregate(
            (*combine.partition, *ends),
            combine.aggregates,
            combine.scan_number,
            input_append_only=True,
            closing=closing,
            final=True,
        )
        super().__init__(
            groups,
            marks_replacements=False,
            closings=self._open_slices,
        )
        self._open_slices.bind(self._table, self._key_types, self._clear_totals)
        self._totals: list[Merging] = [merging(call) for call in self._calls]

    def _clear_totals(self, keys: Ints) -> None:
        for total in self._totals:
            total.grow(len(self._open_slices.keys))
            total.clear(keys)

    def _open(self, batch: Batch, rows: Ints, new: Ints) -> None:
        indexes = pa.array(rows)
        self._open_slices.open_slices([key.take(indexes) for key in self.keys(batch)], new)

    def close(self, min_time: Root) -> ApplyResult[_Undo] | None:
        closed = self._open_slices.close(min_time)
        if closed is None:
            return None
        for total in self._totals:
            total.grow(len(self._open_slices.keys))
        made = list(self._rows_of_windows(closed))
        self._free(closed.leaving)
        self._open_slices.release_keys(closed.leaving)
        return merge_results(made)

    def _rows_of_windows(self, closed: ClosedWindows) -> Iterator[ApplyResult[_Undo]]:
        """Update the running totals; yield the rows of the windows, in the order of their closing."""
        values = self._values(closed)
        order = stable_order(closed.ends)
        if self._given_up:
            order = order[~np.isin(closed.keys[order], self._foreign(closed.keys))]
        sizes = ClosedColumns()
        for part in split_slots(order):
            indexes = pa.array(part)
            shown = [
                Values(
                    value.array.take(indexes),
                    None if value.failed is None else value.failed[part],
                )
                for value in values
            ]
            yield self._rows_of_part(closed.keys[part], closed.ends[part], shown, sizes)

    def _foreign(self, keys: Ints) -> Ints:
        """Return the keys in bins that were given up."""
        types = self._open_slices.partition_types
        return self._open_slices.keys.in_bins(self._given_up, types, np.unique(keys))

    def _values(self, closed: ClosedWindows) -> list[Values]:
        """Update the running totals; return the value of each aggregate for each window."""
        slices = self._open_slices
        slots = np.concatenate([closed.entering, closed.leaving])
        signs = np.repeat([1, -1], [len(closed.entering), len(closed.leaving)])
        ends = np.concatenate(
            [
                slices.first_ends(closed.entering),
                slices.last_ends(closed.leaving) + self._slices.closing.slide_us,
            ]
        )
        keys = slices.keys_of(slots)
        order = np.lexsort((ends, keys))
        slots, signs, keys, ends = slots[order], signs[order], keys[order], ends[order]
        starts = starts_of_runs(keys, ends)
        steps = steps_of(keys, starts)
        shown = closed.keys[starts_of_runs(closed.keys)]
        rows = _rows_of_values(keys[starts], ends[starts], closed)
        values = []
        for total, partials in zip(self._totals, self._accumulators, strict=True):
            before = total.read(shown)
            if not len(slots):
                values.append(_taken(before, rows))
                continue
            after = total.add_partials(partials, slots, signs, steps)
            values.append(_taken(_joined(after, before), rows))
        return values

    def _rows_of_part(
        self, keys: Ints, ends: Ints, values: list[Values], sizes: ClosedColumns
    ) -> ApplyResult[_Undo]:
        """Return the rows of windows of keys."""
        slices = self._open_slices
        groups = self._groups(values)
        partition = iter(slices.keys.keys(keys, slices.partition_types))
        starts = ends - self._slices.size_us
        of_window = dict(zip(WindowBound, (starts, ends, ends - 1), strict=True))
        key_columns = [
            next(partition)
            if bound is None
            else pa.array(of_window[bound]).view(arrow_type(key.type))
            for key, bound in zip(self._slices.keys, self._slices.bounds, strict=True)
        ]
        count = len(ends)
        columns = [*key_columns, *(value.array for value in groups.values)]
        path = np.full(count, self._slices.scan_number, np.int64)
        origins = np.full(count, PUNCTUATION, np.int64)
        batch = Batch(columns, slices.close_times(ends), origins, (path,))
        sizes.add(columns)
        made, failing = np.flatnonzero(groups.shown), np.flatnonzero(groups.fails)
        rows = KeyedRows(batch.take(made), keys[made])
        return ApplyResult(rows, errors_of(batch, failing, keys[failing]), None)


def _rows_of_values(keys: Ints, ends: Ints, closed: ClosedWindows) -> Ints:
    """Return for each window the index of its value.

    Values are those after each step, which has a key and an end, then those before all steps, for each key
    of the windows.  Steps and windows are ordered by key and end.
    """
    steps, windows = len(keys), len(closed.keys)
    all_keys = np.concatenate([keys, closed.keys])
    is_window = np.repeat([False, True], [steps, windows])
    order = np.lexsort((is_window, np.concatenate([ends, closed.ends]), all_keys))
    last_step = np.cumsum(~is_window[order]) - 1
    last_step = last_step[is_window[order]]
    begins = starts_of_runs(closed.keys)
    key_index = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, windows)))
    if not steps:
        return key_index
    of_same_key = (last_step >= 0) & (keys[last_step] == closed.keys)
    return np.where(of_same_key, last_step, steps + key_index)


def _joined(after: Values, before: Values) -> Values:
    failed = None
    if after.failed is not None or before.failed is not None:
        failed = np.concatenate(
            [
                np.zeros(len(each.array), np.bool_) if each.failed is None else each.failed
                for each in (after, before)
            ]
        )
    return Values(concat_arrays([after.array, before.array]), failed)


def _taken(values: Values, rows: Ints) -> Values:
    failed = None if values.failed is None else values.failed[rows]
    return Values(values.array.take(pa.array(rows)), failed)
