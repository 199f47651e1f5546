"""The assignment: every front and every hash bin has one owner."""

from __future__ import annotations

import pytest

from fsql.compiler.assignment import Assignment, FrontTask
from fsql.compiler.owner_map import BIN_SHIFT, BINS, OwnerMap


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_every_front_has_one_owner(workers: int) -> None:
    fronts = [FrontTask(number, number % 2, number // 2) for number in range(10)]
    assignment = Assignment(OwnerMap.of_equal_ranges(workers))
    owned = [assignment.fronts_of(worker, fronts) for worker in range(assignment.workers)]
    assert sorted(task.number for tasks in owned for task in tasks) == list(range(10))
    assert all(
        assignment.owner_of_front(task.number) == worker
        for worker, tasks in enumerate(owned)
        for task in tasks
    )


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_the_owner_of_a_hash_owns_its_bin(workers: int) -> None:
    assignment = Assignment(OwnerMap.of_equal_ranges(workers))
    bins = [assignment.bins_of(worker) for worker in range(workers)]
    for number in range(BINS):
        owners = [w for w in range(workers) if any(a <= number < b for a, b in bins[w])]
        assert owners == [assignment.owner_of_hash((number + 1 << BIN_SHIFT) - 1)]
