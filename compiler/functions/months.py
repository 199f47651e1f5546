"""INTERVAL YEAR TO MONTH: numbers of months, and dates and timestamps moved by them.

A day that the month reached does not have becomes its last one: a month after January 31 is the end of
February.
"""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta
from typing import Final

from fsql.compiler.functions.failure import TimestampRangeFailure
from fsql.compiler.sqltypes import DATE, DAY_US

_EPOCH: Final = date(1970, 1, 1)
_YEAR: Final = 12
_MONTH_MIN: Final = _YEAR
_MONTH_MAX: Final = 10_000 * _YEAR - 1
"""The first and the last month of the years 1 to 9999, counted from January of year 0."""


def _add_months(day: date, months: int) -> date | None:
    """Return the day some months later, None if it is outside of the years 1 to 9999."""
    number = day.year * _YEAR + day.month - 1 + months
    if not _MONTH_MIN <= number <= _MONTH_MAX:
        return None
    year, month = divmod(number, _YEAR)
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))


def date_months_later(days: int, months: int) -> int:
    """Return the date some months later.

    >>> date_months_later(30, 1)  # January 31 to February 28
    58

    Raises:
        TimestampRangeFailure: E504, if it is outside of the years 1 to 9999.
    """
    day = _add_months(_EPOCH + timedelta(days=days), months)
    if day is None:
        raise TimestampRangeFailure(DATE)
    return (day - _EPOCH).days


def months_later(at_us: int, months: int) -> int:
    """Return the timestamp some months later, at the same time of day in UTC.

    Raises:
        TimestampRangeFailure: E504, if it is outside of the years 1 to 9999.
    """
    days, in_day_us = divmod(at_us, DAY_US)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)
    day = _add_months(moment.date(), months)
    if day is None:
        raise TimestampRangeFailure
    return (day - _EPOCH).days * DAY_US + in_day_us
