"""The ages of chunks when they are released, by buckets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fsql.runtime.batch import Root
from fsql.runtime.dataflow.freshness import Freshness, bucket_of_age


def front(number: int, table: str, promised: int) -> Any:
    return SimpleNamespace(
        number=number, table=SimpleNamespace(name=table), promised=Root(promised, 0)
    )


def test_the_ages_of_released_chunks_are_counted_by_table() -> None:
    fresh = Freshness()
    fresh.on_chunk(front(0, "a", 10), 1.0)
    fresh.on_chunk(front(1, "b", 10), 1.5)
    fresh.on_chunk(front(0, "a", 20), 2.0)
    assert fresh.seconds_behind(Root(5, 0), 3.0) == 2.0
    assert fresh.released == {}
    assert fresh.seconds_behind(Root(10, 0), 3.0) == 1.0
    assert fresh.released == {("a", bucket_of_age(2.0)): 1, ("b", bucket_of_age(1.5)): 1}
    assert fresh.seconds_behind(Root(20, 0), 4.0) == 0.0
    assert fresh.released[("a", bucket_of_age(2.0))] == 2


@pytest.mark.parametrize(
    ("seconds", "bucket"),
    [(-1.0, 0), (0.0, 0), (1e-6, 0), (2e-6, 4), (0.001024, 40), (0.00121, 40), (0.00122, 41)],
)
def test_there_are_four_buckets_for_each_power_of_two(seconds: float, bucket: int) -> None:
    assert bucket_of_age(seconds) == bucket
