"""Rows that wait: what is taken, and that taking it costs what is taken, not what stays."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler import logical
from fsql.compiler.logical import FrameEnd
from fsql.compiler.lowering import lower
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.optimizer.choose import choose
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import END, Batch, Root
from fsql.runtime.dataflow.backlog import Backlog
from fsql.runtime.dataflow.barrier import Barrier
from fsql.runtime.dataflow.fold_kernels import make_fold
from fsql.runtime.dataflow.messages import Address, Parcel, PortKind
from fsql.runtime.dataflow.undo_log import Application
from fsql.runtime.dataflow.waiting_rows import SMALL_ROWS, WaitingRows
from fsql.tests.seeds import chosen_seeds
from fsql.tests.unit.dataflow.plans import KEY, SECOND, call, insert, over, table

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.dataflow.fold import Fold

Rows = list[tuple[int, int]]


def batch(rows: Rows) -> Batch:
    """Return a batch with these roots, which its only column repeats as text."""
    time, origin = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Batch([pa.array([f"{t}/{o}" for t, o in rows])], time, origin, ())


def rows_of(batches: list[Batch]) -> Rows:
    found = []
    for one in batches:
        for time, origin, text in zip(
            one.time.tolist(), one.origin.tolist(), one.columns[0].to_pylist(), strict=True
        ):
            assert text == f"{time}/{origin}"
            found.append((time, origin))
    return sorted(found)


@pytest.mark.parametrize("seed", chosen_seeds(10))
def test_what_is_below_the_bound_is_taken_once(seed: int) -> None:
    random = Random(seed)
    waiting, known, bound = WaitingRows(), [], 0
    for _ in range(200):
        if random.random() < 0.7:
            size = random.choice([1, 1, 3, 40, SMALL_ROWS, 2 * SMALL_ROWS])
            rows = [(bound + random.randrange(60), random.randrange(5)) for _ in range(size)]
            waiting.append(batch(rows))
            known += rows
        else:
            bound += random.randrange(20)
            root = Root(bound, random.randrange(5))
            assert rows_of(waiting.take_below(root)) == sorted(row for row in known if row < root)
            known = [row for row in known if row >= root]
        assert waiting.rows == len(known)
        assert waiting.least() == (Root(*min(known)) if known else None)
    assert rows_of(waiting.take_below(END)) == sorted(known)
    assert waiting.rows == 0
    assert waiting.least() is None


class Cost:
    """How often batches were asked for their spans, and how many rows were copied."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.spans = self.copied = 0
        span, take = Batch.span, Batch.take

        def counted_span(self_: Batch) -> object:
            self.spans += 1
            return span(self_)

        def counted_take(self_: Batch, rows: np.ndarray) -> Batch:
            self.copied += len(rows)
            return take(self_, rows)

        patch.setattr(Batch, "span", counted_span)
        patch.setattr(Batch, "take", counted_take)


def test_a_large_batch_of_which_a_row_is_taken_each_time_is_copied_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 4_000
    waiting = WaitingRows()
    waiting.append(batch([((7 * row) % size, 0) for row in range(size)]))
    cost = Cost(monkeypatch)
    for bound in range(1, size + 1):
        assert rows_of(waiting.take_below(Root(bound, 0))) == [(bound - 1, 0)]
    assert cost.copied <= 4 * size


@pytest.mark.parametrize("spread", ["one after the other", "mixed", "both"])
def test_a_fold_that_is_behind_takes_the_rows_that_it_asks_for(spread: str) -> None:
    """Batches of several splits may follow each other in the order, or have rows everywhere."""
    batches, size, asked = 8, 1_000, 1_200
    backlog = Backlog(1)
    for number in range(batches):
        mixed = spread == "mixed" or (spread == "both" and number % 2 == 0)
        times = (
            range(number, batches * size, batches)
            if mixed
            else range(number * size, (number + 1) * size)
        )
        backlog.append(0, batch([(time, number) for time in times]))
    backlog.is_behind = True
    taken = []
    while backlog.rows:
        backlog.resize_part(asked // 2)
        [part] = backlog.take_below(END)
        taken.append(rows_of(part))
    rows = [row for part in taken for row in part]
    assert rows == sorted(rows)
    assert len(rows) == batches * size
    assert all(asked // 2 <= len(part) <= 2 * asked for part in taken[:-1]), [
        len(part) for part in taken
    ]


def fold_of(policy: Policy) -> Fold:
    [head] = [stage.head for stage in plan(policy).stages if isinstance(stage.head, FoldHead)]
    return make_fold(head)


def plan(policy: Policy) -> TickPlan:
    query = over(logical.Scan(table(0), 0), KEY, (call("COUNT"), FrameEnd.CURRENT_ROW))
    return choose(lower(logical.Job((insert(query),))), policy=policy)


def row(key: str, time: int) -> Batch:
    types = [found.type for found in table(0).columns]
    values: list[list[Value]] = [[key], [key], [time], [0.5], [time * SECOND]]
    columns = [to_arrow(items, kind) for items, kind in zip(values, types, strict=True)]
    return Batch(columns, np.array([time]), np.array([0]), (np.array([0]),))


def test_a_fold_does_not_look_at_all_that_waits_when_a_row_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One live split far ahead; the other moves on by a row each time."""
    fold, count = fold_of(Policy.ORDERED), 1_000
    given = [row("a", time) for time in range(2 * count)]
    cost = Cost(monkeypatch)
    held = []
    for time in range(count):
        fold.accept(0, given[count + time])
        fold.accept(0, given[time])
        fold.advance(Root(time + 1, 0))
        held.append(fold.hold())
    assert held == [Root(count, 0)] * count
    assert cost.spans <= 250 * count


def test_the_barrier_does_not_look_at_all_that_waits_when_a_row_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    barrier, count = Barrier(plan(Policy.ORDERED).sinks, 0), 1_000
    stage = len(plan(Policy.ORDERED).stages)
    given = []
    for time in range(2 * count):
        one = row("a", time)
        given.append(Parcel(Address(stage, 0, PortKind.SINK), one))
    cost = Cost(monkeypatch)
    contents = []
    for time in range(count):
        barrier.accept(given[count + time])
        barrier.accept(given[time])
        contents += barrier.advance(Root(time + 1, 0))
    assert len(contents) == count
    assert barrier.rows_buffered() == count
    assert cost.spans <= 250 * count


def test_a_speculative_fold_holds_rows_where_repairs_would_scan_the_log_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows of another key come late, one by one: nothing is ever applied again, and the log is long."""
    fold, count = fold_of(Policy.SPECULATIVE), 1_500
    for time in range(count, 2 * count):
        fold.accept(0, row("a", time))
    scanned = 0

    def counted(entry: Application) -> int:
        nonlocal scanned
        scanned += 1
        return sum(len(rows.slot) for rows in entry.sides if rows is not None)

    monkeypatch.setattr(Application, "rows", property(counted))
    made = sum(
        int(out.weights().sum())
        for time in range(count)
        for out in fold.accept(0, row("b", time)).rows
    )
    assert fold.rows_redone == 0
    assert fold.rows_held > 0
    made += sum(int(out.weights().sum()) for out in fold.advance(END).rows)
    assert made == count
    assert scanned <= 40 * count


def test_a_storm_after_a_long_calm_is_bounded_by_what_was_applied_of_late() -> None:
    fold, calm = fold_of(Policy.SPECULATIVE), 1 << 20
    size = 1 << 17
    for start in range(0, calm, size):
        one = row("a", 0)
        many = one.take(np.zeros(size, np.int64))
        time = np.arange(start, start + size)
        fold.accept(0, Batch(many.columns, time, many.origin, many.path))
        fold.advance(Root(start + size, 0))
    assert fold.rows_redone == 0
    hot = 4_000
    late = row("a", 0).take(np.zeros(hot, np.int64))
    times = np.arange(calm + hot, calm + 2 * hot)
    fold.accept(0, Batch(late.columns, times, late.origin, late.path))
    for early in reversed(range(calm, calm + 200)):
        fold.accept(0, row("a", early))
    assert fold.rows_redone <= 1 << 18
