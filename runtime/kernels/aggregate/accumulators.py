"""Accumulators: the state of one aggregate call for every slot, in columns.

All of them have one contract.  `add` adds the argument's values and weights of rows sorted by slot and
position to the state, and returns the aggregate's value after each step.  `save` returns a copy from which
`restore` restores any of the saved slots; its cost is proportional to the slots, not to the state.  `columns`
returns the state of slots for snapshots, and `load` loads it: the first column is NULL for an empty slot, and
all columns depend on the content of the slot only.  Accumulators of updating input are exact under
retraction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import OF_ORDER, AggregateCall, AggregateFunction
from fsql.compiler.functions.python_aggregates import registered_aggregate
from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.aggregate.chosen_row import ChosenRow
from fsql.runtime.kernels.aggregate.decimal_sum import DecimalSum
from fsql.runtime.kernels.aggregate.distinct import Distinct
from fsql.runtime.kernels.aggregate.exact_sum import ExactSums, SavedSums
from fsql.runtime.kernels.aggregate.extremes import Extreme, RetractableExtreme
from fsql.runtime.kernels.aggregate.integer_sum import IntegerSum
from fsql.runtime.kernels.aggregate.matches import Matches
from fsql.runtime.kernels.aggregate.moments import Bits, Moments, NumberStates
from fsql.runtime.kernels.aggregate.nth_value import NthLast, NthValue
from fsql.runtime.kernels.aggregate.ordered_values import OrderedValues
from fsql.runtime.kernels.aggregate.python_states import KeptRows, PythonStates
from fsql.runtime.kernels.aggregate.slot_states import SlotStates
from fsql.runtime.kernels.aggregate.state_column import (
    StateColumn,
    count_column,
    or_ones,
    present_weights,
)
from fsql.runtime.kernels.aggregate.steps import Values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.aggregate.steps import Steps


class SnapshotState(Protocol):
    """State that is kept for every slot, and is part of snapshots."""

    def grow(self, slots: int) -> None:
        """Make room for `slots` slots; new ones are empty."""

    def clear(self, slots: Ints) -> None:
        """Make these slots empty again."""

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """Return a copy of the state of `slots`."""

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        """Set the state of `slots`, which are empty, to the result of `columns`."""


class UndoableState(SnapshotState, Protocol):
    """State of which copies can be restored."""

    def save(self, slots: Ints) -> Any:  # noqa: ANN401 - its type depends on the state
        """Return a copy of the state of `slots`."""

    def restore(self, slots: Ints, saved: Any, kept: Ints) -> None:  # noqa: ANN401
        """Restore `slots[kept]` from the result of `save(slots)`."""


class Accumulator(UndoableState, Protocol):
    """The state of one aggregate call, for every slot."""

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        """Add the rows; return the value after each step.  Weights are None where all are 1."""

    def read(self, slots: Ints) -> Values:
        """Return the values of `slots`."""


def accumulator(call: AggregateCall, *, append_only: bool, shown: bool = True) -> Accumulator:
    """Return an empty accumulator for `call`; without `shown`, it is only read when its group closes."""
    by_value = call.function in OF_ORDER or (
        call.distinct and call.function is AggregateFunction.ARRAY_AGG
    )
    if by_value or (call.directions and not (append_only and call.function in CHOOSES)):
        return SlotStates(
            call,
            lambda: OrderedValues(call),
            shown=shown,
            keeps_nulls=call.function is AggregateFunction.ARRAY_AGG and not call.ignore_nulls,
            others_may_be_null=True,
        )
    if call.function is AggregateFunction.PYTHON:
        return _in_python(call, shown=shown)
    made = _new_accumulator(call, append_only=append_only, shown=shown)
    return Distinct(call, made) if call.distinct else made


def _in_python(call: AggregateCall, *, shown: bool) -> Accumulator:
    """Return the accumulator of a function in Python.

    If rows may be removed and only the last result is visible, a step consists of the rows of a batch.  The
    rows are then kept and accumulated once, so that the calls of the function do not depend on the batches.
    """
    assert call.python is not None
    retracts = shown and registered_aggregate(call.python).retracts
    if retracts or not call.in_value_order:
        return PythonStates(call, shown=shown)
    return SlotStates(call, lambda: KeptRows(call), shown=shown, keeps_nulls=False)


CHOOSES: Final = frozenset({AggregateFunction.FIRST_VALUE, AggregateFunction.LAST_VALUE})
"""The functions whose value is that of one of the rows."""


def by_total_order(call: AggregateCall) -> bool:
    """Return whether the result depends on the order of the rows."""
    if call.function is AggregateFunction.PYTHON:
        return not call.in_value_order
    ordered = CHOOSES | {AggregateFunction.ARRAY_AGG}
    return call.function in ordered and not (call.directions or call.distinct)


class Collector(Protocol):
    """An accumulator whose results have many values: those of all rows of a group."""

    def result_sizes(self, slots: Ints) -> Ints:
        """Return how many values the result of each slot has, or somewhat more."""


def collector(call: AggregateCall, of_call: Accumulator) -> Collector | None:
    """Return the accumulator of a call if it is a `Collector`; None for others."""
    if call.function is not AggregateFunction.ARRAY_AGG:
        return None
    assert isinstance(of_call, Arrays | SlotStates)
    return of_call


def struct_of(columns: Sequence[pa.Array]) -> pa.StructArray:
    """Return the arguments of an aggregate with several arguments as one struct column."""
    names = [str(index) for index in range(len(columns))]
    return pa.StructArray.from_arrays([decode_dictionary(column) for column in columns], names)


def _new_accumulator(  # noqa: C901, PLR0911 - one line for each kind
    call: AggregateCall, *, append_only: bool, shown: bool
) -> Accumulator:
    """Return an empty accumulator of all values, whether distinct or not."""
    match call.function:
        case AggregateFunction.FIRST_VALUE | AggregateFunction.LAST_VALUE:
            if call.parameter is None:
                return ChosenRow(call)
            first = call.function is AggregateFunction.FIRST_VALUE
            return NthValue(call) if first else NthLast(call)
        case AggregateFunction.MATCH_RECOGNIZE:
            return Matches(call)
        case AggregateFunction.BIT_AND | AggregateFunction.BIT_OR | AggregateFunction.BIT_XOR:
            return NumberStates(call, Bits, shown=shown)
        case AggregateFunction.COUNT:
            return Count()
        case AggregateFunction.SUM | AggregateFunction.AVG:
            assert call.argument is not None
            if call.argument.type.kind is Kind.DOUBLE:
                return DoubleSum(call)
            if call.argument.type.kind is Kind.DECIMAL:
                return DecimalSum(call)
            return IntegerSum(call)
        case AggregateFunction.MIN | AggregateFunction.MAX:
            return Extreme(call) if append_only else RetractableExtreme(call)
        case AggregateFunction.ARRAY_AGG:
            return Arrays(call)
        case _:
            return NumberStates(call, Moments, shown=shown)


class Count:
    """COUNT(*) and COUNT(argument)."""

    def __init__(self) -> None:
        self._count = StateColumn()

    def grow(self, slots: int) -> None:
        self._count.grow(slots)

    def clear(self, slots: Ints) -> None:
        self._count.values[slots] = 0

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        return Values(
            pa.array(self._count.add(steps.sums(present_weights(values, weights)), steps))
        )

    def read(self, slots: Ints) -> Values:
        return Values(pa.array(self._count.values[slots]))

    def save(self, slots: Ints) -> Ints:
        return self._count.values[slots]

    def restore(self, slots: Ints, saved: Ints, kept: Ints) -> None:
        self._count.values[slots[kept]] = saved[kept]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {"count": count_column(self._count, slots)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        self._count.values[slots] = columns["count"].fill_null(0).to_numpy()


class DoubleSum:
    """SUM and AVG of DOUBLE."""

    def __init__(self, call: AggregateCall) -> None:
        self._average = call.function is AggregateFunction.AVG
        self._count = StateColumn()
        self._sums = ExactSums()

    def grow(self, slots: int) -> None:
        self._count.grow(slots)
        self._sums.grow(slots)

    def clear(self, slots: Ints) -> None:
        self._count.values[slots] = 0
        self._sums.clear(slots)

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        present = present_weights(values, weights)
        filled = values.fill_null(0.0) if values.null_count else values
        count = self._count.add(steps.sums(present), steps)
        numbers = filled.to_numpy(zero_copy_only=False)
        sums = self._sums.add(numbers, np.broadcast_to(or_ones(present), len(numbers)), steps)
        return self._value(count, sums)

    def read(self, slots: Ints) -> Values:
        return self._value(self._count.values[slots], self._sums.read(slots))

    def _value(self, count: Ints, sums: NDArray[np.float64]) -> Values:
        if self._average:
            sums = sums / np.maximum(count, 1)
        return Values(pa.array(sums, mask=count <= 0))

    def save(self, slots: Ints) -> tuple[Ints, SavedSums]:
        return self._count.values[slots], self._sums.save(slots)

    def restore(self, slots: Ints, saved: tuple[Ints, SavedSums], kept: Ints) -> None:
        self._count.values[slots[kept]] = saved[0][kept]
        self._sums.restore(slots, saved[1], kept)

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {
            "count": count_column(self._count, slots),
            "bins": self._sums.column(slots),
        }

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        self._count.values[slots] = columns["count"].fill_null(0).to_numpy()
        self._sums.load(slots, columns["bins"])


class Arrays:
    """ARRAY_AGG over append-only input: a list for each slot, to which values are only appended."""

    def __init__(self, call: AggregateCall) -> None:
        self._type = arrow_type(call.type)
        self._ignores_nulls = call.ignore_nulls
        number = 0 if call.parameter is None else int(call.parameter)
        self._read = slice(None, number) if number > 0 else slice(number or None, None)
        self._lists: list[list[object]] = []

    def grow(self, slots: int) -> None:
        self._lists.extend([] for _ in range(slots - len(self._lists)))

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._lists[slot] = []

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        elements = decode_dictionary(values).to_pylist()
        repeats = [1] * len(elements) if weights is None else weights.tolist()
        assert min(repeats, default=0) >= 0
        ends = [*steps.start[1:].tolist(), steps.rows]
        after = []
        for slot, start, end in zip(steps.slot.tolist(), steps.start.tolist(), ends, strict=True):
            collected = self._lists[slot]
            for i in range(start, end):
                if self._ignores_nulls and elements[i] is None:
                    continue
                collected.extend([elements[i]] * repeats[i])
            after.append(collected[self._read] or None)
        return Values(pa.array(after, self._type))

    def result_sizes(self, slots: Ints) -> Ints:
        """Return how many values the result of each slot has."""
        return np.array([len(self._lists[slot][self._read]) for slot in slots.tolist()], np.int64)

    def read(self, slots: Ints) -> Values:
        results = [self._lists[slot][self._read] or None for slot in slots.tolist()]
        return Values(pa.array(results, self._type))

    def save(self, slots: Ints) -> list[int]:
        return [len(self._lists[slot]) for slot in slots.tolist()]

    def restore(self, slots: Ints, saved: list[int], kept: Ints) -> None:
        for i in kept.tolist():
            del self._lists[slots[i]][saved[i] :]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        lists = [self._lists[slot] or None for slot in slots.tolist()]
        return {"elements": pa.array(lists, self._type)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        for slot, elements in zip(slots.tolist(), columns["elements"].to_pylist(), strict=True):
            self._lists[slot] = elements or []
