"""MIN and MAX: values of any size, and state of updating input that is as large as what it stands for."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.expression import AggregateCall, AggregateFunction
from fsql.compiler.sqltypes import BIGINT, decimal_type
from fsql.runtime.kernels.accumulators.extremes import Extreme, RetractableExtreme
from fsql.runtime.kernels.keyed.steps import steps_of

ZERO = np.zeros(1, np.int64)


def extreme(function: AggregateFunction) -> RetractableExtreme:
    made = RetractableExtreme(AggregateCall(function, None, BIGINT, nullable=True))
    made.grow(1)
    return made


def add(one: RetractableExtreme, values: list[int], weights: list[int]) -> list[object]:
    """Add rows to slot 0, a step each; return the value after each."""
    slot = np.zeros(len(values), np.int64)
    steps = steps_of(slot, np.arange(len(values)))
    made = one.add(pa.array(values), np.array(weights, np.int64), steps)
    answer: list[object] = made.array.to_pylist()
    return answer


@pytest.mark.parametrize("function", [AggregateFunction.MIN, AggregateFunction.MAX])
def test_values_that_rise_leave_nothing_behind(function: AggregateFunction) -> None:
    """A count that rises is taken back and added again with each row; MAX never sees the old one on top."""
    one = extreme(function)
    add(one, [0], [1])
    for count in range(1, 500):
        assert add(one, [count - 1, count], [-1, 1])[-1] == count
    assert one.candidates() <= 20


def test_no_journal_is_kept_where_nothing_is_taken_back() -> None:
    one = extreme(AggregateFunction.MAX)
    saved = one.save(ZERO)
    add(one, [1], [1])
    add(one, [2], [1])
    assert saved == {0: [(1, 1)]}


def test_what_was_taken_back_shows_no_more() -> None:
    one = extreme(AggregateFunction.MAX)
    add(one, [5, 3], [1, 1])
    first = one.save(ZERO)
    assert add(one, [7, 5], [1, -1]) == [7, 7]
    second = one.save(ZERO)
    assert add(one, [7], [-1]) == [3]
    one.restore(ZERO, second, ZERO)
    assert one.read(ZERO).array.to_pylist() == [7]
    one.restore(ZERO, first, ZERO)
    assert one.read(ZERO).array.to_pylist() == [5]


@pytest.mark.parametrize(
    ("function", "after"),
    [
        (AggregateFunction.MIN, ["1.50", "-1.79", "-1.79", "-9000000000000000.25"]),
        (AggregateFunction.MAX, ["1.50", "1.50", "9000000000000000.25", "9000000000000000.25"]),
    ],
)
def test_decimals_of_any_size_and_sign_in_batches_without_null(
    function: AggregateFunction, after: list[str]
) -> None:
    """Decimals rank by their unscaled integers, which are neither positions nor small."""
    kind = decimal_type(18, 2)
    one = Extreme(AggregateCall(function, None, kind, nullable=True))
    one.grow(1)
    seen = []
    for text in ("1.50", "-1.79", "9000000000000000.25", "-9000000000000000.25"):
        steps = steps_of(ZERO, np.arange(1))
        values = pa.array([Decimal(text)], pa.decimal128(18, 2))
        seen += one.add(values, None, steps).array.to_pylist()
    assert seen == [Decimal(text) for text in after]
    assert one.read(ZERO).array.to_pylist() == [Decimal(after[-1])]
