"""Accumulators: the state of one aggregate call for every slot, in columns.

All share one contract.  `add` takes the argument's values and weights for rows sorted by slot and
position, adds them to the state, and returns the aggregate's value after each step.  `save` returns what
`restore` needs to bring back any of the saved slots; its cost is that of the slots, not of the state.
`columns` gives the state of slots as snapshots keep it, and `load` takes it back: its first column is NULL
where the slot is empty, and all of it depends on the content of the slot and on nothing else.
Accumulators that are given rows of updating input are exact under retraction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import AggregateCall, AggregateFunction
from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.kernels.exact_sum import ExactSums
from fsql.runtime.kernels.extremes import Extreme, RetractableExtreme
from fsql.runtime.kernels.steps import Values
from fsql.runtime.order import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fsql.runtime.kernels.steps import Steps

    Ints = NDArray[np.int64]


class Accumulator(Protocol):
    """The state of one aggregate call, for every slot."""

    def grow(self, slots: int) -> None:
        """Make room for `slots` slots; new ones are empty."""

    def clear(self, slots: Ints) -> None:
        """Make these slots empty again."""

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        """Add the rows; return the value after each step.  Weights are None where all are 1."""

    def read(self, slots: Ints) -> Values:
        """Return the values of `slots`."""

    def save(self, slots: Ints) -> Any:  # noqa: ANN401 - what it is, is the accumulator's own
        """Return a copy of the state of `slots`."""

    def restore(self, slots: Ints, saved: Any, kept: Ints) -> None:  # noqa: ANN401
        """Bring back `slots[kept]` from what `save(slots)` returned."""

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """Return the state of `slots`; what is added later does not show in it."""

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        """Set the state of `slots`, which are empty, to what `columns` returned."""


def accumulator(call: AggregateCall, *, append_only: bool) -> Accumulator:
    """Return an empty accumulator for `call`."""
    match call.function:
        case AggregateFunction.COUNT:
            return Count(call)
        case AggregateFunction.SUM | AggregateFunction.AVG:
            assert call.argument is not None
            if call.argument.type.kind is Kind.DOUBLE:
                return DoubleSum(call)
            return IntegerSum(call)
        case AggregateFunction.MIN | AggregateFunction.MAX:
            return Extreme(call) if append_only else RetractableExtreme(call)
        case AggregateFunction.ARRAY_AGG:
            return Arrays(call)


class Column:
    """A state column of integers that grows by doubling."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = np.zeros(16, np.int64)

    def grow(self, slots: int) -> None:
        """Make room for `slots` slots; new ones hold 0."""
        if slots > len(self.values):
            self.values = np.append(self.values, np.zeros(2 * slots - len(self.values), np.int64))

    def add(self, deltas: Ints, steps: Steps) -> Ints:
        """Add the deltas of each step; return the value after each."""
        after = steps.running(self.values[steps.slots], deltas)
        self.values[steps.slots] = after[steps.last]
        return after


def _present(values: pa.Array | None, weights: Ints | None) -> Ints | None:
    """Return the weights of the rows whose argument is not NULL, 0 for the others; None if all 1."""
    if values is None or not values.null_count:
        return weights
    return np.where(values.is_valid().to_numpy(zero_copy_only=False), _or_ones(weights), 0)


def _or_ones(weights: Ints | None) -> Ints | int:
    return 1 if weights is None else weights


class Count:
    """COUNT(*) and COUNT(argument)."""

    def __init__(self, call: AggregateCall) -> None:
        self._call = call
        self._count = Column()

    def grow(self, slots: int) -> None:
        self._count.grow(slots)

    def clear(self, slots: Ints) -> None:
        self._count.values[slots] = 0

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        return Values(pa.array(self._count.add(steps.sums(_present(values, weights)), steps)))

    def read(self, slots: Ints) -> Values:
        return Values(pa.array(self._count.values[slots]))

    def save(self, slots: Ints) -> Ints:
        return self._count.values[slots]

    def restore(self, slots: Ints, saved: Ints, kept: Ints) -> None:
        self._count.values[slots[kept]] = saved[kept]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {"count": _count_column(self._count, slots)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        self._count.values[slots] = columns["count"].fill_null(0).to_numpy()


def _count_column(count: Column, slots: Ints) -> pa.Array:
    values = count.values[slots]
    return pa.array(values, mask=values == 0)


class IntegerSum:
    """SUM and AVG of INT, BIGINT and INTERVAL, exact beyond 64 bits.

    The sum is `high * 2**32 + low` in two int64 columns, good for 2**31 addends.  A SUM that does not fit
    BIGINT has failed.
    """

    def __init__(self, call: AggregateCall) -> None:
        self._average = call.function is AggregateFunction.AVG
        self._type = arrow_type(call.type)
        self._count, self._low, self._high = Column(), Column(), Column()

    def _columns(self) -> tuple[Column, Column, Column]:
        return self._count, self._low, self._high

    def grow(self, slots: int) -> None:
        for column in self._columns():
            column.grow(slots)

    def clear(self, slots: Ints) -> None:
        for column in self._columns():
            column.values[slots] = 0

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        present = _present(values, weights)
        if pa.types.is_duration(values.type):
            values = values.view(pa.int64())
        filled = values.fill_null(0) if values.null_count else values
        numbers = filled.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        count = self._count.add(steps.sums(present), steps)
        low = self._low.add(steps.sums((numbers & 0xFFFFFFFF) * _or_ones(present)), steps)
        high = self._high.add(steps.sums((numbers >> 32) * _or_ones(present)), steps)
        return self._value(count, low, high)

    def read(self, slots: Ints) -> Values:
        return self._value(*(column.values[slots] for column in self._columns()))

    def _value(self, count: Ints, low: Ints, high: Ints) -> Values:
        if len(count) == 1:
            return self._only_value(int(count[0]), (int(high[0]) << 32) + int(low[0]))
        high = high + (low >> 32)
        low = low & 0xFFFFFFFF
        beyond = (high < -(2**31)) | (high >= 2**31)
        total = (high << 32) | low
        empty = count <= 0
        if self._average:
            return Values(pa.array(_averages(total, count, high, low, beyond), mask=empty))
        failed = beyond & ~empty
        sums = pa.array(total, mask=beyond | empty).view(self._type)
        return Values(sums, failed if failed.any() else None)

    def _only_value(self, count: int, total: int) -> Values:
        """Return the value of one slot: of many it takes a dozen calls of NumPy."""
        if count <= 0:
            return Values(pa.nulls(1, self._type))
        if self._average:
            return Values(pa.array([total / count]))
        if -(2**63) <= total < 2**63:
            return Values(pa.array([total], pa.int64()).view(self._type))
        return Values(pa.nulls(1, self._type), np.ones(1, np.bool_))

    def save(self, slots: Ints) -> tuple[Ints, ...]:
        return tuple(column.values[slots] for column in self._columns())

    def restore(self, slots: Ints, saved: tuple[Ints, ...], kept: Ints) -> None:
        for column, values in zip(self._columns(), saved, strict=True):
            column.values[slots[kept]] = values[kept]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        low, high = self._low.values[slots], self._high.values[slots]
        return {
            "count": _count_column(self._count, slots),
            "low": pa.array(low & 0xFFFFFFFF),
            "high": pa.array(high + (low >> 32)),
        }

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        for column, name in zip(self._columns(), ("count", "low", "high"), strict=True):
            column.values[slots] = columns[name].fill_null(0).to_numpy()


def _averages(
    total: Ints, count: Ints, high: Ints, low: Ints, beyond: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return total / count, rounded once: in doubles where both are exact there, else in integers."""
    divisor = np.maximum(count, 1)
    result = total / divisor
    large = np.flatnonzero(beyond | (np.abs(total) > 2**53))
    for i in large.tolist():
        result[i] = ((int(high[i]) << 32) + int(low[i])) / int(divisor[i])
    return result


class DoubleSum:
    """SUM and AVG of DOUBLE."""

    def __init__(self, call: AggregateCall) -> None:
        self._average = call.function is AggregateFunction.AVG
        self._count = Column()
        self._sums = ExactSums()

    def grow(self, slots: int) -> None:
        self._count.grow(slots)
        self._sums.grow(slots)

    def clear(self, slots: Ints) -> None:
        self._count.values[slots] = 0
        self._sums.clear(slots)

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        present = _present(values, weights)
        filled = values.fill_null(0.0) if values.null_count else values
        count = self._count.add(steps.sums(present), steps)
        numbers = filled.to_numpy(zero_copy_only=False)
        sums = self._sums.add(numbers, np.broadcast_to(_or_ones(present), len(numbers)), steps)
        return self._value(count, sums)

    def read(self, slots: Ints) -> Values:
        return self._value(self._count.values[slots], self._sums.read(slots))

    def _value(self, count: Ints, sums: NDArray[np.float64]) -> Values:
        if self._average:
            sums = sums / np.maximum(count, 1)
        return Values(pa.array(sums, mask=count <= 0))

    def save(self, slots: Ints) -> tuple[Ints, dict[int | str, Ints]]:
        return self._count.values[slots], self._sums.save(slots)

    def restore(self, slots: Ints, saved: tuple[Ints, dict[int | str, Ints]], kept: Ints) -> None:
        self._count.values[slots[kept]] = saved[0][kept]
        self._sums.restore(slots, saved[1], kept)

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {
            "count": _count_column(self._count, slots),
            "bins": self._sums.column(slots),
        }

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        self._count.values[slots] = columns["count"].fill_null(0).to_numpy()
        self._sums.load(slots, columns["bins"])


class Arrays:
    """ARRAY_AGG over append-only input: a list for each slot, which only ever grows at its end."""

    def __init__(self, call: AggregateCall) -> None:
        self._type = arrow_type(call.type)
        self._lists: list[list[object]] = []

    def grow(self, slots: int) -> None:
        self._lists.extend([] for _ in range(slots - len(self._lists)))

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._lists[slot] = []

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        elements = plain(values).to_pylist()
        repeats = [1] * len(elements) if weights is None else weights.tolist()
        assert min(repeats, default=0) >= 0
        ends = [*steps.start[1:].tolist(), steps.rows]
        after = []
        for slot, start, end in zip(steps.slot.tolist(), steps.start.tolist(), ends, strict=True):
            collected = self._lists[slot]
            for i in range(start, end):
                collected.extend([elements[i]] * repeats[i])
            after.append(list(collected) or None)
        return Values(pa.array(after, self._type))

    def read(self, slots: Ints) -> Values:
        return Values(pa.array([self._lists[slot] or None for slot in slots.tolist()], self._type))

    def save(self, slots: Ints) -> list[int]:
        return [len(self._lists[slot]) for slot in slots.tolist()]

    def restore(self, slots: Ints, saved: list[int], kept: Ints) -> None:
        for i in kept.tolist():
            del self._lists[slots[i]][saved[i] :]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {"elements": self.read(slots).array}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        for slot, elements in zip(slots.tolist(), columns["elements"].to_pylist(), strict=True):
            self._lists[slot] = elements or []
