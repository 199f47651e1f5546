"""What a worker counts of the rows that it sends into folds, against exact counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.owner_map import BIN_SHIFT
from fsql.compiler.tick_plan import ToFold
from fsql.runtime.batch import Batch
from fsql.runtime.dataflow.bin_loads import (
    HASHED_ROWS_MAX,
    HEAVY_MAX,
    SAMPLED,
    SAMPLED_WITHOUT_HASHES,
    BinLoads,
)
from fsql.runtime.hashing import hash_rows
from fsql.tests.unit.optimizer.jobs import plan_of

TO = ToFold(1, 0, ())
SCRIPT = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'stdin', 'format' = 'text');
CREATE TABLE counts (line STRING, n BIGINT) WITH ('connector' = 'stdout');
INSERT INTO counts SELECT line, COUNT(*) AS n FROM lines GROUP BY line;
"""


def words(count: int, seed: int) -> list[str]:
    """Return words of which word 0 is a third."""
    random = np.random.default_rng(seed)
    return [f"w{0 if number % 3 == 0 else number}" for number in random.integers(0, 3000, count)]


@dataclass
class Keys:
    """Evaluates the first column."""

    def __call__(self, batch: Batch) -> tuple[list[pa.Array], None, None]:
        return [batch.columns[0]], None, None


def batch_of(texts: list[str]) -> Batch:
    zeros: Any = np.zeros(len(texts), np.int64)
    return Batch([pa.array(texts)], zeros, zeros, (), None)


@pytest.mark.parametrize(("rows", "count"), [(20_000, 8), (3, 400), (1, 50)])
def test_rows_and_heavy_keys(rows: int, count: int) -> None:
    loads, bins, keys = BinLoads(plan_of(SCRIPT)), Counter[int](), Counter[str]()
    for number in range(count):
        texts = words(rows, number)
        values = [pa.array(texts)]
        hashes = hash_rows(values, rows)
        loads.add(TO, values, hashes, hashes, batch_of(texts))
        keys.update(texts)
        bins.update((hashes >> BIN_SHIFT).tolist())
    [load] = loads.take()
    assert loads.take() == []
    assert abs(int(load.rows.sum()) - rows * count) <= 0.01 * rows * count + 4096 * 0.5
    sampled = rows * -(-count // SAMPLED)
    tolerance = 4 * (sampled**0.5) * rows * count / sampled
    hot = int(hash_rows([pa.array(["w0"])], 1)[0])
    assert abs(int(load.rows[hot >> BIN_SHIFT]) - bins[hot >> BIN_SHIFT]) <= tolerance
    assert len(load.heavy) <= HEAVY_MAX
    heaviest = load.heavy[0]
    assert (heaviest.hash, heaviest.key) == (hot, "w0")
    assert abs(heaviest.rows - keys["w0"]) <= heaviest.error + 2 * tolerance


def test_bytes_and_negative_rows() -> None:
    """All keys have five bytes and an offset of four, and a row two columns of positions."""
    loads, keys = BinLoads(plan_of(SCRIPT)), Counter[int]()
    for number in range(12):
        texts = [f"k{(row + number) % 900 + 1000}" for row in range(3000)]
        weight = np.where(np.arange(3000) % 3 == 0, -1, 1)
        batch = replace(batch_of(texts), weight=weight)
        hashes = hash_rows(batch.columns, len(texts))
        loads.add(TO, batch.columns, hashes, hashes, batch)
        keys.update((hashes[weight < 0] >> BIN_SHIFT).tolist())
    [load] = loads.take()
    assert load.rows.sum() == 36_000
    assert load.bytes.sum() == pytest.approx(36_000 * (5 + 4 + 16), rel=0.01)
    assert load.negative.sum() == pytest.approx(12_000, rel=0.02)
    assert np.all(load.negative <= load.rows)
    assert not set(np.flatnonzero(load.negative).tolist()) - set(keys)


def test_rows_without_hashes_are_sampled() -> None:
    loads = BinLoads(plan_of(SCRIPT))
    rows, count = HASHED_ROWS_MAX * 2 + 5, SAMPLED_WITHOUT_HASHES * 2
    for number in range(count):
        loads.sample(TO, Keys(), batch_of(words(rows, number)))  # type: ignore[arg-type]
    [load] = loads.take()
    assert abs(int(load.rows.sum()) - rows * count) <= 4096
    assert load.heavy[0].key == "w0"
    assert abs(load.heavy[0].rows / (rows * count) - 1 / 3) < 0.05
