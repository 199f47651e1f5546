"""Evaluation of the expressions that a kernel needs, once for each input row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch
from fsql.runtime.kernels.expressions import compile_expressions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression
    from fsql.runtime.arrays import Ints


class Evaluator:
    """Evaluates expressions over batches; rows that fail become errors."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._evaluate = compile_expressions(expressions)

    def __call__(self, batch: Batch) -> tuple[list[pa.Array], Ints | None, Batch | None]:
        """Return the values of the rows that do not fail, the indexes of these rows, and the errors.

        The indexes are None if no row fails.
        """
        results = self._evaluate(batch.columns, len(batch))
        codes = None
        for result in results:
            if result.failed is not None:
                codes = result.failed if codes is None else np.where(codes, codes, result.failed)
        if codes is None or not codes.any():
            return [result.values for result in results], None, None
        failing, kept = np.flatnonzero(codes), np.flatnonzero(codes == 0)
        bad = batch.take(failing)
        errors = Batch([pa.array(codes[failing])], bad.time, bad.origin, (), bad.weight)
        indexes = pa.array(kept)
        return [result.values.take(indexes) for result in results], kept, errors
