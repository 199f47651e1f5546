"""The keys of a join's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fsql.runtime.batch import Batch
    from fsql.runtime.kernels.keyed.prepare import Evaluator


def prepared_rows(evaluate: Evaluator, batch: Batch) -> tuple[Batch, Batch | None]:
    """Return the rows with their keys in front, without those with a NULL key, and the errors."""
    keys, kept, errors = evaluate(batch)
    batch = batch if kept is None else batch.take(kept)
    prepared = batch.with_columns([*keys, *batch.columns])
    if any(key.null_count for key in keys):
        valid = np.logical_and.reduce(
            [key.is_valid().to_numpy(zero_copy_only=False) for key in keys]
        )
        prepared = prepared.take(np.flatnonzero(valid))
    return prepared, errors
