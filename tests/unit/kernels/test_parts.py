"""Parts of hot keys: which rows are in which, and how evenly parts are spread over hash bins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.expression import ColumnRef
from fsql.compiler.graph import ToParts
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.runtime.batch import Batch, origin
from fsql.runtime.hashing import hash_rows
from fsql.runtime.kernels.maps import compile_map

KEY = ColumnRef(STRING, nullable=True, index=0)
SCHEMA = (Column("k", STRING), Column("n", BIGINT))
PARTS = 16
ROWS = 1 << 18


def batch_of(keys: list[str | None], time: np.ndarray, root: np.ndarray) -> Batch:
    """Return rows whose keys repeat."""
    texts = pa.array(keys).take(pa.array(np.arange(len(time)) % len(keys)))
    return Batch([texts, pa.array(np.arange(len(time)))], time, root, (np.zeros_like(time),))


def parts_of(batch: Batch, *, copied: bool = False) -> tuple[Batch, np.ndarray]:
    """Return the rows with their parts, and the parts."""
    made = compile_map(ToParts(KEY, ("a", "b"), PARTS, copied), SCHEMA)(batch).rows
    return made, made.columns[-1].to_numpy(zero_copy_only=False)


def test_rows_of_a_table_are_divided_evenly_in_runs() -> None:
    rows = np.arange(ROWS)
    _, parts = parts_of(batch_of(["a"], rows // 7, origin(1, 2, 0) + rows))
    numbers, counts = np.unique(parts, return_counts=True)
    assert len(numbers) == PARTS
    assert 0 not in numbers
    assert counts == pytest.approx(ROWS / PARTS, rel=0.1)
    assert len(np.flatnonzero(np.diff(parts))) <= ROWS // 256
    alone = parts_of(batch_of(["a"], rows[-1:] // 7, origin(1, 2, 0) + rows[-1:]))[1]
    assert alone.tolist() == parts[-1:].tolist()


def test_rows_at_times_are_divided_evenly() -> None:
    time = np.arange(ROWS) * 60_000
    counts = np.unique(parts_of(batch_of(["b"], time, np.full(ROWS, -1)))[1], return_counts=True)[1]
    assert counts == pytest.approx(ROWS / PARTS, rel=0.1)


@pytest.mark.parametrize("key", ["a", "b"])
def test_parts_are_in_equal_ranges_of_hashes(key: str) -> None:
    """So each worker has equally many, if it owns one of 2, 4, 8 or 16 equal ranges."""
    _, parts = parts_of(batch_of([key], np.zeros(1, np.int64), np.zeros(1, np.int64)), copied=True)
    hashes = hash_rows([pa.array([key] * PARTS), pa.array(parts)], PARTS)
    assert (hashes >> 28).tolist() == list(range(PARTS))


def test_other_keys_are_whole_and_copies_have_the_position_of_their_row() -> None:
    zeros = np.zeros(4, np.int64)
    batch = batch_of(["a", "c", None, "b"], zeros, np.arange(4))
    made, parts = parts_of(batch, copied=True)
    assert made.columns[1].to_pylist() == [*[0] * PARTS, 1, 2, *[3] * PARTS]
    assert made.origin.tolist() == made.columns[1].to_pylist()
    assert [len(level) for level in made.path] == [len(made)]
    assert parts[PARTS : PARTS + 2].tolist() == [0, 0]
    assert len({*parts[:PARTS].tolist(), *parts[-PARTS:].tolist()} | {0}) > PARTS
    _, divided = parts_of(batch)
    assert divided[1:3].tolist() == [0, 0]
    assert divided[0] in parts[:PARTS]
    assert divided[3] in parts[-PARTS:]
