"""Aggregates over segments: consecutive elements of an ordered column, once for each batch.

This module computes for complete groups what a fold (`fsql.runtime.kernels.aggregate.accumulators`) computes
over time: COUNT and ARRAY_AGG directly, the others by a new accumulator that takes one step for each segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import AggregateFunction
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.aggregate.accumulators import accumulator
from fsql.runtime.kernels.aggregate.steps import Steps
from fsql.runtime.kernels.expressions.vectors import Vector, stretched_values, to_array

if TYPE_CHECKING:
    from fsql.compiler.expression import AggregateCall
    from fsql.runtime.arrays import Bools, Ints


def aggregate_segments(
    call: AggregateCall, argument: Vector | None, order: Ints | None, count: Ints
) -> tuple[pa.Array, Bools | None]:
    """Return the aggregate of each segment, and which ones overflowed; an accumulator returns NULL there.

    Segment i is the next `count[i]` elements, which may be none, of `argument` in `order`.
    """
    if argument is None:
        return pa.array(count), None
    assert call.argument is not None
    counts_rows = call.function is AggregateFunction.COUNT and not call.distinct
    if counts_rows and argument.valid is None:
        return pa.array(count), None
    ordered = _put_in_order(argument, order, int(count.sum()))
    if counts_rows:
        return pa.array(_count_valid(ordered.valid, count)), None
    column = decode_dictionary(to_array(ordered, call.argument.type, len(ordered.values)))
    if call.function is AggregateFunction.ARRAY_AGG and not (call.directions or call.ignore_nulls):
        return lists(column, count), None
    return _accumulate(call, column, count)


def _put_in_order(argument: Vector, order: Ints | None, size: int) -> Vector:
    """Return the argument, stretched to all elements, in the order of the segments."""
    values, valid, _ = argument
    if valid is not None:
        valid = valid if len(valid) == size else valid.repeat(size)
        valid = valid if order is None else valid[order]
    if isinstance(values, np.ndarray):
        values = values if len(values) == size else values.repeat(size)
        return Vector(values if order is None else values[order], valid)
    if len(values) != size:
        values = stretched_values(argument, size)
    return Vector(values if order is None else values.take(pa.array(order)), valid)


def _count_valid(valid: Bools | None, count: Ints) -> Ints:
    if valid is None:
        return count
    before = np.zeros(len(valid) + 1, np.int64)
    valid.cumsum(out=before[1:])
    ends = count.cumsum()
    counted: Ints = before[ends] - before[ends - count]
    return counted


def lists(column: pa.Array, count: Ints) -> pa.ListArray:
    """Return the segments as arrays; an empty one is NULL."""
    ends = np.zeros(len(count) + 1, np.int32)
    count.cumsum(out=ends[1:])
    bitmap = None
    if np.count_nonzero(count) < len(count):
        bitmap = pa.py_buffer(np.packbits(count > 0, bitorder="little"))
    buffers = [bitmap, pa.py_buffer(ends)]
    return pa.Array.from_buffers(pa.list_(column.type), len(count), buffers, children=[column])


def _accumulate(
    call: AggregateCall, column: pa.Array, count: Ints
) -> tuple[pa.Array, Bools | None]:
    state = accumulator(call, append_only=True)
    state.grow(len(count))
    filled = np.flatnonzero(count)
    if len(filled):
        start = (np.cumsum(count) - count)[filled]
        steps = Steps(start, len(column), filled, np.arange(len(filled)))
        state.add(column, np.ones(len(column), np.int64), steps)
    result = state.read(np.arange(len(count)))
    return result.array, result.failed
