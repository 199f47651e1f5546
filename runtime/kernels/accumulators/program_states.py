"""Programs: the state of each slot, which is an SQL value, and the value of each event.

States are never changed in place, so an application is undone with a copy of the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from fsql.compiler.functions.python_programs import registered_program
from fsql.runtime.arrow_types import arrow_type, from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.accumulators.ordered_values import canonical
from fsql.runtime.kernels.keyed.steps import Values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import AggregateCall, Value
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.keyed.steps import Steps


class _Reached(NamedTuple):
    """The state of a slot that has had events."""

    value: Value


class ProgramStates:
    """The state of each slot, over events in the total order; each step is an event."""

    def __init__(self, call: AggregateCall) -> None:
        assert call.python is not None
        assert call.argument is not None
        self._program = registered_program(call.python)
        self._type = call.type
        self._event = call.argument.type
        self._states: list[_Reached | None] = []

    def grow(self, slots: int) -> None:
        self._states.extend([None] * (slots - len(self._states)))

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._states[slot] = None

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        assert weights is None, "each event is a row"
        advance, states = self._program.advance, self._states
        after: list[Value] = []
        events = from_arrow(decode_dictionary(values), self._event)
        for slot, event in zip(steps.slot.tolist(), events, strict=True):
            state = states[slot]
            before = self._program.first if state is None else state.value
            made, value = advance(before, canonical(event))
            states[slot] = _Reached(made)
            after.append(value)
        return Values(to_arrow(after, self._type))

    def read(self, slots: Ints) -> Values:
        return Values(pa.nulls(len(slots), arrow_type(self._type)))

    def save(self, slots: Ints) -> list[_Reached | None]:
        return [self._states[slot] for slot in slots.tolist()]

    def restore(self, slots: Ints, saved: list[_Reached | None], kept: Ints) -> None:
        for index in kept.tolist():
            self._states[slots[index]] = saved[index]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        states = [self._states[slot] for slot in slots.tolist()]
        return {
            "present": pa.array([state is not None for state in states], pa.bool_()),
            "state": to_arrow([state and state.value for state in states], self._program.state),
        }

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        present = columns["present"].to_pylist()
        values = from_arrow(columns["state"], self._program.state)
        for slot, known, value in zip(slots.tolist(), present, values, strict=True):
            if known:
                self._states[slot] = _Reached(value)
