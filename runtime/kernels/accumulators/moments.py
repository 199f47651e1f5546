"""Aggregates whose state is one Python object per slot: a contract, variances and regressions, bits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.sqltypes import UBIGINT, Kind
from fsql.runtime.arrow_types import arrow_type, from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.keyed.steps import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.expression import AggregateCall, Value
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.keyed.steps import Steps

    Arguments = tuple[Value, ...]
    Entry = tuple[Arguments, int]
    """The arguments of a row, and its weight."""
    _Journal = dict[int, list[Entry]]


# Aggregates whose state is one Python object per slot: a loop over the rows that change.
#
# These aggregates have no columnar form: exact moments of any size, values in order.  A row is removed by
# adding it with the opposite weight, so an application is undone with a journal of its rows.


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


class HasEntries(Protocol):
    """An accumulator whose states are made of entries."""

    def entries(self, slot: int) -> list[Entry]:
        """Return entries that make the state of a slot from an empty one."""


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

    def add_partials(self, partials: HasEntries, slots: Ints, signs: Ints, steps: Steps) -> Values:
        """See `accumulator.Merging`."""
        ends = [*steps.start[1:].tolist(), steps.rows]
        parts = list(zip(slots.tolist(), signs.tolist(), strict=True))
        after: list[Value] = []
        for slot, start, end in zip(steps.slot.tolist(), steps.start.tolist(), ends, strict=True):
            for partial, sign in parts[start:end]:
                self._add_partial(slot, partials, partial, sign)
            after.append(self._states[slot].result())
        return Values(to_arrow(after, self._call.type))

    def _add_partial(self, slot: int, partials: HasEntries, partial: int, sign: int) -> None:
        state = self._states[slot]
        for given, weight in partials.entries(partial):
            state.add(given, weight * sign)

    def entries(self, slot: int) -> list[Entry]:
        """Return entries that make the state of a slot from an empty one."""
        return self._states[slot].entries()

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


# Variances, covariances and regressions, from exact sums of products; and aggregates of bits.
#
# The state is a row of integers: counts and sums of any size, so that a row is retracted by subtracting it.
# A DOUBLE is an integer multiple of 2**-1074.  A result is an exact fraction, rounded to DOUBLE once;
# standard deviations and CORR are the square root of such a fraction.  If a value is NaN or infinite, the
# result is NaN.


_UNIT: Final = 1 << 1074
"""The factor that makes every DOUBLE an integer."""
_BITS: Final = 64


class Numbers:
    """A `SlotState` whose state is a list of integers."""

    __slots__ = ("numbers",)

    def __init__(self, count: int) -> None:
        self.numbers = [0] * count

    def result_size(self) -> int:
        return 1

    def entries(self) -> list[Entry]:
        """Not used: `NumberStates` saves the integers."""
        raise AssertionError


class Moments(Numbers):
    """Counts of rows and of rows that are not finite; the sums of x, y, x², xy and y²."""

    __slots__ = ("_call", "_units")

    def __init__(self, call: AggregateCall) -> None:
        super().__init__(7)
        self._call = call
        assert call.argument is not None
        self._units = [
            _UNIT if each.type.kind is Kind.DOUBLE else 1 for each in (call.argument, *call.others)
        ]

    def add(self, given: Arguments, weight: int) -> None:
        numbers = self.numbers
        numbers[0] += weight
        if not all(map(math.isfinite, given)):  # type: ignore[arg-type]
            numbers[1] += weight
            return
        # COVAR(y, x): the dependent variable comes first, as in SQL.
        scaled = [_scale(value, unit) for value, unit in zip(given, self._units, strict=True)]
        x, y = scaled[-1], scaled[0]
        numbers[2] += weight * x
        numbers[3] += weight * y
        numbers[4] += weight * x * x
        if len(scaled) == 2:
            numbers[5] += weight * x * y
            numbers[6] += weight * y * y

    def result(self) -> Value:
        function, count = self._call.function, self.numbers[0]
        if function is AggregateFunction.REGR_COUNT:
            return max(count, 0)
        samples = function in _OF_SAMPLE
        if count <= samples:
            return None
        if self.numbers[1]:
            return math.nan
        exact = self._exact(function, count)
        if exact is None:
            return None
        rounded = _round(abs(exact))
        if function in _ROOTS:
            rounded = math.sqrt(rounded)
        return -rounded if exact < 0 else rounded

    def _exact(self, function: AggregateFunction, count: int) -> Fraction | None:  # noqa: PLR0911 - one line for each kind
        """Return the exact result; for square roots, the square with the sign of the root."""
        _, _, sx, sy, sxx, sxy, syy = self.numbers
        ux, uy = self._units[-1], self._units[0]
        x, y = Fraction(sx, count * ux), Fraction(sy, count * uy)
        xx = Fraction(sxx * count - sx * sx, count * ux * ux)
        xy = Fraction(sxy * count - sx * sy, count * ux * uy)
        yy = Fraction(syy * count - sy * sy, count * uy * uy)
        sums = {
            AggregateFunction.REGR_AVGX: x,
            AggregateFunction.REGR_AVGY: y,
            AggregateFunction.REGR_SXX: xx,
            AggregateFunction.REGR_SYY: yy,
            AggregateFunction.REGR_SXY: xy,
        }
        if function in sums:
            return sums[function]
        match function:
            case AggregateFunction.VAR_POP | AggregateFunction.STDDEV_POP:
                return xx / count
            case AggregateFunction.VAR_SAMP | AggregateFunction.STDDEV_SAMP:
                return xx / (count - 1)
            case AggregateFunction.COVAR_POP:
                return xy / count
            case AggregateFunction.COVAR_SAMP:
                return xy / (count - 1)
            case AggregateFunction.CORR:
                return xy * abs(xy) / (xx * yy) if xx and yy else None
            case AggregateFunction.REGR_SLOPE:
                return xy / xx if xx else None
            case AggregateFunction.REGR_INTERCEPT:
                return y - xy / xx * x if xx else None
            case _:
                assert function is AggregateFunction.REGR_R2
                if not xx:
                    return None
                return xy * xy / (xx * yy) if yy else Fraction(1)


_OF_SAMPLE: Final = frozenset(
    {AggregateFunction.VAR_SAMP, AggregateFunction.STDDEV_SAMP, AggregateFunction.COVAR_SAMP}
)
_ROOTS: Final = frozenset(
    {AggregateFunction.STDDEV_POP, AggregateFunction.STDDEV_SAMP, AggregateFunction.CORR}
)


class Bits(Numbers):
    """The number of rows in which each bit is set, and the number of all rows."""

    __slots__ = ("_call",)

    def __init__(self, call: AggregateCall) -> None:
        super().__init__(_BITS + 1)
        self._call = call

    def add(self, given: Arguments, weight: int) -> None:
        (value,) = given
        assert isinstance(value, int)
        numbers = self.numbers
        numbers[_BITS] += weight
        left = value & (1 << _BITS) - 1
        while left:
            lowest = left & -left
            numbers[lowest.bit_length() - 1] += weight
            left ^= lowest

    def result(self) -> Value:
        *bits, rows = self.numbers
        if rows <= 0:
            return None
        match self._call.function:
            case AggregateFunction.BIT_AND:
                is_set = [count == rows for count in bits]
            case AggregateFunction.BIT_OR:
                is_set = [count > 0 for count in bits]
            case _:
                is_set = [count % 2 == 1 for count in bits]
        value = sum(1 << index for index, here in enumerate(is_set) if here)
        negative = is_set[-1] and self._call.type != UBIGINT
        return value - (1 << _BITS) if negative else value


class NumberStates(SlotStates):
    """`SlotStates` whose states are `Numbers`."""

    def __init__(
        self, call: AggregateCall, make: Callable[[AggregateCall], Numbers], *, shown: bool
    ) -> None:
        super().__init__(call, lambda: make(call), shown=shown, keeps_nulls=False)  # type: ignore[arg-type, return-value]

    def _add_partial(self, slot: int, partials: HasEntries, partial: int, sign: int) -> None:
        assert isinstance(partials, NumberStates)
        numbers = self._numbers(slot).numbers
        for index, number in enumerate(partials._numbers(partial).numbers):  # noqa: SLF001 - of one class
            numbers[index] += sign * number

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """Return the integers of each slot in hexadecimal, NULL where all are 0."""
        texts = [
            " ".join(f"{number:x}" for number in numbers) if any(numbers) else None
            for numbers in (self._numbers(slot).numbers for slot in slots.tolist())
        ]
        return {"numbers": pa.array(texts, pa.string())}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        for slot, text in zip(slots.tolist(), columns["numbers"].to_pylist(), strict=True):
            if text is not None:
                self._numbers(slot).numbers[:] = [int(each, 16) for each in text.split()]

    def _numbers(self, slot: int) -> Numbers:
        state = self._states[slot]
        assert isinstance(state, Numbers)
        return state


def _scale(value: Value, unit: int) -> int:
    assert isinstance(value, int | float)
    numerator, denominator = value.as_integer_ratio()
    return numerator * (unit // denominator)


def _round(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
