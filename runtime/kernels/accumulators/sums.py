"""SUM and AVG, exact: of doubles, of integers, of decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.expression import AggregateCall, AggregateFunction
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.decimals import column_of, integers_of, narrow, quotients, times, too_long
from fsql.runtime.kernels.keyed.steps import (
    StateColumn,
    Values,
    count_column,
    or_ones,
    present_weights,
)
from fsql.runtime.order import stable_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Doubles, Ints
    from fsql.runtime.kernels.keyed.steps import Steps


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

    def add_partials(self, partials: DoubleSum, slots: Ints, signs: Ints, steps: Steps) -> Values:
        """See `accumulator.Merging`."""
        counts = partials._count.values[slots]
        count = self._count.add(steps.sums(counts * signs), steps)
        return self._value(count, self._sums.add_sums(partials._sums, slots, signs, steps))

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


# The correctly rounded exact sum of doubles, for many keys at once and under retraction.
#
# A finite double is an integer mantissa times a power of two.  The sum of a key is kept as an integer in
# base 2**32: bin b counts multiples of 2**(32 * b - BIAS), in int64, which can hold 2**30 addends.  Before
# a bin could overflow, all bins are carried. A bin exists for all keys as soon as one key has used it; data
# of one magnitude uses three to five bins.  NaN and the infinities are counted.  Integers are exact, so the
# sum does not depend on the order, and a value is retracted by adding its negative.  A sum is rounded to
# double once, when it is read: to nearest, ties to even.  It is saved as the digits of its magnitude, each
# with the sign of the sum, which are determined by the sum.


Bins: TypeAlias = "dict[int | str, Ints]"
"""A column for each bin by number, and one for each special value by name."""

BIAS: Final = 1152
"""2**-1152 is below the least bit that `frexp` can return for a subnormal (2**-1126)."""
ADDENDS_MAX: Final = 1 << 29
"""The maximum number of addends that bins receive before they are carried: half of their capacity."""
_LOW: Final = np.int64(0xFFFFFFFF)
_SPECIALS: Final = ("nan", "+inf", "-inf")


class SavedSums(NamedTuple):
    """The bins of some slots, and the greatest number of addends in them."""

    bins: Bins
    addends: int


class ExactSums:
    """The exact sums of all slots: a column for each bin in use, and one for each special value."""

    def __init__(self) -> None:
        self._bins: Bins = {}
        self._slots = 0
        self._addends = 0
        """An upper bound of the number of addends in a bin."""

    def grow(self, slots: int) -> None:
        """Make room for `slots` slots; new ones hold zero."""
        self._slots = slots
        for name, column in self._bins.items():
            if len(column) < slots:
                self._bins[name] = np.append(column, np.zeros(2 * slots - len(column), np.int64))

    def clear(self, slots: Ints) -> None:
        """Set the sums of these slots to zero."""
        for column in self._bins.values():
            column[slots] = 0

    def save(self, slots: Ints) -> SavedSums:
        """Return a copy of the sums of `slots`, for `restore`."""
        bins = {name: column[slots] for name, column in self._bins.items()}
        return SavedSums(bins, self._addends)

    def restore(self, slots: Ints, saved: SavedSums, kept: Ints) -> None:
        """Restore the sums of `slots[kept]`."""
        self._addends = max(self._addends, saved.addends)
        for name, column in self._bins.items():
            column[slots[kept]] = saved.bins[name][kept] if name in saved.bins else 0

    def column(self, slots: Ints) -> pa.Array:
        """Return for each slot the list of its nonzero digits, special values by numbers below 0."""
        columns = {name: column[slots] for name, column in self._bins.items()}
        rows, bins, values = [], [], []
        for name, column in sorted((_number(name), c) for name, c in _canonical(columns).items()):
            used = np.flatnonzero(column)
            rows.append(used)
            bins.append(np.full(len(used), name, np.int16))
            values.append(column[used])
        row = np.concatenate([np.empty(0, np.int64), *rows])
        order = stable_order(row)
        pairs = pa.StructArray.from_arrays(
            [
                pa.array(np.concatenate([np.empty(0, np.int16), *bins])[order]),
                pa.array(np.concatenate([np.empty(0, np.int64), *values])[order]),
            ],
            ["bin", "value"],
        )
        return pa.ListArray.from_arrays(
            np.append(0, np.cumsum(np.bincount(row, minlength=len(slots)))).astype(np.int32), pairs
        )

    def load(self, slots: Ints, lists: pa.ListArray) -> None:
        """Set the sums of `slots`, which are 0, to the result of `column`."""
        self._addends = max(self._addends, 1)
        slot = np.repeat(slots, lists.value_lengths().to_numpy())
        pairs = lists.flatten()
        bins, values = (pairs.field(index).to_numpy() for index in range(2))
        for number in np.unique(bins).tolist():
            name = number if number >= 0 else _SPECIALS[-1 - number]
            self._bin(name)[slot[bins == number]] = values[bins == number]

    def read(self, slots: Ints) -> Doubles:
        """Return the rounded sums of `slots`."""
        return _round({name: column[slots] for name, column in self._bins.items()}, len(slots))

    def add(self, values: Doubles, weights: Ints, steps: Steps) -> Doubles:
        """Add `values * weights` (rows sorted by slot); return the rounded sum after each step."""
        addends = addends_of(weights)
        if self._addends + addends > ADDENDS_MAX:
            self._carry()
        if self._addends + addends > ADDENDS_MAX:
            after = self._add_exactly(values, weights, steps)
        else:
            self._addends += addends
            after = self._add(dict(_contributions(values, weights)), steps)
        return _round(after, len(steps.slot))

    def add_sums(self, sums: ExactSums, slots: Ints, signs: Ints, steps: Steps) -> Doubles:
        """Add `signs` times the sums of `slots` of others; return the rounded sum after each step."""
        added = {name: column[slots] for name, column in sums._bins.items()}
        addends = _addends_of_digits(added)
        if addends > ADDENDS_MAX:
            added = _canonical(added)
            addends = _addends_of_digits(added)
        if self._addends + addends > ADDENDS_MAX:
            self._carry()
        self._addends += addends
        used = {name: digits * signs for name, digits in added.items() if digits.any()}
        return _round(self._add(used, steps), len(steps.slot))

    def _add(self, added: Bins, steps: Steps) -> Bins:
        """Add each row's contribution to each bin; return the bins after each step."""
        after: Bins = {}
        for name in added:
            self._bin(name)
        for name, column in self._bins.items():
            base = column[steps.slots]
            if name in added:
                after[name] = steps.running(base, steps.sums(added[name]))
                column[steps.slots] = after[name][steps.last]
            else:
                after[name] = steps.of_slots(base)
        return after

    def _add_exactly(self, values: Doubles, weights: Ints, steps: Steps) -> Bins:
        """Like `_add`, with integers of any size, for weights that would overflow the bins."""
        finite = np.isfinite(values)
        after = self._add(dict(_specials(values, weights)), steps)
        numbers = [name for name in after if isinstance(name, int)]
        for name in numbers:
            del after[name]
        base = [
            sum(int(self._bins[name][slot]) << 32 * name for name in numbers)
            for slot in steps.slots.tolist()
        ]
        mantissa, bit = _parts(np.where(finite, values, 0.0))
        added = [
            (m * w) << p
            for m, w, p in zip(mantissa.tolist(), weights.tolist(), bit.tolist(), strict=True)
        ]
        totals = exact_running(base, added, steps)
        bits = max((abs(total).bit_length() for total in totals), default=0)
        for b in sorted({*numbers, *range((bits + 31) // 32)}):
            digits = [(abs(t) >> 32 * b & 0xFFFFFFFF) * (-1 if t < 0 else 1) for t in totals]
            after[b] = np.array(digits, np.int64)
            if b in self._bins or after[b].any():
                self._bin(b)[steps.slots] = after[b][steps.last]
        return after

    def _carry(self) -> None:
        """Carry all bins, so that each can hold `ADDENDS_MAX` more addends."""
        numbers = [name for name in self._bins if isinstance(name, int)]
        if numbers:
            least, greatest = min(numbers), max(numbers)
            carry = np.zeros(len(self._bins[least]), np.int64)
            number = least
            while number <= greatest:
                column = self._bin(number)
                column += carry
                if number == greatest and (np.abs(column) <= _LOW).all():
                    break  # The greatest bin keeps its sign.
                carry = column >> 32
                column &= _LOW
                if number == greatest and carry.any():
                    greatest += 1
                number += 1
        self._addends = 1

    def _bin(self, name: int | str) -> Ints:
        """Return a bin; create it if necessary."""
        column = self._bins.get(name)
        if column is None:
            size = max((len(other) for other in self._bins.values()), default=self._slots)
            column = self._bins[name] = np.zeros(size, np.int64)
        return column


def _addends_of_digits(bins: Bins) -> int:
    """Return to how many addends the digits of all sums in a bin are equivalent, at most."""
    sums = [float(np.abs(column.astype(np.float64)).sum()) for column in bins.values()]
    return int(max(sums, default=0.0) / 2**32) + 1


def addends_of(weights: Ints) -> int:
    """Return how many times values are added or retracted by rows of these weights."""
    return int(np.abs(weights.astype(np.float64)).sum())


def exact_running(base: list[int], added: list[int], steps: Steps) -> list[int]:
    """Like `Steps.sums` and `Steps.running`, with integers of any size."""
    starts = steps.start.tolist()
    ends = [*starts[1:], steps.rows]
    totals = [sum(added[start:end]) for start, end in zip(starts, ends, strict=True)]
    before = dict(zip(steps.first.tolist(), base, strict=True))
    total = 0
    for index, delta in enumerate(totals):
        total = before.get(index, total) + delta
        totals[index] = total
    return totals


def _number(name: int | str) -> int:
    """Return the number of a bin: those of special values are below 0."""
    return name if isinstance(name, int) else -1 - _SPECIALS.index(name)


def _canonical(bins: Bins) -> Bins:
    """Return the digits of each sum's magnitude, with the sum's sign; they depend on the sum only."""
    numbers = [name for name in bins if isinstance(name, int)]
    if not numbers:
        return bins
    result: Bins = {name: column for name, column in bins.items() if isinstance(name, str)}
    least, end = min(numbers), max(numbers) + 3
    digits, negative = _magnitude(bins, least, end, len(bins[least]))
    digits = np.where(negative, -digits, digits)
    result.update(zip(range(least, end), digits, strict=True))
    return result


def _specials(values: Doubles, weights: Ints) -> Iterator[tuple[str, Ints]]:
    """Yield, for each special value that occurs, each row's contribution to its count."""
    marks = (np.isnan(values), values == np.inf, values == -np.inf)
    for name, where in zip(_SPECIALS, marks, strict=True):
        if where.any():
            yield name, np.where(where, weights, 0)


def _parts(values: Doubles) -> tuple[Ints, Ints]:
    """Return the mantissas of finite values as integers, and the bit, counted from -BIAS, of their units."""
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    bit = exponent.astype(np.int64) - 53 + BIAS
    bit[mantissa == 0] = BIAS
    return mantissa, bit


def _contributions(values: Doubles, weights: Ints) -> Iterator[tuple[int | str, Ints]]:
    """Yield, for each bin that the values affect, each row's contribution."""
    finite = np.isfinite(values)
    if not finite.all():
        yield from _specials(values, weights)
        values = np.where(finite, values, 0.0)
    mantissa, bit = _parts(values)
    index, shift = bit >> 5, bit & 31
    low = (mantissa & _LOW) << shift
    high = (mantissa >> 32) << shift
    parts = (
        (low & _LOW) * weights,
        ((low >> 32) + (high & _LOW)) * weights,
        (high >> 32) * weights,
    )
    touched = np.unique(index)
    for b in np.unique(np.concatenate([touched, touched + 1, touched + 2])).tolist():
        rows = np.zeros(len(values), np.int64)
        for k, part in enumerate(parts):
            here = index == b - k
            rows[here] += part[here]
        yield b, rows


def _round(bins: Bins, count: int) -> Doubles:
    """Return the doubles nearest to the integers in `bins`, ties to even; then the specials."""
    numbers = sorted(name for name in bins if isinstance(name, int))
    result = np.zeros(count)
    if numbers:
        result = _nearest(bins, numbers[0], numbers[-1] + 3, count)
    for name, value in zip(_SPECIALS, (np.nan, np.inf, -np.inf), strict=True):
        if name in bins:
            result[bins[name] > 0] = value
    if "+inf" in bins and "-inf" in bins:
        result[(bins["+inf"] > 0) & (bins["-inf"] > 0)] = np.nan
    if "nan" in bins:
        result[bins["nan"] > 0] = np.nan
    return result


def _nearest(bins: Bins, least: int, end: int, count: int) -> Doubles:
    digits, negative = _magnitude(bins, least, end, count)
    # Two zero digits below ensure that a window of three digits exists.
    digits = np.concatenate([np.zeros((2, count), np.int64), digits])
    used = digits != 0
    lead = len(digits) - 1 - np.argmax(used[::-1], axis=0)
    lead[~used.any(axis=0)] = 2
    lead = np.maximum(lead, 2)
    rows = np.arange(count)
    first = digits[lead, rows].astype(np.uint64)
    second = digits[lead - 1, rows].astype(np.uint64)
    third = digits[lead - 2, rows].astype(np.uint64)
    bits = np.frexp(first.astype(np.float64))[1].astype(np.uint64)
    thirty_two = np.uint64(32)
    window = (first << thirty_two | second) << (thirty_two - bits) | third >> bits
    rest = third & ((np.uint64(1) << bits) - np.uint64(1))
    lower = np.cumsum(used, axis=0)
    sticky = (rest != 0) | (np.where(lead > 2, lower[lead - 3, rows], 0) > 0)
    mantissa = (window >> np.uint64(11)).astype(np.int64)
    tail = window & np.uint64(0x7FF)
    half = np.uint64(0x400)
    up = (tail > half) | ((tail == half) & (sticky | (mantissa & 1 == 1)))
    mantissa += up
    exponent = 32 * (lead - 2 + least - 1) - (32 - bits.astype(np.int64)) - BIAS + 11
    with np.errstate(over="ignore"):  # a sum beyond the greatest double rounds to infinity
        magnitude = np.ldexp(mantissa.astype(np.float64), exponent.astype(np.int32))
    return np.where(negative, -magnitude, magnitude) + 0.0


def _magnitude(
    bins: Bins, least: int, end: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the digits in `[0, 2**32)` of each sum's magnitude, and which sums are negative."""
    zero = np.zeros(count, np.int64)
    digits, top = _propagate_carries([bins.get(b, zero) for b in range(least, end)])
    negative = top < 0
    if negative.any():
        flipped, _ = _propagate_carries([-bins.get(b, zero) for b in range(least, end)])
        digits = np.where(negative, flipped, digits)
    return digits, negative


def _propagate_carries(columns: list[Ints]) -> tuple[NDArray[np.int64], Ints]:
    """Return the digits in `[0, 2**32)` of each row's integer, and the carry out of the highest digit."""
    digits = np.empty((len(columns), len(columns[0])), np.int64)
    carry = np.zeros(len(columns[0]), np.int64)
    for i, column in enumerate(columns):
        total = column + carry
        digits[i] = total & _LOW
        carry = total >> 32
    return digits, carry


# SUM and AVG of INT, BIGINT and INTERVAL, exact at any size.


INTEGER_ADDENDS_MAX: Final = 1 << 30
"""The maximum number of addends that can be added at once in int64."""
TOP_BITS: Final = 62
"""`high` remains below 2**TOP_BITS in magnitude; the excess is carried to `top`."""
_LOW_HALF: Final = 0xFFFFFFFF


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
        if numbers.dtype != object and (
            present is None or addends_of(present) <= INTEGER_ADDENDS_MAX
        ):
            times = or_ones(present)
            low = self._low.after(steps.sums((numbers & _LOW_HALF) * times), steps)
            high = self._high.after(steps.sums((numbers >> 32) * times), steps)
            high += low >> 32
            low &= _LOW_HALF
            top = self._carry_to_top(high, steps)
        else:
            low, high, top = self._add_exactly(numbers, or_ones(present), steps)
        self._low.set(low, steps)
        self._high.set(high, steps)
        return self._value(count, low, high, top)

    def add_partials(self, partials: IntegerSum, slots: Ints, signs: Ints, steps: Steps) -> Values:
        """See `accumulator.Merging`."""
        columns = [column.values[slots] * signs for column in partials._columns()]
        counts, low, high = columns[:3]
        count = self._count.add(steps.sums(counts), steps)
        size = max(abs(int(high.min(initial=0))), abs(int(high.max(initial=0))))
        if partials._top is None and size * len(slots) < 1 << TOP_BITS - 1:
            low = self._low.after(steps.sums(low), steps)
            high = self._high.after(steps.sums(high), steps)
            high += low >> 32
            low &= _LOW
            top = self._carry_to_top(high, steps)
        else:
            tops = columns[3] if len(columns) > 3 else np.zeros_like(low)
            parts = zip(low.tolist(), high.tolist(), tops.tolist(), strict=True)
            low, high, top = self._add_totals([total_of(*each) for each in parts], steps)
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
        times = np.broadcast_to(weights, len(numbers)).tolist()
        return self._add_totals(
            [n * w for n, w in zip(numbers.tolist(), times, strict=True)], steps
        )

    def _add_totals(self, added: list[int], steps: Steps) -> tuple[Ints, Ints, Ints]:
        """Add integers of any size; return the columns after each step."""
        if self._top is None:
            self._create_top()
        assert self._top is not None
        slots = steps.slots
        parts = (column.values[slots].tolist() for column in (self._low, self._high, self._top))
        base = [total_of(low, high, top) for low, high, top in zip(*parts, strict=True)]
        totals = exact_running(base, added, steps)
        tops = [(total >> 32) + (1 << TOP_BITS - 1) >> TOP_BITS for total in totals]
        highs = [(t >> 32) - (top << TOP_BITS) for t, top in zip(totals, tops, strict=True)]
        low, high, top = (
            np.array(column, np.int64) for column in ([t & _LOW_HALF for t in totals], highs, tops)
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


# SUM and AVG of DECIMAL: sums of integers of the smallest unit, exact at any size.


class DecimalSum(IntegerSum):
    """The sums of all slots in the columns of `IntegerSum`.  A SUM of more than 38 digits has failed."""

    def __init__(self, call: AggregateCall) -> None:
        super().__init__(call)
        assert call.argument is not None
        self._factor = 10 ** (call.type.scale - call.argument.type.scale)
        self._precision = call.type.precision

    def _numbers(self, values: pa.Array) -> Ints:
        return integers_of(values)

    def _value(self, count: Ints, low: Ints, high: Ints, top: Ints | None = None) -> Values:
        fits = (high >= -(2**31)) & (high < 2**31)
        if top is not None:
            fits &= top == 0
        if fits.all():
            total = (high << 32) | low
        else:
            parts = (low, high, np.zeros_like(low) if top is None else top)
            total = np.array(
                [total_of(*each) for each in zip(*(part.tolist() for part in parts), strict=True)],
                object,
            )
            total = narrow(total)
        some = count > 0
        total = np.where(some, total, 0)
        if self._average:
            total = quotients(times(total, self._factor), np.maximum(count, 1))
        beyond = too_long(total, self._precision)
        failed = beyond if beyond.any() else None
        total = np.where(beyond, 0, total)
        return Values(column_of(total, self._type, None if some.all() else some), failed)
