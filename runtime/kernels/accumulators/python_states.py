"""Aggregate functions in Python: the accumulator of each slot, which is an SQL value.

Accumulators are never changed in place, so an application is undone with a copy of the reference.  The
weights of equal rows of a step are added; the rows that remain are processed in the order of their values,
first the added ones, then the removed ones, so that the calls do not depend on earlier repairs.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.functions.ordering import compare
from fsql.compiler.functions.python_aggregates import registered_aggregate
from fsql.compiler.sqltypes import BIGINT
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.accumulators.ordered_values import OrderedValues, canonical
from fsql.runtime.kernels.keyed.steps import Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from fsql.compiler.expression import AggregateCall, Value
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.keyed.steps import Steps


class _State(NamedTuple):
    """The accumulator of a slot, and the number of its rows."""

    rows: int
    accumulator: Value


class PythonStates:
    """The accumulator of each slot; rows whose argument is NULL are ignored.

    Without `shown`, values are read only when the group closes, and `add` returns NULLs.
    """

    def __init__(self, call: AggregateCall, *, shown: bool) -> None:
        assert call.python is not None
        assert call.argument is not None
        self._function = registered_aggregate(call.python)
        self._type = call.type
        self._argument = call.argument.type
        self._changes = call.in_value_order
        self._shown = shown
        self._states: list[_State | None] = []

    def grow(self, slots: int) -> None:
        self._states.extend([None] * (slots - len(self._states)))

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._states[slot] = None

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        given = [canonical(each) for each in from_arrow(decode_dictionary(values), self._argument)]
        every = [1] * len(given) if weights is None else weights.tolist()
        ends = [*steps.start[1:].tolist(), steps.rows]
        after: list[Value] = []
        for slot, start, end in zip(steps.slot.tolist(), steps.start.tolist(), ends, strict=True):
            rows: Iterable[tuple[Value, int]] = zip(given[start:end], every[start:end], strict=True)
            state = self._states[slot]
            for value, weight in _net(rows) if self._changes else rows:
                if value is not None:
                    state = self._advance(state, value, weight)
            self._states[slot] = state
            after.append(_accumulator(state) if self._shown else None)
        return Values(to_arrow(after, self._type))

    def _advance(self, state: _State | None, value: Value, weight: int) -> _State | None:
        """Return the state with a row added `weight` times, or removed; None for a state without rows."""
        rows, accumulator = state or _State(0, self._function.empty)
        step = self._function.accumulate if weight > 0 else self._function.retract
        for _ in range(abs(weight)):
            accumulator = step(accumulator, value)
        return _State(rows + weight, accumulator) if rows + weight else None

    def read(self, slots: Ints) -> Values:
        read = [_accumulator(self._states[slot]) for slot in slots.tolist()]
        return Values(to_arrow(read, self._type))

    def save(self, slots: Ints) -> list[_State | None]:
        return [self._states[slot] for slot in slots.tolist()]

    def restore(self, slots: Ints, saved: list[_State | None], kept: Ints) -> None:
        for index in kept.tolist():
            self._states[slots[index]] = saved[index]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        states = [self._states[slot] for slot in slots.tolist()]
        return {
            "rows": to_arrow([state and state.rows for state in states], BIGINT),
            "accumulator": to_arrow([_accumulator(state) for state in states], self._type),
        }

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        rows = columns["rows"].to_pylist()
        accumulators = from_arrow(columns["accumulator"], self._type)
        for slot, count, accumulator in zip(slots.tolist(), rows, accumulators, strict=True):
            if count is not None:
                self._states[slot] = _State(count, accumulator)


def _accumulator(state: _State | None) -> Value:
    return None if state is None or state.rows <= 0 else state.accumulator


def _net(rows: Iterable[tuple[Value, int]]) -> Sequence[tuple[Value, int]]:
    """Return the rows with the sums of their weights: first the added ones, each in the order of values."""
    net: dict[str, tuple[Value, int]] = {}
    for value, weight in rows:
        key = repr(value)
        _, before = net.get(key, (None, 0))
        net[key] = value, before + weight
    changed = [each for each in net.values() if each[1] and each[0] is not None]
    changed.sort(key=lambda each: _in_order(each[0]))
    return sorted(changed, key=lambda each: each[1] < 0)


_in_order = cmp_to_key(compare)


class KeptRows(OrderedValues):
    """`SlotState` of a function that cannot retract: all rows, accumulated again in the order of values."""

    def __init__(self, call: AggregateCall) -> None:
        super().__init__(call)
        assert call.python is not None
        self._function = registered_aggregate(call.python)

    def result(self) -> Value:
        rows = [given[0] for given, weight in self.entries() for _ in range(weight)]
        return self._function.over(rows)
