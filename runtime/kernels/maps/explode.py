"""Explode: one row for each element of the row's own array (`logical.Unnest`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.dictionaries import Vocabulary
from fsql.runtime.kernels.expressions import Program
from fsql.runtime.kernels.expressions.vectors import offsets, to_array, validity
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

    from fsql.compiler.expression import Expression
    from fsql.compiler.graph import Explode
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch


class Elements(NamedTuple):
    """The elements of all arrays of a batch, one after the other.

    `lengths[i]` is the number of elements of row i, `row` the row of each element (int32), `ordinal` its
    index from 0 in the array of that row.  Elements of STRING have a dictionary of distinct values.
    """

    values: pa.Array
    lengths: Ints
    row: NDArray[np.int32]
    ordinal: Ints


def unnest(lists: pa.ListArray, vocabulary: Vocabulary) -> Elements:
    """Return the elements of `lists`, strings encoded by `vocabulary`; a NULL array has none."""
    ends = offsets(lists)
    lengths = (ends[1:] - ends[:-1]).astype(np.int64)
    valid = validity(lists)
    if valid is None:
        values = lists.values.slice(ends[0], ends[-1] - ends[0])
    else:
        lengths[~valid] = 0
        values = lists.flatten()
    if isinstance(values, pa.StringArray):
        values = vocabulary.encode(values)
    return Elements(values, *repeats_of(lengths))


class Unnested(NamedTuple):
    """The rows of a batch whose array did not fail, their elements, and the errors of the others."""

    batch: Batch
    elements: Elements
    errors: Batch | None


def compile_unnest(array: Expression) -> Callable[[Batch], Unnested]:
    """Return the function that computes the rows' arrays and unnests them."""
    program = Program([array])
    vocabulary = Vocabulary()

    def apply(batch: Batch) -> Unnested:
        (vector,) = program.run(batch.columns)
        lists = to_array(vector, array.type, len(batch))
        if isinstance(lists, pa.DictionaryArray):
            lists = lists.dictionary.take(lists.indices)
        errors = errors_at(batch, vector.failed)
        if errors is not None:
            assert vector.failed is not None
            kept = succeeded(vector.failed, len(batch))
            batch, lists = batch.take(kept), lists.take(pa.array(kept))
        return Unnested(batch, unnest(lists, vocabulary), errors)

    return apply


def compile_explode(function: Explode) -> Callable[[Batch], MapResult]:
    """Return the map: the input's columns, the element, and with `ordinality` its ordinal from 1."""
    unnest_rows = compile_unnest(function.array)

    def apply(batch: Batch) -> MapResult:
        batch, elements, errors = unnest_rows(batch)
        added = [elements.values]
        if function.ordinality:
            added.append(pa.array(elements.ordinal + 1))
        return MapResult(repeat_batch(batch, elements, added), errors)

    return apply
