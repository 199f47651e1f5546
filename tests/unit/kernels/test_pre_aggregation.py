"""Rows that stand for those of a hot key: the numbers they keep, the keys they leave, and where they are."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.pre_aggregation import ArgumentColumns
from fsql.runtime.batch import Batch, Root
from fsql.runtime.hashing import hash_rows
from fsql.runtime.kernels.aggregate.pre_aggregation import HOT_MAX, PreAggregated, PreAggregation
from fsql.runtime.order import below

LEAST, GREATEST = -(2**63), 2**63 - 1
COLUMNS = ArgumentColumns(keys=(0,), summed=(1,), compared=(2,), counted=(3,))


def batch_of(
    keys: list[str | None],
    numbers: list[int | None],
    kind: pa.DataType = pa.int64(),  # noqa: B008 - a type is a constant
) -> Batch:
    """Return rows with a key, a number, the same as a DOUBLE, and NULL in every third row."""
    texts = [None if row % 3 == 0 else "text" for row in range(len(keys))]
    doubles = [None if number is None else float(number) for number in numbers]
    columns = [
        pa.array(keys, pa.string()),
        pa.array(numbers, kind),
        pa.array(doubles, pa.float64()),
        pa.array(texts, pa.string()),
    ]
    rows = np.arange(len(keys))
    return Batch(columns, rows + 100, rows, (), None, None, ascending=True)


def replaced(
    batch: Batch, least: int, hashes: object = None, cut: Root | None = None
) -> PreAggregated | None:
    given = hash_rows(batch.columns[:1], len(batch)) if hashes is None else hashes
    return PreAggregation(COLUMNS, least)(batch, given, cut)  # type: ignore[arg-type]


def rows_of(batch: Batch) -> list[tuple[object, ...]]:
    columns = [column.to_pylist() for column in batch.columns]
    return list(zip(*columns, batch.weights().tolist(), batch.time.tolist(), strict=True))


def numbers_of(batch: Batch) -> dict[object, tuple[object, ...]]:
    """Return for each key all that the aggregates may read, computed naively."""
    found: dict[object, tuple[object, ...]] = {}
    rows = [row for row in rows_of(batch) for _ in range(int(row[4]))]  # type: ignore[call-overload]
    for key in sorted({str(row[0]) for row in rows}):
        own = [row for row in rows if str(row[0]) == key]
        numbers = [row[1] for row in own if isinstance(row[1], int)]
        doubles = [row[2] for row in own if isinstance(row[2], float)]
        texts = [row[3] for row in own if row[3] is not None]
        extremes = [min(numbers), max(numbers)] if numbers else []
        bounds = [min(doubles), max(doubles)] if doubles else []
        counts = len(own), len(numbers), len(doubles), len(texts)
        found[key] = (*counts, sum(numbers), *extremes, *bounds)
    return found


def test_rows_of_a_hot_key_become_few() -> None:
    found = replaced(batch_of(["b", *"aaaaaaaaa", "c"], [7, 9, 4, 1, 6, 5, 5, 5, 5, 5, 8]), 3)
    assert found is not None
    assert found.greatest == Root(109, 9)
    assert found.rows.tolist() == [0, 1, 1, 1, 1, 1, 10]
    assert rows_of(found.batch) == [
        ("b", 7, 7.0, None, 1, 100),
        ("a", 1, 1.0, "text", 1, 101),
        ("a", 9, 1.0, "text", 1, 101),
        ("a", 5, 1.0, "text", 4, 101),
        ("a", 5, 1.0, None, 2, 101),
        ("a", 5, 9.0, None, 1, 101),
        ("c", 8, 8.0, "text", 1, 110),
    ]


@pytest.mark.parametrize("seed", range(40))
def test_all_numbers_stay(seed: int) -> None:
    random = Random(seed)
    kinds = [
        (pa.int64(), LEAST, GREATEST),
        (pa.int32(), -(2**31), 2**31 - 1),
        (pa.int8(), -128, 127),
    ]
    kind, least, greatest = random.choice(kinds)
    values = random.choice(
        ([least, greatest], [0, 1, None], [least, None], [None], [3], list(range(-5, 6)))
    )
    count = random.choice((5, 40, 2000))
    keys = [random.choice(("a", "a", "b", None)) for _ in range(count)]
    batch = batch_of(keys, [random.choice(values) for _ in keys], kind)
    found = replaced(batch, random.choice((1, 2, 100)))
    if found is None:
        assert count < 2000
        return
    assert len(found.batch) < len(batch)
    assert numbers_of(found.batch) == numbers_of(batch)
    assert [column.type for column in found.batch.columns] == [c.type for c in batch.columns]
    assert batch.columns[0].take(pa.array(found.rows)).equals(found.batch.columns[0])
    assert np.all(np.diff(found.batch.time) >= 0)


@pytest.mark.parametrize("seed", range(40))
def test_all_numbers_stay_on_each_side_of_a_cut(seed: int) -> None:
    random = Random(seed)
    keys = [random.choice(("a", "a", "b", None)) for _ in range(200)]
    batch = batch_of(keys, [random.choice((None, LEAST, 0, 7, GREATEST)) for _ in keys])
    if seed % 2:
        batch = batch.take(np.array(random.sample(range(200), 200)))
    at = random.randrange(200)
    cut = Root(100 + at, random.choice((at, -1)))
    found = replaced(batch, random.choice((2, 30)), cut=cut)
    assert found is not None
    assert len(found.batch) < 120
    for side in (True, False):
        before, after = (
            each.take(np.flatnonzero(below(each, cut) == side)) for each in (batch, found.batch)
        )
        assert numbers_of(after) == numbers_of(before)
    assert batch.columns[0].take(pa.array(found.rows)).equals(found.batch.columns[0])
    gone = set(batch.origin.tolist()) - set(found.batch.origin.tolist())
    assert found.greatest.origin >= max(gone)


def test_dictionaries_with_equal_values() -> None:
    batch = batch_of(["a"] * 20, [1] * 20)
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0] * 5), pa.array(["a", "a"]))
    batch = batch.with_columns([keys, *batch.columns[1:]])
    found = replaced(batch, 2, np.zeros(20, np.uint32))
    assert found is not None
    assert numbers_of(found.batch) == numbers_of(batch)


def test_keys_with_one_hash_stay_apart() -> None:
    batch = batch_of(["a", "b", "a", "b", "a", "a", "a", "a", "a"], [1] * 9)
    found = replaced(batch, 3, np.full(9, 5, np.uint32))
    assert found is not None
    assert numbers_of(found.batch) == numbers_of(batch)
    assert [row[0] for row in rows_of(found.batch)].count("b") == 2


def test_nothing_is_replaced_without_need() -> None:
    assert replaced(batch_of(["a", "b"] * 5, [1, 2] * 5), 6) is None
    assert replaced(batch_of(["a"], [1]), 1) is None
    weighted = batch_of(["a"] * 20, [1] * 20)
    weighted.weight = np.ones(20, np.int64)
    assert replaced(weighted, 2) is None


def test_the_most_frequent_keys_are_hot() -> None:
    keys = [f"k{number}" for number in range(HOT_MAX + 4) for _ in range(10 + number)]
    found = replaced(batch_of(list(keys), [1] * len(keys)), 2)
    assert found is not None
    left = [
        key for key in dict.fromkeys(keys) if found.batch.columns[0].to_pylist().count(key) >= 10
    ]
    assert left == [f"k{number}" for number in range(4)]
