"""Parts of timestamps, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.signature import Function, Signature
from fsql.compiler.sqltypes import BIGINT, TIME, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.sqltypes import SqlType

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND_US: Final = 1_000_000


def _of(read: Callable[[datetime], int]) -> Callable[[int], int]:
    return lambda at_us: read(_EPOCH + timedelta(microseconds=at_us))


BY_NAME: Final[Mapping[str, Callable[[int], int]]] = {
    "millennium": _of(lambda at: (at.year + 999) // 1000),
    "century": _of(lambda at: (at.year + 99) // 100),
    "decade": _of(lambda at: at.year // 10),
    "year": _of(lambda at: at.year),
    "isoyear": _of(lambda at: at.isocalendar().year),
    "quarter": _of(lambda at: (at.month + 2) // 3),
    "month": _of(lambda at: at.month),
    "week": _of(lambda at: at.isocalendar().week),
    "dayofmonth": _of(lambda at: at.day),
    "dayofyear": _of(lambda at: at.timetuple().tm_yday),
    "isodow": _of(lambda at: at.isoweekday()),
    "dayofweek": _of(lambda at: at.isoweekday() % 7 + 1),
    "hour": _of(lambda at: at.hour),
    "minute": _of(lambda at: at.minute),
    "second": _of(lambda at: at.second),
    "unix_timestamp": lambda at_us: at_us // _SECOND_US,
}
"""The parts of a timestamp, by the names of their functions."""

_OTHER_NAMES: Final = {"dayofmonth": ("DAY",), "week": ("WEEKOFYEAR",), "isoyear": ("YEAROFWEEK",)}

_OF_THE_DAY: Final = frozenset({"hour", "minute", "second"})


def _kinds(name: str) -> tuple[SqlType, ...]:
    """Return the types that have the part; a TIME is a moment of 1970-01-01."""
    return (TIMESTAMP, TIME) if name in _OF_THE_DAY else (TIMESTAMP,)


CALENDAR_FIELDS = tuple(
    Function(
        name,
        (name.upper(), *_OTHER_NAMES.get(name, ())),
        tuple(Signature((kind,), BIGINT, scalar) for kind in _kinds(name)),
    )
    for name, scalar in BY_NAME.items()
    if name != "unix_timestamp"
)
"""Functions of a timestamp."""

FIELDS: Final = {
    "MILLENNIUM": "millennium",
    "CENTURY": "century",
    "DECADE": "decade",
    "YEAR": "year",
    "ISOYEAR": "isoyear",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "week",
    "DAY": "dayofmonth",
    "DOY": "dayofyear",
    "ISODOW": "isodow",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
    "EPOCH": "unix_timestamp",
}
"""The functions by the fields of EXTRACT."""

WEEKDAYS: Final = frozenset({"DOW", "DAYOFWEEK", "WEEKDAY"})
"""Fields of other dialects, which do not agree on the day that the week begins with."""

PARTS_OF_INTERVAL: Final[Mapping[str, tuple[int, int | None]]] = {
    "DAY": (86_400 * _SECOND_US, None),
    "HOUR": (3_600 * _SECOND_US, 24),
    "MINUTE": (60 * _SECOND_US, 60),
    "SECOND": (_SECOND_US, 60),
    "EPOCH": (_SECOND_US, None),
    "YEAR": (12, None),
    "MONTH": (1, 12),
}
"""The fields of intervals: what they are divided by, and of which number of units they are the rest."""

FIELDS_OF_DAYS: Final = ("DAY", "HOUR", "MINUTE", "SECOND", "EPOCH")
FIELDS_OF_MONTHS: Final = ("YEAR", "MONTH")
