"""The result of a map function over a batch: rows, and the errors of the rows that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from fsql.compiler.graph import Pad, Renumber, ScanRows
from fsql.runtime.batch import Batch
from fsql.runtime.kernels.expressions.vectors import validity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.expressions.vectors import Codes

    Rows = NDArray[np.signedinteger[Any]]


class MapResult(NamedTuple):
    """The output rows, in the order of the input rows that caused them, and the failures (None: no failures).

    A row of `errors` represents an input row that failed: its one column is the number of the error
    (int16, 501 for FSQL-E501), its path is empty, root and weight are the input row's.
    """

    rows: Batch
    errors: Batch | None


def errors_at(batch: Batch, failed: Codes | None) -> Batch | None:
    """Return the error rows of the rows of `batch` that failed; None if none did."""
    if failed is None:
        return None
    if len(failed) != len(batch):
        failed = np.repeat(failed, len(batch))
    rows = np.flatnonzero(failed)
    if len(rows) == 0:
        return None
    weight = None if batch.weight is None else batch.weight[rows]
    codes = pa.array(failed[rows], pa.int16())
    return Batch([codes], batch.time[rows], batch.origin[rows], (), weight)


def succeeded(failed: Codes, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the indexes of the rows, of `count`, that did not fail."""
    return np.flatnonzero(np.broadcast_to(failed, count) == 0)


# The map functions that change only the path of rows.


PathFunction = ScanRows | Renumber | Pad


def with_changed_path(function: PathFunction, rows: Batch, columns: Sequence[pa.Array]) -> Batch:
    """Return rows with these columns, and the path that a function makes; their order does not change."""
    path = rows.path if not isinstance(function, Renumber) else ()
    appended = (
        [-1] * (function.depth - len(path)) if isinstance(function, Pad) else [function.ordinal]
    )
    levels: list[NDArray[np.int64]] = [np.full(len(rows), each, np.int64) for each in appended]
    return Batch(
        columns,
        rows.time,
        rows.origin,
        (*path, *levels),
        rows.weight,
        rows.known_span,
        rows.ascending,
    )


# Repeated rows of a batch: the input's columns in the result of a map function with many outputs.
#
# Long values are never copied: repeated STRING, ARRAY and ROW columns become dictionaries, whose
# values are the column of the input and whose indices are the rows (`fsql.runtime.arrow_types` has the
# contract).


class Repetition(Protocol):
    """How often each row is repeated: `lengths` by input row; `row` and `ordinal`, from 0, by output row."""

    @property
    def lengths(self) -> Ints:
        """Return how often each row is repeated."""

    @property
    def row(self) -> Rows:
        """Return the input row of each output row; they ascend."""

    @property
    def ordinal(self) -> Ints:
        """Return the number of each output row among those of the same input row."""


class Repeats(NamedTuple):
    """A repetition without further columns."""

    lengths: Ints
    row: Rows
    ordinal: Ints


def repeats_of(lengths: Ints) -> Repeats:
    """Return the repetition of row i `lengths[i]` times."""
    if len(lengths) == 1:
        return Repeats(lengths, np.zeros(lengths[0], np.int32), np.arange(lengths[0]))
    row = np.arange(len(lengths), dtype=np.int32).repeat(lengths)
    ordinal = np.arange(len(row))
    ordinal -= (lengths.cumsum() - lengths).repeat(lengths)
    return Repeats(lengths, row, ordinal)


def repeat_batch(batch: Batch, repetition: Repetition, added: Sequence[pa.Array]) -> Batch:
    """Return the repeated rows, with their ordinals appended to the paths, and columns added."""
    lengths = repetition.lengths
    # The output rows of one row have its root and ascend by their ordinal.
    one = len(lengths) == 1
    return Batch(
        [*repeat_columns(batch.columns, repetition.row), *added],
        batch.time.repeat(lengths),
        batch.origin.repeat(lengths),
        (*(level.repeat(lengths) for level in batch.path), repetition.ordinal),
        None if batch.weight is None else batch.weight.repeat(lengths),
        batch.span() if one else None,
        one,
    )


def repeat_columns(columns: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
    """Return, for each column, its value at each of `rows`."""
    if not columns:
        return []
    indexes = pa.array(rows.astype(np.int32, copy=False))
    return [repeat_column(column, indexes) for column in columns]


def repeat_column(column: pa.Array, indexes: pa.Int32Array) -> pa.Array:
    """Return the value of `column` at each of `indexes`, long values by reference."""
    if not isinstance(column, pa.StringArray | pa.ListArray | pa.StructArray):
        return column.take(indexes)
    valid = validity(column)
    if valid is None:
        return pa.DictionaryArray.from_arrays(indexes, column, safe=False)
    rows = np.asarray(indexes)
    into_present = (np.cumsum(valid) - 1).astype(np.int32)
    at = pa.array(into_present[rows], mask=~valid[rows])
    return pa.DictionaryArray.from_arrays(at, column.drop_null(), safe=False)
