"""Exact sums under weights and numbers of rows that do not fit their columns at once."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.sqltypes import BIGINT, DOUBLE
from fsql.runtime.kernels.accumulators import sums
from fsql.runtime.kernels.accumulators.of_call import accumulator
from fsql.runtime.kernels.accumulators.sums import DoubleSum, ExactSums, IntegerSum
from fsql.runtime.kernels.keyed.steps import steps_of

if TYPE_CHECKING:
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.kernels.accumulators.accumulator import Accumulator

SLOTS = 3


def _call(function: AggregateFunction, kind: SqlType) -> AggregateCall:
    result = DOUBLE if function is AggregateFunction.AVG else kind
    return AggregateCall(function, ColumnRef(kind, index=0, nullable=True), result, nullable=True)


def _sum(function: AggregateFunction, kind: SqlType) -> Accumulator:
    made = accumulator(_call(function, kind), append_only=False)
    made.grow(SLOTS)
    return made


def _add(
    made: Accumulator, rows: list[tuple[int, object, int]], kind: pa.DataType
) -> tuple[list[object], list[bool]]:
    """Add rows of slot, value and weight, each a step; return values and failures after each."""
    rows = sorted(rows, key=lambda row: row[0])
    slot = np.array([row[0] for row in rows], np.int64)
    values = pa.array([row[1] for row in rows], kind)
    weights = np.array([row[2] for row in rows], np.int64)
    after = made.add(values, weights, steps_of(slot, np.arange(len(rows))))
    failed = np.zeros(len(rows), np.bool_) if after.failed is None else after.failed
    return after.array.to_pylist(), failed.tolist()


def _rounded(exact: Fraction) -> float:
    try:
        return float(exact) + 0.0
    except OverflowError:
        return math.copysign(math.inf, exact)


@pytest.mark.parametrize("weight", [2**31, 2**40, 2**60])
def test_a_weight_that_no_column_has_room_for(weight: int) -> None:
    doubles = _sum(AggregateFunction.SUM, DOUBLE)
    integers = _sum(AggregateFunction.AVG, BIGINT)
    double, integer = 1.7976931348623157e308 * 2.0**-70, 2**63 - 1
    assert _add(doubles, [(1, double, weight)], pa.float64())[0] == [
        _rounded(Fraction(double) * weight)
    ]
    assert _add(doubles, [(1, double, -weight), (1, 0.5, 1)], pa.float64())[0] == [None, 0.5]
    assert _add(integers, [(1, integer, weight)], pa.int64())[0] == [float(integer)]
    assert _add(integers, [(1, -7, 1)], pa.int64())[0] == [
        float(Fraction(integer * weight - 7, weight + 1))
    ]
    assert _add(integers, [(1, integer, -weight)], pa.int64())[0] == [-7.0]


def test_a_sum_that_comes_back_into_range() -> None:
    made = _sum(AggregateFunction.SUM, BIGINT)
    for _ in range(40):
        assert _add(made, [(0, 2**63 - 1, 2**29)], pa.int64()) == ([None], [True])
    assert _add(made, [(0, 2**63 - 1, -(2**29) * 40), (0, 5, 1)], pa.int64()) == (
        [None, 5],
        [False, False],
    )


@pytest.mark.parametrize("addends_max", [1, 50, 1 << 29])
@pytest.mark.parametrize("seed", range(6))
def test_sums_of_doubles_are_exact_whatever_is_carried(
    monkeypatch: pytest.MonkeyPatch, seed: int, addends_max: int
) -> None:
    monkeypatch.setattr(sums, "ADDENDS_MAX", addends_max)
    rng = random.Random(seed)
    made = _sum(AggregateFunction.SUM, DOUBLE)
    assert isinstance(made, DoubleSum)
    exact = [Fraction(0)] * SLOTS
    counts = [0] * SLOTS
    for _ in range(40):
        rows = [
            (rng.randrange(SLOTS), _double(rng), rng.choice([1, 1, -1, 3, 2**33, -(2**20)]))
            for _ in range(rng.randrange(1, 9))
        ]
        rows.sort(key=lambda row: row[0])
        expected: list[float | None] = []
        undone = rng.random() < 0.3
        before = list(exact), list(counts)
        for slot, value, weight in rows:
            exact[slot] += Fraction(value) * weight
            counts[slot] += weight
            expected.append(_rounded(exact[slot]) if counts[slot] > 0 else None)
        slots = np.arange(SLOTS)
        saved = made.save(slots)
        assert _add(made, list(rows), pa.float64())[0] == expected
        if undone:
            made.restore(slots, saved, slots)
            exact, counts = before
    assert _sums_state(made) == _sums_state(_of_fractions(exact))


def _double(rng: random.Random) -> float:
    return (
        rng.choice([1, -1]) * rng.random() * 2.0 ** rng.choice([-1074, -1000, -40, 0, 1, 60, 900])
    )


def _sums_state(made: ExactSums | DoubleSum) -> list[object]:
    if isinstance(made, DoubleSum):
        return list(made.columns(np.arange(SLOTS))["bins"].to_pylist())
    return list(made.column(np.arange(SLOTS)).to_pylist())


def _of_fractions(exact: list[Fraction]) -> ExactSums:
    """Return sums that are loaded from the digits of fractions, computed by the definition."""
    lists = []
    for each in exact:
        total = int(each * 2**sums.BIAS)
        sign, magnitude = (-1 if total < 0 else 1), abs(total)
        digits = [magnitude >> 32 * b & 0xFFFFFFFF for b in range(100)]
        lists.append([{"bin": b, "value": sign * d} for b, d in enumerate(digits) if d])
    kind = pa.list_(pa.struct([("bin", pa.int16()), ("value", pa.int64())]))
    made = ExactSums()
    made.grow(SLOTS)
    made.load(np.arange(SLOTS), pa.array(lists, kind))
    return made


@pytest.mark.parametrize("addends_max", [1, 1 << 30])
@pytest.mark.parametrize("top_bits", [40, 62])
@pytest.mark.parametrize("seed", range(6))
def test_sums_of_integers_are_exact_whatever_is_carried(
    monkeypatch: pytest.MonkeyPatch, seed: int, top_bits: int, addends_max: int
) -> None:
    monkeypatch.setattr(sums, "INTEGER_ADDENDS_MAX", addends_max)
    monkeypatch.setattr(sums, "TOP_BITS", top_bits)
    rng = random.Random(seed)
    made = _sum(AggregateFunction.AVG, BIGINT)
    assert isinstance(made, IntegerSum)
    exact, counts = [0] * SLOTS, [0] * SLOTS
    for _ in range(40):
        rows = [
            (
                rng.randrange(SLOTS),
                rng.choice([2**63 - 1, -(2**63), 0, -1, rng.randrange(-100, 100)]),
                rng.choice([1, 1, -1, 2**12, 2**50] if top_bits == 62 else [1, -1, 5]),
            )
            for _ in range(rng.randrange(1, 9))
        ]
        rows.sort(key=lambda row: row[0])
        expected = []
        before = list(exact), list(counts)
        for slot, value, weight in rows:
            exact[slot] += value * weight
            counts[slot] += weight
            mean = exact[slot] / counts[slot] if counts[slot] > 0 else None
            expected.append(mean)
        slots = np.arange(SLOTS)
        saved = made.save(slots)
        assert _add(made, list(rows), pa.int64())[0] == expected
        if rng.random() < 0.3:
            made.restore(slots, saved, slots)
            exact, counts = before
    columns = made.columns(slots)
    low, high, top = (columns[name].to_pylist() for name in ("low", "high", "top"))
    assert [
        part + (more << 32) + (most << 32 + top_bits)
        for part, more, most in zip(low, high, top, strict=True)
    ] == exact
    assert all(0 <= part < 2**32 for part in low)
    assert all(-(2 ** (top_bits - 1)) <= part < 2 ** (top_bits - 1) for part in high)
    again = _sum(AggregateFunction.AVG, BIGINT)
    again.load(slots, columns)
    assert again.columns(slots) == columns
    assert again.read(slots).array == made.read(slots).array
