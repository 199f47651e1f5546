"""Whole numbers and timestamps of many values at once, from words of eight octets.

The first octet of a word is the least significant.  An exclusive or with `0` maps digits to their values.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.compiler.sqltypes import DAY_US
from fsql.formats.json.layouts import WORD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.formats.json.layouts import Slices
    from fsql.runtime.arrays import Bools, Ints, Octets

    Words = NDArray[np.uint64]

_ZERO, _NINE, _MINUS = b"09-"
_DIGITS_MAX: Final = 19
"""The maximum for a BIGINT; with this many digits, a number that begins with 9 may be out of range."""
_ZEROS, _SIXES, _HIGH_HALVES, _HIGH_BITS = (
    np.uint64(octet * 0x0101010101010101) for octet in (0x30, 0x06, 0xF0, 0x80)
)
_LAST: Final = np.array(
    [(1 << 64) - (1 << 8 * (WORD - count)) for count in range(WORD + 1)], np.uint64
)
"""The masks of the last octets of a word, by the number of octets."""
_TEN, _OCTET, _TWO_OCTETS = np.uint64(10), np.uint64(8), np.uint64(16)
_PAIRS: Final = np.uint64(0x000000FF000000FF)
_MILLIONS, _TEN_THOUSANDS = np.uint64((10**6 << 32) + 100), np.uint64((10**4 << 32) + 1)
"""Multiplying the pairs of digits in a word by these yields the number in its upper half."""


def whole_numbers(slices: Slices) -> tuple[Ints, Bools]:
    """Return whole numbers, and which are certain: up to 19 digits after an optional minus sign."""
    block, leading, digits = slices.block, slices.firsts(), slices.lengths
    negative = leading == _MINUS
    signed = bool(negative.any())
    if signed:
        digits = digits - negative
        leading = block.octets[slices.starts + negative]
    certain = leading != _ZERO
    if not certain.all():
        certain |= digits == 1
    certain &= digits > 0
    digits_max = int(digits.max())
    if digits_max >= _DIGITS_MAX:
        certain &= (digits < _DIGITS_MAX) | ((digits == _DIGITS_MAX) & (leading < _NINE))
    numbers, odd = _eight_digits(block.words[slices.ends - WORD], digits)
    for low in range(WORD, min(digits_max, _DIGITS_MAX), WORD):
        longer = np.flatnonzero(digits > low)
        words = block.words[slices.ends[longer] - (low + WORD)]
        high, also_odd = _eight_digits(words, digits[longer] - low)
        numbers[longer] += high * np.uint64(10**low)
        odd[longer] |= also_odd
    if odd.any():
        certain &= odd == 0
    found = numbers.view(np.int64)
    return np.where(negative, -found, found) if signed else found, certain


def _eight_digits(words: Words, digits: Ints) -> tuple[Words, Words]:
    """Return the numbers in the last digits of words, at most 8, and 0 for words of digits only."""
    words ^= _ZEROS
    words &= _LAST.take(digits, mode="clip")
    odd = words + _SIXES
    odd |= words
    odd &= _HIGH_HALVES
    pairs = words * _TEN + (words >> _OCTET)
    numbers = (pairs & _PAIRS) * _MILLIONS
    pairs >>= _TWO_OCTETS
    pairs &= _PAIRS
    pairs *= _TEN_THOUSANDS
    numbers += pairs
    numbers >>= np.uint64(32)
    return numbers, odd


# Timestamps: `YYYY-MM-DD`, `T` or a space, `hh:mm:ss`, optional `.fff` and `Z`, in three words.

_SECONDS_LENGTH: Final = len("YYYY-MM-DDThh:mm:ss")
_SEPARATOR_AT: Final = len("YYYY-MM-DD")


def _word(text: str) -> int:
    return int.from_bytes(text.encode(), "little")


def _limits(text: str) -> np.uint64:
    """Return addends that raise octets to 128 if they are not digits, or not the separators of a form."""
    separator, digit = 0x7F, 0x7F - 9
    octets = (digit if octet == "0" else separator for octet in text)
    return np.uint64(int.from_bytes(bytes(octets), "little"))


_DATE, _TIMES = "0000-00-", {ord("T"): "00T00:00", ord(" "): "00 00:00"}
_RESTS: Final = (":00", ":00Z", "", "", ":00.000", ":00.000Z")
"""The text that may follow the minutes, by its length; nothing else is read here."""
_REST: Final = np.array([_word(rest) for rest in (*_RESTS, "")], np.uint64)
_REST_MASK: Final = np.array([(1 << 8 * len(rest)) - 1 for rest in (*_RESTS, "")], np.uint64)
_REST_IS_KNOWN: Final = _REST != 0
_DATE_LIMITS, _TIME_LIMITS, _REST_LIMITS = map(_limits, (_DATE, _TIMES[ord("T")], _RESTS[-1]))
_MONTH_MAX: Final = np.uint64(0x7F - 12 << 40)
_TIME_MAX: Final = np.uint64((0x7F - 23 << 24) + (0x7F - 59 << 48))
_SECOND_MAX: Final = np.uint64(0x7F - 59 << 8)
_MONTH_BITS: Final = 4


@cache
def _months() -> tuple[Ints, Octets]:
    """Return the microseconds of the day before each month, and its number of days, 0 for invalid months.

    The index of a month is 16 times the year, plus the month.
    """
    first = np.arange("0001-01", "10000-02", dtype="datetime64[M]").astype("datetime64[D]")
    months = np.arange(len(first) - 1)
    index = (months // 12 + 1 << _MONTH_BITS) + months % 12 + 1
    before, days = (
        np.zeros(10_000 << _MONTH_BITS, np.int64),
        np.zeros(10_000 << _MONTH_BITS, np.uint8),
    )
    before[index] = (first[:-1].astype(np.int64) - 1) * DAY_US
    days[index] = np.diff(first).astype(np.int64)
    return before, days


def timestamps(slices: Slices) -> tuple[Ints, Bools]:
    """Return microseconds, and which are certain: those of texts in the form above."""
    block = slices.block
    separator = int(block.octets[slices.starts[0] + _SEPARATOR_AT])
    words = block.octets_at(slices.starts, 3 * WORD).view("<u8")
    date = words[:, 0] ^ np.uint64(_word(_DATE))
    time = words[:, 1] ^ np.uint64(_word(_TIMES.get(separator, _TIMES[ord("T")])))
    length = np.clip(slices.lengths - _SECONDS_LENGTH, -1, len(_RESTS))
    rest = (words[:, 2] ^ _REST[length]) & _REST_MASK[length]
    odd = (date + _DATE_LIMITS) | date
    odd |= (time + _TIME_LIMITS) | time
    odd |= (rest + _REST_LIMITS) | rest
    # In each octet, the number of its digit and the next one, where both are digits.
    dates, times, rests = (word * _TEN + (word >> _OCTET) for word in (date, time, rest))
    odd |= dates + _MONTH_MAX
    odd |= times + _TIME_MAX
    odd |= rests + _SECOND_MAX
    century_and_year = (dates & np.uint64(0xFF00FF)) * np.uint64((100 << 16) + 1)
    year = (century_and_year >> np.uint64(16)) & np.uint64(0xFFFF)
    month = (year << np.uint64(_MONTH_BITS)) + ((dates >> np.uint64(40)) & np.uint64(0xFF))
    day = times & np.uint64(0xFF)
    minutes = ((times & np.uint64(0xFF0000FF000000)) * np.uint64((60 << 24) + 1)) >> np.uint64(48)
    millis = (rests & np.uint64(0xFF0000FF00)) * np.uint64((1000 << 40) + (10 << 16))
    millis = (millis >> np.uint64(48)) + ((rest >> np.uint64(48)) & np.uint64(0xFF))
    before, days = _months()
    month_index = month.view(np.int64)
    certain = (odd & _HIGH_BITS) == 0
    certain &= _REST_IS_KNOWN[length]
    certain &= (day != 0) & (day <= days.take(month_index, mode="clip"))
    micros = (minutes * np.uint64(60_000) + millis) * np.uint64(1_000) + day * np.uint64(DAY_US)
    return micros.view(np.int64) + before.take(month_index, mode="clip"), certain
