"""SUM and AVG of DECIMAL: sums of integers of the smallest unit, exact at any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.runtime.decimals import column_of, integers_of, narrow, quotients, times, too_long
from fsql.runtime.kernels.aggregate.integer_sum import IntegerSum, total_of
from fsql.runtime.kernels.aggregate.steps import Values

if TYPE_CHECKING:
    import pyarrow as pa

    from fsql.compiler.expression import AggregateCall
    from fsql.runtime.arrays import Ints


class DecimalSum(IntegerSum):
    """The sums of all slots in the columns of `IntegerSum`.  A SUM of more than 38 digits has failed."""

    def __init__(self, call: AggregateCall) -> None:
        super().__init__(call)
        assert call.argument is not None
        self._factor = 10 ** (call.type.scale - call.argument.type.scale)
        self._precision = call.type.precision

    def _numbers(self, values: pa.Array) -> Ints:
        return integers_of(values)

    def _value(self, count: Ints, low: Ints, high: Ints, top: Ints | None = None) -> Values:
        fits = (high >= -(2**31)) & (high < 2**31)
        if top is not None:
            fits &= top == 0
        if fits.all():
            total = (high << 32) | low
        else:
            parts = (low, high, np.zeros_like(low) if top is None else top)
            total = np.array(
                [total_of(*each) for each in zip(*(part.tolist() for part in parts), strict=True)],
                object,
            )
            total = narrow(total)
        some = count > 0
        total = np.where(some, total, 0)
        if self._average:
            total = quotients(times(total, self._factor), np.maximum(count, 1))
        beyond = too_long(total, self._precision)
        failed = beyond if beyond.any() else None
        total = np.where(beyond, 0, total)
        return Values(column_of(total, self._type, None if some.all() else some), failed)
