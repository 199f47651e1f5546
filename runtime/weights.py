"""The arithmetic of weighted rows: equal rows are summed, repeated, or cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.runtime.batch import Batch
from fsql.runtime.order import (
    fixed_width,
    identity_codes,
    lexicographic_order,
    stable_order,
    starts_of_runs,
)
from fsql.runtime.ties import tie_breaking_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa


def consolidate(batch: Batch, *, by_path: bool, by: Sequence[pa.Array] | None = None) -> Batch:
    """Return one row, with the sum of the weights, for each set of same rows; none where that is 0.

    Rows are the same if their columns and roots are (and, with `by_path`, their paths).  Only the columns
    `by` are compared if they are given: they determine the others.  The remaining rows are in the order of
    their first occurrence.
    """
    if len(batch) == 1 and (batch.weight is None or batch.weight[0]):
        return batch
    by = batch.columns if by is None else by
    columns = [batch.time, batch.origin, *(batch.path if by_path else ())]
    columns += [identity_codes(column) for column in by if fixed_width(column.type)]
    others = [column for column in by if not fixed_width(column.type)]
    columns = tie_breaking_codes(columns, others, identity_codes)
    order = lexicographic_order(columns)
    if order is None:
        order = np.arange(len(batch))
    starts = starts_of_runs(*(column[order] for column in columns))
    if len(starts) == 0:
        return batch
    sums = np.add.reduceat(batch.weights()[order], starts)
    kept = np.flatnonzero(sums)
    if len(kept) == len(batch):
        return batch  # no two rows are the same
    rows = order[starts[kept]]
    in_order = stable_order(rows)
    result = batch.take(rows[in_order])
    return Batch(result.columns, result.time, result.origin, result.path, sums[kept][in_order])


def expand(batch: Batch) -> Batch:
    """Return each row as many times as its weight, with weight +1; no weight may be negative."""
    if batch.weight is None:
        return batch
    rows = np.repeat(np.arange(len(batch)), batch.weight)
    plain_rows = Batch(batch.columns, batch.time, batch.origin, batch.path)
    return plain_rows if len(rows) == len(batch) else plain_rows.take(rows)


def negate(batch: Batch) -> Batch:
    """Return the rows with opposite weights, which cancel the batch."""
    return Batch(batch.columns, batch.time, batch.origin, batch.path, -batch.weights())
