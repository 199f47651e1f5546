"""DATE_TRUNC: the beginning of the unit of time that a timestamp is in, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from fsql.compiler.sqltypes import DAY_US

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

FIXED_US: Final = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": DAY_US,
    "week": 7 * DAY_US,
}
"""Units of one length, in microseconds."""

MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
"""Units of whole months."""

WEEK_START_US: Final = 4 * DAY_US
"""A Monday: weeks begin with one, as in ISO 8601."""


def unit_error(unit: str) -> str | None:
    """Return an error message for the name of a unit, None if it is valid."""
    if unit.lower() in FIXED_US or unit.lower() in MONTHS:
        return None
    return f"a unit of DATE_TRUNC is {', '.join([*FIXED_US, *MONTHS])}"


def truncate(unit: str, at_us: int) -> int:
    """Return the beginning of the unit that a timestamp is in.

    >>> truncate("day", -1), truncate("week", 0), truncate("year", 86_400_000_000)
    (-86400000000, -259200000000, 0)
    """
    unit = unit.lower()
    if unit in FIXED_US:
        start = WEEK_START_US if unit == "week" else 0
        return at_us - (at_us - start) % FIXED_US[unit]
    moment = _EPOCH + timedelta(microseconds=at_us)
    month = (moment.month - 1) // MONTHS[unit] * MONTHS[unit] + 1
    return (datetime(moment.year, month, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
