"""Rows are brought into the total order, however few there are and whether or not positions are equal."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.batch import Batch
from fsql.runtime.order import concat, position_order


@pytest.mark.parametrize("count", [2, 16, 17, 200, 2_000])
@pytest.mark.parametrize("roots", [1, 3])
@pytest.mark.parametrize("places", ["in order", "distinct", "equal"])
def test_rows_come_by_root_then_place_then_value(count: int, roots: int, places: str) -> None:
    rng = random.Random(count)
    place = (
        list(range(count)) if places != "equal" else [rng.randrange(count) for _ in range(count)]
    )
    if places == "distinct":
        rng.shuffle(place)
    time = sorted(rng.randrange(roots) for _ in range(count))
    value = [rng.randrange(9) for _ in range(count)]
    order = sorted(range(count), key=lambda row: (time[row], place[row], value[row]))
    middle = count // 3
    batch = concat(
        [
            Batch(
                [pa.array(value[part])],
                np.array(time[part]),
                np.zeros(len(time[part]), np.int64),
                (np.array(place[part]),),
            )
            for part in (slice(middle), slice(middle, None))
            if len(time[part])
        ]
    )
    found = position_order(batch, ties=True)
    rows = range(count) if found is None else found.tolist()
    key = [(time[row], place[row], value[row]) for row in rows]
    assert key == [(time[row], place[row], value[row]) for row in order]
    assert sorted(rows) == list(range(count))
    if places == "in order" and roots == 1:
        assert found is None
