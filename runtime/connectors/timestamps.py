"""Timestamps of a column, read all at once.

Producers write one form throughout, so the strings of a column are grouped by length and ending and
each group is read as a matrix of characters, one column of the matrix at a time.  What does not have
the common form `YYYY-MM-DD[T ]hh:mm:ss[.f{1,6}][Z]`, or names a day that does not exist, goes to the
exact reader one by one; so the two need to agree only on what the common form means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import parse_timestamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Characters = NDArray[np.uint8]
    """Shape (rows, characters)."""

_SECONDS_LENGTH: Final = len("YYYY-MM-DDThh:mm:ss")
_FRACTION_MAX: Final = 6
_FIELDS: Final = {
    "year": (0, 4),
    "month": (5, 7),
    "day": (8, 10),
    "hour": (11, 13),
    "minute": (14, 16),
    "second": (17, 19),
}
_MILLIS_US: Final = 1_000
_SECOND_US: Final = 1_000_000


def timestamps(values: Sequence[str | int | None]) -> tuple[Ints, Bools, Bools]:
    """Return the microseconds, which of them are NULL, and which values cannot be read.

    A value is a string, an integer of milliseconds, or None; all three results have its length.
    """
    null = np.fromiter((value is None for value in values), np.bool_, len(values))
    unread = np.zeros(len(values), np.bool_)
    try:
        text = pa.array(values, pa.string())
    except pa.ArrowTypeError:
        read = np.zeros(len(values), np.int64)
        slow = np.flatnonzero(~null)
    else:
        read, done = _common_form(text)
        slow = np.flatnonzero(~(done | null))
    for row in slow.tolist():
        value = values[row]
        if isinstance(value, str):
            try:
                read[row] = parse_timestamp(value)
            except RowFailure:
                unread[row] = True
        elif value is not None:
            read[row] = value * _MILLIS_US
    return read, null, unread


def _common_form(text: pa.StringArray) -> tuple[Ints, Bools]:
    """Return the microseconds, and which of the strings have the common form."""
    offsets = np.frombuffer(text.buffers()[1], np.int32, len(text) + 1)
    characters = np.frombuffer(text.buffers()[2] or b"", np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    read = np.zeros(len(text), np.int64)
    done = np.zeros(len(text), np.bool_)
    for length in np.unique(lengths).tolist():
        if not _SECONDS_LENGTH <= length <= _SECONDS_LENGTH + 1 + _FRACTION_MAX + 1:
            continue
        rows = np.flatnonzero(lengths == length)
        matrix = characters[starts[rows, None] + np.arange(length)]
        zoned = matrix[:, -1] == ord("Z")
        for part, digits in ((zoned, length - 1), (~zoned, length)):
            if part.any():
                read[rows[part]], done[rows[part]] = _read(matrix[part][:, :digits])
    return read, done


def _read(matrix: Characters) -> tuple[Ints, Bools]:
    """Return the microseconds that rows of equal length name, and which rows are well-formed."""
    fraction_digits = matrix.shape[1] - _SECONDS_LENGTH - 1
    good = _separators(matrix)
    if fraction_digits == 0 or fraction_digits > _FRACTION_MAX:
        return np.zeros(len(matrix), np.int64), np.zeros(len(matrix), np.bool_)
    number = {name: _number(matrix[:, low:high], good) for name, (low, high) in _FIELDS.items()}
    fraction = _number(matrix[:, _SECONDS_LENGTH + 1 :], good)
    months = (number["year"] - 1970) * 12 + number["month"] - 1
    first_day = _days(months)
    month_days = _days(months + 1) - first_day
    good &= (number["year"] >= 1) & (number["month"] >= 1) & (number["month"] <= 12)
    good &= (number["day"] >= 1) & (number["day"] <= month_days)
    good &= (number["hour"] < 24) & (number["minute"] < 60) & (number["second"] < 60)
    hours = (first_day + number["day"] - 1) * 24 + number["hour"]
    seconds = (hours * 60 + number["minute"]) * 60 + number["second"]
    scale = 10 ** (_FRACTION_MAX - max(fraction_digits, 0))
    return seconds * _SECOND_US + fraction * scale, good


def _separators(matrix: Characters) -> Bools:
    good: Bools = (matrix[:, 4] == ord("-")) & (matrix[:, 7] == ord("-"))
    good &= (matrix[:, 13] == ord(":")) & (matrix[:, 16] == ord(":"))
    good &= (matrix[:, 10] == ord("T")) | (matrix[:, 10] == ord(" "))
    if matrix.shape[1] > _SECONDS_LENGTH:
        good &= matrix[:, _SECONDS_LENGTH] == ord(".")
    return good


def _number(digits: Characters, good: Bools) -> Ints:
    """Return the numbers that columns of digits spell; rows with other characters cease to be good."""
    number = np.zeros(len(digits), np.int64)
    for column in digits.T:
        digit = column - np.uint8(ord("0"))
        good &= digit <= 9
        number = number * 10 + digit
    return number


def _days(months: Ints) -> Ints:
    """Return the days from 1970-01-01 to the first day of months counted from January 1970."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
