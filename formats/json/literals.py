"""The texts of values in JSON: escaped strings, shortest decimals, ISO 8601 timestamps.

All functions return a `StringArray` as long as the column; values under a null are unspecified.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.runtime.arrow_types import string_buffers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.runtime.arrays import Ints, Octets


_CONTROL_MAX: Final = 0x1F
_SHORT_ESCAPES: Final = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def _escape_tables() -> tuple[NDArray[np.object_], Octets]:
    """Return for each octet the bytes to insert before it, and its replacement."""
    before = np.array([b""] * 256, np.object_)
    last = np.arange(256, dtype=np.uint8)
    for code in range(_CONTROL_MAX + 1):
        short = _SHORT_ESCAPES.get(chr(code))
        escape = f"\\{short}" if short else f"\\u{code:04x}"
        before[code] = escape[:-1].encode()
        last[code] = ord(escape[-1])
    for character in b'"\\':
        before[character] = b"\\"
    return before, last


_BEFORE, _LAST = _escape_tables()


def escape(text: pa.StringArray) -> pa.StringArray:
    """Return the strings escaped for JSON; `text` itself if nothing has to be escaped.

    All escapes are inserted into the data of the column at once.
    """
    offsets, octets = string_buffers(text)
    used = octets[offsets[0] : offsets[-1]]
    special = (used <= _CONTROL_MAX) | (used == ord('"')) | (used == ord("\\"))
    if not special.any():
        return text
    indexes = np.flatnonzero(special)
    before = _BEFORE[used[indexes]]
    lengths = np.fromiter(map(len, before), np.int64, len(before))
    inserted = np.frombuffer(b"".join(before), np.uint8)
    escaped = np.insert(_LAST[used], np.repeat(indexes, lengths), inserted)
    grown = np.append(0, np.cumsum(lengths))
    starts = offsets - offsets[0]
    starts = starts + grown[np.searchsorted(indexes, starts)]
    return _string_array(starts, escaped)


def _string_array(offsets: Ints, data: Octets) -> pa.StringArray:
    return pa.StringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)
    )


def double_text(values: NDArray[np.float64]) -> tuple[pa.StringArray, NDArray[np.bool_]]:
    """Return doubles as `repr` writes them, and to which of them `.0` must still be added.

    Arrow writes the same shortest digits as `repr` and, for magnitudes from 1e-4 to 1e10, in the same
    form except for the `.0` of whole numbers.  Other numbers are rare, and are formatted by `repr`.
    """
    magnitudes = np.abs(values)
    alike = ((magnitudes >= 1e-4) & (magnitudes < 1e10)) | (values == 0)
    text = pc.cast(pa.array(values), pa.string())
    if not alike.all():
        others = [json_of_double(value) for value in values[~alike].tolist()]
        text = pc.replace_with_mask(text, pa.array(~alike), pa.array(others, pa.string()))
    return text, alike & (values == np.floor(values))


def json_of_double(value: float) -> str:
    """Return one double as JSON."""
    if math.isfinite(value):
        return repr(value)
    if math.isnan(value):
        return '"NaN"'
    return '"Infinity"' if value > 0 else '"-Infinity"'


TIMESTAMP_LENGTH_MAX: Final = len("YYYY-MM-DDThh:mm:ss.ffffffZ")


def timestamp_text(values: Ints, digits: int | None = None) -> pa.StringArray:
    """Return microseconds since 1970 in ISO 8601, UTC, with 0, 3 or 6 digits of fraction, or with `digits`.

    Arrow writes `YYYY-MM-DD hh:mm:ss.ffffff`; its text is treated as a matrix of characters, whose rows are
    then cut to their lengths.
    """
    written = pc.cast(pa.array(values).view(pa.timestamp("us")), pa.string())
    _, octets = string_buffers(written)
    matrix = np.empty((len(values), TIMESTAMP_LENGTH_MAX), np.uint8)
    matrix[:, :-1] = octets[: matrix[:, :-1].size].reshape(len(values), matrix.shape[1] - 1)
    matrix[:, len("YYYY-MM-DD")] = ord("T")
    fraction = values % 1_000_000
    if digits is None:
        short = np.where(fraction != 0, len(".fff"), 0)
        kept = np.where(fraction % 1_000 != 0, len(".ffffff"), short)
    else:
        kept = np.full(len(values), digits and digits + 1)
    lengths = len("YYYY-MM-DDThh:mm:ss") + kept
    matrix[np.arange(len(values)), lengths] = ord("Z")
    longest = int(lengths.max(initial=0)) + 1
    if (lengths == longest - 1).all():
        cut = matrix[:, :longest].reshape(-1)
    else:
        cut = matrix[np.arange(matrix.shape[1]) <= lengths[:, None]]
    return _string_array(np.append(0, np.cumsum(lengths + 1)), cut)
