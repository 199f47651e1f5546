"""Dates and timestamps moved by months, a column at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.compiler.sqltypes import DAY_US, Kind
from fsql.runtime.kernels.expressions.vectors import TIMESTAMP_RANGE, codes_where

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fsql.runtime.kernels.expressions.vectors import Codes

    Array = NDArray[Any]

_FIRST: Final = -1969 * 12
_LAST: Final = 8030 * 12 - 1
"""The first and the last month of the years 1 to 9999, counted from January 1970."""


def shift_by_months(kind: Kind, sign: int) -> Callable[[Array, Array], tuple[Array, Codes | None]]:
    """Return the function that moves values of DATE or TIMESTAMP by months, forward or back.

    A day that the resulting month does not have becomes its last day.
    """

    def shift_days(days: Array, months: Array) -> tuple[Array, Codes | None]:
        month = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
        # Beyond the limit the sum could wrap; it is out of range in any case.
        steps = np.clip(months, -_LAST * 2, _LAST * 2) * sign
        reached = month + steps
        outside = (reached < _FIRST) | (reached > _LAST)
        reached = np.where(outside, 0, reached)
        start, end = _first_day(reached), _first_day(reached + 1)
        return np.minimum(start + days - _first_day(month), end - 1), codes_where(
            outside, TIMESTAMP_RANGE
        )

    def shift_times(time_us: Array, months: Array) -> tuple[Array, Codes | None]:
        days = time_us // DAY_US
        shifted, codes = shift_days(days, months)
        return shifted * DAY_US + (time_us - days * DAY_US), codes

    def shift_dates(days: Array, months: Array) -> tuple[Array, Codes | None]:
        shifted, codes = shift_days(days.astype(np.int64), months)
        return shifted.astype(np.int32), codes

    return shift_dates if kind is Kind.DATE else shift_times


def _first_day(months: Array) -> Array:
    """Return the first days of months, both counted from 1970."""
    days: Array = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    return days
