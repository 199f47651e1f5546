"""Reads timestamps and dates, a whole column at a time.

Arrow reads the forms that producers commonly write, and is strict about digits, days and hours.  It also
reads a few forms that fsql does not accept; they are recognized by their length and by the position of their
zone, and excluded.  The exact reader reads all values that Arrow does not read, one by one, so the two need
to agree only on the forms that Arrow is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.sqltypes import DAY_US, TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.runtime.arrow_types import string_buffers
from fsql.runtime.few_rows import FEW_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.formats.json.time_units import Unit
    from fsql.runtime.arrays import Bools, Ints


_PLAIN: Final = pa.timestamp("us")
_ZONED: Final = pa.timestamp("us", tz="UTC")
_DAY_LENGTH: Final = len("YYYY-MM-DD")
_MINUTES_LENGTH: Final = len("YYYY-MM-DDThh:mm")
_MICROS_LENGTH: Final = len("YYYY-MM-DDThh:mm:ss.ffffff")
_OFFSETS: Final = (("+hh:mm", 3), ("+hhmm", None), ("+hh", None))
"""How offsets are written, and where there is a colon, counted from the end."""
_NANOSECONDS: Final = r"^(.{19}\.[0-9]{6})[0-9]{1,3}(Z|[+-][0-9:]{2,5})?$"
_TIME: Final = r"\A([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?\z"


def timestamps(values: Sequence[str | int | None], unit: Unit) -> tuple[Ints, Bools, Bools]:
    """Return the microseconds, which of them are NULL, and which values cannot be read.

    A value is a string, an integer of a unit, or None; all three results have its length.
    """
    try:
        read, done = read_texts(pa.array(values, pa.string()))
    except pa.ArrowTypeError:
        read, done = _numbers(values, unit)
    unread = np.zeros(len(values), np.bool_)
    null = np.zeros(len(values), np.bool_)
    for row in np.flatnonzero(~done).tolist():
        value = values[row]
        if value is None:
            null[row] = True
        elif isinstance(value, str):
            try:
                read[row] = parse_timestamp(value)
            except RowFailure:
                unread[row] = True
        else:
            read[row] = unit.micros(value)
    return read, null, unread


def _numbers(values: Sequence[str | int | None], unit: Unit) -> tuple[Ints, Bools]:
    """Return the microseconds of integers, and which values were read: none, if there are strings."""
    try:
        numbers = pa.array(values, pa.int64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # nanoseconds may have 69 bits
        return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    return unit.micros_of(numbers.fill_null(0).to_numpy()), _flags(numbers.is_valid())


def read_texts(text: pa.StringArray) -> tuple[Ints, Bools]:
    """Return the microseconds of strings, and which were read; the exact reader may read others, too."""
    offsets, characters = string_buffers(text)
    lengths = np.diff(offsets)
    known = np.flatnonzero((lengths >= _MINUTES_LENGTH) | (lengths == _DAY_LENGTH))
    ends = offsets[1:][known]
    last = characters[ends - 1]
    # "Thh:mm" ends in six characters without a sign, and "Thh+hh:mm" is as long as "Thh:mm:ss".
    offset_lengths = np.zeros(len(known), np.int64)
    for form, colon in _OFFSETS:
        sign = characters[ends - len(form)]
        offset = ((sign == ord("+")) | (sign == ord("-"))) & (lengths[known] != _DAY_LENGTH)
        if colon is not None:
            offset &= characters[ends - colon] == ord(":")
        offset_lengths[offset] = len(form)
    zoned = (last == ord("Z")) | (offset_lengths > 0)
    lengths_without_zone = lengths[known] - offset_lengths
    zoned_rows = known[zoned & (lengths_without_zone >= _MINUTES_LENGTH)]
    read = np.zeros(len(text), np.int64)
    done = np.zeros(len(text), np.bool_)
    for rows, arrow_type in ((zoned_rows, _ZONED), (known[~zoned], _PLAIN)):
        if len(rows):
            group = text if len(rows) == len(text) else text.take(pa.array(rows))
            if (lengths[rows] > _MICROS_LENGTH + 1).any():
                group = pc.replace_substring_regex(group, _NANOSECONDS, r"\1\2")
            read[rows], done[rows] = _cast(group, arrow_type)
    return read, done & (read >= TIMESTAMP_MIN) & (read <= TIMESTAMP_MAX)


def read_times(text: pa.StringArray) -> tuple[Ints, Bools]:
    """Return the microseconds of texts of times of day, 0 for invalid ones, and which are valid."""
    form = pc.match_substring_regex(text, _TIME).fill_null(fill_value=False)
    times = pc.if_else(form, text, pa.scalar("00:00"))
    read, done = read_texts(pc.binary_join_element_wise("1970-01-01T", times, ""))
    assert done.all(), "the form is that of a time"
    return read, _flags(form)


def read_dates(text: pa.StringArray) -> tuple[NDArray[np.int32], Bools]:
    """Return the days of strings, 0 for invalid ones, and which are valid."""
    micros, read = read_texts(text)
    offsets, _ = string_buffers(text)
    read &= np.diff(offsets) == _DAY_LENGTH
    return np.where(read, micros // DAY_US, 0).astype(np.int32), read


def _cast(text: pa.StringArray, arrow_type: pa.DataType) -> tuple[Ints, Bools]:
    """Return the microseconds, and which were read.

    Arrow reads a whole column or nothing; if it fails, each half is tried.
    """
    try:
        cast = pc.cast(text, arrow_type).view(pa.int64())
    except pa.ArrowInvalid:
        if len(text) <= FEW_ROWS:
            return np.zeros(len(text), np.int64), np.zeros(len(text), np.bool_)
    else:
        return cast.fill_null(0).to_numpy(), _flags(cast.is_valid())
    half = len(text) // 2
    halves = (_cast(text.slice(0, half), arrow_type), _cast(text.slice(half), arrow_type))
    return np.concatenate([read for read, _ in halves]), np.concatenate(
        [done for _, done in halves]
    )


def _flags(flags: pa.BooleanArray) -> Bools:
    return flags.to_numpy(zero_copy_only=False)
