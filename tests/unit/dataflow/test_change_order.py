"""Changes are ordered by one sort of their keys as they are when they are consolidated first."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.batch import Batch
from fsql.runtime.change_order import ChangeOrder, canonical_order, order_of_replacements
from fsql.runtime.order import lexicographic_order, starts_of_runs
from fsql.runtime.packed_columns import order_within_runs
from fsql.runtime.weights import consolidate

KEY = (0, 1)


def changes(random: Random, *, same: bool) -> Batch:
    """Return changes: at each root a key has an addition, a removal or both; with `same` also equal rows."""
    rows: list[tuple[Any, ...]] = []
    for root in range(random.choice((10, 100))):
        for key in random.sample(range(20), random.randrange(4)):
            text = random.choice((None, "a", "b"))
            before = (root, key, text, random.randrange(3), random.choice(("x", "y")), -1)
            after = (*before[:3], before[3] + random.randrange(2), f"{before[4]}!", 1)
            rows += random.choice(([before], [after], [before, after], [after, before]))
            if same and random.random() < 0.1:
                rows += random.choice(([before], [(*before[:5], 1)], [after], [after, after]))
    if random.random() < 0.5:
        random.shuffle(rows)
    roots, keys, texts, numbers, others, weight = zip(*rows, strict=True)
    columns = [pa.array(texts, pa.string()), pa.array(keys), pa.array(others), pa.array(numbers)]
    return Batch(columns, np.array(roots), np.zeros(len(rows), np.int64), (), np.array(weight))


def lines(rows: Batch, order: ChangeOrder) -> list[tuple[Any, ...]]:
    """Return the rows in their order, with whether they are a removal that an addition follows."""
    taken = rows.take(order.rows)
    paired = np.isin(np.arange(len(taken)), order.paired).tolist()
    columns = [column.to_pylist() for column in taken.columns]
    return list(zip(taken.time.tolist(), *columns, taken.weights().tolist(), paired, strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_changes_are_ordered_as_consolidated(seed: int) -> None:
    random = Random(seed)
    rows = changes(random, same=seed % 3 == 0)
    net = consolidate(rows, by_path=False)
    found = order_of_replacements(rows, KEY)
    assert found is not None or seed % 3 == 0 or len(rows) <= 32
    if found is not None:
        assert lines(rows, found) == lines(net, canonical_order(net, KEY))
    assert order_of_replacements(rows, None) is None


def test_two_changes_of_one_key_that_may_be_equal_are_left_to_consolidation() -> None:
    columns = [pa.array(["a"] * 40), pa.array([*range(38), 7, 7]), pa.array([1] * 40)]
    weight = np.array([1] * 39 + [-1])
    nothing = np.zeros(40, np.int64)
    rows = Batch(columns, nothing, nothing, (), weight)
    assert order_of_replacements(rows, KEY) is None
    net = consolidate(rows, by_path=False)
    assert [line[2] for line in lines(net, canonical_order(net, KEY))] == [*range(38)]


@pytest.mark.parametrize("seed", range(40))
def test_rows_that_come_in_runs_are_ordered_within_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, spread = 300, int(random.choice([3, 1 << 20, 1 << 62]))
    first = np.sort(random.integers(0, 100, count))
    others = [random.integers(-spread, spread, count) for _ in range(3)]
    expected = np.lexsort([*others[::-1], first]).tolist()
    found = order_within_runs(starts_of_runs(first), others)
    assert found is not None
    assert found.tolist() == expected
    order = lexicographic_order([first, *others])
    assert order is not None
    assert order.tolist() == expected
