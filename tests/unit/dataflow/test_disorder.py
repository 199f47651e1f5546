"""What folds count of the order of rows: an ordered one estimates what a speculative one applies again."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.compiler.logical import FrameEnd
from fsql.compiler.lowering import lower
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.optimizer.choose import choose
from fsql.runtime.batch import END, Root
from fsql.runtime.dataflow import disorder
from fsql.runtime.dataflow.fold_kernels import make_fold
from fsql.tests.unit.dataflow.plans import (
    KEY,
    NUMBER,
    call,
    column,
    grouped,
    insert,
    over,
    table,
)
from fsql.tests.unit.dataflow.test_fold import batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.dataflow.fold import Fold


def running() -> logical.Plan:
    return over(logical.Scan(table(0), 0), KEY, (call("COUNT"), FrameEnd.CURRENT_ROW))


def of_groups() -> logical.Plan:
    scan = logical.Scan(table(0), 0)
    return grouped(scan, [KEY], call("SUM", column(scan, NUMBER)))


def of_all() -> logical.Plan:
    scan = logical.Scan(table(0), 0)
    return grouped(scan, [], call("SUM", column(scan, NUMBER)))


def of_two() -> logical.Plan:
    one, other = logical.Scan(table(0), 0), logical.Scan(table(1), 1)
    return logical.Join(one, other, (column(one, KEY),), (column(other, KEY),), None)


def fold_of(query: logical.Plan, policy: Policy) -> Fold:
    job = logical.Job((insert(query),))
    plan = choose(lower(job), policy=policy, repairs_free=1_000_000)
    [head] = [stage.head for stage in plan.stages if isinstance(stage.head, FoldHead)]
    return make_fold(head)


def given(fold: Fold, seed: int, sides: int, rows: int = 1, keys: int = 5) -> int:
    """Give a fold batches that overtake each other, with advances of min time in between.

    Return how many rows waited that had a key of a batch, if one of them was at or above the least of it.
    """
    random = Random(seed)
    time = later = 0
    waiting: list[tuple[int, str]] = []
    for _ in range(120):
        times = sorted(random.sample(range(time + 1, time + 40 * rows), rows))
        names = [f"k{random.randrange(keys)}" for _ in times]
        again = {name for at, name in waiting if at >= times[0] and name in names}
        later += sum(name in again for _, name in waiting)
        waiting += zip(times, names, strict=True)
        fold.accept(random.randrange(sides), batch(names, times))
        if random.random() < 0.2:
            time += random.randrange(20)
            fold.advance(Root(time, 1))
            waiting = [row for row in waiting if row[0] > time]
    fold.advance(END)
    return later


@pytest.mark.parametrize(
    ("query", "sides", "keys"),
    [(running, 1, 5), (of_groups, 1, 5), (of_all, 1, 1), (of_two, 2, 5)],
)
def test_an_ordered_fold_estimates_what_a_speculative_one_redoes(
    query: Callable[[], logical.Plan], sides: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disorder, "COUNTED_AGAIN", 1_000)
    monkeypatch.setattr(disorder, "BATCHES_MAX", 1_000)
    waits, repairs = (fold_of(query(), policy) for policy in (Policy.ORDERED, Policy.SPECULATIVE))
    later = given(waits, 1, sides, keys=keys)
    given(repairs, 1, sides, keys=keys)
    counted, other = waits.disorder.take(), repairs.disorder.take()
    assert (waits.rows_redone, other.would_redo) == (0, 0)
    assert counted.would_redo == later
    assert later * 0.6 < repairs.rows_redone < later * 1.05
    assert counted[:2] == other[:2]
    assert counted.batches == 120 > counted.disordered > 50
    assert 10 < counted.advances <= other.advances


def test_a_sample_of_the_batches_is_enough() -> None:
    """Batches of 30 rows: of most of them, and most of the waiting ones, nothing is searched."""
    counted = later = 0
    for seed in range(5):
        fold = fold_of(running(), Policy.ORDERED)
        later += given(fold, seed, 1, rows=30, keys=300)
        counted += fold.disorder.take().would_redo
    assert counted == pytest.approx(later, rel=0.25)


def test_counts_begin_again_when_they_are_taken() -> None:
    fold = fold_of(running(), Policy.ORDERED)
    fold.accept(0, batch(["a"], [10]))
    for time in range(9, 5, -1):
        fold.accept(0, batch(["a"], [time]))
    assert fold.disorder.take() == (5, 4, 0, 1 + 2 + 3 + 4)
    assert fold.disorder.take() == (0, 0, 0, 0)
    fold.accept(0, batch(["a"], [4]))
    fold.advance(Root(7, 0))
    assert fold.disorder.take() == (1, 1, 1, 5)


def test_rows_in_order_are_not_out_of_order() -> None:
    for policy in Policy:
        fold = fold_of(running(), policy)
        for time in range(0, 100, 10):
            fold.accept(0, batch(["a"] * 9, list(range(time, time + 9))))
            fold.accept(0, batch(["a"], [time + 9]))
            fold.advance(Root(time + 5, 0))
        assert fold.disorder.take() == (20, 0, 10, 0)


def test_keys_that_do_not_meet_are_not_redone() -> None:
    """Two splits with keys of their own: each batch is behind the other one's, and none is repaired."""
    fold = fold_of(running(), Policy.ORDERED)
    for time in range(0, 100, 10):
        fold.accept(0, batch(["a"], [time + 9]))
        fold.accept(0, batch(["b"], [time]))
    assert fold.disorder.take() == (20, 10, 0, 0)
