"""The fold: what repairs cost and what state is kept; results are judged by the cascades."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler import logical
from fsql.compiler.logical import FrameEnd
from fsql.compiler.lowering import lower
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.optimizer.choose import choose
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import END, Batch, Root
from fsql.runtime.dataflow import undo_log
from fsql.runtime.dataflow.fold_kernels import make_fold
from fsql.runtime.dataflow.undo_log import REPAIR_BOUND
from fsql.runtime.drivers.in_memory import run_in_memory
from fsql.tests.unit.dataflow.plans import (
    AT,
    KEY,
    SECOND,
    call,
    column,
    grouped,
    insert,
    over,
    table,
    windowed,
)

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.runtime.dataflow.fold import Fold


def head_of(query: logical.Plan, policy: Policy) -> FoldHead:
    plan = choose(lower(logical.Job((insert(query),))), policy=policy)
    [head] = [stage.head for stage in plan.stages if isinstance(stage.head, FoldHead)]
    return head


def batch(keys: list[str], times: list[int], depth: int = 1) -> Batch:
    types = [found.type for found in table(0).columns]
    values: list[list[Value]] = [
        [*keys],
        [*keys],
        [*times],
        [0.5] * len(keys),
        [time * SECOND for time in times],
    ]
    columns = [to_arrow(items, kind) for items, kind in zip(values, types, strict=True)]
    time = np.array(times, np.int64)
    path = tuple(np.zeros(len(keys), np.int64) for _ in range(depth))
    return Batch(columns, time, np.zeros(len(keys), np.int64), path)


def running_count(policy: Policy) -> Fold:
    scan = logical.Scan(table(0), 0)
    query = over(scan, KEY, (call("COUNT"), FrameEnd.CURRENT_ROW))
    return make_fold(head_of(query, policy))


def counts(batches: list[Batch]) -> list[tuple[int, int, int]]:
    """Return (time, count, weight) of the rows that a running count let go."""
    return [
        (time, count, weight)
        for made in batches
        for time, count, weight in zip(
            made.time.tolist(),
            made.columns[-1].to_pylist(),
            made.weights().tolist(),
            strict=True,
        )
    ]


def test_a_late_row_repairs_only_its_key_and_only_what_changed() -> None:
    fold = running_count(Policy.SPECULATIVE)
    fold.accept(0, batch(["a", "b", "a"], [10, 11, 12]))
    output = fold.accept(0, batch(["a"], [11]))
    assert counts(output.rows) == [(11, 2, 1), (12, 3, 1), (12, 2, -1)]
    assert output.repairs
    assert fold.rows_redone == 2


def test_an_undo_takes_its_victim_and_what_followed_from_it() -> None:
    fold = running_count(Policy.SPECULATIVE)
    fold.accept(0, batch(["a", "a"], [10, 12]))
    undone = batch(["a"], [10])
    output = fold.accept(
        0, Batch(undone.columns, undone.time, undone.origin, undone.path, np.array([-1]))
    )
    assert sorted(counts(output.rows)) == [(10, 1, -1), (12, 1, 1), (12, 2, -1)]


def test_an_undo_that_comes_before_its_victim_waits_for_it() -> None:
    fold = running_count(Policy.SPECULATIVE)
    early = batch(["a"], [10])
    taken_back = Batch(early.columns, early.time, early.origin, early.path, np.array([-1]))
    assert counts(fold.accept(0, taken_back).rows) == []
    assert fold.hold() == Root(10, 0)
    assert counts(fold.accept(0, early).rows) == []
    assert fold.hold() is None


def test_the_ordered_policy_holds_until_min_time_and_never_takes_back() -> None:
    fold = running_count(Policy.ORDERED)
    assert fold.accept(0, batch(["a", "a"], [12, 10])).rows == []
    assert fold.hold() == Root(10, 0)
    assert counts(fold.advance(Root(11, 0)).rows) == [(10, 1, 1)]
    assert fold.hold() == Root(12, 0)
    assert counts(fold.advance(END).rows) == [(12, 2, 1)]
    assert fold.hold() is None


def test_a_fold_that_becomes_speculative_applies_what_waits_and_repairs_it() -> None:
    fold = running_count(Policy.ORDERED)
    assert fold.accept(0, batch(["a", "a"], [10, 14])).rows == []
    assert fold.change_policy(Root(12, 0), Policy.SPECULATIVE).rows == []
    assert fold.accept(0, batch(["a"], [15])).rows == []
    assert counts(fold.advance(Root(12, 0)).rows) == [(10, 1, 1), (14, 2, 1), (15, 3, 1)]
    assert fold.hold() is None
    output = fold.accept(0, batch(["a"], [13]))
    assert sorted(counts(output.rows)) == [
        *((13, 2, 1), (14, 2, -1), (14, 3, 1), (15, 3, -1), (15, 4, 1)),
    ]


def test_a_fold_that_becomes_ordered_repairs_what_it_has_applied() -> None:
    fold = running_count(Policy.SPECULATIVE)
    assert counts(fold.accept(0, batch(["a"], [14])).rows) == [(14, 1, 1)]
    assert fold.advance(Root(12, 0)).rows == []
    assert fold.change_policy(Root(12, 0), Policy.ORDERED).rows == []
    assert fold.accept(0, batch(["a", "a"], [13, 16])).rows == []
    assert fold.hold() == Root(13, 0)
    output = fold.advance(Root(14, 0))
    assert sorted(counts(output.rows)) == [(13, 1, 1), (14, 1, -1), (14, 2, 1)]
    assert output.repairs
    assert fold.hold() == Root(16, 0)
    assert counts(fold.advance(Root(17, 0)).rows) == [(16, 3, 1)]
    assert fold.accept(0, batch(["a"], [18])).rows == []
    assert counts(fold.advance(END).rows) == [(18, 4, 1)]


def with_final_rows_behind_others() -> Fold:
    """Return a fold whose log has a10 behind b50, but no longer a20: it was applied again, and is final."""
    fold = running_count(Policy.SPECULATIVE)
    for key, time in (("b", 50), ("a", 10), ("c", 100), ("a", 20), ("a", 60)):
        fold.accept(0, batch([key], [time]))
    fold.advance(Root(30, 0))
    output = fold.accept(0, batch(["a"], [55]))
    assert counts(output.rows) == [(55, 3, 1), (60, 4, 1), (60, 3, -1)]
    return fold


def test_a_repair_keeps_final_rows_of_its_key() -> None:
    fold = with_final_rows_behind_others()
    output = fold.accept(0, batch(["a"], [40]))
    assert counts(output.rows) == [(40, 3, 1), (55, 4, 1), (60, 5, 1), (55, 3, -1), (60, 4, -1)]


def test_a_rewind_keeps_final_rows_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = with_final_rows_behind_others()
    monkeypatch.setattr(undo_log, "REPAIR_BOUND", -1e9)  # one more repair is too many
    live = Counter({(50, 1): 1, (55, 3): 1, (60, 4): 1, (100, 1): 1})
    for time, count, weight in counts(fold.accept(0, batch(["a"], [40])).rows):
        live[time, count] += weight
    assert fold.rewinds == 1
    assert +live == Counter()
    for time, count, weight in counts(fold.advance(END).rows):
        live[time, count] += weight
    assert +live == Counter([(40, 3), (50, 1), (55, 4), (60, 5), (100, 1)])


def test_a_repair_storm_is_bounded() -> None:
    """One hot key, 10,000 rows above min time, and 10,000 more that each come before all of them."""
    fold = running_count(Policy.SPECULATIVE)
    size = 10_000
    fold.accept(0, batch(["hot"] * size, list(range(size, 2 * size))))
    live = Counter({(time, time - size + 1): 1 for time in range(size, 2 * size)})
    for time in reversed(range(size)):
        output = fold.accept(0, batch(["hot"], [time]))
        for time_of_row, count, weight in counts(output.rows):
            live[time_of_row, count] += weight
    for time_of_row, count, weight in counts(fold.advance(END).rows):
        live[time_of_row, count] += weight
    assert +live == Counter({(time, time + 1): 1 for time in range(2 * size)})
    assert fold.rows_redone <= (REPAIR_BOUND + 1) * 2 * size


def test_a_window_closes_once_and_frees_its_state() -> None:
    scan = logical.Scan(table(0, event=True), 0)
    query = windowed(scan, AT, 4, 4, [KEY], call("COUNT"))
    fold = make_fold(head_of(query, Policy.SPECULATIVE))
    rows = batch(["a", "b", "a"], [1, 2, 5])
    ends = to_arrow([4 * SECOND, 4 * SECOND, 8 * SECOND], table(0).columns[AT].type)
    assigned = Batch([*rows.columns, ends, ends, ends], rows.time, rows.origin, rows.path)
    fold.accept(0, assigned)
    assert fold.hold() == Root(4 * SECOND, -1)
    closed = fold.advance(Root(4 * SECOND, 0))
    assert [made.columns[-1].to_pylist() for made in closed.rows] == [[1, 1]]
    assert fold.advance(Root(5 * SECOND, 0)).rows == []
    assert fold.hold() == Root(8 * SECOND, -1)
    assert fold.state_rows() == 1


@pytest.mark.parametrize("policy", [Policy.ORDERED, Policy.SPECULATIVE])
def test_memory_is_bounded_with_two_splits_a_year_apart(policy: Policy) -> None:
    """A read-ahead of 100 rows: the split that is a year ahead waits at its front, not in a buffer."""
    year = 366 * 24 * 3600
    scan = logical.Scan(table(0, event=True), 0)
    job = logical.Job((insert(windowed(scan, AT, 10, 10, [KEY], call("COUNT"))),))
    splits = [
        [("k", "g", 1, 0.5, (start + i) * SECOND) for i in range(3_000)] for start in (0, year)
    ]
    plan = choose(lower(job), policy=policy, fronts={0: 2})
    outcome = run_in_memory(plan, {0: splits}, seed=1, batch_rows=50, read_ahead=100)
    assert [row[-1] for _, _, row in outcome.released[0]] == [10] * 600
    assert outcome.rows_buffered_max <= 400


def test_a_group_by_keeps_a_row_for_each_group() -> None:
    scan = logical.Scan(table(0), 0)
    query = grouped(scan, [KEY], call("SUM", column(scan, 2)))
    fold = make_fold(head_of(query, Policy.ORDERED))
    fold.accept(0, batch(["a", "b", "a"] * 100, list(range(300))))
    assert fold.state_rows() == 300
    fold.advance(END)
    assert fold.state_rows() == 2


@pytest.mark.parametrize("policy", [Policy.ORDERED, Policy.SPECULATIVE])
def test_a_group_that_is_retracted_to_nothing_frees_its_slot(policy: Policy) -> None:
    """Every group comes and goes; the slots are used again, and the last group is right."""
    scan = logical.Scan(table(0), 0)
    query = grouped(grouped(scan, [KEY], call("COUNT")), [0], call("MAX", column(scan, 0)))
    heads = [
        stage.head
        for stage in choose(lower(logical.Job((insert(query),))), policy=policy).stages
        if isinstance(stage.head, FoldHead)
    ]
    fold = make_fold(heads[-1])
    live: Counter[tuple[object, ...]] = Counter()
    for time in range(0, 400, 2):
        for at, weight in ((time, 1), (time + 1, -1)) if time < 398 else ((time, 1),):
            one = batch([f"k{time}"], [at])
            rows = Batch(one.columns[:2], one.time, one.origin, one.path, np.array([weight]))
            for made in fold.accept(0, rows).rows:
                count_live(live, made)
        for made in fold.advance(Root(time + 2, 0)).rows:
            count_live(live, made)
    assert +live == Counter({("k398", "k398"): 1})
    assert fold.state_rows() == 1
    assert len(fold._kernel.table) <= 3


def count_live(live: Counter[tuple[object, ...]], made: Batch) -> None:
    for *row, weight in zip(
        *(values.to_pylist() for values in made.columns[:2]), made.weights().tolist(), strict=True
    ):
        live[tuple(row)] += weight
