"""Dates and timestamps by whole units of the calendar: adding, differences, rounding, making.

A month later is the same day of the month, or the last one where the month is shorter.
"""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.arithmetic import divide_integers
from fsql.compiler.functions.calendar_fields import BY_NAME, FIELDS, PARTS_OF_INTERVAL, WEEKDAYS
from fsql.compiler.functions.dates import add_interval, date_of, date_of_text, midnight, parse_date
from fsql.compiler.functions.failure import (
    OutOfRangeFailure,
    TimestampRangeFailure,
    UnreadableTextFailure,
)
from fsql.compiler.functions.months import date_months_later, months_later
from fsql.compiler.functions.signature import Function, Signature
from fsql.compiler.functions.time_patterns import DAYS, MONTHS
from fsql.compiler.functions.timestamps import in_range
from fsql.compiler.functions.truncation import FIXED_US, truncate, unit_error
from fsql.compiler.functions.truncation import MONTHS as OF_MONTHS
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    DATE,
    DATE_MAX,
    DATE_MIN,
    DAY_US,
    DOUBLE,
    INTERVAL,
    STRING,
    TIME,
    TIMESTAMP,
)
from fsql.compiler.sqltypes import MONTHS as INTERVAL_OF_MONTHS

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.sqltypes import SqlType

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_UNITS: Final = (*FIXED_US, *OF_MONTHS)


def unit_of(word: str) -> str:
    """Return the unit that a word names, in the singular and in lower case.

    >>> unit_of("DAYS"), unit_of("SQL_TSI_DAY")
    ('day', 'day')
    """
    return word.lower().removeprefix("sql_tsi_").removesuffix("s")


def unit_name_error(word: str) -> str | None:
    """Return what is wrong with the name of a unit, or None."""
    return None if unit_of(word) in _UNITS else f"a unit is {', '.join(_UNITS)}"


def has_whole_days(word: str) -> bool:
    """Return whether a unit moves a date to another date."""
    unit = unit_of(word)
    return unit in OF_MONTHS or FIXED_US[unit] % DAY_US == 0


def _moment(at_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at_us)


def _add(unit: str, count: int, at_us: int) -> int:
    unit = unit_of(unit)
    if unit in OF_MONTHS:
        return months_later(at_us, count * OF_MONTHS[unit])
    return in_range(at_us + count * FIXED_US[unit])


def _months_between(start_us: int, end_us: int) -> int:
    """Return how many whole months fit between two timestamps, rounded towards zero."""
    if end_us < start_us:
        return -_months_between(end_us, start_us)
    start, end = _moment(start_us), _moment(end_us)
    months = (end.year - start.year) * 12 + end.month - start.month
    return months if months_later(start_us, months) <= end_us else months - 1


def _difference(unit: str, start_us: int, end_us: int) -> int:
    """Return how many whole units fit between two timestamps, rounded towards zero."""
    unit = unit_of(unit)
    if unit in OF_MONTHS:
        return divide_integers(_months_between(start_us, end_us), OF_MONTHS[unit])
    return divide_integers(end_us - start_us, FIXED_US[unit])


def _boundaries(unit: str, start_us: int, end_us: int) -> int:
    """Return how many beginnings of a unit lie between two timestamps."""
    unit = unit_of(unit)
    if unit in OF_MONTHS:
        start, end = _moment(truncate(unit, start_us)), _moment(truncate(unit, end_us))
        return ((end.year - start.year) * 12 + end.month - start.month) // OF_MONTHS[unit]
    return (truncate(unit, end_us) - truncate(unit, start_us)) // FIXED_US[unit]


def _add_days(days: int, count: int) -> int:
    if not DATE_MIN <= days + count <= DATE_MAX:
        raise TimestampRangeFailure(DATE)
    return days + count


def _last_day(days: int) -> int:
    day = _moment(midnight(days))
    return days - day.day + calendar.monthrange(day.year, day.month)[1]


def _day_error(word: str) -> str | None:
    return (
        None
        if _weekday(word) is not None
        else "a day is Monday to Sunday, or its first 2 or 3 letters"
    )


def _weekday(word: str) -> int | None:
    name = word.capitalize()
    return next((i for i, day in enumerate(DAYS) if name in {day, day[:3], day[:2]}), None)


def _next_day(days: int, word: str) -> int:
    weekday = _weekday(word)
    assert weekday is not None
    return _add_days(days, (weekday - (days + 3) - 1) % 7 + 1)


def _make_date(year: int, month: int, day: int) -> int:
    if not 1 <= year <= 9999:
        raise TimestampRangeFailure(DATE)
    return parse_date(f"{year:04d}-{month:02d}-{day:02d}")


def _in_day_us(hour: int, minute: int, second: float, type_: SqlType) -> int:
    """Return the microseconds from midnight to a time of day, which is to make a `type_`."""
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0.0 <= second < 60.0):
        raise UnreadableTextFailure(f"{hour}:{minute}:{second}", type_)
    return (hour * 60 + minute) * 60_000_000 + round(second * 1_000_000)


def _make_time(hour: int, minute: int, second: float) -> int:
    made = _in_day_us(hour, minute, second, TIME)
    if made == DAY_US:
        raise OutOfRangeFailure(TIME)
    return made


def _make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: float) -> int:
    days = _make_date(year, month, day)
    return in_range(midnight(days) + _in_day_us(hour, minute, second, TIMESTAMP))


def _bin(width_us: int, at_us: int, origin_us: int = 0) -> int:
    if width_us <= 0:
        raise OutOfRangeFailure(INTERVAL)
    return in_range(at_us - (at_us - origin_us) % width_us)


def _ceil(unit: str, at_us: int) -> int:
    start = truncate(unit, at_us)
    return start if start == at_us else _add(unit, 1, start)


def _scale(factor: int) -> Callable[[int], int]:
    return lambda value: in_range(value * factor)


def _nanoseconds(at_us: int) -> int:
    value = at_us * 1_000
    if not BIGINT_MIN <= value <= BIGINT_MAX:
        raise OutOfRangeFailure(BIGINT)
    return value


def _part(field: str, at_us: int) -> int:
    return BY_NAME[FIELDS[field.upper()]](at_us)


def _part_of_interval(field: str, interval: int) -> int:
    """Return a part of an INTERVAL, in microseconds or in months, with its sign."""
    divisor, modulus = PARTS_OF_INTERVAL[field.upper()]
    whole = abs(interval) // divisor
    part = whole if modulus is None else whole % modulus
    return -part if interval < 0 else part


def _part_error(field: str) -> str | None:
    if field.upper() in FIELDS:
        return None
    message = f"a field of DATE_PART is {', '.join(FIELDS)}"
    return f"{message}; ISODOW counts from Monday, 1" if field.upper() in WEEKDAYS else message


def _name(name: str, names: tuple[str, ...], of: Callable[[datetime], str]) -> Function:
    signature = Signature((TIMESTAMP,), STRING, lambda at_us: of(_moment(at_us)))
    return Function(name, names, (signature,))


def _shift(name: str, sign: int) -> Function:
    """Return DATE_ADD (`sign` 1) or DATE_SUB (-1)."""
    return Function(
        name,
        (name.upper(),),
        (
            Signature((DATE, BIGINT), DATE, lambda d, n: _add_days(d, sign * n), fallible=True),
            Signature(
                (DATE, INTERVAL), DATE, lambda d, by: add_interval(d, sign * by), fallible=True
            ),
            Signature(
                (TIMESTAMP, INTERVAL),
                TIMESTAMP,
                lambda at, by: in_range(at + sign * by),
                fallible=True,
            ),
            Signature(
                (DATE, INTERVAL_OF_MONTHS),
                DATE,
                lambda d, by: date_months_later(d, sign * by),
                fallible=True,
            ),
            Signature(
                (TIMESTAMP, INTERVAL_OF_MONTHS),
                TIMESTAMP,
                lambda at, by: months_later(at, sign * by),
                fallible=True,
            ),
        ),
        of_instants=True,
    )


def _unit_function(
    name: str, names: tuple[str, ...], signature: Signature, *, of_instants: bool = True
) -> Function:
    return Function(
        name,
        names,
        (signature,),
        literal_check=unit_name_error,
        of_instants=of_instants,
        literal_index=0,
        literal_word="unit",
    )


_TWO_TIMES: Final = (STRING, TIMESTAMP, TIMESTAMP)

DATE_ARITHMETIC: Final = (
    _unit_function(
        "timestamp_add",
        ("TIMESTAMPADD", "TIMESTAMP_ADD", "DATEADD"),
        Signature((STRING, BIGINT, TIMESTAMP), TIMESTAMP, _add, fallible=True),
    ),
    _unit_function(
        "timestamp_diff", ("TIMESTAMPDIFF",), Signature(_TWO_TIMES, BIGINT, _difference)
    ),
    _unit_function(
        "date_diff",
        ("DATE_DIFF",),
        Signature(_TWO_TIMES, BIGINT, _boundaries),
        of_instants=False,
    ),
    Function("datediff", ("DATEDIFF",), (Signature((DATE, DATE), BIGINT, lambda a, b: a - b),)),
    _shift("date_add", 1),
    _shift("date_sub", -1),
    Function(
        "add_months",
        ("ADD_MONTHS",),
        (
            Signature((DATE, BIGINT), DATE, date_months_later, fallible=True),
            Signature((TIMESTAMP, BIGINT), TIMESTAMP, months_later, fallible=True),
        ),
    ),
    Function(
        "last_day",
        ("LAST_DAY",),
        (
            Signature((DATE,), DATE, _last_day),
            Signature((TIMESTAMP,), DATE, lambda at: _last_day(date_of(at))),
        ),
    ),
    Function(
        "next_day",
        ("NEXT_DAY",),
        (Signature((DATE, STRING), DATE, _next_day, fallible=True),),
        literal_check=_day_error,
        literal_word="day",
    ),
    _name("dayname", ("DAYNAME",), lambda at: DAYS[at.weekday()]),
    _name("monthname", ("MONTHNAME",), lambda at: MONTHS[at.month - 1]),
    Function(
        "make_date", ("MAKE_DATE",), (Signature((BIGINT,) * 3, DATE, _make_date, fallible=True),)
    ),
    Function(
        "make_time",
        ("MAKE_TIME",),
        (Signature((BIGINT, BIGINT, DOUBLE), TIME, _make_time, fallible=True),),
    ),
    Function(
        "make_timestamp",
        ("MAKE_TIMESTAMP",),
        (Signature((*(BIGINT,) * 5, DOUBLE), TIMESTAMP, _make_timestamp, fallible=True),),
    ),
    Function(
        "date_bin",
        ("DATE_BIN",),
        (
            Signature((INTERVAL, TIMESTAMP), TIMESTAMP, _bin, fallible=True),
            Signature((INTERVAL, TIMESTAMP, TIMESTAMP), TIMESTAMP, _bin, fallible=True),
        ),
        of_instants=True,
    ),
    Function(
        "date_ceil",
        (),
        (Signature((STRING, TIMESTAMP), TIMESTAMP, _ceil, fallible=True),),
        literal_check=unit_error,
        literal_index=0,
        literal_word="unit",
    ),
    Function(
        "date_part",
        ("DATE_PART",),
        (
            Signature((STRING, TIMESTAMP), BIGINT, _part),
            Signature((STRING, INTERVAL), BIGINT, _part_of_interval),
            Signature((STRING, INTERVAL_OF_MONTHS), BIGINT, _part_of_interval),
        ),
        literal_check=_part_error,
        literal_index=0,
        literal_word="field",
    ),
    Function(
        "date",
        ("DATE",),
        (
            Signature((TIMESTAMP,), DATE, date_of),
            Signature((STRING,), DATE, date_of_text, fallible=True),
        ),
    ),
    *(
        Function(
            name,
            (name.upper(), f"TO_{name.upper()}"),
            (Signature((BIGINT,), TIMESTAMP, scale, fallible=True),),
        )
        for name, scale in (
            ("timestamp_seconds", _scale(1_000_000)),
            ("timestamp_micros", _scale(1)),
        )
    ),
    Function(
        "epoch_micros",
        ("EPOCH_MICROS", "UNIX_MICROS", "EPOCH_US"),
        (Signature((TIMESTAMP,), BIGINT, int),),
        of_instants=True,
    ),
    Function(
        "epoch_nanos",
        ("EPOCH_NANOS", "EPOCH_NS"),
        (Signature((TIMESTAMP,), BIGINT, _nanoseconds, fallible=True),),
        of_instants=True,
    ),
    Function("unix_date", ("UNIX_DATE",), (Signature((DATE,), BIGINT, int),)),
    Function(
        "date_from_unix_date",
        ("DATE_FROM_UNIX_DATE",),
        (Signature((BIGINT,), DATE, lambda days: _add_days(0, days), fallible=True),),
    ),
)
