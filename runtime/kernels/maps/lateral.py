"""Aggregates over each row's own array (`logical.LateralAggregate`), for all rows of a batch at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.sqltypes import FLOATING, Kind, SqlType
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.accumulators.accumulator import SUM_OVERFLOW
from fsql.runtime.kernels.accumulators.of_call import accumulator
from fsql.runtime.kernels.expressions import Program
from fsql.runtime.kernels.expressions.strict import leftmost_failure
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    first_failure,
    fixed_values,
    indices,
    stretched_values,
    to_array,
    truth,
    validity,
)
from fsql.runtime.kernels.keyed.steps import Steps
from fsql.runtime.kernels.maps.explode import Elements, compile_unnest
from fsql.runtime.kernels.maps.map_result import (
    MapResult,
    errors_at,
    repeat_batch,
    repeat_column,
    succeeded,
)
from fsql.runtime.order import canonical_rank, concat, key_values, sortable_doubles, stable_order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.graph import ExplodeAggregate
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Batch
    from fsql.runtime.kernels.expressions.vectors import Codes

    Rows = NDArray[np.int32]
    Integers = NDArray[np.signedinteger[Any]]


class FilteredElements(NamedTuple):
    """The elements that a predicate keeps, their indexes among all (None: all), and its failures."""

    elements: Elements
    at: Ints | None
    failed: Codes | None


def compile_explode_aggregate(
    function: ExplodeAggregate, width: int
) -> Callable[[Batch], MapResult]:
    """Return the map: the input's `width` columns, the keys, the aggregates; a row for each group."""
    unnest_rows = compile_unnest(function.array)
    aggregate = _compile_aggregate(function, width)

    def apply(batch: Batch) -> MapResult:
        batch, elements, errors = unnest_rows(batch)
        rows, failed = aggregate(batch, elements)
        if failed is None:
            return MapResult(rows, errors)
        # The remaining rows can still fail: an overflow is found only if all elements are valid.
        rest = apply(batch.take(succeeded(failed, len(batch))))
        parts = (errors, errors_at(batch, failed), rest.errors)
        return MapResult(rest.rows, concat([part for part in parts if part is not None]))

    return apply


def _compile_aggregate(
    function: ExplodeAggregate, width: int
) -> Callable[[Batch, Elements], tuple[Batch, Codes | None]]:
    """Return the function from elements to the rows of their groups, and the input rows that failed.

    A row fails with the least code of its failing elements, or otherwise with the overflow of an aggregate.
    The returned rows are valid only if no row failed.
    """
    keep = _compile_filter(function.predicate, width)
    expressions, calls = function.keys, function.aggregates
    arguments = [call.argument for call in calls if call.argument is not None]
    program = Program([*expressions, *arguments])

    def apply(batch: Batch, elements: Elements) -> tuple[Batch, Codes | None]:
        kept = keep(batch, elements)
        vectors = program.run(_columns(batch, kept.elements, program.used_columns, width))
        failed = _failed_rows(kept, leftmost_failure(vectors), elements)
        if failed is not None:
            return batch, failed
        keys, values = vectors[: len(expressions)], iter(vectors[len(expressions) :])
        groups = _group_elements(keys, expressions, kept.elements)
        added = [
            keys_at(key, expression.type, groups.first)
            for key, expression in zip(keys, expressions, strict=True)
        ]
        for call in calls:
            argument = None if call.argument is None else next(values)
            column, overflowed = aggregate_segments(call, argument, groups.order, groups.sizes)
            added.append(column)
            if overflowed is not None and overflowed.any():
                failed = np.zeros(len(batch), np.int16)
                failed[groups.row[overflowed]] = SUM_OVERFLOW
                return batch, failed
        return repeat_batch(batch, groups, added), None

    return apply


def _group_elements(
    keys: Sequence[Vector], expressions: Sequence[Expression], elements: Elements
) -> ElementGroups:
    varying = [
        key_codes(key, expression.type, distinct=key.values is elements.values)
        for key, expression in zip(keys, expressions, strict=True)
        if len(key.values) == len(elements.row)
    ]
    if not keys:
        return one_group_a_row(elements)
    if not varying:
        varying = [KeyCodes(np.zeros(len(elements.row), np.int32), 1)]
    return group(combined_codes(varying), elements.row, len(elements.lengths))


def _compile_filter(
    predicate: Expression | None, width: int
) -> Callable[[Batch, Elements], FilteredElements]:
    """Return the function that keeps the elements for which `predicate` is TRUE."""
    if predicate is None:
        return lambda _batch, elements: FilteredElements(elements, None, None)
    program = Program([predicate])

    def keep(batch: Batch, elements: Elements) -> FilteredElements:
        (vector,) = program.run(_columns(batch, elements, program.used_columns, width))
        count = len(elements.row)
        at = np.flatnonzero(np.broadcast_to(truth(vector), count))
        failed = None if vector.failed is None else np.broadcast_to(vector.failed, count)
        if len(at) == count:
            return FilteredElements(elements, None, failed)
        row = elements.row[at]
        filtered = Elements(
            elements.values.take(pa.array(at)),
            np.bincount(row, minlength=len(elements.lengths)),
            row,
            elements.ordinal[at],
        )
        return FilteredElements(filtered, at, failed)

    return keep


def _columns(
    batch: Batch, elements: Elements, used: Sequence[int], width: int
) -> dict[int, pa.Array | Vector]:
    """Return the `used` columns: those of the input, repeated, then the element and the ordinal."""
    columns: dict[int, pa.Array | Vector] = {}
    rows = None
    for index in used:
        if index == width:
            columns[index] = _element_column(elements.values)
        elif index == width + 1:
            columns[index] = Vector(elements.ordinal + 1)
        else:
            rows = pa.array(elements.row) if rows is None else rows
            columns[index] = repeat_column(batch.columns[index], rows)
    return columns


def _element_column(values: pa.Array) -> pa.Array | Vector:
    """Return the elements with their dictionary, even if the column is short."""
    if isinstance(values, pa.DictionaryArray) and len(values.dictionary):
        return Vector(values, validity(values))
    return values


def _failed_rows(kept: FilteredElements, codes: Codes | None, elements: Elements) -> Codes | None:
    """Return, for each input row, the least code that one of its elements failed with; None if none did.

    `codes` are the failures after the predicate, of the elements that it kept.
    """
    count = len(elements.row)
    if codes is not None and kept.at is not None:
        spread = np.zeros(count, np.int16)
        spread[kept.at] = codes
        codes = spread
    failed = first_failure(kept.failed, codes)
    if failed is None:
        return None
    failed = np.broadcast_to(failed, count)
    at = failed.nonzero()[0]
    if len(at) == 0:
        return None
    none = np.iinfo(np.int16).max
    least = np.full(len(elements.lengths), none, np.int16)
    np.minimum.at(least, elements.row[at], failed[at])
    return np.where(least == none, np.int16(0), least)


# Grouping the elements of many rows at once; only elements of the same row are grouped.
#
# Every key has a small integer code (`key_codes`).  One stable sort of the codes alone, a radix sort where
# they fit 16 bits, makes the elements of equal keys adjacent.  Elements are given row by row, so those of
# one row remain adjacent: the runs of equal (code, row) are the groups.  The groups are then sorted by
# their first elements, which is the order of (row, first occurrence in the row).


_RADIX_CARD: Final = 1 << 16


class ElementGroups(NamedTuple):
    """The groups of the elements, ordered by row and within a row by first element.

    `order` has the elements group by group, within a group in their order (None: unchanged); `sizes` the
    number of elements of each group; `first` the first element of each; `row` and `ordinal` the row of each
    group and its number within the row; `lengths` the number of groups of each row.
    """

    order: Ints | None
    sizes: Ints
    first: Ints
    row: Rows
    ordinal: Ints
    lengths: Ints


def group(keys: KeyCodes, row: Rows, rows: int) -> ElementGroups:
    """Group elements by (row, key); rows ascend and are less than `rows`."""
    codes = keys.codes
    if keys.card <= _RADIX_CARD:
        order = codes.astype(np.uint16).argsort(kind="stable")
    else:
        order = stable_order(codes.astype(np.int64))
    sorted_codes = codes[order]
    begins = np.empty(len(codes) + 1, np.bool_)
    begins[0] = begins[-1] = True
    np.not_equal(sorted_codes[1:], sorted_codes[:-1], out=begins[1:-1])
    if rows > 1:
        sorted_row = row[order]
        begins[1:-1] |= sorted_row[1:] != sorted_row[:-1]
    bounds = begins.nonzero()[0]
    start, sizes = bounds[:-1], bounds[1:] - bounds[:-1]
    order, sizes, first = _by_first_element(order, start, sizes)
    if rows == 1:
        ordinal = np.arange(len(first))
        return ElementGroups(
            order, sizes, first, row[: len(first)], ordinal, np.array([len(first)])
        )
    return ElementGroups(order, sizes, first, *_number_groups(row[first], rows))


def _by_first_element(order: Ints, start: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """Sort runs of `order` by their first elements, which are all different.

    Returns the new order, the runs' sizes, and their first elements.
    """
    first = order[start]
    if np.count_nonzero(first[1:] < first[:-1]) == 0:
        return order, sizes, first
    run_at = np.zeros(len(order), np.int32)
    run_at[first] = np.arange(1, len(start) + 1, dtype=np.int32)
    first = (run_at != 0).nonzero()[0]
    by_first = run_at[first] - 1
    start, sizes = start[by_first], sizes[by_first]
    # Differences between neighbours of `order`: a jump at the start of each run, 1 elsewhere.
    step = np.ones(len(order), np.int64)
    step[0] = start[0]
    step[sizes.cumsum()[:-1]] = start[1:] - start[:-1] - sizes[:-1] + 1
    return order[step.cumsum(out=step)], sizes, first


def _number_groups(row: Rows, rows: int) -> tuple[Rows, Ints, Ints]:
    """Return `row`, the number of each group within its row, and the number of groups of each row."""
    begins = np.empty(len(row) + 1, np.bool_)
    begins[0] = begins[-1] = True
    np.not_equal(row[1:], row[:-1], out=begins[1:-1])
    bounds = begins.nonzero()[0]
    start, count = bounds[:-1], bounds[1:] - bounds[:-1]
    ordinal = np.arange(len(row))
    ordinal -= start.repeat(count)
    lengths = np.zeros(rows, np.int64)
    lengths[row[start]] = count
    return row, ordinal, lengths


def one_group_a_row(elements: Elements) -> ElementGroups:
    """Return the groups without keys: one for each row, even if it is empty."""
    rows = len(elements.lengths)
    first = elements.lengths.cumsum() - elements.lengths
    row, ordinal = np.arange(rows, dtype=np.int32), np.zeros(rows, np.int64)
    return ElementGroups(None, elements.lengths, first, row, ordinal, np.ones(rows, np.int64))


# Key codes: small integers for the values of keys within one batch.
#
# Codes are equal if and only if keys are equal, by the equality of grouping: NULL equals NULL, and a
# DOUBLE key has -0.0 replaced by 0.0.


_SMALL: Final = 1 << 16
_INT32: Final = np.dtype(np.int32)


class KeyCodes(NamedTuple):
    """The code of each row, in `[0, card)`; not all codes need to occur."""

    codes: Integers
    card: int


def key_codes(key: Vector, sql_type: SqlType, *, distinct: bool) -> KeyCodes:
    """Return codes for a key column.

    With `distinct`, the key has a dictionary without repeated values, so that its indices are codes.
    """
    values = key.values
    if isinstance(values, np.ndarray):
        found = _codes_of_fixed(values, sql_type)
    elif isinstance(values, pa.DictionaryArray):
        found = _codes_of_dictionary(key, distinct=distinct)
    elif isinstance(values, pa.StringArray):
        found = _codes_of_encoded(values.dictionary_encode())
    else:
        found = _compact(canonical_rank(values))
    if key.valid is None:
        return found
    return KeyCodes(np.where(key.valid, found.codes, found.card), found.card + 1)


def _codes_of_fixed(values: NDArray[Any], sql_type: SqlType) -> KeyCodes:
    if sql_type.kind in FLOATING:
        values = sortable_doubles(values)
    elif sql_type.kind is Kind.BOOLEAN:
        values = values.view(np.int8)
    elif values.dtype == object:
        _, values = np.unique(values, return_inverse=True)
    return _compact(values)


def _compact(values: Integers) -> KeyCodes:
    """Return the values minus the least one if these are small codes; otherwise hash them."""
    if len(values) == 0:
        return KeyCodes(values, 1)
    least, greatest = int(values.min()), int(values.max())
    if greatest - least < _SMALL:
        return KeyCodes((values - values.dtype.type(least)).astype(np.int64), greatest - least + 1)
    return _codes_of_encoded(pa.array(values).dictionary_encode())


def _codes_of_encoded(encoded: pa.DictionaryArray) -> KeyCodes:
    codes = fixed_values(encoded.indices, _INT32)
    if encoded.null_count:
        codes = np.where(np.asarray(encoded.is_valid()), codes, np.int32(0))
    return KeyCodes(codes, max(len(encoded.dictionary), 1))


def _codes_of_dictionary(key: Vector, *, distinct: bool) -> KeyCodes:
    rows = indices(key.values, key.valid)
    words = key.values.dictionary
    if distinct:
        return KeyCodes(rows, len(words))
    codes_of_words = _codes_of_encoded(words.dictionary_encode())
    return KeyCodes(codes_of_words.codes[rows], codes_of_words.card)


def combined_codes(keys: Sequence[KeyCodes]) -> KeyCodes:
    """Return codes for tuples of keys."""
    combined, *others = keys
    for other in others:
        card = combined.card * other.card
        codes = combined.codes.astype(np.int64) * other.card + other.codes
        combined = KeyCodes(codes, card) if card <= _SMALL else _compact(codes)
    return combined


def keys_at(key: Vector, sql_type: SqlType, rows: Ints) -> pa.Array:
    """Return the key column at `rows`, in canonical form."""
    values, valid, _ = key
    if isinstance(values, np.ndarray):
        found = values[rows] if len(values) > 1 else values
        present = None if valid is None else valid[rows] if len(valid) > 1 else valid
        return key_values(to_array(Vector(found, present), sql_type, len(rows)))
    if len(values) == 1:
        return key_values(decode_dictionary(to_array(key, sql_type, len(rows))))
    if isinstance(values, pa.DictionaryArray) and valid is None:
        taken = pa.array(indices(values, None)[rows])
        return pa.DictionaryArray.from_arrays(taken, values.dictionary, safe=False)
    return key_values(values.take(pa.array(rows)))


# Aggregates over segments: consecutive elements of an ordered column, once for each batch.
#
# This module computes for complete groups what a fold (`fsql.runtime.kernels.accumulators.of_call`)
# computes over time: COUNT and ARRAY_AGG directly, the others by a new accumulator that takes one step for
# each segment.


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
