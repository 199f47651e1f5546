"""The n-th first and n-th last value of the rows so far, of up to n values that are kept for each slot.

The first is NTH_VALUE of frames that begin with the partition, the last LAG with IGNORE NULLS and a distance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

from fsql.compiler.sqltypes import array_of
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.aggregate.ordered_values import canonical
from fsql.runtime.kernels.aggregate.steps import Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableSequence

    import pyarrow as pa

    from fsql.compiler.expression import AggregateCall, Value
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.aggregate.steps import Steps


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
