"""SUM and AVG of INT, BIGINT and INTERVAL, exact at any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.expression import AggregateFunction
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.kernels.aggregate.exact_sum import addends_of, exact_running
from fsql.runtime.kernels.aggregate.state_column import (
    StateColumn,
    count_column,
    or_ones,
    present_weights,
)
from fsql.runtime.kernels.aggregate.steps import Values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fsql.compiler.expression import AggregateCall
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.aggregate.steps import Steps


ADDENDS_MAX: Final = 1 << 30
"""The maximum number of addends that can be added at once in int64."""
TOP_BITS: Final = 62
"""`high` remains below 2**TOP_BITS in magnitude; the excess is carried to `top`."""
_LOW: Final = 0xFFFFFFFF


class IntegerSum:
    """The sums of all slots: `top * 2**(32 + TOP_BITS) + high * 2**32 + low`, in columns of int64.

    `low` has 32 bits.  The column `top` is created when a sum first needs it.  A SUM that does not fit BIGINT
    fails.
    """

    def __init__(self, call: AggregateCall) -> None:
        self._average = call.function is AggregateFunction.AVG
        self._type = arrow_type(call.type)
        self._count, self._low, self._high = StateColumn(), StateColumn(), StateColumn()
        self._top: StateColumn | None = None
        self._slots = 0

    def _columns(self) -> list[StateColumn]:
        columns = [self._count, self._low, self._high]
        return columns if self._top is None else [*columns, self._top]

    def grow(self, slots: int) -> None:
        self._slots = slots
        for column in self._columns():
            column.grow(slots)

    def clear(self, slots: Ints) -> None:
        for column in self._columns():
            column.values[slots] = 0

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        present = present_weights(values, weights)
        numbers = self._numbers(values)
        count = self._count.add(steps.sums(present), steps)
        if numbers.dtype != object and (present is None or addends_of(present) <= ADDENDS_MAX):
            times = or_ones(present)
            low = self._low.after(steps.sums((numbers & _LOW) * times), steps)
            high = self._high.after(steps.sums((numbers >> 32) * times), steps)
            high += low >> 32
            low &= _LOW
            top = self._carry_to_top(high, steps)
        else:
            low, high, top = self._add_exactly(numbers, or_ones(present), steps)
        self._low.set(low, steps)
        self._high.set(high, steps)
        return self._value(count, low, high, top)

    def _numbers(self, values: pa.Array) -> Ints:
        """Return the addends, 0 for NULL; the dtype may be `object`, with Python integers."""
        if pa.types.is_duration(values.type):
            values = values.view(pa.int64())
        filled = values.fill_null(0) if values.null_count else values
        return filled.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)

    def _carry_to_top(self, high: Ints, steps: Steps) -> Ints | None:
        """Carry the excess of `high` to `top`; return `top` after each step."""
        if self._top is None:
            if high.min(initial=0) > -(2**TOP_BITS) and high.max(initial=0) < 2**TOP_BITS:
                return None
            self._create_top()
        assert self._top is not None
        top = steps.of_slots(self._top.values[steps.slots]) + _excess(high)
        high -= _excess(high) << TOP_BITS
        self._top.set(top, steps)
        return top

    def _create_top(self) -> None:
        self._top = StateColumn()
        self._top.grow(self._slots)

    def _add_exactly(
        self, numbers: Ints, weights: Ints | int, steps: Steps
    ) -> tuple[Ints, Ints, Ints]:
        """Return the columns after each step, computed with integers of any size."""
        if self._top is None:
            self._create_top()
        assert self._top is not None
        slots = steps.slots
        parts = (column.values[slots].tolist() for column in (self._low, self._high, self._top))
        base = [total_of(low, high, top) for low, high, top in zip(*parts, strict=True)]
        times = np.broadcast_to(weights, len(numbers)).tolist()
        added = [n * w for n, w in zip(numbers.tolist(), times, strict=True)]
        totals = exact_running(base, added, steps)
        tops = [(total >> 32) + (1 << TOP_BITS - 1) >> TOP_BITS for total in totals]
        highs = [(t >> 32) - (top << TOP_BITS) for t, top in zip(totals, tops, strict=True)]
        low, high, top = (
            np.array(column, np.int64) for column in ([t & _LOW for t in totals], highs, tops)
        )
        self._top.set(top, steps)
        return low, high, top

    def read(self, slots: Ints) -> Values:
        columns = [column.values[slots] for column in self._columns()]
        return self._value(*columns)

    def _value(self, count: Ints, low: Ints, high: Ints, top: Ints | None = None) -> Values:
        if len(count) == 1:
            only = total_of(int(low[0]), int(high[0]), 0 if top is None else int(top[0]))
            return self._only_value(int(count[0]), only)
        beyond = (high < -(2**31)) | (high >= 2**31)
        if top is not None:
            beyond |= top != 0
        total = (high << 32) | low
        empty = count <= 0
        if self._average:
            averages = _averages(total, count, (low, high, top), beyond)
            return Values(pa.array(averages, mask=empty))
        failed = beyond & ~empty
        sums = pa.array(total, mask=beyond | empty).view(self._type)
        return Values(sums, failed if failed.any() else None)

    def _only_value(self, count: int, total: int) -> Values:
        """Return the value of one slot; this avoids the NumPy calls for many slots."""
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
        for number, column in enumerate(self._columns()):
            # Copies made before the column `top` was created have 0 in it.
            column.values[slots[kept]] = saved[number][kept] if number < len(saved) else 0

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        high = self._high.values[slots]
        excess = _excess(high)
        top = excess if self._top is None else self._top.values[slots] + excess
        return {
            "count": count_column(self._count, slots),
            "low": pa.array(self._low.values[slots]),
            "high": pa.array(high - (excess << TOP_BITS)),
            "top": pa.array(top),
        }

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        names = ["count", "low", "high"]
        if pc.any(pc.not_equal(columns["top"], 0)).as_py():
            if self._top is None:
                self._create_top()
            names.append("top")
        for column, name in zip(self._columns(), names, strict=False):
            column.values[slots] = columns[name].fill_null(0).to_numpy()


def total_of(low: int, high: int, top: int) -> int:
    """Return the sum that the columns represent."""
    return low + (high << 32) + (top << 32 + TOP_BITS)


def _excess(high: Ints) -> Ints:
    """Return the excess that is carried to `top`, so that the rest of `high` only depends on the sum."""
    return high + (1 << TOP_BITS - 1) >> TOP_BITS


def _averages(
    total: Ints, count: Ints, parts: tuple[Ints, Ints, Ints | None], beyond: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return total / count, rounded once: in doubles if both are exact as doubles, else in integers."""
    divisor = np.maximum(count, 1)
    result = total / divisor
    low, high, top = parts
    large = np.flatnonzero(beyond | (np.abs(total) > 2**53))
    for i in large.tolist():
        exact = total_of(int(low[i]), int(high[i]), 0 if top is None else int(top[i]))
        result[i] = exact / int(divisor[i])
    return result
