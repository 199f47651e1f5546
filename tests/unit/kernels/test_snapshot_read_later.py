"""Incremental snapshots whose rows are made when the state has gone on: they are those of the position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.unit.dataflow.test_fold_snapshots import (
    ALL,
    POLICIES,
    at,
    counts,
    crossed,
    rows,
    running_count,
)

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import Policy


@POLICIES
@pytest.mark.parametrize("times", [[2, 3, 4], [2, 3, 9]])
def test_changes_before_a_snapshot_is_read_are_not_in_it(policy: Policy, times: list[int]) -> None:
    first = running_count(policy)
    assert first.announce(at(5))
    first.accept(0, rows("aab", times))
    taken = crossed(first, 5)
    first.accept(0, rows("abc", [10, 11, 12]))
    first.advance(at(20))
    assert taken is not None
    restored = running_count(policy)
    restored.load([taken], ALL, at(5))
    assert restored.announce(at(10))
    restored.accept(0, rows("a", [6]))
    again = crossed(restored, 10)
    restored.accept(0, rows("ab", [15, 16]))
    restored.advance(at(20))
    assert counts(taken) == ({"a": 2, "b": 1} if times[-1] < 5 else {"a": 2})
    assert counts(again) == {"a": 3}
