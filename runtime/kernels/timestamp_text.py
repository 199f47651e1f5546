"""Timestamps as text, a column at a time: reading ISO 8601, and writing it.

The text form is `YYYY-MM-DD[T ]hh:mm[:ss[.f{1,6}]][Z|±hh:mm]`, at most 32 bytes, so the texts of a column are
laid out as a matrix of 32 bytes a row and looked at column by column; nothing is done row by row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.sqltypes import TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.runtime.kernels.vectors import TIMESTAMP_RANGE, UNREADABLE_TEXT, offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.runtime.kernels.vectors import Bools, Codes

    Ints = NDArray[np.int64]
    Bytes = NDArray[np.uint8]

_WIDTH: Final = 32
_SHORTEST: Final = 16
_DIGITS: Final = (0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15)
_DAY_US: Final = 86_400_000_000
_SECOND_US: Final = 1_000_000


def parse_timestamps(strings: pa.StringArray) -> tuple[Ints, Codes | None]:
    """Return the microseconds that the texts name; E503 for other texts, E504 beyond the years.

    What it says of NULLs is arbitrary.
    """
    text, lengths = _matrix(strings)
    digits = text - np.uint8(ord("0"))
    readable = (lengths >= _SHORTEST) & (lengths <= _WIDTH)
    readable &= (digits[:, _DIGITS] <= 9).all(axis=1)
    for at, marks in ((4, "-"), (7, "-"), (10, "T "), (13, ":")):
        readable &= np.isin(text[:, at], [ord(mark) for mark in marks])
    number = digits.astype(np.int64)
    days, exists = _days(number)
    hour, minute = _pair(number, 11), _pair(number, 14)
    readable &= exists & (hour < 24) & (minute < 60)
    second_us, behind, well_formed = _seconds(text, number)
    zone_us, zone_well_formed = _zone(text, number, behind, lengths)
    readable &= well_formed & zone_well_formed
    values = days * _DAY_US + (hour * 60 + minute) * 60 * _SECOND_US + second_us - zone_us
    beyond = (values < TIMESTAMP_MIN) | (values > TIMESTAMP_MAX)
    if readable.all() and not beyond.any():
        return values, None
    codes = np.where(beyond, np.int16(TIMESTAMP_RANGE), np.int16(0))
    return values, np.where(readable, codes, np.int16(UNREADABLE_TEXT))


def _matrix(strings: pa.StringArray) -> tuple[Bytes, Ints]:
    """Return the first 32 bytes of each text, with zeros behind its end, and all lengths."""
    ends = offsets(strings).astype(np.int64)
    lengths = np.diff(ends)
    if ends[-1] == 0:
        return np.zeros((len(strings), _WIDTH), np.uint8), lengths
    data = np.frombuffer(strings.buffers()[2], np.uint8)
    at = ends[:-1, None] + np.arange(_WIDTH)
    inside = at < ends[1:, None]
    return np.where(inside, data[np.where(inside, at, 0)], np.uint8(0)), lengths


def _pair(number: Ints, at: int) -> Ints:
    """Return the two digits at column `at`."""
    return number[:, at] * 10 + number[:, at + 1]


def _days(number: Ints) -> tuple[Ints, Bools]:
    """Return the day since 1970-01-01, and whether there is such a day."""
    year = number[:, 0] * 1000 + number[:, 1] * 100 + _pair(number, 2)
    month, day = _pair(number, 5), _pair(number, 8)
    exists = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(exists, (year - 1970) * 12 + month - 1, 0)
    first = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    next_first = (months + 1).astype("M8[M]").astype("M8[D]").astype(np.int64)
    return first + day - 1, exists & (day <= next_first - first)


def _seconds(text: Bytes, number: Ints) -> tuple[Ints, Ints, Bools]:
    """Return the seconds in microseconds, the column behind them, and whether they are well-formed."""
    given = text[:, 16] == ord(":")
    second = _pair(number, 17)
    well_formed = ~given | ((number[:, 17] <= 9) & (number[:, 18] <= 9) & (second < 60))
    with_fraction = given & (text[:, 19] == ord("."))
    places = np.cumprod(number[:, 20:26] <= 9, axis=1)
    count = places.sum(axis=1)
    fraction = (number[:, 20:26] * places) @ 10 ** np.arange(5, -1, -1)
    well_formed &= ~with_fraction | (count > 0)
    values = np.where(given, second * _SECOND_US, 0) + np.where(with_fraction, fraction, 0)
    return values, np.where(given, np.where(with_fraction, 20 + count, 19), 16), well_formed


def _zone(text: Bytes, number: Ints, at: Ints, lengths: Ints) -> tuple[Ints, Bools]:
    """Return how far the zone at column `at` is ahead of UTC, and whether it is well-formed."""
    behind = lengths - at
    row = np.arange(len(text))
    marks = text[row, np.minimum(at, _WIDTH - 1)]
    utc = (behind == 0) | ((behind == 1) & (marks == ord("Z")))
    if utc.all():
        return np.zeros(len(text), np.int64), utc
    columns = np.minimum(at[:, None] + np.arange(6), _WIDTH - 1)
    parts = number[row[:, None], columns]
    hour, minute = _pair(parts, 1), _pair(parts, 4)
    sign = np.where(marks == ord("-"), -1, 1)
    shifted = (behind == 6) & ((marks == ord("+")) | (marks == ord("-")))
    shifted &= (parts[:, [1, 2, 4, 5]] <= 9).all(axis=1) & (hour <= 23) & (minute <= 59)
    shifted &= text[row, columns[:, 3]] == ord(":")
    return np.where(shifted, sign * (hour * 60 + minute) * 60 * _SECOND_US, 0), utc | shifted


def format_timestamps(values_us: Ints) -> pa.StringArray:
    """Return timestamps as ISO 8601 in UTC, with no, 3 or 6 digits of fraction as they need.

    All are within the years 1 to 9999; the array has no NULL.
    """
    day = values_us // _DAY_US
    in_day_us = values_us - day * _DAY_US
    date = day.astype("M8[D]")
    month = date.astype("M8[M]")
    months = month.astype(np.int64)
    second, fraction = np.divmod(in_day_us, _SECOND_US)
    text = np.zeros((len(values_us), 27), np.uint8)
    text[:] = np.frombuffer(b"0000-00-00T00:00:00.000000Z", np.uint8)
    for at, count, part in (
        (0, 4, months // 12 + 1970),
        (5, 2, months % 12 + 1),
        (8, 2, day - month.astype("M8[D]").astype(np.int64) + 1),
        (11, 2, second // 3600),
        (14, 2, second // 60 % 60),
        (17, 2, second % 60),
        (20, 6, fraction),
    ):
        for place in range(count):
            text[:, at + place] += (part // 10 ** (count - 1 - place) % 10).astype(np.uint8)
    length = np.where(fraction == 0, 20, np.where(fraction % 1000 == 0, 24, 27))
    text[np.arange(len(text)), length - 1] = ord("Z")
    ends = np.concatenate([[0], np.cumsum(length)]).astype(np.int32)
    used = text[np.arange(27) < length[:, None]]
    return pa.StringArray.from_buffers(len(text), pa.py_buffer(ends), pa.py_buffer(used))
