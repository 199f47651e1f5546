"""Rows of a batch several times over: what a map function with many outputs makes of its input's columns.

A value that is long is never copied: repeated STRING and ARRAY columns come out as dictionaries, whose
values are the input's column and whose indices are the rows (`fsql.runtime.arrow_types` has the contract).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch
from fsql.runtime.kernels.vectors import validity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Rows = NDArray[np.signedinteger[Any]]


def repeat_batch(batch: Batch, rows: Rows, index: Ints, added: Sequence[pa.Array]) -> Batch:
    """Return row `rows[i]` of `batch` for each i, with `index[i]` behind its path, and more columns."""
    return Batch(
        [*repeat_columns(batch.columns, rows), *added],
        batch.time[rows],
        batch.origin[rows],
        (*(level[rows] for level in batch.path), index),
        None if batch.weight is None else batch.weight[rows],
    )


def repeat_columns(columns: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
    """Return, for each column, its value at each of `rows`."""
    if not columns:
        return []
    indexes = pa.array(rows.astype(np.int32, copy=False))
    return [repeat_column(column, indexes) for column in columns]


def repeat_column(column: pa.Array, indexes: pa.Int32Array) -> pa.Array:
    """Return the value of `column` at each of `indexes`, long values by reference."""
    if not isinstance(column, pa.StringArray | pa.ListArray):
        return column.take(indexes)
    valid = validity(column)
    if valid is None:
        return pa.DictionaryArray.from_arrays(indexes, column, safe=False)
    rows = np.asarray(indexes)
    into_present = (np.cumsum(valid) - 1).astype(np.int32)
    at = pa.array(into_present[rows], mask=~valid[rows])
    return pa.DictionaryArray.from_arrays(at, column.drop_null(), safe=False)
