"""The assignment: every front and every hash bin has one owner."""

from __future__ import annotations

import pytest

from fsql.compiler.assignment import Assignment, FrontTask, are_readers, spread_fronts
from fsql.compiler.owner_map import BINS
from fsql.compiler.owners import Owners


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_every_front_has_one_owner(workers: int) -> None:
    fronts = [FrontTask(number, number % 2, number // 2) for number in range(10)]
    assignment = Assignment(Owners.of_equal_ranges(workers))
    owned = [assignment.fronts_of(worker, fronts) for worker in range(assignment.workers)]
    assert sorted(task.number for tasks in owned for task in tasks) == list(range(10))
    assert all(
        assignment.owner_of_front(task.number) == worker
        for worker, tasks in enumerate(owned)
        for task in tasks
    )


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_each_bin_has_one_owner(workers: int) -> None:
    owners = Assignment(Owners.of_equal_ranges(workers)).owners
    bins = [owners.bins_of(worker).every for worker in range(workers)]
    for number in range(BINS):
        found = [w for w in range(workers) if any(a <= number < b for a, b in bins[w])]
        assert found == [owners.every.owners[number]]


@pytest.mark.parametrize(
    ("readers", "workers", "spread"),
    [
        ((0, 1, 2), 1, (0, 0, 0)),
        ((0, 0, 0), 2, (0, 0, 1)),
        ((0, 0, 0, 0), 3, (0, 0, 1, 2)),
        ((0, 1, 0, 1), 3, (0, 1, 0, 1)),
        ((2, 2, 0, 1), 2, (0, 1, 0, 1)),
        ((0,), 3, (0,)),
        ((), 2, ()),
    ],
)
def test_fronts_are_spread_with_few_moves(
    readers: tuple[int, ...], workers: int, spread: tuple[int, ...]
) -> None:
    assert spread_fronts(readers, workers) == spread
    assert are_readers(spread, len(readers), workers)
    assert spread_fronts(spread, workers) == spread


def test_readers_are_given_for_each_front() -> None:
    fronts = [FrontTask(number, 0, number) for number in range(3)]
    turns = Assignment(Owners.of_equal_ranges(2))
    assert turns.readers_of(fronts) == (0, 1, 0)
    given = Assignment(turns.owners, (1, 1, 0))
    assert given.readers_of(fronts) == (1, 1, 0)
    assert given.fronts_of(1, fronts) == (fronts[0], fronts[1])
    assert not are_readers((0, 1), 3, 2)
    assert not are_readers((0, 1, 2), 3, 2)
