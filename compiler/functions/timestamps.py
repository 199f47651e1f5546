"""Timestamps as text: reading ISO 8601, and writing it.

A TIMESTAMP is an integer of microseconds since 1970-01-01 UTC in the proleptic Gregorian calendar.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from fsql.compiler.functions.failure import TimestampRangeFailure, UnreadableTextFailure
from fsql.compiler.sqltypes import TIMESTAMP, TIMESTAMP_MAX, TIMESTAMP_MIN

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MINUTE_US: Final = 60_000_000

_PATTERN: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6})\d{0,3})?)?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)

_OFFSET: Final = re.compile(r":\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)$", re.ASCII)


def in_range(value_us: int) -> int:
    """Return `value_us`.

    Raises:
        TimestampRangeFailure: E504, if it is outside of the years 1 to 9999.
    """
    if not TIMESTAMP_MIN <= value_us <= TIMESTAMP_MAX:
        raise TimestampRangeFailure
    return value_us


def parse_timestamp(text: str) -> int:
    """Return the timestamp that `YYYY-MM-DD[[T ]hh:mm[:ss[.f{1,9}]][Z|±hh[[:]mm]]]` names; no zone is UTC.

    A day is its midnight.  Digits below the microsecond are cut off.

    >>> parse_timestamp("1970-01-01T01:00:00.5+01:00"), parse_timestamp("1970-01-02")
    (500000, 86400000000)
    >>> parse_timestamp("1970-01-01 01:00:00+0100"), parse_timestamp("1970-01-01 01:00:00+01")
    (0, 0)
    >>> parse_timestamp("1970-01-01T00:00:00.000001999Z")
    1

    Raises:
        UnreadableTextFailure: E503, for any other text and for days and hours that do not exist.
        TimestampRangeFailure: E504, if the zone carries it out of the years 1 to 9999.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise UnreadableTextFailure(text, TIMESTAMP)
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction, zone = match.groups()[6:]
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise UnreadableTextFailure(text, TIMESTAMP) from None
    value_us = (moment - _EPOCH) // _MICROSECOND + int((fraction or "").ljust(6, "0"))
    return in_range(value_us - _zone_us(text, zone))


def has_offset(text: str) -> bool:
    """Return whether a text that is a timestamp states its offset: `Z` or `±hh[[:]mm]`."""
    return _OFFSET.search(text.strip(" ")) is not None


def _zone_us(text: str, zone: str | None) -> int:
    """Return how far `zone` is ahead of UTC."""
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)
    if hours > 23 or minutes > 59:
        raise UnreadableTextFailure(text, TIMESTAMP)
    offset_us = (hours * 60 + minutes) * _MINUTE_US
    return -offset_us if zone[0] == "-" else offset_us


def format_timestamp(value_us: int, digits: int | None = None) -> str:
    """Return the timestamp as ISO 8601 in UTC, with no, 3 or 6 digits of fraction as it needs.

    With `digits`, it has that many.

    >>> format_timestamp(-1), format_timestamp(500000), format_timestamp(500000, 1)
    ('1969-12-31T23:59:59.999999Z', '1970-01-01T00:00:00.500Z', '1970-01-01T00:00:00.5Z')
    """
    moment = _EPOCH + timedelta(microseconds=value_us)
    text = moment.replace(tzinfo=None, microsecond=0).isoformat()
    fraction_us = moment.microsecond
    if digits is not None and digits > 0:
        return f"{text}.{f'{fraction_us:06d}'[:digits]}Z"
    if fraction_us == 0 or digits == 0:
        return f"{text}Z"
    if fraction_us % 1000 == 0:
        return f"{text}.{fraction_us // 1000:03d}Z"
    return f"{text}.{fraction_us:06d}Z"
