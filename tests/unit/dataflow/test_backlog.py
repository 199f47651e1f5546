"""The parts of waiting rows that a fold applies one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime import order
from fsql.runtime.batch import Batch
from fsql.runtime.dataflow.backlog import in_turn

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "LARGE_ROWS", 2)


def batch(*times: int) -> Batch:
    rows = np.array(times, np.int64)
    return Batch([pa.array(rows)], rows, rows, ())


def times_of(parts: Sequence[Sequence[Sequence[Batch]]]) -> list[list[list[list[int]]]]:
    return [[[each.time.tolist() for each in side] for side in part] for part in parts]


def test_large_batches_with_separate_ranges_are_applied_in_order() -> None:
    sides = [[], [batch(7, 6), batch(3, 4), batch(8, 9)]]
    assert times_of(in_turn(sides)) == [[[], [[3, 4]]], [[], [[7, 6]]], [[], [[8, 9]]]]


@pytest.mark.parametrize(
    "sides",
    [
        [[batch(1, 4), batch(3, 5)]],
        [[batch(1, 2), batch(2, 3)]],
        [[batch(1), batch(2, 3)]],
        [[batch(1, 2)], [batch(3, 4)]],
        [[batch(1, 2)], []],
        [[], []],
    ],
    ids=["overlap", "share a root", "small", "of two sides", "one", "none"],
)
def test_other_batches_are_applied_together(sides: list[list[Batch]]) -> None:
    assert in_turn(sides) == [sides]
