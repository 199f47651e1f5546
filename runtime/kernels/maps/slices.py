"""Slices: each row once, with the ends of the first and the last of its windows; see `graph.ToSlices`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.logical import WindowBound
from fsql.compiler.sqltypes import TIMESTAMP, TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.runtime.batch import PUNCTUATION, Batch
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

    import pyarrow as pa

    from fsql.compiler.graph import LateWindows, OnTimeSlices, SliceClosing, ToSlices
    from fsql.runtime.arrays import Ints


def _micros(column: pa.Array) -> Ints:
    """Return the microseconds of a TIMESTAMP column, which is never NULL."""
    return fixed_values(column, DTYPES[TIMESTAMP.kind])


def _timestamps(values: Ints) -> pa.Array:
    return to_array(Vector(values), TIMESTAMP, len(values))


def compile_to_slices(function: ToSlices) -> Callable[[Batch], MapResult]:
    """Return the map that appends the bounds of the first window and the end of the last one.

    A row fails (E504) if one of its windows is not within the years 1 to 9999.
    """
    size, slide, offset = function.size_us, function.slide_us, function.offset_us

    def apply(batch: Batch) -> MapResult:
        since = _micros(batch.columns[function.time_column]) - offset
        start = ((since - size) // slide + 1) * slide + offset
        last = since // slide * slide + (offset + size)
        failed = codes_where((start < TIMESTAMP_MIN) | (last > TIMESTAMP_MAX), TIMESTAMP_RANGE)
        if failed is not None:
            kept = succeeded(failed, len(batch))
            return MapResult(apply(batch.take(kept)).rows, errors_at(batch, failed))
        end = start + size
        if function.until is not None:
            until = _micros(batch.columns[function.until])
            last = np.minimum(last, end + (until - end) // slide * slide)
            some = last >= end
            if not some.all():
                return apply(batch.take(np.flatnonzero(some)))
        bounds = (start, end, end - 1, last)
        columns = [*batch.columns, *map(_timestamps, bounds)]
        return MapResult(_below(batch).with_columns(columns), None)

    return apply


def _below(batch: Batch) -> Batch:
    """Return the rows with 0 appended to their paths."""
    path = (*batch.path, np.zeros(len(batch), np.int64))
    return Batch(
        batch.columns,
        batch.time,
        batch.origin,
        path,
        batch.weight,
        batch.known_span,
        batch.ascending,
    )


def late_windows(batch: Batch, closing: SliceClosing) -> tuple[Ints, Ints]:
    """Return the end of each row's first window, and how many of its windows close before the row."""
    first = _micros(batch.columns[closing.window_end])
    last = _micros(batch.columns[closing.last_end])
    # A window is on time if it closes at `least` or later; the time of roots may be the least integer.
    least = np.maximum(batch.time, TIMESTAMP_MIN) - closing.delay_us
    least = least + (batch.origin > PUNCTUATION)
    grains = -(-least // closing.grain_us)
    end = (grains - 1) * closing.grain_us + 1
    count = -((first - end) // closing.slide_us)
    return first, np.clip(count, 0, (last - first) // closing.slide_us + 1)


def compile_on_time_slices(function: OnTimeSlices) -> Callable[[Batch], MapResult]:
    """Return the map that keeps rows with a window that closes after them, and advances to the first one."""
    closing = function.closing

    def apply(batch: Batch) -> MapResult:
        first, late = late_windows(batch, closing)
        if not late.any():
            return MapResult(batch, None)
        end = first + late * closing.slide_us
        kept = np.flatnonzero(end <= _micros(batch.columns[closing.last_end]))
        columns = list(batch.columns)
        columns[closing.window_end] = _timestamps(end)
        return MapResult(batch.with_columns(columns).take(kept), None)

    return apply


def compile_late_windows(function: LateWindows) -> Callable[[Batch], MapResult]:
    """Return the map to the row of each window that closes before its row."""
    closing, size = function.closing, function.size_us

    def apply(batch: Batch) -> MapResult:
        first, late = late_windows(batch, closing)
        rows = np.flatnonzero(late)
        repeats = repeats_of(late[rows])
        end = first[rows][repeats.row] + repeats.ordinal * closing.slide_us
        of_window = dict(zip(WindowBound, (end - size, end, end - 1), strict=True))
        inside = batch.with_columns(batch.columns[:-1]).take(rows)
        # The path ends with the index of the first window, 0, which the index of the window replaces.
        repeated = repeat_batch(_above(inside), repeats, [])
        columns = list(repeated.columns)
        for column, bound in function.bounds:
            columns[column] = _timestamps(of_window[bound])
        return MapResult(repeated.with_columns(columns), None)

    return apply


def _above(batch: Batch) -> Batch:
    """Return the rows without the last level of their paths."""
    return Batch(batch.columns, batch.time, batch.origin, batch.path[:-1], batch.weight)
