"""Functions of times: zones, parts of the calendar, texts, and other units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import Literal
from fsql.compiler.functions.time_patterns import pattern_of
from fsql.compiler.functions.time_texts import FORMATTED
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.functions.truncation import FIXED_US, MONTHS, WEEK_START_US
from fsql.compiler.sqltypes import DAY_US, STRING, TIMESTAMP_MAX, TIMESTAMP_MIN, Kind
from fsql.runtime.kernels.expressions.per_value import per_value
from fsql.runtime.kernels.expressions.strict import (
    from_text,
    leftmost_failure,
    over_dictionary,
    partial,
    total,
)
from fsql.runtime.kernels.expressions.timestamps import parse_timestamps
from fsql.runtime.kernels.expressions.vectors import (
    DTYPES,
    TIMESTAMP_RANGE,
    Vector,
    codes_where,
    common_length,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Call
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel

    Array = NDArray[Any]


# The calendar over columns: parts of timestamps, and timestamps as text.
#
# Timestamps are formatted once for each distinct value in the smallest unit that the pattern shows.


_HOUR_US: Final = 3_600_000_000

_EPOCH_YEAR: Final = 1970


def _days(at: Ints) -> Ints:
    return at // DAY_US


def _months(days: Ints) -> Ints:
    """Return the months of days, counted from January 1970."""
    return days.view("datetime64[D]").astype("datetime64[M]").view(np.int64)


def _years(days: Ints) -> Ints:
    return days.view("datetime64[D]").astype("datetime64[Y]").view(np.int64) + _EPOCH_YEAR


def _first_of_year(years: Ints) -> Ints:
    """Return the first day of each year."""
    first = (years - _EPOCH_YEAR).view("datetime64[Y]").astype("datetime64[D]")
    return first.view(np.int64)


def _thursday(days: Ints) -> Ints:
    """Return the Thursday of the ISO 8601 week of each day; the week belongs to the year of its Thursday."""
    return days - (days + 3) % 7 + 3


def _week(at: Ints) -> Ints:
    thursday = _thursday(_days(at))
    return (thursday - _first_of_year(_years(thursday))) // 7 + 1


def _day_of_month(at: Ints) -> Ints:
    days = _days(at)
    first = _months(days).view("datetime64[M]").astype("datetime64[D]").view(np.int64)
    return days - first + 1


def _day_of_year(at: Ints) -> Ints:
    days = _days(at)
    return days - _first_of_year(_years(days)) + 1


_PARTS: Final[dict[str, Callable[[Ints], Ints]]] = {
    "millennium": lambda at: (_years(_days(at)) + 999) // 1000,
    "century": lambda at: (_years(_days(at)) + 99) // 100,
    "decade": lambda at: _years(_days(at)) // 10,
    "year": lambda at: _years(_days(at)),
    "isoyear": lambda at: _years(_thursday(_days(at))),
    "quarter": lambda at: _months(_days(at)) % 12 // 3 + 1,
    "month": lambda at: _months(_days(at)) % 12 + 1,
    "week": _week,
    "dayofmonth": _day_of_month,
    "dayofyear": _day_of_year,
    "isodow": lambda at: (_days(at) + 3) % 7 + 1,
    "dayofweek": lambda at: (_days(at) + 4) % 7 + 1,
    "hour": lambda at: at % DAY_US // _HOUR_US,
    "minute": lambda at: at % _HOUR_US // 60_000_000,
    "second": lambda at: at % 60_000_000 // 1_000_000,
}


def _make_format(call: Call) -> Kernel:
    """Return the kernel that formats timestamps, or their texts, by a constant pattern."""
    if call.arguments[0].type == STRING:
        return per_value(call)
    family = FORMATTED[call.function]
    given = call.arguments[1]
    assert isinstance(given, Literal)
    text = str(given.value)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        at = arguments[0]
        count = common_length(arguments)
        pattern = pattern_of(family, text)
        present = np.ones(len(at.values), np.bool_)
        if at.valid is not None:
            present &= at.valid
        if at.failed is not None:
            present &= at.failed == 0
        times = np.where(present, at.values // pattern.step_us, 0)
        distinct, index = np.unique(times, return_inverse=True)
        words = [pattern.write(int(step) * pattern.step_us) for step in distinct]
        values = _encode(words, index.astype(np.int32), present, count)
        valid = None if present.all() else present
        return Vector(values, valid, leftmost_failure(arguments))

    return kernel


def _encode(
    words: Sequence[str], index: NDArray[Any], present: NDArray[np.bool_], count: int
) -> pa.Array:
    """Return the words by index as a column, with a dictionary if that is smaller."""
    rows = pa.array(index, mask=~present)
    dictionary = pa.array(words, pa.string())
    if len(words) < count:
        return pa.DictionaryArray.from_arrays(rows, dictionary)
    return dictionary.take(rows)


_OF_CALENDAR: Final[dict[str, Callable[[Call], Kernel]]] = {
    **{name: lambda _call, part=part: total(part) for name, part in _PARTS.items()},  # type: ignore[misc]
    **dict.fromkeys(FORMATTED, _make_format),
}

# Conversions between timestamps, text, and milliseconds since the epoch.


_MILLISECOND_US: Final = 1_000


def _millis_to_timestamps(millis: NDArray[np.int64]) -> tuple[NDArray[Any], Codes | None]:
    least, greatest = TIMESTAMP_MIN // _MILLISECOND_US, TIMESTAMP_MAX // _MILLISECOND_US
    outside = (millis < least) | (millis > greatest)
    return millis * _MILLISECOND_US, codes_where(outside, TIMESTAMP_RANGE)


def _to_millis(time_us: NDArray[np.int64]) -> NDArray[np.int64]:
    return time_us // _MILLISECOND_US


def _truncation(unit: str) -> Callable[[object, NDArray[np.int64]], NDArray[np.int64]]:
    """Return the truncation to a unit; its first argument is the unit as a column, and is not used."""
    if unit in FIXED_US:
        length, start = FIXED_US[unit], WEEK_START_US if unit == "week" else 0
        return lambda _unit, at: at - (at - start) % length
    months = MONTHS[unit]

    def truncate(_unit: object, at: NDArray[np.int64]) -> NDArray[np.int64]:
        month = at.view("datetime64[us]").astype("datetime64[M]").view(np.int64)
        first = (month - month % months).view("datetime64[M]")
        return first.astype("datetime64[us]").view(np.int64)

    return truncate


def _date_trunc(call: Call) -> Kernel:
    unit = call.arguments[0]
    assert isinstance(unit, Literal)
    return total(_truncation(str(unit.value).lower()))


def _to_timestamp(call: Call) -> Kernel:
    if len(call.arguments) > 1:
        return per_value(call)
    return over_dictionary(from_text(parse_timestamps, parse_timestamp, DTYPES[Kind.TIMESTAMP]))


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {
    **_OF_CALENDAR,
    "to_timestamp": _to_timestamp,
    "timestamp_millis": lambda _call: partial(_millis_to_timestamps),
    "epoch_millis": lambda _call: total(_to_millis),
    "date_trunc": _date_trunc,
}
