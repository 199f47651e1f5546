"""The correctly rounded exact sum of doubles, for many keys at once and under retraction.

A finite double is an integer mantissa times a power of two.  The sum of a key is kept as an integer in
base 2**32: bin b counts multiples of 2**(32 * b - BIAS), in int64 with room for carries (2**30 addends).
A bin exists for all keys once any key has used it; data of one magnitude uses three to five.  NaN and the
infinities are counted.  Integers are exact, so the sum depends on no order, and taking a value back is
adding its negative.  Rounding to double happens once, when a value is read: to nearest, ties to even.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.order import stable_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fsql.runtime.kernels.steps import Steps

    Ints = NDArray[np.int64]
    Doubles = NDArray[np.float64]

BIAS: Final = 1152
"""2**-1152 is below the least bit that `frexp` can hand out for a subnormal (2**-1126)."""
_LOW: Final = np.int64(0xFFFFFFFF)
_SPECIALS: Final = ("nan", "+inf", "-inf")


class ExactSums:
    """The exact sums of all slots: a column for each bin in use, and one for each special value."""

    def __init__(self) -> None:
        self._bins: dict[int | str, Ints] = {}
        self._slots = 0

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

    def save(self, slots: Ints) -> dict[int | str, Ints]:
        """Return what `restore` needs to bring back the sums of `slots`."""
        return {name: column[slots] for name, column in self._bins.items()}

    def restore(self, slots: Ints, saved: dict[int | str, Ints], kept: Ints) -> None:
        """Bring back the sums of `slots[kept]`."""
        for name, column in self._bins.items():
            column[slots[kept]] = saved[name][kept] if name in saved else 0

    def column(self, slots: Ints) -> pa.Array:
        """Return for each slot the list of its bins that are not 0, specials by numbers below 0."""
        rows, bins, values = [], [], []
        for name, column in sorted((_number(name), column) for name, column in self._bins.items()):
            used = np.flatnonzero(column[slots])
            rows.append(used)
            bins.append(np.full(len(used), name, np.int16))
            values.append(column[slots[used]])
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
        """Set the sums of `slots`, which are 0, to what `column` returned."""
        slot = np.repeat(slots, lists.value_lengths().to_numpy())
        pairs = lists.flatten()
        bins, values = (pairs.field(index).to_numpy() for index in range(2))
        for number in np.unique(bins).tolist():
            name = number if number >= 0 else _SPECIALS[-1 - number]
            column = self._bins.setdefault(name, np.zeros(self._slots, np.int64))
            column[slot[bins == number]] = values[bins == number]

    def read(self, slots: Ints) -> Doubles:
        """Return the rounded sums of `slots`."""
        return _rounded({name: column[slots] for name, column in self._bins.items()}, len(slots))

    def add(self, values: Doubles, weights: Ints, steps: Steps) -> Doubles:
        """Add `values * weights` (rows sorted by slot); return the rounded sum after each step."""
        after: dict[int | str, Ints] = {}
        added = dict(_contributions(values, weights))
        for name in added:
            self._bins.setdefault(name, np.zeros(self._slots, np.int64))
        for name, column in self._bins.items():
            base = column[steps.slots]
            if name in added:
                after[name] = steps.running(base, steps.sums(added[name]))
                column[steps.slots] = after[name][steps.last]
            else:
                after[name] = steps.of_slots(base)
        return _rounded(after, len(steps.slot))


def _number(name: int | str) -> int:
    """Return the number of a bin: the specials' are below 0."""
    return name if isinstance(name, int) else -1 - _SPECIALS.index(name)


def _contributions(values: Doubles, weights: Ints) -> Iterator[tuple[int | str, Ints]]:
    """Yield, for each bin that the values touch, what each row adds to it."""
    finite = np.isfinite(values)
    if not finite.all():
        for name, where in zip(
            _SPECIALS, (np.isnan(values), values == np.inf, values == -np.inf), strict=True
        ):
            if where.any():
                yield name, np.where(where, weights, 0)
        values = np.where(finite, values, 0.0)
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    place = exponent.astype(np.int64) - 53 + BIAS
    place[mantissa == 0] = BIAS
    index, shift = place >> 5, place & 31
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


def _rounded(bins: dict[int | str, Ints], count: int) -> Doubles:
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


def _nearest(bins: dict[int | str, Ints], least: int, end: int, count: int) -> Doubles:
    zero = np.zeros(count, np.int64)
    digits, top = _carried([bins.get(b, zero) for b in range(least, end)])
    negative = top < 0
    if negative.any():
        flipped, _ = _carried([-bins.get(b, zero) for b in range(least, end)])
        digits = np.where(negative, flipped, digits)
    # Two zero digits below make the window of three digits always exist.
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


def _carried(columns: list[Ints]) -> tuple[NDArray[np.int64], Ints]:
    """Return the digits in `[0, 2**32)` of each row's integer, and what is carried out at the top."""
    digits = np.empty((len(columns), len(columns[0])), np.int64)
    carry = np.zeros(len(columns[0]), np.int64)
    for i, column in enumerate(columns):
        total = column + carry
        digits[i] = total & _LOW
        carry = total >> 32
    return digits, carry
