"""Times by units of the calendar, and as text by Java's patterns; only the patterns that the tests use."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.sqltypes import Kind
from fsql.tests.reference.failure import (
    NOT_CASTABLE,
    OUT_OF_RANGE,
    TIMESTAMP_OUT_OF_RANGE,
    FailureError,
)
from fsql.tests.reference.scalar_casts import EPOCH, timestamp_of_text

if TYPE_CHECKING:
    from collections.abc import Callable

FIXED: Final = {
    "microsecond": timedelta(microseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
READ: Final = {
    "yyyy-MM-dd HH:mm:ss": (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "%Y-%m-%d %H:%M:%S"),
    "yyyy-MM-dd": (r"\d{4}-\d\d-\d\d", "%Y-%m-%d"),
    "yyyy-MM-dd'T'HH:mm:ssX": (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d(:?\d\d)?)",
        "%Y-%m-%dT%H:%M:%S%z",
    ),
    "yyyy": (r"\d{4}", "%Y"),
    "y": (r"\d{1,4}", "%Y"),
    'YYYY-MM-DD"T"HH24:MI': (r"\d{4}-\d\d?-\d\d?T\d\d?:\d\d?", "%Y-%m-%dT%H:%M"),
    "DD Mon YYYY": (r"\d\d? [A-Za-z]{3} \d{4}", "%d %b %Y"),
}
"""What texts of a pattern look like, and how Python reads them."""


def date_trunc(unit: str, at: int) -> int:
    """Return the beginning of a unit of time, by fields of the calendar."""
    moment = EPOCH + timedelta(microseconds=at)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    beginnings = {
        "microsecond": moment,
        "millisecond": moment.replace(microsecond=moment.microsecond // 1000 * 1000),
        "second": moment.replace(microsecond=0),
        "minute": moment.replace(second=0, microsecond=0),
        "hour": moment.replace(minute=0, second=0, microsecond=0),
        "day": day,
        "week": day - timedelta(days=day.isoweekday() - 1),
        "month": day.replace(day=1),
        "quarter": day.replace(day=1, month={0: 1, 1: 4, 2: 7, 3: 10}[(day.month - 1) // 3]),
        "year": day.replace(day=1, month=1),
    }
    return (beginnings[unit.lower()] - EPOCH) // timedelta(microseconds=1)


def make_date(year: int, month: int, day: int) -> int:
    """Return the days since 1970 of a day.

    Raises:
        FailureError: there is no such day, or it is not of the years 1 to 9999.
    """
    if not 1 <= year <= 9999:
        raise FailureError(TIMESTAMP_OUT_OF_RANGE)
    try:
        return (EPOCH.replace(year, month, day) - EPOCH).days
    except (OverflowError, ValueError):
        raise FailureError(NOT_CASTABLE) from None


def bin_of(width: int, at: int, origin: int = 0) -> int:
    """Return the beginning of the bin of a time, counted from an origin; it may be out of range.

    Raises:
        FailureError: bins have no width.
    """
    if width <= 0:
        raise FailureError(OUT_OF_RANGE)
    return at - (at - origin) % width


def months_later(kind: Kind, value: int, months: int) -> int:
    """Return a DATE or TIMESTAMP some months later, on the last day of the month if it has no such day.

    Raises:
        FailureError: it is not of the years 1 to 9999.
    """
    unit = timedelta(days=1) if kind is Kind.DATE else timedelta(microseconds=1)
    moment = EPOCH + value * unit
    years, month = divmod(moment.month - 1 + months, 12)
    if not 1 <= moment.year + years <= 9999:
        raise FailureError(TIMESTAMP_OUT_OF_RANGE)
    for day in range(moment.day, 27, -1):
        try:
            return (moment.replace(moment.year + years, month + 1, day) - EPOCH) // unit
        except ValueError:
            continue
    return (moment.replace(moment.year + years, month + 1) - EPOCH) // unit


def later(unit: str, count: int, at: int) -> int:
    """Return the timestamp a number of units later; by units of days and less it may be out of range.

    Raises:
        FailureError: it is not of the years 1 to 9999.
    """
    name = unit.lower().removesuffix("s")
    if name in MONTHS:
        return months_later(Kind.TIMESTAMP, at, count * MONTHS[name])
    return at + count * (FIXED[name] // timedelta(microseconds=1))


def units_between(unit: str, start: int, end: int) -> int:
    """Return how many whole units fit between two timestamps, rounded towards zero, by bisection."""
    if end < start:
        return -units_between(unit, end, start)
    fit, too_many = 0, end - start + 1
    while too_many - fit > 1:
        middle = (fit + too_many) // 2
        if is_until(unit, middle, start, end):
            fit = middle
        else:
            too_many = middle
    return fit


def is_until(unit: str, count: int, start: int, end: int) -> bool:
    """Say whether the time some units after the start is not behind the end."""
    try:
        return later(unit, count, start) <= end
    except FailureError:
        return False


def written(at: int, pattern: str) -> str:
    """Return a timestamp as text by a pattern."""
    day, _, time = (
        (EPOCH + timedelta(microseconds=at))
        .replace(tzinfo=None)
        .isoformat(" ", "seconds")
        .partition(" ")
    )
    return {"yyyy-MM-dd HH:mm:ss": f"{day} {time}", "yyyy-MM-dd": day}[pattern]


def time_of_pattern(text: str, pattern: str) -> int:
    """Return the timestamp that a text names.

    Raises:
        FailureError: it names none.
    """
    form, directives = READ[pattern]
    if not re.fullmatch(form, text, re.ASCII):
        raise FailureError(NOT_CASTABLE)
    try:
        moment = datetime.strptime(text.zfill(4), directives)  # noqa: DTZ007 - made UTC below
    except ValueError:
        raise FailureError(NOT_CASTABLE) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def or_null(function: Callable[..., int], *arguments: str) -> int | None:
    """Return the value of a function, None where it fails."""
    try:
        return function(*arguments)
    except FailureError:
        return None


def unix_timestamp(given: int | str, pattern: str = "yyyy-MM-dd HH:mm:ss") -> int:
    """Return the seconds since the epoch."""
    at = time_of_pattern(given, pattern) if isinstance(given, str) else given
    return at // 1_000_000


def hour_and_minute(at: int, pattern: str) -> str:
    """Return a time of day as text by a pattern of hours and minutes."""
    hour, minute = divmod(at // 60_000_000, 60)
    return {"HH:mm": f"{hour:02}:{minute:02}"}[pattern]


def hour_of_text(text: str, pattern: str) -> int:
    """Return the time of day of a text that is an hour.

    Raises:
        FailureError: it is none.
    """
    assert pattern == "HH"
    if not re.fullmatch("[01][0-9]|2[0-3]", text):
        raise FailureError(NOT_CASTABLE)
    return int(text) * 3_600_000_000


TIME_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "make_date": make_date,
    "date_format": written,
    "date_bin": bin_of,
    "date_trunc": date_trunc,
    "format_time": hour_and_minute,
    "parse_time": hour_of_text,
    "epoch_millis": lambda a: a // 1000,
    "epoch_micros": lambda a: a,
    "timestamp_add": later,
    "timestamp_diff": units_between,
    "timestamp_millis": lambda a: a * 1000,
    "timestamp_seconds": lambda a: a * 1_000_000,
    "timestamp_micros": lambda a: a,
    "to_char": lambda a, pattern: {"yyyy-mm-dd": written(a, "yyyy-MM-dd")}[pattern],
    "to_timestamp": lambda a, *b: time_of_pattern(a, *b) if b else timestamp_of_text(a),
    "try_to_timestamp": lambda a, *b: or_null(time_of_pattern, a, *b),
    "unix_timestamp": unix_timestamp,
}
"""The functions of times, by name."""
