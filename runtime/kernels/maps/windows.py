"""Windows: the windows of each row, and which rows are late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.sqltypes import TIMESTAMP, TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.runtime.batch import PUNCTUATION
from fsql.runtime.kernels.expressions.timestamps import begins_of, ends_of, offsets_of
from fsql.runtime.kernels.expressions.vectors import (
    DTYPES,
    TIMESTAMP_RANGE,
    Vector,
    codes_where,
    fixed_values,
    to_array,
)
from fsql.runtime.kernels.maps.map_result import (
    MapResult,
    errors_at,
    repeat_batch,
    repeats_of,
    succeeded,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fsql.compiler.graph import Closing, Expired, ToExpiry, ToWindows
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch


def _micros(column: pa.Array) -> Ints:
    """Return the microseconds of a TIMESTAMP column, which is never NULL."""
    return fixed_values(column, DTYPES[TIMESTAMP.kind])


def compile_to_windows(function: ToWindows) -> Callable[[Batch], MapResult]:
    """Return the map to the windows `[start, start + size)`, `start = offset + k * slide`, of each row.

    A row fails (E504) if one of its windows is not within the years 1 to 9999.
    """
    if function.zone != "UTC":
        return _compile_to_local_windows(function)
    size, slide = function.size_us, function.slide_us

    def apply(batch: Batch) -> MapResult:
        since = _micros(batch.columns[function.time_column]) - function.offset_us
        first, last = (since - size) // slide + 1, since // slide
        least = first * slide + function.offset_us
        greatest = last * slide + function.offset_us + size
        outside = (last >= first) & ((least < TIMESTAMP_MIN) | (greatest > TIMESTAMP_MAX))
        failed = codes_where(outside, TIMESTAMP_RANGE)
        if failed is not None:
            kept = succeeded(failed, len(batch))
            return MapResult(apply(batch.take(kept)).rows, errors_at(batch, failed))
        count = last - first + 1
        repeats = repeats_of(count)
        start = least[repeats.row] + repeats.ordinal * slide
        bounds = (start, start + size, start + (size - 1))
        added = [to_array(Vector(bound), TIMESTAMP, len(start)) for bound in bounds]
        return MapResult(repeat_batch(batch, repeats, added), None)

    return apply


def _compile_to_local_windows(function: ToWindows) -> Callable[[Batch], MapResult]:
    """Return the map to windows of the local times of a zone."""
    size, slide, zone = function.size_us, function.slide_us, function.zone

    def apply(batch: Batch) -> MapResult:
        at = _micros(batch.columns[function.time_column])
        since = at + offsets_of(at, zone) - function.offset_us
        first, last = (since - size) // slide + 1, since // slide
        repeats = repeats_of(last - first + 1)
        starts = (first * slide + function.offset_us)[repeats.row] + repeats.ordinal * slide
        begin, end = begins_of(starts, zone), ends_of(starts + size, zone)
        outside = (begin < TIMESTAMP_MIN) | (end > TIMESTAMP_MAX)
        if outside.any():
            codes = np.zeros(len(batch), np.int16)
            codes[repeats.row[outside]] = TIMESTAMP_RANGE
            kept = succeeded(codes, len(batch))
            return MapResult(apply(batch.take(kept)).rows, errors_at(batch, codes))
        added = [to_array(Vector(bound), TIMESTAMP, len(end)) for bound in (begin, end, end - 1)]
        return MapResult(repeat_batch(batch, repeats, added), None)

    return apply


def compile_to_expiry(function: ToExpiry) -> Callable[[Batch], MapResult]:
    """Return the map that appends the time when each row can no longer be joined (`logical.expiry_time`)."""
    grain = function.grain_us

    def apply(batch: Batch) -> MapResult:
        until = _micros(batch.columns[function.time_column]) + function.wait_us
        # The times of roots include the least integer; a watermark that low is never the greater one.
        since = np.maximum(batch.time, TIMESTAMP_MIN) - function.delay_us
        expires = np.maximum(until, since // grain * grain) + 1
        added = to_array(Vector(expires), TIMESTAMP, len(expires))
        return MapResult(batch.with_columns([*batch.columns, added]), None)

    return apply


def compile_expired(function: Expired) -> Callable[[Batch], MapResult]:
    """Return the map that keeps the rows that come when the watermark is beyond their time to wait."""
    grain = function.grain_us

    def apply(batch: Batch) -> MapResult:
        until = _micros(batch.columns[function.time_column]) + function.wait_us
        # The times of roots include the least integer, at which nothing is late.
        since = np.maximum(batch.time, TIMESTAMP_MIN) - function.delay_us
        expired = since // grain * grain > until
        return MapResult(batch.take(np.flatnonzero(expired)), None)

    return apply


def append_row_time(batch: Batch) -> MapResult:
    """Append the time of each row's root; a time after all timestamps is the greatest of them."""
    added = to_array(Vector(np.minimum(batch.time, TIMESTAMP_MAX)), TIMESTAMP, len(batch))
    return MapResult(batch.with_columns([*batch.columns, added]), None)


def append_root(batch: Batch) -> MapResult:
    """Append the time and the origin of each row's root."""
    root = (pa.array(batch.time), pa.array(batch.origin))
    return MapResult(batch.with_columns([*batch.columns, *root]), None)


def late(batch: Batch, closing: Closing) -> NDArray[np.bool_]:
    """Return which rows are at or above the position `(close_time, PUNCTUATION)` of their window."""
    ends = _micros(batch.columns[closing.window_end])
    close = -(-ends // closing.grain_us) * closing.grain_us + closing.delay_us
    is_late: NDArray[np.bool_] = batch.time > close
    is_late |= (batch.time == close) & (batch.origin > PUNCTUATION)
    return is_late


def compile_punctuality(closing: Closing, *, keep_late: bool) -> Callable[[Batch], MapResult]:
    """Return the map that keeps the late rows, or the others."""

    def apply(batch: Batch) -> MapResult:
        kept = late(batch, closing) == keep_late
        if kept.all():
            return MapResult(batch, None)
        return MapResult(batch.take(np.flatnonzero(kept)), None)

    return apply
