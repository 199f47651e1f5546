from __future__ import annotations

from random import Random

import pytest

from fsql.compiler.graph import ToWindows
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import STRING, TIMESTAMP, TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.runtime.batch import Root
from fsql.runtime.kernels.maps import compile_map
from fsql.tests.unit.kernels.rows import Failed, Row, batch_of, failures_of, rows_of

SCHEMA = (Column("word", STRING), Column("at", TIMESTAMP, nullable=False, time_attribute=True))
TYPES = [STRING, TIMESTAMP]
MADE = [*TYPES, TIMESTAMP, TIMESTAMP, TIMESTAMP]


def to_windows(size: int, slide: int, offset: int = 0) -> ToWindows:
    return ToWindows(time_column=1, size_us=size, slide_us=slide, offset_us=offset)


def rows_at(*times: int) -> list[Row]:
    return [
        Row((f"w{number}", time), Root(time, number), (4,), 1) for number, time in enumerate(times)
    ]


def windows(function: ToWindows, rows: list[Row]) -> list[tuple[str, int, int]]:
    """Return (word, window_start, index) of each row that comes out, having checked the rest of it."""
    result = compile_map(function, SCHEMA)(batch_of(rows, TYPES, 1))
    assert result.errors is None
    found = []
    for row in rows_of(result.rows, MADE):
        word, at, start, end, time = row.values
        assert isinstance(word, str)
        assert isinstance(start, int)
        assert (end, time) == (start + function.size_us, start + function.size_us - 1)
        assert row.root == (at, int(word[1:]))
        assert row.path[0] == 4
        found.append((word, start, row.path[1]))
    return found


def test_tumbling() -> None:
    assert windows(to_windows(10, 10), rows_at(0, 9, 10, -1)) == [
        *(("w0", 0, 0), ("w1", 0, 0), ("w2", 10, 0), ("w3", -10, 0)),
    ]
    assert windows(to_windows(10, 10, 3), rows_at(2, 3)) == [("w0", -7, 0), ("w1", 3, 0)]


def test_hopping_windows_come_in_ascending_order_of_start() -> None:
    assert windows(to_windows(10, 4), rows_at(12, 3)) == [
        *(("w0", 4, 0), ("w0", 8, 1), ("w0", 12, 2)),
        *(("w1", -4, 0), ("w1", 0, 1)),
    ]


def test_a_row_between_windows_is_in_none() -> None:
    assert windows(to_windows(2, 10), rows_at(1, 2, 9, 10)) == [("w0", 0, 0), ("w3", 10, 0)]


def test_no_rows() -> None:
    assert windows(to_windows(10, 4), []) == []


def test_a_window_that_leaves_the_years_fails_its_row() -> None:
    rows = rows_at(TIMESTAMP_MIN, 0, TIMESTAMP_MAX)
    result = compile_map(to_windows(60, 7), SCHEMA)(batch_of(rows, TYPES, 1))
    assert failures_of(result) == [
        Failed(504, Root(TIMESTAMP_MIN, 0), 1),
        Failed(504, Root(TIMESTAMP_MAX, 2), 1),
    ]
    assert {row.values[0] for row in rows_of(result.rows, MADE)} == {"w1"}


@pytest.mark.parametrize("seed", range(20))
def test_a_row_is_in_the_windows_that_hold_its_time(seed: int) -> None:
    random = Random(seed)
    size, slide = random.randrange(1, 30), random.randrange(1, 30)
    offset = random.randrange(-40, 40)
    rows = rows_at(*(random.randrange(-100, 100) for _ in range(12)))
    expected = []
    for row in rows:
        starts = [offset + k * slide for k in range(-300, 300)]
        holding = [start for start in starts if start <= row.root.time < start + size]
        expected += [(row.values[0], start, index) for index, start in enumerate(holding)]
    assert windows(to_windows(size, slide, offset), rows) == expected
