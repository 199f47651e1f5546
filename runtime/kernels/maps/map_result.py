"""The result of a map function over a batch: rows, and the errors of the rows that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch

if TYPE_CHECKING:
    from fsql.runtime.kernels.expressions.vectors import Codes


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
