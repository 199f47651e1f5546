"""Partials of the parts of a group combine to the group, and can be taken out again, for each aggregate.

The judge is the accumulator over all rows at once.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fsql.compiler.aggregate_algebra import ALGEBRAS, algebra_of
from fsql.compiler.expression import OF_TWO, AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.functions.aggregates import aggregate_result
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, SqlType
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.kernels.accumulators.accumulator import struct_of
from fsql.runtime.kernels.accumulators.of_call import accumulator, merging
from fsql.runtime.kernels.keyed.steps import steps_of
from fsql.runtime.order import starts_of_runs

if TYPE_CHECKING:
    import pyarrow as pa

    from fsql.compiler.expression import Value
    from fsql.runtime.arrays import Bools

F = AggregateFunction
HUGE = 2**62
VALUES: dict[SqlType, tuple[Value, ...]] = {
    BIGINT: (None, 0, 1, -1, 7, 7, 1000, HUGE, -HUGE, 2**63 - 1),
    DOUBLE: (None, 0.0, -0.0, 0.1, 1e300, -1e300, 1e-300, float("nan"), float("inf"), 3.5, 3.5),
    STRING: (None, "", "a", "b", "ab", "b"),
}


def calls() -> list[AggregateCall]:
    """Return calls of each function that merges, over each type that it takes."""
    found = [AggregateCall(F.COUNT, None, BIGINT, nullable=False)]
    for function in F:
        for type_ in VALUES:
            result = aggregate_result(function, type_)
            if result is None or function in {F.PYTHON, F.PROGRAM, F.MATCH_RECOGNIZE}:
                continue
            argument = ColumnRef(type_, nullable=True, index=0)
            parameter = 0.5 if function.value.startswith("PERCENTILE") else None
            ordered = (argument,), ((True, False),)
            of_two = (argument,), ()
            others = of_two if function in OF_TWO else ((), ())
            shapes: list[tuple[Any, bool]] = [(others, False)]
            if function in {F.FIRST_VALUE, F.LAST_VALUE, F.ARRAY_AGG}:
                shapes = [(ordered, False)]
            elif function not in OF_TWO:
                shapes.append((others, True))
            for (more, directions), distinct in shapes:
                call = AggregateCall(
                    *(function, argument, result),
                    nullable=True,
                    distinct=distinct,
                    others=more,
                    directions=directions,
                    parameter=parameter,
                )
                if algebra_of(call).merges:
                    found.append(call)
    return found


def column(call: AggregateCall, values: list[Value]) -> pa.Array | None:
    """Return the arguments of rows."""
    if call.argument is None:
        return None
    made = to_arrow(values, call.argument.type)
    return struct_of([made] * len(call.arguments)) if call.others else made


def name(call: AggregateCall) -> str:
    kind = "" if call.argument is None else f" {call.argument.type}"
    return f"{call.function.value}{kind}{' distinct' if call.distinct else ''}"


def test_each_function_has_an_algebra() -> None:
    assert set(ALGEBRAS) == set(F)


@pytest.mark.parametrize("call", calls(), ids=name)
def test_partials_combine_to_the_whole(call: AggregateCall) -> None:
    random = Random(name(call))
    for _ in range(6):
        _check(call, random)


IDEMPOTENT = [call for call in calls() if algebra_of(call).idempotent]


@pytest.mark.parametrize("call", IDEMPOTENT, ids=name)
def test_combining_twice_changes_nothing_of_idempotent_aggregates(call: AggregateCall) -> None:
    random = Random(name(call))
    assert call.argument is not None
    for _ in range(20):
        values = [random.choice(VALUES[call.argument.type]) for _ in range(3)]
        partials = accumulator(call, append_only=True, shown=False)
        partials.grow(1)
        rows = np.zeros(len(values), np.int64)
        partials.add(column(call, values), None, steps_of(rows, starts_of_runs(rows)))
        total = merging(call)
        total.grow(1)
        twice = np.zeros(2, np.int64)
        steps = steps_of(twice, starts_of_runs(np.arange(2)))
        after = total.add_partials(partials, twice, np.ones(2, np.int64), steps)
        once, again = after.array.to_pylist()
        assert repr(once) == repr(again), values
        assert _failed(after.failed, 0) == _failed(after.failed, 1), values


def _check(call: AggregateCall, random: Random) -> None:
    pool = (None,) if call.argument is None else VALUES[call.argument.type]
    parts: list[list[Value]] = [
        [random.choice(pool) for _ in range(random.choice((0, 1, 2, 5)))] for _ in range(5)
    ]
    partials = accumulator(call, append_only=True, shown=False)
    partials.grow(len(parts))
    for slot, values in enumerate(parts):
        if values:
            rows = np.full(len(values), slot)
            partials.add(column(call, values), None, steps_of(rows, starts_of_runs(rows)))
    total = merging(call)
    total.grow(1)
    # A window of two parts moves over all of them: each step combines one and takes one out.
    events = [(0, [(0, 1)])]
    events += [(n, [(n, 1), *([(n - 2, -1)] if n > 1 else [])]) for n in range(1, len(parts))]
    slots = np.array([slot for _, step in events for slot, _ in step])
    signs = np.array([sign for _, step in events for _, sign in step])
    numbers = np.repeat([n for n, _ in events], [len(step) for _, step in events])
    steps = steps_of(np.zeros(len(slots), np.int64), starts_of_runs(numbers))
    after = total.add_partials(partials, slots, signs, steps)
    for n in range(len(parts)):
        _compare(
            call, after.array[n : n + 1], _failed(after.failed, n), parts[max(0, n - 1) : n + 1]
        )
    kept = total.read(np.zeros(1, np.int64))
    _compare(call, kept.array, _failed(kept.failed, 0), parts[-2:])


def _failed(failed: Bools | None, index: int) -> bool:
    return failed is not None and bool(failed[index])


def _compare(call: AggregateCall, found: pa.Array, failed: bool, parts: list[list[Value]]) -> None:  # noqa: FBT001
    """Compare a value with that of all rows of some parts."""
    values = [value for part in parts for value in part]
    whole = accumulator(call, append_only=True)
    whole.grow(1)
    expected = whole.read(np.zeros(1, np.int64))
    if values:
        rows = np.zeros(len(values), np.int64)
        expected = whole.add(column(call, values), None, steps_of(rows, starts_of_runs(rows)))
    assert failed == _failed(expected.failed, 0)
    assert repr(found.to_pylist()) == repr(expected.array.to_pylist()), values
