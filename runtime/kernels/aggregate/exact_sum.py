"""The correctly rounded exact sum of doubles, for many keys at once and under retraction.

A finite double is an integer mantissa times a power of two.  The sum of a key is kept as an integer in base
2**32: bin b counts multiples of 2**(32 * b - BIAS), in int64, which can hold 2**30 addends.  Before a bin
could overflow, all bins are carried. A bin exists for all keys as soon as one key has used it; data of one
magnitude uses three to five bins.  NaN and the infinities are counted.  Integers are exact, so the sum does
not depend on the order, and a value is retracted by adding its negative.  A sum is rounded to double once,
when it is read: to nearest, ties to even.  It is saved as the digits of its magnitude, each with the sign of
the sum, which are determined by the sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from fsql.runtime.order import stable_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Doubles, Ints
    from fsql.runtime.kernels.aggregate.steps import Steps


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
