"""Timestamps and dates as text, in columns: parses and formats ISO 8601.

The text form is `YYYY-MM-DD[[T ]hh:mm[:ss[.f{1,6}]][Z|±hh[[:]mm]]]`, at most 32 bytes; up to three more
digits of the fraction are cut off before.  The texts of a column are a matrix of bytes with a row for each of
32 positions, 0 after the end of a text, and a column for each text.  They are processed by position, not text
by text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fsql.compiler.sqltypes import DAY_US, TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.runtime.kernels.expressions.vectors import (
    TIMESTAMP_RANGE,
    UNREADABLE_TEXT,
    codes_where,
    offsets,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.expressions.vectors import Codes

    Bytes = NDArray[np.uint8]
    """`(positions, texts)`"""

_TIME: Final = r"\A([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?\z"
_NANOSECONDS: Final = r"\A(.{19}\.[0-9]{6})[0-9]{1,3}"
_WIDTH: Final = 32
_SHORTEST: Final = 16
_LONGEST: Final = 27
"""The length of the longest formatted timestamp, which ends with `Z`."""
_DATE_LENGTH: Final = len("YYYY-MM-DD")
_DIGITS_OF_DATE: Final = (0, 1, 2, 3, 5, 6, 8, 9)
_DIGITS_OF_TIME: Final = (11, 12, 14, 15)
_SECOND_US: Final = 1_000_000


def parse_dates(strings: pa.StringArray) -> tuple[NDArray[np.int32], Codes | None]:
    """Return the texts `YYYY-MM-DD`, and the days that timestamps begin with; E503 for invalid texts.

    The results for NULLs are arbitrary.
    """
    text, lengths = _byte_matrix(strings)
    days, readable = _dates(text, text - np.uint8(ord("0")))
    longer = lengths > _DATE_LENGTH
    codes = np.where(readable & (lengths >= _DATE_LENGTH), np.int16(0), np.int16(UNREADABLE_TEXT))
    if longer.any():
        _, of_timestamps = parse_timestamps(strings)
        codes = np.where(longer, 0 if of_timestamps is None else of_timestamps, codes)
    values = np.where(codes == 0, days, 0).astype(np.int32)
    return values, codes.astype(np.int16) if codes.any() else None


def parse_times(strings: pa.StringArray) -> tuple[Ints, Codes | None]:
    """Return the texts `hh:mm[:ss[.f{1,6}]]` as microseconds; E503 for invalid texts."""
    form = compute.match_substring_regex(strings, _TIME).fill_null(fill_value=False)
    strings = compute.if_else(form, strings, "00:00")
    moments = compute.binary_join_element_wise("1970-01-01T", strings, "")
    values, codes = parse_timestamps(moments)
    assert codes is None, "the form is that of a time"
    unreadable = ~form.to_numpy(zero_copy_only=False)
    return values, codes_where(unreadable, UNREADABLE_TEXT)


def parse_timestamps(strings: pa.StringArray) -> tuple[Ints, Codes | None]:
    """Return the texts as microseconds; E503 for invalid texts, E504 outside of the years 1 to 9999.

    The results for NULLs are arbitrary.
    """
    text, lengths = _byte_matrix(strings)
    if lengths.max(initial=0) > _LONGEST - 1:
        text, lengths = _byte_matrix(
            compute.replace_substring_regex(strings, _NANOSECONDS, replacement=r"\1")
        )
    digits = text - np.uint8(ord("0"))
    days, is_date = _dates(text, digits)
    readable = (lengths >= _SHORTEST) & (lengths <= _WIDTH)
    for at in _DIGITS_OF_TIME:
        readable &= digits[at] <= 9
    readable &= text[13] == ord(":")
    readable &= (text[10] == ord("T")) | (text[10] == ord(" "))
    hour, minute = _pair(digits, 11), _pair(digits, 14)
    readable &= (hour < 24) & (minute < 60)
    second_us, end, well_formed = _seconds(text, digits)
    zone_us, zone_well_formed = _zone(text, digits, end, lengths)
    readable &= well_formed & zone_well_formed
    minutes = (hour * 60 + minute).astype(np.int64)
    in_day_us = minutes * (60 * _SECOND_US) + second_us - zone_us
    midnight = lengths == _DATE_LENGTH
    readable = is_date & (readable | midnight)
    values = days * DAY_US + np.where(midnight, 0, in_day_us)
    beyond = (values < TIMESTAMP_MIN) | (values > TIMESTAMP_MAX)
    if readable.all() and not beyond.any():
        return values, None
    codes = np.where(beyond, np.int16(TIMESTAMP_RANGE), np.int16(0))
    return values, np.where(readable, codes, np.int16(UNREADABLE_TEXT))


def _byte_matrix(strings: pa.StringArray) -> tuple[Bytes, Ints]:
    """Return the first 32 bytes of all texts, and the lengths of the texts."""
    ends = offsets(strings).astype(np.int64)
    lengths = ends[1:] - ends[:-1]
    if ends[-1] == ends[0]:
        return np.zeros((_WIDTH, len(strings)), np.uint8), lengths
    data = np.frombuffer(strings.buffers()[2], np.uint8)
    width = int(lengths[0])
    if width <= _WIDTH and (lengths == width).all():
        text = np.zeros((_WIDTH, len(strings)), np.uint8)
        text[:width] = data[ends[0] : ends[-1]].reshape(-1, width).T
        return text, lengths
    at = ends[:-1] + np.arange(_WIDTH)[:, None]
    inside = at < ends[1:]
    return np.where(inside, data[np.where(inside, at, 0)], np.uint8(0)), lengths


def _pair(digits: Bytes, at: int) -> NDArray[np.int32]:
    """Return the number of the two digits at position `at`."""
    return digits[at].astype(np.int32) * 10 + digits[at + 1]


def _dates(text: Bytes, digits: Bytes) -> tuple[Ints, Bools]:
    """Return the days since 1970-01-01, and whether the texts begin with a day that exists."""
    readable = (text[4] == ord("-")) & (text[7] == ord("-"))
    for at in _DIGITS_OF_DATE:
        readable &= digits[at] <= 9
    days, exists = _days(digits)
    return days, readable & exists


def _days(digits: Bytes) -> tuple[Ints, Bools]:
    """Return the days since 1970-01-01, and whether the day exists."""
    year = _pair(digits, 0) * 100 + _pair(digits, 2)
    month, day = _pair(digits, 5), _pair(digits, 8)
    exists = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(exists, (year - 1970) * 12 + month - 1, 0).astype(np.int64)
    first = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    next_first = (months + 1).astype("M8[M]").astype("M8[D]").astype(np.int64)
    return first + day - 1, exists & (day <= next_first - first)


def _seconds(text: Bytes, digits: Bytes) -> tuple[Ints, Ints, Bools]:
    """Return the seconds in microseconds, the position after them, and whether they are well-formed."""
    given = text[16] == ord(":")
    second = np.where(given, _pair(digits, 17), 0)
    well_formed = ~given | ((digits[17] <= 9) & (digits[18] <= 9) & (second < 60))
    with_fraction = given & (text[19] == ord("."))
    end = np.where(given, 19, 16)
    values = second * np.int64(_SECOND_US)
    if with_fraction.any():
        fraction, count = _fraction(digits)
        well_formed &= ~with_fraction | (count > 0)
        values += np.where(with_fraction, fraction, 0)
        end += np.where(with_fraction, 1 + count, 0)
    return values, end, well_formed


def _fraction(digits: Bytes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the digits from position 20 on, six at most, as microseconds, and their number."""
    fraction = np.zeros(digits.shape[1], np.int32)
    count = np.zeros(digits.shape[1], np.int32)
    going_on = np.ones(digits.shape[1], np.bool_)
    for index in range(6):
        digit = digits[20 + index]
        going_on &= digit <= 9
        fraction += np.where(going_on, digit, 0) * np.int32(10 ** (5 - index))
        count += going_on
    return fraction, count


def _zone(text: Bytes, digits: Bytes, at: Ints, lengths: Ints) -> tuple[Ints, Bools]:
    """Return how far the zone at position `at` is ahead of UTC, and whether it is well-formed."""
    left = lengths - at
    column = np.arange(len(at))
    marks = text[np.minimum(at, _WIDTH - 1), column]
    utc = (left == 0) | ((left == 1) & (marks == ord("Z")))
    if utc.all():
        return np.zeros(len(at), np.int64), utc
    indexes = np.minimum(at + np.arange(6)[:, None], _WIDTH - 1)
    parts = digits[indexes, column]
    colon = (left == 6) & (text[indexes[3], column] == ord(":"))
    tens, ones = np.where(colon, parts[4:6], parts[3:5])
    only_hour = left == 3
    tens, ones = np.where(only_hour, 0, tens), np.where(only_hour, 0, ones)
    hour, minute = _pair(parts, 1), tens.astype(np.int32) * 10 + ones
    shifted = (colon | (left == 5) | only_hour) & ((marks == ord("+")) | (marks == ord("-")))
    shifted &= (parts[1:3] <= 9).all(axis=0) & (tens <= 9) & (ones <= 9)
    shifted &= (hour <= 23) & (minute <= 59)
    sign = np.where(marks == ord("-"), -1, 1)
    minutes = np.where(shifted, sign * (hour * 60 + minute), 0)
    return minutes * np.int64(60 * _SECOND_US), utc | shifted


def format_timestamps(values_us: Ints, digits: int | None = None) -> pa.StringArray:
    """Return timestamps as ISO 8601 in UTC, with 0, 3 or 6 digits of fraction as needed, or with `digits`.

    All are within the years 1 to 9999; the array has no NULL.
    """
    day = values_us // DAY_US
    in_day_us = values_us - day * DAY_US
    date = day.astype("M8[D]")
    month = date.astype("M8[M]")
    months = month.astype(np.int64).astype(np.int32)
    second = (in_day_us // _SECOND_US).astype(np.int32)
    fraction = (in_day_us - second * np.int64(_SECOND_US)).astype(np.int32)
    day_of_month = (day - month.astype("M8[D]").astype(np.int64) + 1).astype(np.int32)
    text = np.empty((_LONGEST, len(values_us)), np.uint8)
    text[:] = np.frombuffer(b"0000-00-00T00:00:00.000000Z", np.uint8)[:, None]
    for at, count, part in (
        (0, 4, months // 12 + 1970),
        (5, 2, months % 12 + 1),
        (8, 2, day_of_month),
        (11, 2, second // 3600),
        (14, 2, second // 60 % 60),
        (17, 2, second % 60),
        (20, 6, fraction),
    ):
        left = part
        for index in range(at + count - 1, at - 1, -1):
            shorter = left // 10
            text[index] += (left - shorter * 10).astype(np.uint8)
            left = shorter
    if digits is None:
        lengths = np.where(fraction == 0, 20, np.where(fraction % 1000 == 0, 24, _LONGEST))
    else:
        lengths = np.full(len(fraction), _LONGEST - 6 + digits if digits else 20)
    text[lengths - 1, np.arange(len(lengths))] = ord("Z")
    ends = np.zeros(len(lengths) + 1, np.int32)
    lengths.cumsum(out=ends[1:])
    if len(lengths) and (lengths == lengths[0]).all():
        used = np.ascontiguousarray(text[: lengths[0]].T)
    else:
        used = np.ascontiguousarray(text.T)[np.arange(_LONGEST) < lengths[:, None]]
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(ends), pa.py_buffer(used))
