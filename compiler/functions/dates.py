"""Dates: reading and writing them, and their days in the calendar of timestamps.

A DATE is an integer of days since 1970-01-01 in the proleptic Gregorian calendar; it begins at midnight UTC.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from fsql.compiler.functions.failure import TimestampRangeFailure, UnreadableTextFailure
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.sqltypes import DATE, DATE_MAX, DATE_MIN, DAY_US

_EPOCH: Final = date(1970, 1, 1)
_LENGTH: Final = len("YYYY-MM-DD")
_PATTERN: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)


def parse_date(text: str) -> int:
    """Return the date that `YYYY-MM-DD` names.

    >>> parse_date("1970-01-02")
    1

    Raises:
        UnreadableTextFailure: E503, for any other text and for days that do not exist.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise UnreadableTextFailure(text, DATE)
    year, month, day = map(int, match.groups())
    try:
        return (date(year, month, day) - _EPOCH).days
    except ValueError:
        raise UnreadableTextFailure(text, DATE) from None


def date_of_text(text: str) -> int:
    """Return the date that a text is, or that a text which is a timestamp begins with.

    >>> date_of_text("1970-01-02"), date_of_text("1970-01-02 12:00:00+02:00")
    (1, 1)

    Raises:
        UnreadableTextFailure: E503, for any other text and for days and hours that do not exist.
        TimestampRangeFailure: E504, if the zone carries the timestamp out of the years 1 to 9999.
    """
    if len(text) <= _LENGTH:
        return parse_date(text)
    try:
        parse_timestamp(text)
    except UnreadableTextFailure:
        raise UnreadableTextFailure(text, DATE) from None
    return parse_date(text[:_LENGTH])


def format_date(days: int) -> str:
    """Return the date as `YYYY-MM-DD`.

    >>> format_date(-1)
    '1969-12-31'
    """
    return (_EPOCH + timedelta(days=days)).isoformat()


def date_of(at_us: int) -> int:
    """Return the day of a timestamp, in UTC."""
    return at_us // DAY_US


def midnight(days: int) -> int:
    """Return the timestamp at which a date begins."""
    return days * DAY_US


def add_interval(days: int, interval_us: int) -> int:
    """Return the date of the moment that is an interval after the beginning of a date.

    Raises:
        TimestampRangeFailure: E504, if it is outside of the years 1 to 9999.
    """
    result = days + interval_us // DAY_US
    if not DATE_MIN <= result <= DATE_MAX:
        raise TimestampRangeFailure(DATE)
    return result
