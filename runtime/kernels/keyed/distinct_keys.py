"""The distinct keys of a batch as Python values, and a code for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.kernels.keyed.integer_keys import NO_SLOT
from fsql.runtime.kernels.keyed.key_objects import (
    comparable_column,
    compared_in_python,
    values_of_rows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.arrays import Ints


def _codes_of(array: pa.DictionaryArray) -> tuple[Ints, pa.Array]:
    """Return the codes of a dictionary column, and the values that occur, including NULL."""
    distinct, indices = array.dictionary, array.indices
    if indices.null_count:
        indices = indices.fill_null(len(distinct))
        distinct = pa.concat_arrays([distinct, pa.nulls(1, distinct.type)])
    codes = indices.to_numpy(zero_copy_only=False)
    occurs = np.zeros(len(distinct), np.bool_)
    occurs[codes] = True
    if occurs.all():
        return codes, distinct
    # A dictionary may contain words of rows that were dropped or sent to other workers.
    return (np.cumsum(occurs) - 1)[codes], distinct.take(pa.array(np.flatnonzero(occurs)))


def distinct_values(array: pa.Array) -> tuple[Ints, list[object]]:
    """Return a code for each row and the key value of each code; equal values may have two codes."""
    if compared_in_python(array):
        numbers: dict[object, int] = {}
        rows = [numbers.setdefault(value, len(numbers)) for value in values_of_rows(array)]
        return np.array(rows, np.int64), list(numbers)
    array = comparable_column(array)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes, distinct = _codes_of(array)
    return codes, distinct.to_pylist()


def distinct_tuples(
    keys: Sequence[pa.Array], codes: Ints, first_values: list[object]
) -> tuple[Ints, list[object]]:
    """Combine the codes of the first key column with those of the others; the values are tuples."""
    columns = [(codes.astype(np.int64), len(first_values))]
    values = [first_values]
    for key in keys[1:]:
        more, distinct = distinct_values(key)
        columns.append((more.astype(np.int64), len(distinct)))
        values.append(distinct)
    combined, space = columns[0]
    for column, cards in columns[1:]:
        if space * cards >= 1 << 62:
            _, combined = np.unique(combined, return_inverse=True)
            space = int(combined.max(initial=0)) + 1
        combined = combined * cards + column
        space *= cards
    encoded = pa.array(combined).dictionary_encode()
    rows = encoded.indices.to_numpy(zero_copy_only=False)
    first = np.empty(len(encoded.dictionary), np.int64)
    first[rows[::-1]] = np.arange(len(rows) - 1, -1, -1)
    parts = [
        [distinct[code] for code in column[first].tolist()]
        for (column, _), distinct in zip(columns, values, strict=True)
    ]
    return rows, list(zip(*parts, strict=True))


def a_row_of_each(codes: Ints, count: int) -> Ints:
    """Return a row that has the code, for each code that occurs; NO_SLOT for one that does not."""
    rows = np.full(count, NO_SLOT)
    rows[codes] = np.arange(len(codes))
    return rows
