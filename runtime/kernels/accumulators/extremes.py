"""MIN and MAX: of append-only input in columns, of updating input with a multiset for each slot."""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import AggregateCall, AggregateFunction
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.keyed.steps import Values
from fsql.runtime.order import (
    canonical_rank,
    concat_arrays,
    doubles_of_sortable,
    fixed_width,
    integers,
    lexicographic_order,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.keyed.steps import Steps

    _Journal = dict[int, list[tuple[object, int]]]
    """The changes of each slot: values, and the changes of their weights."""

_STALE_FREE: Final = 16
"""A heap may hold this many stale values, and as many as the slot has values, before it is rebuilt."""
_GREATEST = np.int64(2**63 - 1)


def column_of_keys(keys: Ints, some: NDArray[np.bool_], arrow_type: pa.DataType) -> pa.Array:
    """Return the column of values with a fixed width from their sort keys; NULL unless marked in `some`."""
    if pa.types.is_floating(arrow_type):
        return pa.array(doubles_of_sortable(keys), mask=~some)
    if pa.types.is_boolean(arrow_type):
        return pa.array(keys != 0, mask=~some)
    if pa.types.is_int32(arrow_type):
        return pa.array(keys.astype(np.int32), mask=~some)
    return pa.array(keys, mask=~some).view(arrow_type)


class Extreme:
    """MIN or MAX of append-only input.

    The state is one Arrow value for each slot, NULL for none.  Values are compared as integers: directly if
    they fit, otherwise by their ranks among the batch and the slots that it affects.  MAX is MIN of the
    complement.
    """

    def __init__(self, call: AggregateCall) -> None:
        self._greatest = call.function is AggregateFunction.MAX
        self._type = arrow_type(call.type)
        self._fixed = fixed_width(self._type)
        self._keys = np.full(16, _GREATEST)
        self._some = np.zeros(16, np.bool_)
        self._values: list[object] = []

    def grow(self, slots: int) -> None:
        more = 2 * slots - len(self._some)
        if slots > len(self._some):
            self._keys = np.append(self._keys, np.full(more, _GREATEST))
            self._some = np.append(self._some, np.zeros(more, np.bool_))
        if not self._fixed:
            self._values.extend([None] * (slots - len(self._values)))

    def clear(self, slots: Ints) -> None:
        self._some[slots] = False
        self._keys[slots] = _GREATEST
        if not self._fixed:
            for slot in slots.tolist():
                self._values[slot] = None

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        del weights
        assert values is not None
        values = decode_dictionary(values)
        if self._fixed:
            keys, valid = integers(values)
            return self._add_keys(keys, valid, steps)
        touched = pa.array([self._values[slot] for slot in steps.slots.tolist()], self._type)
        known = concat_arrays([values, touched])
        ranks = canonical_rank(known)
        if pa.types.is_decimal(self._type):
            # They are the unscaled integers, which may be negative, or far greater than the number of rows.
            _, ranks = np.unique(ranks, return_inverse=True)
        rows = len(values)
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        keys = ~ranks if self._greatest else ranks
        self._keys[steps.slots] = np.where(self._some[steps.slots], keys[rows:], _GREATEST)
        after, some = self._running(np.where(valid, keys[:rows], _GREATEST), valid, steps)
        row_of_rank = np.zeros(int(ranks.max(initial=0)) + 1, np.int64)
        row_of_rank[ranks] = np.arange(len(ranks))
        chosen = row_of_rank[np.where(some, ~after if self._greatest else after, 0)]
        result = known.take(pa.array(chosen, mask=~some))
        last = result.take(pa.array(steps.last)).to_pylist()
        for slot, value in zip(steps.slots.tolist(), last, strict=True):
            self._values[slot] = tuple(value) if isinstance(value, list) else value
        return Values(result)

    def _add_keys(self, keys: Ints, valid: NDArray[np.bool_] | None, steps: Steps) -> Values:
        keys = ~keys if self._greatest else keys
        if valid is None:
            valid = np.ones(len(keys), np.bool_)
        else:
            keys = np.where(valid, keys, _GREATEST)
        after, some = self._running(keys, valid, steps)
        return Values(self._decode(after, some))

    def _running(
        self, keys: Ints, valid: NDArray[np.bool_], steps: Steps
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the least key and whether one exists, after each step; update both columns."""
        slots = steps.slots
        least, some = keys, valid
        if len(steps.start) != steps.rows:
            least = np.minimum.reduceat(keys, steps.start)
            some = np.maximum.reduceat(valid, steps.start)
        first = steps.first
        least, some = least.copy(), some.copy()
        least[first] = np.minimum(least[first], self._keys[slots])
        some[first] |= self._some[slots]
        if len(first) != len(least):
            # One pass for all slots: ranks are offset by slot, so that slots do not affect each other.
            distinct, ranks = np.unique(least, return_inverse=True)
            below = steps.group * len(distinct)
            least = distinct[np.minimum.accumulate(ranks - below) + below]
            counted = np.cumsum(some)
            some = counted > steps.of_slots((counted - some)[first])
        self._keys[slots] = least[steps.last]
        self._some[slots] = some[steps.last]
        return least, some

    def _decode(self, keys: Ints, some: NDArray[np.bool_]) -> pa.Array:
        keys = np.where(some, ~keys if self._greatest else keys, 0)
        return column_of_keys(keys, some, self._type)

    def read(self, slots: Ints) -> Values:
        if self._fixed:
            return Values(self._decode(self._keys[slots], self._some[slots]))
        return Values(pa.array([self._values[slot] for slot in slots.tolist()], self._type))

    def save(self, slots: Ints) -> tuple[Ints, NDArray[np.bool_], list[object]]:
        values = [] if self._fixed else [self._values[slot] for slot in slots.tolist()]
        return self._keys[slots], self._some[slots], values

    def restore(
        self, slots: Ints, saved: tuple[Ints, NDArray[np.bool_], list[object]], kept: Ints
    ) -> None:
        self._keys[slots[kept]] = saved[0][kept]
        self._some[slots[kept]] = saved[1][kept]
        if not self._fixed:
            for i in kept.tolist():
                self._values[slots[i]] = saved[2][i]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {"value": self.read(slots).array}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        values = columns["value"]
        self._some[slots] = values.is_valid().to_numpy(zero_copy_only=False)
        if self._fixed:
            keys, _ = integers(values)
            keys = ~keys if self._greatest else keys
            self._keys[slots] = np.where(self._some[slots], keys, _GREATEST)
        else:
            for slot, value in zip(slots.tolist(), values.to_pylist(), strict=True):
                self._values[slot] = tuple(value) if isinstance(value, list) else value


class RetractableExtreme:
    """MIN or MAX of updating input: for each slot the weights of its values, and a heap of candidates.

    A heap may hold removed values, and a value twice.  These stale values are dropped when they reach the
    top, and a heap is rebuilt when most of its values are stale.  Weights may be temporarily negative while
    changes of one root position are applied one by one.
    """

    def __init__(self, call: AggregateCall) -> None:
        self._sign = -1 if call.function is AggregateFunction.MAX else 1
        self._type = arrow_type(call.type)
        self._weights: list[defaultdict[object, int]] = []
        self._heaps: list[list[_Candidate]] = []
        self._journal: _Journal | None = None
        """The journal of the next `add`, if it may be undone."""

    def grow(self, slots: int) -> None:
        for _ in range(slots - len(self._heaps)):
            self._weights.append(defaultdict(int))
            self._heaps.append([])

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._weights[slot] = defaultdict(int)
            self._heaps[slot] = []

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        elements = _comparable(values)
        row_weights = [1] * len(elements) if weights is None else weights.tolist()
        ends = [*steps.start[1:].tolist(), steps.rows]
        after = []
        journal, self._journal = self._journal, None
        for slot, start, end in zip(steps.slot.tolist(), steps.start.tolist(), ends, strict=True):
            for i in range(start, end):
                if elements[i] is not None:
                    self._change(slot, elements[i], row_weights[i])
                    if journal is not None:
                        journal[slot].append((elements[i], row_weights[i]))
            after.append(self._top(slot))
        return Values(self._decode(after))

    def add_partials(self, partials: Extreme, slots: Ints, signs: Ints, steps: Steps) -> Values:
        """See `accumulators.Merging`: the state is the multiset of the extremes of all parts."""
        return self.add(partials.read(slots).array, signs, steps)

    def _change(self, slot: int, value: object, weight: int) -> None:
        known = self._weights[slot]
        before = known[value]
        if before + weight:
            known[value] = before + weight
        else:
            del known[value]
        if before <= 0 < before + weight:
            heapq.heappush(self._heaps[slot], _Candidate(value, self._sign))
            if len(self._heaps[slot]) > 2 * len(known) + _STALE_FREE:
                self._rebuild(slot)

    def _rebuild(self, slot: int) -> None:
        known = self._weights[slot].items()
        heap = [_Candidate(value, self._sign) for value, weight in known if weight > 0]
        heapq.heapify(heap)
        self._heaps[slot] = heap

    def candidates(self) -> int:
        """Return the number of values in the heaps, including stale ones."""
        return sum(map(len, self._heaps))

    def _top(self, slot: int) -> object:
        heap, known = self._heaps[slot], self._weights[slot]
        while heap and known.get(heap[0].value, 0) <= 0:
            heapq.heappop(heap)
        return heap[0].value if heap else None

    def _decode(self, values: list[object]) -> pa.Array:
        if fixed_width(self._type):
            some = np.array([value is not None for value in values], np.bool_)
            keys = np.array([value or 0 for value in values], np.int64)
            return column_of_keys(keys, some, self._type)
        return pa.array(values, self._type)

    def read(self, slots: Ints) -> Values:
        return Values(self._decode([self._top(slot) for slot in slots.tolist()]))

    def save(self, slots: Ints) -> _Journal:
        """See `Accumulator`: a journal of the changes that the next `add` makes."""
        self._journal = {slot: [] for slot in slots.tolist()}
        return self._journal

    def restore(self, slots: Ints, saved: _Journal, kept: Ints) -> None:
        for slot in slots[kept].tolist():
            for value, weight in reversed(saved[slot]):
                self._change(slot, value, -weight)

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        known = [self._weights[slot] for slot in slots.tolist()]
        lengths = np.array([len(weights) for weights in known], np.int64)
        values = self._decode([value for weights in known for value in weights])
        weight = np.array([weight for weights in known for weight in weights.values()], np.int64)
        order = lexicographic_order(
            [np.repeat(np.arange(len(known)), lengths), canonical_rank(values)]
        )
        if order is not None:
            values, weight = values.take(pa.array(order)), weight[order]
        pairs = pa.StructArray.from_arrays([values, pa.array(weight)], ["value", "weight"])
        ends = np.append(0, np.cumsum(lengths)).astype(np.int32)
        empty = pa.array(lengths == 0)
        return {"values": pa.ListArray.from_arrays(pa.array(ends), pairs, mask=empty)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        lists = columns["values"]
        lengths = lists.value_lengths().fill_null(0).to_numpy()
        pairs = lists.flatten()
        values, weights = _comparable(pairs.field(0)), pairs.field(1).to_pylist()
        for slot, value, weight in zip(
            np.repeat(slots, lengths).tolist(), values, weights, strict=True
        ):
            self._change(slot, value, weight)


class _Candidate:
    """A value in a heap, in ascending order for MIN and in descending order for MAX."""

    __slots__ = ("sign", "value")

    def __init__(self, value: object, sign: int) -> None:
        self.value = value
        self.sign = sign

    def __lt__(self, other: _Candidate) -> bool:
        smaller: bool = self.value < other.value  # type: ignore[operator]
        return smaller if self.sign > 0 else other.value < self.value  # type: ignore[operator]


def _comparable(values: pa.Array) -> list[object]:
    """Return the values as objects that Python compares in the canonical order; NULL is None."""
    values = decode_dictionary(values)
    if not fixed_width(values.type):
        return [tuple(v) if isinstance(v, list) else v for v in values.to_pylist()]
    keys, valid = integers(values)
    if valid is None:
        return keys.tolist()
    return [key if here else None for key, here in zip(keys.tolist(), valid.tolist(), strict=True)]
