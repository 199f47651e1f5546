"""Conversions between timestamps, text, and milliseconds since the epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.compiler.expression import Literal
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.functions.truncation import FIXED_US, MONTHS, WEEK_START_US
from fsql.compiler.sqltypes import TIMESTAMP_MAX, TIMESTAMP_MIN, Kind
from fsql.runtime.kernels.expressions.per_value import per_value
from fsql.runtime.kernels.expressions.strict import from_text, over_dictionary, partial, total
from fsql.runtime.kernels.expressions.timestamp_text import parse_timestamps
from fsql.runtime.kernels.expressions.vectors import DTYPES, TIMESTAMP_RANGE, codes_where

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fsql.compiler.expression import Call
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel

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
    "to_timestamp": _to_timestamp,
    "timestamp_millis": lambda _call: partial(_millis_to_timestamps),
    "epoch_millis": lambda _call: total(_to_millis),
    "date_trunc": _date_trunc,
}
