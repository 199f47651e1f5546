"""Chunks follow the time that they take."""

from __future__ import annotations

import pytest

from fsql.runtime.hosts.chunk_size import ChunkSize


@pytest.mark.parametrize(
    ("seconds_of_row", "rows"),
    [
        pytest.param(0.0, [1000] * 5, id="clocks that stand still, as in the simulation"),
        pytest.param(0.0001, [1000] * 5, id="fast enough"),
        pytest.param(0.001, [1000, 250, 250, 250, 250], id="too slow"),
        pytest.param(1.0, [1000, 1, 1, 1, 1], id="one row takes longer than that"),
    ],
)
def test_rows_of_chunks(seconds_of_row: float, rows: list[int]) -> None:
    size = ChunkSize(1000)
    read = []
    for _ in range(5):
        read.append(size.rows)
        size.on_chunk(size.rows, size.rows * seconds_of_row)
    assert read == rows


def test_chunks_grow_again_when_the_processor_is_free() -> None:
    size = ChunkSize(1000)
    size.on_chunk(1000, 4.0)
    assert size.rows == 62
    read = []
    for _ in range(6):
        size.on_chunk(size.rows, size.rows * 0.0001)
        read.append(size.rows)
    assert read == [124, 248, 496, 992, 1000, 1000]
