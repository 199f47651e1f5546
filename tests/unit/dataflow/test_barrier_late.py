"""Late rows of several windows: their order, which no bound may show in."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.batch import END, Batch, Root
from fsql.runtime.dataflow.barrier import Barrier, LateRows
from fsql.runtime.dataflow.messages import Address, Parcel, PortKind

Row = tuple[Root, int, int]


def parcel(row: Row) -> Parcel:
    root, window, number = row
    columns = [pa.array([number])]
    batch = Batch(columns, np.array([root.time]), np.array([root.origin]), ())
    return Parcel(Address(0, window, PortKind.LATE), batch)


@pytest.mark.parametrize("seed", range(20))
def test_late_rows_come_by_root_and_window_whatever_the_bounds(seed: int) -> None:
    random = Random(seed)
    rows: list[Row] = [
        (Root(random.randrange(9), random.randrange(3)), random.randrange(3), number)
        for number in range(60)
    ]
    barrier = Barrier([], late_windows=3)
    for row in random.sample(rows, len(rows)):
        barrier.accept(parcel(row))
    passed: list[Row] = []
    for time in [*sorted(random.sample(range(9), 4)), None]:
        for contents in barrier.advance(END if time is None else Root(time, random.randrange(3))):
            assert isinstance(contents, LateRows)
            numbers = contents.rows.columns[0].to_pylist()
            passed += [
                (contents.rows.root(at), contents.window, number)
                for at, number in enumerate(numbers)
            ]
    assert passed == sorted(rows)
