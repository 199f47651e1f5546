"""Times as numbers: texts of them, time zones, and months."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.time_zones import offset_text, shown_from, shown_up_to, zone_of
from fsql.compiler.sqltypes import (
    DAY_US,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
)
from fsql.runtime.kernels.expressions.vectors import (
    TIMESTAMP_RANGE,
    UNREADABLE_TEXT,
    codes_where,
    offsets,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.expressions.strict import Parse
    from fsql.runtime.kernels.expressions.vectors import Codes

    Array = NDArray[Any]
    Bytes = NDArray[np.uint8]
    """`(positions, texts)`"""


# Timestamps and dates as text, in columns: parses and formats ISO 8601.
#
# The text form is `YYYY-MM-DD[[T ]hh:mm[:ss[.f{1,6}]][Z|±hh[[:]mm]]]`, at most 32 bytes; up to three more
# digits of the fraction are cut off before.  The texts of a column are a matrix of bytes with a row for
# each of 32 positions, 0 after the end of a text, and a column for each text.  They are processed by
# position, not text by text.


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
    form = pc.match_substring_regex(strings, _TIME).fill_null(fill_value=False)
    strings = pc.if_else(form, strings, "00:00")
    moments = pc.binary_join_element_wise("1970-01-01T", strings, "")
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
            pc.replace_substring_regex(strings, _NANOSECONDS, replacement=r"\1")
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


# Time zones in columns: local times and instants, windows of local times, and texts with an offset.
#
# `fsql.compiler.functions.time_zones` defines zones; all values are microseconds in arrays of int64.


_MINUTE_US = 60_000_000

_WITH_OFFSET = r":[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)\z"


class _Zone(NamedTuple):
    transitions: Ints
    offsets: Ints
    local_transitions: Ints
    shown_up_to: Ints
    shown_from: Ints


@lru_cache(maxsize=64)
def _zone_named(name: str) -> _Zone:
    zone = zone_of(name)
    parts = (zone.transitions, zone.offsets, zone.local_transitions)
    shown = (shown_up_to(name), shown_from(name))
    return _Zone(*(np.array(part, np.int64) for part in parts + shown))


def offsets_of(instants: Ints, zone: str) -> Ints:
    """Return the offset of the zone from UTC at instants."""
    known = _zone_named(zone)
    return known.offsets[known.transitions.searchsorted(instants, "right")]


def begins_of(local: Ints, zone: str) -> Ints:
    """Return the first instants at which a clock shows local times, or later ones if it skips them."""
    known = _zone_named(zone)
    index = known.shown_up_to.searchsorted(local, "right")
    instants = local - known.offsets[index]
    if not len(known.transitions):
        return instants
    before = known.transitions[np.maximum(index, 1) - 1]
    return np.where(index == 0, instants, np.maximum(instants, before))


def ends_of(local: Ints, zone: str) -> Ints:
    """Return the first instants after which a clock never shows a time before the local times."""
    known = _zone_named(zone)
    index = known.shown_from.searchsorted(local, "left")
    instants = local - known.offsets[index]
    count = len(known.transitions)
    if not count:
        return instants
    after = known.transitions[np.minimum(index, count - 1)]
    return np.where(index == count, instants, np.minimum(instants, after))


def to_local(zone: str) -> Callable[[Ints], tuple[Ints, Codes | None]]:
    """Return the conversion of instants to local times; E504 outside of the years 1 to 9999."""
    return lambda instants: _in_range(instants + offsets_of(instants, zone))


def to_instants(zone: str) -> Callable[[Ints], tuple[Ints, Codes | None]]:
    """Return the conversion of local times to instants; E504 outside of the years 1 to 9999."""

    def convert(local: Ints) -> tuple[Ints, Codes | None]:
        known = _zone_named(zone)
        return _in_range(
            local - known.offsets[known.local_transitions.searchsorted(local, "right")]
        )

    return convert


def _in_range(values: Ints) -> tuple[Ints, Codes | None]:
    outside = (values < TIMESTAMP_MIN) | (values > TIMESTAMP_MAX)
    return values, codes_where(outside, TIMESTAMP_RANGE)


def parse_instants(zone: str) -> Parse:
    """Return the parser of texts as instants; a text without an offset is a local time."""
    convert = to_instants(zone)

    def parse(texts: pa.StringArray) -> tuple[Ints, Codes | None]:
        texts = pc.ascii_trim(texts, " ")
        values, codes = parse_timestamps(texts)
        given = pc.match_substring_regex(texts, _WITH_OFFSET).fill_null(fill_value=True)
        local = ~given.to_numpy(zero_copy_only=False)
        if codes is not None:
            local &= codes == 0
        moved, beyond = convert(values[local])
        values = values.copy()
        values[local] = moved
        if beyond is not None:
            codes = np.zeros(len(values), np.int16) if codes is None else codes
            codes[local] = beyond
        return values, codes

    return parse


def format_instants(instants: Ints, zone: str, digits: int | None = None) -> pa.StringArray:
    """Return instants as ISO 8601 in the local time of the zone, with its offset; without NULL.

    An instant is in UTC if its offset is not in whole minutes, or its local time is out of the years 1 to
    9999.
    """
    offsets = offsets_of(instants, zone)
    local = instants + offsets
    unwritten = (offsets % _MINUTE_US != 0) | (local < TIMESTAMP_MIN) | (local > TIMESTAMP_MAX)
    offsets = np.where(unwritten, 0, offsets)
    texts = format_timestamps(instants + offsets, digits)
    if not offsets.any():
        return texts
    distinct, indexes = np.unique(offsets, return_inverse=True)
    written = ["Z" if offset == 0 else offset_text(offset) for offset in distinct.tolist()]
    suffixes = pa.array(written, pa.string()).take(pa.array(indexes))
    return pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, -1), suffixes, "")


# Dates and timestamps moved by months, a column at a time.


_FIRST: Final = -1969 * 12

_LAST: Final = 8030 * 12 - 1
"""The first and the last month of the years 1 to 9999, counted from January 1970."""


def shift_by_months(kind: Kind, sign: int) -> Callable[[Array, Array], tuple[Array, Codes | None]]:
    """Return the function that moves values of DATE or TIMESTAMP by months, forward or back.

    A day that the resulting month does not have becomes its last day.
    """

    def shift_days(days: Array, months: Array) -> tuple[Array, Codes | None]:
        month = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
        # Beyond the limit the sum could wrap; it is out of range in any case.
        steps = np.clip(months, -_LAST * 2, _LAST * 2) * sign
        reached = month + steps
        outside = (reached < _FIRST) | (reached > _LAST)
        reached = np.where(outside, 0, reached)
        start, end = _first_day(reached), _first_day(reached + 1)
        return np.minimum(start + days - _first_day(month), end - 1), codes_where(
            outside, TIMESTAMP_RANGE
        )

    def shift_times(time_us: Array, months: Array) -> tuple[Array, Codes | None]:
        days = time_us // DAY_US
        shifted, codes = shift_days(days, months)
        return shifted * DAY_US + (time_us - days * DAY_US), codes

    def shift_dates(days: Array, months: Array) -> tuple[Array, Codes | None]:
        shifted, codes = shift_days(days.astype(np.int64), months)
        return shifted.astype(np.int32), codes

    return shift_dates if kind is Kind.DATE else shift_times


def _first_day(months: Array) -> Array:
    """Return the first days of months, both counted from 1970."""
    days: Array = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    return days
