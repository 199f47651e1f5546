"""Parts of timestamps, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.signature import Function, Signature
from fsql.compiler.sqltypes import BIGINT, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND_US: Final = 1_000_000


def _part(name: str, spellings: tuple[str, ...], read: Callable[[datetime], int]) -> Function:
    def scalar(at_us: int) -> int:
        return read(_EPOCH + timedelta(microseconds=at_us))

    return Function(name, spellings, (Signature((TIMESTAMP,), BIGINT, scalar),))


CALENDAR_FIELDS = (
    _part("year", ("YEAR",), lambda at: at.year),
    _part("quarter", ("QUARTER",), lambda at: (at.month + 2) // 3),
    _part("month", ("MONTH",), lambda at: at.month),
    _part("week", ("WEEK",), lambda at: at.isocalendar().week),
    _part("dayofmonth", ("DAYOFMONTH", "DAY"), lambda at: at.day),
    _part("dayofyear", ("DAYOFYEAR",), lambda at: at.timetuple().tm_yday),
    _part("isodow", ("ISODOW",), lambda at: at.isoweekday()),
    _part("dayofweek", ("DAYOFWEEK",), lambda at: at.isoweekday() % 7 + 1),
    _part("hour", ("HOUR",), lambda at: at.hour),
    _part("minute", ("MINUTE",), lambda at: at.minute),
    _part("second", ("SECOND",), lambda at: at.second),
    Function(
        "unix_timestamp",
        ("UNIX_TIMESTAMP",),
        (Signature((TIMESTAMP,), BIGINT, lambda at_us: at_us // _SECOND_US),),
    ),
)
"""Functions of a timestamp."""

FIELDS: Final = {
    "YEAR": "year",
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
