"""DISTINCT within an aggregate: the weight of each value of each slot.

    rows of a slot   weights        changes for the aggregate
    +a +a +b         a: 2, b: 1     +a +b
    -a               a: 1, b: 1     nothing
    -a               b: 1           -a

The aggregate receives a value when the weight of the value becomes positive, and a retraction when it is no
longer positive.  A value whose weight is 0 is freed immediately, so the state has one entry for each value
that is present.  The entries of all slots are in one slot table, by slot and value, so that a batch is looked
up in columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.kernels.keyed.steps import StateColumn, Steps, Values, steps_of
from fsql.runtime.order import (
    canonical_rank,
    key_values,
    lexicographic_order,
    stable_order,
    starts_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsql.compiler.expression import AggregateCall
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.accumulators.accumulator import Accumulator


class _Added(NamedTuple):
    """Rows that were added: the slot, the value and the weight of each."""

    slot: Ints
    values: pa.Array
    weights: Ints


class Distinct:
    """An aggregate of the distinct values that are not NULL."""

    def __init__(self, call: AggregateCall, inner: Accumulator) -> None:
        assert call.argument is not None
        self._inner = inner
        self._type = arrow_type(call.argument.type)
        self._entries = SlotTable()
        self._weight = StateColumn()
        self._of_slot: list[set[int]] = []
        """The entries of each slot."""
        self._journal: list[_Added] | None = None
        """The journal of the next `add`, if it may be undone."""

    def grow(self, slots: int) -> None:
        self._inner.grow(slots)
        self._of_slot.extend(set() for _ in range(slots - len(self._of_slot)))

    def clear(self, slots: Ints) -> None:
        self._inner.clear(slots)
        entries: list[int] = []
        for slot in slots.tolist():
            entries += self._of_slot[slot]
            self._of_slot[slot] = set()
        self._free(np.array(entries, np.int64))

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        slot = np.repeat(steps.slot, steps.sizes)
        weights = np.ones(len(slot), np.int64) if weights is None else weights
        values = key_values(values)
        appears = np.zeros(len(slot), np.int64)
        rows: Ints | slice = slice(None)
        added = _Added(slot, values, weights)
        if values.null_count:
            rows = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
            added = _Added(slot[rows], values.take(pa.array(rows)), weights[rows])
        if self._journal is not None:
            self._journal.append(added)
            self._journal = None
        appears[rows] = self._add_weights(added)
        return self._inner.add(values, appears, steps)

    def add_partials(self, partials: Distinct, slots: Ints, signs: Ints, steps: Steps) -> Values:
        """See `accumulator.Merging`."""
        lists = partials.columns(slots)["values"]
        lengths = lists.value_lengths().fill_null(0).to_numpy()
        pairs = lists.flatten()
        # Each partial has a row for each of its values, and one that changes nothing if it has none.
        rows = np.maximum(lengths, 1)
        weights = np.zeros(int(rows.sum()), np.int64)
        filled = np.ones(len(weights), np.bool_)
        starts = np.cumsum(rows) - rows
        filled[starts[lengths == 0]] = False
        weights[filled] = pairs.field(1).to_numpy() * signs.repeat(lengths)
        indexes = np.cumsum(filled) - 1
        values = pairs.field(0).take(pa.array(indexes, mask=~filled))
        widened = Steps(starts[steps.start], len(weights), steps.slot, steps.first)
        return self.add(values, weights, widened)

    def _add_weights(self, added: _Added) -> Ints:
        """Add the rows to the weights; return for each 1 if its value appears, -1 if it disappears."""
        slot, values, weights = added
        if not len(slot):
            return weights
        found = self._entries.find([pa.array(slot), values], len(slot))
        self._weight.grow(len(self._entries))
        if found.any_new:
            new, rows = found.new()
            self._weight.values[new] = 0
            for owner, entries in _by_slot(new, slot[rows]):
                self._of_slot[owner].update(entries)
        order = stable_order(found.slots)
        entry, delta = found.slots[order], weights[order]
        total = np.cumsum(delta)
        first = starts_of_runs(entry)
        base = self._weight.values[entry[first]] - (total[first] - delta[first])
        last = np.append(first[1:], len(entry)) - 1
        after = total + base.repeat(last - first + 1)
        self._weight.values[entry[first]] = after[last]
        gone = first[after[last] == 0]
        if len(gone):
            for owner, entries in _by_slot(entry[gone], slot[order[gone]]):
                self._of_slot[owner].difference_update(entries)
            self._free(entry[gone])
        appears = np.empty(len(slot), np.int64)
        appears[order] = (after > 0).astype(np.int64) - (after - delta > 0)
        return appears

    def _free(self, entries: Ints) -> None:
        """Free entries and let them be reused: no journal refers to entries."""
        self._entries.free(entries)
        self._entries.recycle(self._entries.take_retired())

    def read(self, slots: Ints) -> Values:
        return self._inner.read(slots)

    def save(self, slots: Ints) -> tuple[Any, list[_Added]]:
        """See `Accumulator`: a journal of the rows that the next `add` adds."""
        self._journal = []
        return self._inner.save(slots), self._journal

    def restore(self, slots: Ints, saved: tuple[Any, list[_Added]], kept: Ints) -> None:
        inner, journal = saved
        self._inner.restore(slots, inner, kept)
        for slot, values, weights in journal:
            rows = np.flatnonzero(np.isin(slot, slots[kept]))
            self._add_weights(_Added(slot[rows], values.take(pa.array(rows)), -weights[rows]))

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        entries = [sorted(self._of_slot[slot]) for slot in slots.tolist()]
        lengths = np.array([len(each) for each in entries], np.int64)
        every = np.array([entry for each in entries for entry in each], np.int64)
        types = [pa.int64(), self._type]
        values = self._entries.keys(every, types)[1]
        weight = self._weight.values[every]
        index = np.repeat(np.arange(len(entries)), lengths)
        order = lexicographic_order([index, canonical_rank(values)])
        if order is not None:
            values, weight = values.take(pa.array(order)), weight[order]
        pairs = pa.StructArray.from_arrays(
            [decode_dictionary(values), pa.array(weight)], ["value", "weight"]
        )
        ends = np.append(0, np.cumsum(lengths)).astype(np.int32)
        empty = pa.array(lengths == 0)
        return {"values": pa.ListArray.from_arrays(pa.array(ends), pairs, mask=empty)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        """Load the weights, and add the present values to the aggregate."""
        lists = columns["values"]
        slot = np.repeat(slots, lists.value_lengths().fill_null(0).to_numpy())
        if not len(slot):
            return
        pairs = lists.flatten()
        order = stable_order(slot)
        slot, pairs = slot[order], pairs.take(pa.array(order))
        values, weights = pairs.field(0), pairs.field(1).to_numpy()
        present = self._add_weights(_Added(slot, values, weights))
        self._inner.add(values, present, steps_of(slot, starts_of_runs(slot)))


def _by_slot(entries: Ints, slots: Ints) -> Iterator[tuple[int, list[int]]]:
    """Yield each slot with its entries; there is at least one entry."""
    order = stable_order(slots)
    starts = starts_of_runs(slots[order])
    owners, ends = slots[order[starts]], np.append(starts[1:], len(slots))
    every = entries[order].tolist()
    for owner, start, end in zip(owners.tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield owner, every[start:end]
