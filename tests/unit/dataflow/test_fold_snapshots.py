"""Incremental snapshots of a fold: the changed state as of the position, in any order of rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler import logical
from fsql.compiler.logical import FrameEnd
from fsql.compiler.lowering import lower
from fsql.compiler.owner_map import ALL_BINS, BINS
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.optimizer.choose import choose
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import END, START, Batch, Root
from fsql.runtime.dataflow.fold_kernels import make_fold
from fsql.runtime.dataflow.undo_log import RepairBound
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    EXPIRES,
    GONE,
    HASH,
    IncrementalSnapshot,
    merge_snapshots,
    rows_of_bins,
)
from fsql.tests.unit.dataflow.plans import (
    AT,
    DOUBLE_VALUE,
    GROUP,
    KEY,
    NUMBER,
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

ALL = ALL_BINS
POLICIES = pytest.mark.parametrize("policy", list(Policy))


def last_fold(query: logical.Plan, policy: Policy = Policy.SPECULATIVE) -> Fold:
    """Return the fold of the topmost operator of a query."""
    plan = choose(lower(logical.Job((insert(query),))), policy=policy)
    heads = [stage.head for stage in plan.stages if isinstance(stage.head, FoldHead)]
    return make_fold(heads[-1])


def scan() -> logical.Scan:
    return logical.Scan(table(0), 0)


def running_count(policy: Policy = Policy.SPECULATIVE) -> Fold:
    return last_fold(over(scan(), KEY, (call("COUNT"), FrameEnd.CURRENT_ROW)), policy)


def rows(keys: str, times: list[int], weight: int = 1, doubles: float = 0.5) -> Batch:
    """Return rows of `table`: a key for each time."""
    types, number = [found.type for found in table(0).columns], len(times)
    ats: list[Value] = [time * SECOND for time in times]
    values: list[list[Value]] = [[*keys], [*keys], [*times], [doubles] * number, ats]
    columns = [to_arrow(items, kind) for items, kind in zip(values, types, strict=True)]
    path = (np.zeros(number, np.int64),)
    weights = None if weight == 1 else np.full(number, weight)
    return Batch(columns, np.array(times, np.int64), np.zeros(number, np.int64), path, weights)


def at(time: int) -> Root:
    return Root(time, START.origin)


def crossed(fold: Fold, time: int) -> IncrementalSnapshot | None:
    """Return the incremental snapshot at min time `time`."""
    fold.advance(at(time))
    assert fold.snapshots.crossed
    return fold.snapshots.take()


def counts(snapshot: IncrementalSnapshot | None) -> dict[Value, int | None]:
    """Return the first count of each key."""
    if snapshot is None:
        return {}
    name = next(name for name in snapshot.rows.schema.names if name.endswith("count"))
    keys = snapshot.rows.column("key_0").to_pylist()
    return dict(zip(keys, snapshot.rows.column(name).to_pylist(), strict=True))


@POLICIES
def test_a_snapshot_has_the_rows_below_the_position_and_no_others(policy: Policy) -> None:
    fold = running_count(policy)
    fold.accept(0, rows("aab", [1, 2, 2]))
    assert fold.announce(at(5))
    fold.accept(0, rows("aabc", [3, 7, 8, 9]))
    assert counts(crossed(fold, 6)) == {"a": 3, "b": 1}


@POLICIES
def test_the_next_snapshot_has_only_what_has_changed_since(policy: Policy) -> None:
    fold = running_count(policy)
    assert fold.announce(at(5))
    fold.accept(0, rows("aabc", [3, 7, 2, 4]))
    assert counts(crossed(fold, 5)) == {"a": 1, "b": 1, "c": 1}
    assert fold.announce(at(10))
    fold.accept(0, rows("cbd", [8, 11, 12]))
    assert counts(crossed(fold, 10)) == {"a": 2, "c": 2}
    assert fold.announce(at(13))
    assert counts(crossed(fold, 13)) == {"b": 2, "d": 1}
    assert fold.announce(at(20))
    assert crossed(fold, 30) is None


def test_a_row_that_comes_later_below_the_position_is_in_the_snapshot() -> None:
    fold = running_count()
    assert fold.announce(at(5))
    fold.accept(0, rows("aa", [2, 6]))
    fold.accept(0, rows("a", [3]))
    fold.accept(0, rows("a", [7]))
    fold.accept(0, rows("a", [4]))
    assert counts(crossed(fold, 5)) == {"a": 3}
    assert fold.announce(at(9))
    assert counts(crossed(fold, 9)) == {"a": 5}


def test_a_row_that_is_undone_below_the_position_is_not_in_the_snapshot() -> None:
    fold = running_count()
    assert fold.announce(at(5))
    fold.accept(0, rows("aaabcc", [2, 3, 6, 2, 3, 6]))
    fold.accept(0, rows("a", [3], weight=-1))
    fold.accept(0, rows("b", [2], weight=-1))
    fold.accept(0, rows("c", [3], weight=-1))  # what is left of it stands above the position
    assert counts(crossed(fold, 5)) == {"a": 1}


def test_a_repair_above_the_position_leaves_the_copy_as_it_is() -> None:
    fold = running_count()
    assert fold.announce(at(5))
    fold.accept(0, rows("aa", [2, 9]))
    fold.accept(0, rows("a", [7]))
    fold.accept(0, rows("a", [9], weight=-1))
    assert counts(crossed(fold, 5)) == {"a": 1}


def test_a_position_that_was_passed_is_refused() -> None:
    fold = running_count()
    fold.accept(0, rows("a", [7]))
    assert not fold.announce(at(7))
    assert not fold.announce(Root(7, 0))
    assert fold.announce(Root(7, 1))


@POLICIES
def test_a_position_that_min_time_has_passed_is_there_at_once(policy: Policy) -> None:
    """Unless rows behind it were applied; so it is behind the end of the input."""
    for min_time in (at(20), END):
        fold = running_count(policy)
        fold.accept(0, rows("ab", [1, 2]))
        fold.advance(min_time)
        assert not fold.announce(at(2))
        assert fold.announce(at(3))
        fold.snapshots.cancel()  # as where another fold refuses
        for position, taken in ((at(9), {"a": 1, "b": 1}), (at(9), {}), (at(20), {})):
            assert fold.announce(position)
            assert fold.snapshots.crossed
            assert counts(fold.snapshots.take()) == taken
        assert not fold.announce(at(9))


@POLICIES
def test_what_a_cancelled_snapshot_leaves_is_in_the_next(policy: Policy) -> None:
    fold = running_count(policy)
    assert fold.announce(at(5))
    fold.accept(0, rows("a", [2]))
    assert counts(crossed(fold, 5)) == {"a": 1}
    assert fold.announce(at(10))
    fold.accept(0, rows("bc", [7, 12]))
    fold.snapshots.cancel()
    assert fold.announce(at(20))
    assert counts(crossed(fold, 20)) == {"b": 1, "c": 1}


@POLICIES
def test_a_snapshot_that_is_not_taken_is_part_of_the_next(policy: Policy) -> None:
    fold = running_count(policy)
    assert fold.announce(at(5))
    fold.accept(0, rows("ab", [2, 3]))
    fold.advance(at(6))
    assert fold.snapshots.crossed
    fold.snapshots.cancel()
    assert fold.announce(at(10))
    fold.accept(0, rows("b", [7]))
    assert counts(crossed(fold, 10)) == {"a": 1, "b": 2}


def test_rows_undone_by_a_rewind_are_not_in_the_snapshot() -> None:
    fold = running_count()
    assert fold.announce(at(5))
    fold._applied._bound = RepairBound(0)
    fold.accept(0, rows("aaa", [4, 8, 9]))
    fold.accept(0, rows("aa", [2, 3]))
    fold.accept(0, rows("a", [1]))
    assert (fold.rows_held > 0, fold.rewinds) == (True, 1)
    assert counts(crossed(fold, 5)) == {"a": 4}
    assert fold.announce(at(10))
    assert counts(crossed(fold, 10)) == {"a": 6}


def test_a_group_that_comes_and_goes_and_comes_again() -> None:
    """A removed key hides older rows, and is dropped if there are none."""
    query = grouped(
        grouped(scan(), [KEY, GROUP], call("COUNT")), [0], call("MAX", column(scan(), NUMBER))
    )
    fold = last_fold(query)

    def change(key: str, time: int, weight: int) -> None:
        given = rows(key, [time], weight)
        inner = [*given.columns[:2], to_arrow([7], table(0).columns[NUMBER].type)]
        fold.accept(0, given.with_columns(inner))

    snapshots = []
    for end, changes in (
        (10, [("a", 1, 1), ("b", 1, 1)]),
        (20, [("a", 12, -1)]),
        (30, [("a", 21, 1)]),
    ):
        assert fold.announce(at(end))
        for key, time, weight in changes:
            change(key, time, weight)
        taken = crossed(fold, end)
        assert taken is not None
        snapshots.append(taken)
    assert [counts(one) for one in snapshots] == [{"a": 1, "b": 1}, {"a": None}, {"a": 1}]
    assert snapshots[1].rows.column(EXPIRES).to_pylist() == [GONE]
    assert counts(merge_snapshots(snapshots[:2], at(20))) == {"a": None, "b": 1}
    assert counts(merge_snapshots(snapshots[:2], at(20), whole=True)) == {"b": 1}
    assert counts(merge_snapshots(snapshots, at(30), whole=True)) == {"a": 1, "b": 1}
    restored = last_fold(query)
    restored.load(snapshots[:2], ALL, at(20))
    assert restored.state_rows() == 1


def windows() -> Fold:
    query = windowed(logical.Scan(table(0, event=True), 0), AT, 4, 4, [KEY], call("COUNT"))
    return last_fold(query)


def in_windows(keys: str, times: list[int]) -> Batch:
    given = rows(keys, times)
    ends = to_arrow([(time // 4 + 1) * 4 * SECOND for time in times], table(0).columns[AT].type)
    return Batch([*given.columns, ends, ends, ends], given.time * SECOND, given.origin, given.path)


def test_open_windows_are_restored_and_closed_ones_expire() -> None:
    fold = windows()
    fold.accept(0, in_windows("a", [1]))
    assert fold.announce(at(3 * SECOND))
    fold.accept(0, in_windows("b", [6]))
    first = crossed(fold, 3 * SECOND)
    assert first is not None
    assert first.rows.column(EXPIRES).to_pylist() == [4 * SECOND]
    assert fold.announce(at(7 * SECOND))
    second = crossed(fold, 7 * SECOND)
    assert second is not None
    assert counts(merge_snapshots([first, second], at(7 * SECOND))) == {"b": 1}
    restored = windows()
    restored.load([first, second], ALL, at(7 * SECOND))
    assert restored.hold() == Root(8 * SECOND, -1)
    [closed] = restored.advance(END).rows
    assert closed.columns[-1].to_pylist() == [1]
    assert restored.hold() is None
    assert not restored.announce(at(8 * SECOND))  # the window that closes then is gone
    assert restored.announce(at(8 * SECOND + 1))
    assert restored.snapshots.take() is None


def test_owners_share_the_state_between_them() -> None:
    fold = running_count()
    assert fold.announce(at(50))
    fold.accept(0, rows("abcdefghij", list(range(10))))
    taken = crossed(fold, 50)
    assert taken is not None
    hashes = taken.rows.column(HASH).to_pylist()
    assert hashes == sorted(hashes)
    third = BINS // 3
    shares = [((0, third),), ((third, 2 * third),), ((2 * third, BINS),)]
    owned = [counts(rows_of_bins(taken, share)) for share in shares]
    assert sum(map(len, owned)) == 10
    assert {key for share in owned for key in share} == set("abcdefghij")
    for share, of_share in zip(shares, owned, strict=True):
        restored = running_count()
        restored.load([taken], share, at(50))
        assert restored.state_rows() == len(of_share)


@pytest.mark.parametrize("function", ["SUM", "AVG", "MIN", "MAX", "ARRAY_AGG"])
@pytest.mark.parametrize("argument", [NUMBER, DOUBLE_VALUE, GROUP])
def test_every_accumulator_goes_on_where_it_was(function: str, argument: int) -> None:
    if argument == GROUP and function in {"SUM", "AVG"}:
        argument = DOUBLE_VALUE
    query = grouped(scan(), [KEY], call(function, column(scan(), argument)))
    doubles = (0.1, -math.inf, 5e-324, 1e308, math.nan, -0.0)
    before = [rows("ab", [time, time], doubles=double) for time, double in enumerate(doubles)]
    big = to_arrow([2**63 - 1, -(2**63)], table(0).columns[NUMBER].type)
    before[1] = before[1].with_columns([*before[1].columns[:2], big, *before[1].columns[3:]])
    for known in range(1, len(before) + 1):
        whole, fold = last_fold(query), last_fold(query)
        assert fold.announce(at(known))
        for given in before[:known]:
            whole.accept(0, given)
            fold.accept(0, given)
        taken = crossed(fold, known)
        assert taken is not None
        restored = last_fold(query)
        restored.load([taken], ALL, at(known))
        behind = rows("ab", [known + 1, known + 1], doubles=2.5)
        assert _texts(restored.accept(0, behind).rows) == _texts(whole.accept(0, behind).rows)


def _texts(batches: list[Batch]) -> list[str]:
    """Return rows with their weights as text, in which NaN is itself."""
    return [
        str((*values, weight))
        for made in batches
        for *values, weight in zip(
            *(made_column.to_pylist() for made_column in made.columns),
            made.weights().tolist(),
            strict=True,
        )
    ]


def self_join(*, updating: bool = False) -> Fold:
    """Return a join of rows by their keys, of a table or of an aggregate."""
    left, right = scan(), logical.Scan(table(0), 1)
    if updating:
        a, b = (grouped(side, [KEY, GROUP], call("COUNT")) for side in (left, right))
        return last_fold(logical.Join(a, b, (column(a, 0),), (column(b, 0),), None))
    return last_fold(logical.Join(left, right, (column(left, KEY),), (column(right, KEY),), None))


def kept(snapshots: list[IncrementalSnapshot]) -> list[tuple[Value, ...]]:
    """Return key, side, time and weight of the rows of a join."""
    names = ("key_0", "side", "time", "weight")
    return [
        tuple(values)
        for one in snapshots
        for values in zip(*(one.rows.column(name).to_pylist() for name in names), strict=True)
    ]


def test_rows_of_a_join_are_in_one_snapshot_each_in_any_order() -> None:
    fold = self_join()
    assert fold.announce(at(5))
    fold.accept(0, rows("a", [7]))
    fold.accept(0, rows("b", [2]))  # final at 5, but behind a row that is not
    first = crossed(fold, 5)
    assert first is not None
    assert kept([first]) == [("b", 0, 2, 1)]
    fold.accept(1, rows("b", [9]))
    fold.accept(0, rows("b", [6]))  # a repair: the row at 2 settles again
    assert fold.announce(at(10))
    second = crossed(fold, 10)
    assert second is not None
    assert sorted(kept([second])) == [("a", 0, 7, 1), ("b", 0, 6, 1), ("b", 1, 9, 1)]
    restored = self_join()
    restored.load([first, second], ALL, at(10))
    assert restored.state_rows() == 4
    [pairs] = restored.accept(1, rows("b", [11])).rows
    assert sorted(pairs.columns[2].to_pylist()) == [2, 6]


def test_a_row_and_its_retraction_are_nothing_when_they_are_merged() -> None:
    def counted(key: str, time: int, weight: int) -> Batch:
        given = rows(key, [time], weight)
        return given.with_columns(
            [*given.columns[:2], to_arrow([1], table(0).columns[NUMBER].type)]
        )

    fold = self_join(updating=True)
    assert fold.announce(at(5))
    fold.accept(0, counted("a", 1, 1))
    fold.accept(0, counted("b", 2, 1))
    first = crossed(fold, 5)
    assert fold.announce(at(10))
    fold.accept(0, counted("a", 7, -1))
    second = crossed(fold, 10)
    assert first is not None
    assert second is not None
    assert kept([second]) == [("a", 0, 0, -1)]
    assert kept([merge_snapshots([first, second], at(10))]) == [("b", 0, 0, 1)]
