"""Aggregates whose state is one Python object per slot: a loop over the rows that change.

These aggregates have no columnar form: exact moments of any size, values in order.  A row is removed by
adding it with the opposite weight, so an application is undone with a journal of its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type, from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.aggregate.steps import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.expression import AggregateCall, Value
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.aggregate.steps import Steps

    Arguments = tuple[Value, ...]
    Entry = tuple[Arguments, int]
    """The arguments of a row, and its weight."""
    _Journal = dict[int, list[Entry]]


class SlotState(Protocol):
    """The state of one slot."""

    def add(self, given: Arguments, weight: int) -> None:
        """Add a row `weight` times."""

    def result(self) -> Value:
        """Return the aggregate."""

    def result_size(self) -> int:
        """Return how many values the aggregate has, or somewhat more."""

    def entries(self) -> list[Entry]:
        """Return entries that make this state from an empty one; their order only depends on the state."""


class SlotStates:
    """An accumulator that has a `SlotState` for each slot.

    Rows with a NULL among their arguments are ignored, unless `keeps_nulls`; with `others_may_be_null`, only
    rows whose first argument is NULL are ignored.  Without `shown`, values are read only when the group
    closes, and `add` returns NULLs.
    """

    def __init__(
        self,
        call: AggregateCall,
        make: Callable[[], SlotState],
        *,
        shown: bool,
        keeps_nulls: bool,
        others_may_be_null: bool = False,
    ) -> None:
        self._call = call
        self._make = make
        self._shown = shown
        self._keeps_nulls = keeps_nulls
        self._needed = 1 if others_may_be_null else None
        """The number of arguments that must not be NULL; None for all."""
        assert call.argument is not None
        self._types = [argument.type for argument in (call.argument, *call.others)]
        self._states: list[SlotState] = []
        self._journal: _Journal | None = None
        """The journal of the next `add`, if it may be undone."""

    def grow(self, slots: int) -> None:
        self._states.extend(self._make() for _ in range(slots - len(self._states)))

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._states[slot] = self._make()

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        rows = self._rows(values)
        row_weights = [1] * len(rows) if weights is None else weights.tolist()
        journal, self._journal = self._journal, None
        ends = [*steps.start[1:].tolist(), steps.rows]
        after: list[Value] = []
        for slot, start, end in zip(steps.slot.tolist(), steps.start.tolist(), ends, strict=True):
            state = self._states[slot]
            for given, weight in zip(rows[start:end], row_weights[start:end], strict=True):
                if weight and (self._keeps_nulls or None not in given[: self._needed]):
                    state.add(given, weight)
                    if journal is not None:
                        journal[slot].append((given, weight))
            if self._shown:
                after.append(state.result())
        if self._shown:
            return Values(to_arrow(after, self._call.type))
        return Values(pa.nulls(len(steps.slot), arrow_type(self._call.type)))

    def _rows(self, values: pa.Array) -> list[Arguments]:
        """Return the arguments of each row; several arguments are the fields of a struct."""
        if len(self._types) == 1:
            return [(value,) for value in from_arrow(decode_dictionary(values), self._types[0])]
        columns = [
            from_arrow(decode_dictionary(values.field(index)), kind)
            for index, kind in enumerate(self._types)
        ]
        return list(zip(*columns, strict=True))

    def result_sizes(self, slots: Ints) -> Ints:
        """Return how many values the result of each slot has, or somewhat more."""
        sizes = [self._states[slot].result_size() for slot in slots.tolist()]
        return np.array(sizes, np.int64)

    def read(self, slots: Ints) -> Values:
        results = [self._states[slot].result() for slot in slots.tolist()]
        return Values(to_arrow(results, self._call.type))

    def save(self, slots: Ints) -> _Journal:
        """See `Accumulator`: a journal of the changes that the next `add` makes."""
        self._journal = {slot: [] for slot in slots.tolist()}
        return self._journal

    def restore(self, slots: Ints, saved: _Journal, kept: Ints) -> None:
        for slot in slots[kept].tolist():
            for given, weight in reversed(saved[slot]):
                self._states[slot].add(given, -weight)

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        entries = [self._states[slot].entries() for slot in slots.tolist()]
        every = [entry for each in entries for entry in each]
        fields = [
            to_arrow([given[index] for given, _ in every], kind)
            for index, kind in enumerate(self._types)
        ]
        weight = pa.array([weight for _, weight in every], pa.int64())
        names = [*(str(index) for index in range(len(fields))), "weight"]
        rows = pa.StructArray.from_arrays([*fields, weight], names)
        lengths = np.array([len(each) for each in entries], np.int64)
        ends = np.append(0, np.cumsum(lengths)).astype(np.int32)
        empty = pa.array(lengths == 0)
        return {"rows": pa.ListArray.from_arrays(pa.array(ends), rows, mask=empty)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        lists = columns["rows"]
        lengths = lists.value_lengths().fill_null(0).to_numpy()
        rows = lists.flatten()
        fields = [from_arrow(rows.field(index), kind) for index, kind in enumerate(self._types)]
        weights = rows.field(len(fields)).to_pylist()
        for slot, weight, *given in zip(
            np.repeat(slots, lengths).tolist(), weights, *fields, strict=True
        ):
            self._states[slot].add(tuple(given), weight)
