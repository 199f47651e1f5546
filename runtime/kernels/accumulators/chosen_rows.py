"""The first, the last and the n-th values of each slot: FIRST_VALUE, LAST_VALUE, NTH_VALUE, LAG."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.sqltypes import FLOATING, array_of
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.kernels.accumulators.ordered_values import canonical, sort_key_of
from fsql.runtime.kernels.keyed.steps import Values
from fsql.runtime.order import concat_arrays

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableSequence

    from fsql.compiler.expression import AggregateCall, Value
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.accumulators.ordered_values import SortKey
    from fsql.runtime.kernels.keyed.steps import Steps

    Arguments = tuple[Value, ...]
    _Row = tuple[SortKey, Arguments] | None


# FIRST_VALUE and LAST_VALUE over append-only input: one row for each slot.
#
# Without ORDER BY, the first or the last row in the total order is kept; with ORDER BY, the row that sorts
# first or last: of rows that tie the one with the least or the greatest value, or `by_position` the first or
# the last one in the total order.  An application is undone with a copy of the row.


class ChosenRow:
    """One row for each slot; rows whose value is NULL are ignored."""

    def __init__(self, call: AggregateCall) -> None:
        self._call = call
        self._last = call.function is AggregateFunction.LAST_VALUE
        assert call.argument is not None
        self._types = [argument.type for argument in (call.argument, *call.others)]
        # The sign of zero is dropped value by value.
        self._by_position = not (call.directions or call.type.contains(*FLOATING))
        self._rows: list[_Row] = []

    def grow(self, slots: int) -> None:
        self._rows.extend([None] * (slots - len(self._rows)))

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._rows[slot] = None

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        del weights
        assert values is not None
        if self._by_position and steps.rows > FEW_ROWS:
            return self._add_by_position(values, steps)
        rows = self._arguments_of_rows(values)
        ends = [*steps.start[1:].tolist(), steps.rows]
        after: list[Value] = []
        for slot, start, end in zip(steps.slot.tolist(), steps.start.tolist(), ends, strict=True):
            for given in rows[start:end]:
                if given[0] is not None:
                    self._rows[slot] = self._choose(self._rows[slot], given)
            after.append(self._value(slot))
        return Values(to_arrow(after, self._call.type))

    def _add_by_position(self, values: pa.Array, steps: Steps) -> Values:
        """Add rows, of which the first or the last is chosen; see `add`."""
        values = decode_dictionary(values)
        rows = np.arange(steps.rows)
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        begin = steps.start[steps.first]
        if self._last:
            found = np.maximum.accumulate(np.where(valid, rows, -1))
        else:
            # The first valid row of each slot; the number of rows where there is none.
            first = np.minimum.reduceat(np.where(valid, rows, steps.rows), begin)
            found = first.repeat(np.diff(np.append(begin, steps.rows)))
        before = self.read(steps.slots).array
        known = steps.of_slots(before.is_valid().to_numpy(zero_copy_only=False))
        last_row = np.append(steps.start[1:], steps.rows) - 1
        chosen = found[last_row]
        is_new = (steps.of_slots(begin) <= chosen) & (chosen <= last_row)
        if not self._last:
            is_new &= ~known
        index = np.where(is_new, chosen, steps.rows + steps.group)
        after = concat_arrays([values, before]).take(pa.array(index))
        changed = steps.last[is_new[steps.last]]
        kept = from_arrow(values.take(pa.array(chosen[changed])), self._call.type)
        for slot, value in zip(steps.slot[changed].tolist(), kept, strict=True):
            self._rows[slot] = ((), (value,))
        return Values(after)

    def _arguments_of_rows(self, values: pa.Array) -> list[Arguments]:
        if len(self._types) == 1:
            return [(value,) for value in from_arrow(decode_dictionary(values), self._types[0])]
        columns = [
            from_arrow(decode_dictionary(values.field(index)), kind)
            for index, kind in enumerate(self._types)
        ]
        return list(zip(*columns, strict=True))

    def _choose(self, known: _Row, given: Arguments) -> _Row:
        given = tuple(map(canonical, given))
        if not self._call.directions:
            return ((), given) if known is None or self._last else known
        sort_key = sort_key_of(given, self._call.directions)
        if self._call.by_position:
            sort_key = sort_key[:-1]
            if known is None or not (sort_key < known[0] if self._last else known[0] <= sort_key):
                return sort_key, given
            return known
        if known is None or (known[0] < sort_key if self._last else sort_key < known[0]):
            return sort_key, given
        return known

    def entries(self, slot: int) -> list[tuple[Arguments, int]]:
        """Return the row of a slot, with the weight 1; none if there is no row."""
        row = self._rows[slot]
        return [] if row is None else [(row[1], 1)]

    def _value(self, slot: int) -> Value:
        row = self._rows[slot]
        return None if row is None else row[1][0]

    def read(self, slots: Ints) -> Values:
        return Values(to_arrow([self._value(slot) for slot in slots.tolist()], self._call.type))

    def save(self, slots: Ints) -> list[_Row]:
        return [self._rows[slot] for slot in slots.tolist()]

    def restore(self, slots: Ints, saved: list[_Row], kept: Ints) -> None:
        for i in kept.tolist():
            self._rows[slots[i]] = saved[i]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        rows = [self._rows[slot] for slot in slots.tolist()]
        return {
            f"argument{index}": to_arrow([row and row[1][index] for row in rows], kind)
            for index, kind in enumerate(self._types)
        }

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        fields = [
            from_arrow(columns[f"argument{index}"], kind) for index, kind in enumerate(self._types)
        ]
        for slot, *given in zip(slots.tolist(), *fields, strict=True):
            if given[0] is not None:
                self._rows[slot] = self._choose(None, tuple(given))


# The n-th first and n-th last value of the rows so far, of up to n values that are kept for each slot.
#
# The first is NTH_VALUE of frames that begin with the partition, the last LAG with IGNORE NULLS and a
# distance.


class _KeptValues(ABC):
    """Up to n values of each slot that are not NULL, over append-only input."""

    def __init__(self, call: AggregateCall) -> None:
        self._type = call.type
        self._number = int(call.parameter or 1)
        self._kept: list[MutableSequence[Value]] = []

    @abstractmethod
    def _sequence(self, values: Iterable[Value] = ()) -> MutableSequence[Value]:
        """Return kept values."""

    @abstractmethod
    def _keep(self, kept: MutableSequence[Value], value: Value, count: int) -> None:
        """Add a value this number of times."""

    @abstractmethod
    def _nth(self, kept: MutableSequence[Value]) -> Value:
        """Return the result for n kept values."""

    def grow(self, slots: int) -> None:
        self._kept.extend(self._sequence() for _ in range(slots - len(self._kept)))

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._kept[slot] = self._sequence()

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        given = from_arrow(decode_dictionary(values), self._type)
        repeats = [1] * len(given) if weights is None else weights.tolist()
        ends = [*steps.start[1:].tolist(), steps.rows]
        after: list[Value] = []
        for slot, start, end in zip(steps.slot.tolist(), steps.start.tolist(), ends, strict=True):
            kept = self._kept[slot]
            for value, count in zip(given[start:end], repeats[start:end], strict=True):
                if value is not None:
                    self._keep(kept, canonical(value), count)
            after.append(self._value(slot))
        return Values(to_arrow(after, self._type))

    def _value(self, slot: int) -> Value:
        kept = self._kept[slot]
        return self._nth(kept) if len(kept) == self._number else None

    def read(self, slots: Ints) -> Values:
        return Values(to_arrow([self._value(slot) for slot in slots.tolist()], self._type))

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        kept = [tuple(self._kept[slot]) or None for slot in slots.tolist()]
        return {"values": to_arrow(kept, array_of(self._type))}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        kept = from_arrow(columns["values"], array_of(self._type))
        for slot, values in zip(slots.tolist(), kept, strict=True):
            assert values is None or isinstance(values, tuple)
            self._kept[slot] = self._sequence(values or ())


class NthValue(_KeptValues):
    """The n-th value, of the first ones."""

    def _sequence(self, values: Iterable[Value] = ()) -> MutableSequence[Value]:
        return list(values)

    def _keep(self, kept: MutableSequence[Value], value: Value, count: int) -> None:
        room = self._number - len(kept)
        kept.extend([value] * min(count, room))

    def _nth(self, kept: MutableSequence[Value]) -> Value:
        return kept[-1]

    def save(self, slots: Ints) -> list[int]:
        return [len(self._kept[slot]) for slot in slots.tolist()]

    def restore(self, slots: Ints, saved: list[int], kept: Ints) -> None:
        for i in kept.tolist():
            del self._kept[slots[i]][saved[i] :]


class NthLast(_KeptValues):
    """The n-th last value, of the last ones."""

    def _sequence(self, values: Iterable[Value] = ()) -> MutableSequence[Value]:
        return deque(values, maxlen=self._number)

    def _keep(self, kept: MutableSequence[Value], value: Value, count: int) -> None:
        kept.extend([value] * min(count, self._number))

    def _nth(self, kept: MutableSequence[Value]) -> Value:
        return kept[0]

    def save(self, slots: Ints) -> list[tuple[Value, ...]]:
        return [tuple(self._kept[slot]) for slot in slots.tolist()]

    def restore(self, slots: Ints, saved: list[tuple[Value, ...]], kept: Ints) -> None:
        for i in kept.tolist():
            self._kept[slots[i]] = self._sequence(saved[i])
