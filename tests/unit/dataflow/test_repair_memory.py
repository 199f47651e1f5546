"""A repair takes memory for the keys that it touches, not for all keys of the fold."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler import logical
from fsql.compiler.logical import FrameEnd
from fsql.compiler.lowering import lower
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.optimizer.choose import choose
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import Batch, Root
from fsql.runtime.dataflow.fold_kernels import make_fold
from fsql.tests.unit.dataflow.plans import (
    DOUBLE_VALUE,
    KEY,
    NUMBER,
    call,
    column,
    grouped,
    insert,
    over,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value

FEW, MANY = 1 << 10, 1 << 17
BYTES_MORE_MAX = 16_384
"""How much more memory a repair may take with many keys: a byte for each key would be eight times as much."""

SCAN = logical.Scan(table(0), 0)
NUMBERS, DOUBLES = column(SCAN, NUMBER), column(SCAN, DOUBLE_VALUE)
QUERIES: dict[str, Callable[[], logical.Plan]] = {
    "counts and sums": lambda: grouped(
        SCAN, [KEY], call("COUNT"), call("SUM", NUMBERS), call("SUM", DOUBLES)
    ),
    "extremes": lambda: grouped(SCAN, [KEY], call("MIN", NUMBERS), call("MAX", DOUBLES)),
    "running counts": lambda: over(SCAN, KEY, (call("COUNT"), FrameEnd.CURRENT_ROW)),
}


def rows(keys: np.ndarray, time: int) -> Batch:
    """Return a row for each key at the same position; paths are numbered."""
    types = [found.type for found in table(0).columns]
    names: list[Value] = [f"k{key}" for key in keys.tolist()]
    number: list[Value] = [1] * len(keys)
    values: list[list[Value]] = [names, names, number, [0.5] * len(keys), number]
    columns = [to_arrow(items, kind) for items, kind in zip(values, types, strict=True)]
    times = np.full(len(keys), time, np.int64)
    return Batch(columns, times, np.arange(len(keys)), ())


def peak_of_a_repair(query: logical.Plan, keys: int) -> int:
    """Return the greatest number of bytes that a late row of one key takes, in a fold of `keys` keys."""
    plan = choose(lower(logical.Job((insert(query),))), policy=Policy.SPECULATIVE)
    [head] = [stage.head for stage in plan.stages if isinstance(stage.head, FoldHead)]
    fold = make_fold(head)
    fold.accept(0, rows(np.arange(keys), 1))
    fold.advance(Root(2, 0))
    one = np.array([keys - 1])
    peaks = []
    for late in (10, 20, 30):
        fold.accept(0, rows(one, late))
        tracemalloc.start()
        output = fold.accept(0, rows(one, late - 1))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        peaks.append(peak)
    assert fold.rows_redone >= 3
    assert output.repairs
    return min(peaks)


@pytest.mark.parametrize("query", QUERIES)
def test_the_memory_of_a_repair_does_not_depend_on_the_number_of_keys(query: str) -> None:
    few, many = (peak_of_a_repair(QUERIES[query](), keys) for keys in (FEW, MANY))
    assert many <= few + BYTES_MORE_MAX
