"""Aggregates over each row's own array (`logical.LateralAggregate`), for all rows of a batch at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.kernels.aggregate.grouped import SUM_OVERFLOW
from fsql.runtime.kernels.expressions import Program
from fsql.runtime.kernels.expressions.strict import leftmost_failure
from fsql.runtime.kernels.expressions.vectors import Vector, first_failure, truth, validity
from fsql.runtime.kernels.maps.explode import Elements, compile_unnest
from fsql.runtime.kernels.maps.grouping import ElementGroups, group, one_group_a_row
from fsql.runtime.kernels.maps.key_codes import KeyCodes, combined_codes, key_codes, keys_at
from fsql.runtime.kernels.maps.map_result import MapResult, errors_at, succeeded
from fsql.runtime.kernels.maps.repeats import repeat_batch, repeat_column
from fsql.runtime.kernels.maps.segments import aggregate_segments
from fsql.runtime.order import concat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.graph import ExplodeAggregate
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch
    from fsql.runtime.kernels.expressions.vectors import Codes


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
