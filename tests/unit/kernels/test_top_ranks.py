"""ROW_NUMBER up to a limit in whole batches: applied, undone, saved and loaded, against sorted lists.

The lists share no code with the kernel.  What this cannot find: orders of other types than DOUBLE, which the
plans of `tests/property` have, and what the fold does around the kernel.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from fsql.compiler.expression import ColumnRef
from fsql.compiler.graph import CombineRank
from fsql.compiler.logical import OrderKey, RankFunction
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.batch import Batch, Root
from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot, merge_snapshots
from fsql.runtime.kernels.keyed.kernel import KeyedRows
from fsql.runtime.kernels.ranking.ranks import Ranks
from fsql.runtime.kernels.ranking.top import (
    NewRanks,
    TopKernel,
    pass_registers,
    shows_first_rows,
)

if TYPE_CHECKING:
    from fsql.runtime.kernels.ranking.top import TopUndo

SCHEMA = (Column("key", BIGINT), Column("price", DOUBLE), Column("text", STRING))
TYPES = [column.type for column in SCHEMA]
PRICES = (None, -1.5, -0.0, 0.0, 2.0, 7.0, float("inf"))


class RankedRow(NamedTuple):
    """A row at its root and path."""

    values: tuple[int, float | None, str]
    root: Root
    path: int


class Shown(NamedTuple):
    """A row as it shows: at a root, with its rank if ranks are asked for."""

    root: Root
    values: tuple[object, ...]


class SortedLists:
    """What the first rows of each key are, with nothing but lists."""

    def __init__(self, combine: CombineRank) -> None:
        self.combine = combine
        self.rows: dict[int, list[RankedRow]] = {}

    def order(self, row: RankedRow) -> tuple[object, ...]:
        [key] = self.combine.order
        price = row.values[1]
        null = price is None
        value = 0.0 if price is None else -price if key.descending else price
        return (null != key.nulls_first, value, row.root, row.path)

    def shown(self, key: int, root: Root) -> Counter[Shown]:
        rows = sorted(self.rows.get(key, []), key=self.order)
        ranks = range(self.combine.skipped, min(len(rows), self.combine.limit or 0))
        ranked = self.combine.ranked
        return Counter(
            Shown(root, (*texts(rows[n].values), *((n + 1,) if ranked else ()))) for n in ranks
        )

    def add(self, rows: list[RankedRow]) -> Counter[Shown]:
        """Add rows of ascending roots; return the sum of the changes."""
        changes: Counter[Shown] = Counter()
        for key, root in dict.fromkeys((row.values[0], row.root) for row in rows):
            changes.subtract(self.shown(key, root))
            mine = [row for row in rows if (row.values[0], row.root) == (key, root)]
            self.rows.setdefault(key, []).extend(mine)
            changes.update(self.shown(key, root))
        return Counter({row: weight for row, weight in changes.items() if weight})


def texts(values: tuple[object, ...]) -> tuple[object, ...]:
    """Tell -0.0 from 0.0."""
    return tuple(repr(value) if isinstance(value, float) else value for value in values)


def batch_of(rows: list[RankedRow]) -> Batch:
    columns = zip(*(row.values for row in rows), strict=True)
    return Batch(
        [to_arrow(list(column), kind) for column, kind in zip(columns, TYPES, strict=True)],
        np.array([row.root.time for row in rows]),
        np.array([row.root.origin for row in rows]),
        (np.array([row.path for row in rows]),),
    )


def apply(
    kernel: TopKernel, rows: list[RankedRow], *, undoable: bool
) -> tuple[Counter[Shown], TopUndo | None]:
    prepared, errors = kernel.prepare(0, batch_of(rows))
    assert errors is None
    keyed = [KeyedRows(prepared, kernel.slots(0, prepared))]
    kernel.snapshots.on_apply(keyed)
    applied = kernel.apply(keyed, undoable=undoable)
    assert applied.errors is None
    assert applied.rest is None
    found: Counter[Shown] = Counter()
    if applied.rows is not None:
        batch = applied.rows.batch
        types = [*TYPES, BIGINT][: len(batch.columns)]
        columns = [from_arrow(c, kind) for c, kind in zip(batch.columns, types, strict=True)]
        assert [level.tolist() for level in batch.path] == [[5] * len(batch)]
        for place, values in enumerate(zip(*columns, strict=True)):
            found[Shown(batch.root(place), texts(values))] += int(batch.weights()[place])
        assert all(found.values()), "what only moves is not sent"
    return found, applied.undo


def combine_of(random: Random) -> CombineRank:
    limit = random.choice((1, 2, 3, 10))
    order = OrderKey(
        ColumnRef(DOUBLE, nullable=True, index=1),
        descending=random.random() < 0.5,
        nulls_first=random.random() < 0.5,
    )
    combine = CombineRank(
        (ColumnRef(BIGINT, nullable=True, index=0),),
        (order,),
        RankFunction.ROW_NUMBER,
        ranked=random.random() < 0.5,
        skipped=random.randrange(limit),
        limit=limit,
        scan_number=5,
        by_position=True,
        may_tie=False,
        closing=None,
        final=False,
    )
    assert shows_first_rows(combine)
    return combine


def rows_from(random: Random, start: int, count: int) -> list[RankedRow]:
    """Return rows of ascending positions, some of which share a root."""
    rows = []
    root = Root(start, 0)
    for number in range(count):
        if random.random() < 0.7:
            root = Root(root.time + random.randrange(2), root.origin + 1)
        values = random.randrange(6), random.choice(PRICES), f"row {root} {number}"
        rows.append(RankedRow(values, root, number))
    return rows


def at_roots(random: Random, rows: list[RankedRow]) -> list[list[RankedRow]]:
    """Return the rows in batches; those of a root are in one."""
    batches: list[list[RankedRow]] = []
    while rows:
        count = random.choice((1, 5, 40, 200))
        while count < len(rows) and rows[count - 1].root == rows[count].root:
            count += 1
        batches.append(rows[:count])
        rows = rows[count:]
    return batches


def everything(kernel: TopKernel) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.ones(len(kernel.table), np.bool_)


@pytest.mark.parametrize("seed", range(60))
def test_changes_are_those_of_sorted_lists(seed: int) -> None:
    random = Random(seed)
    combine = combine_of(random)
    kernel, lists = TopKernel(combine, SCHEMA, 1), SortedLists(combine)
    for rows in at_roots(random, rows_from(random, 0, 400)):
        undone = rows_from(random, 10**6, random.choice((1, 60)))
        for attempt in (undone, undone[::2]):
            _, undo = apply(kernel, attempt, undoable=True)
            assert undo is not None
            kernel.restore(undo, everything(kernel))
            kernel.settle(undo)
        found, undo = apply(kernel, rows, undoable=random.random() < 0.5)
        assert found == lists.add(rows)
        kernel.settle(undo)
        kernel.expire(rows[-1].root)


@pytest.mark.parametrize("seed", range(10))
def test_a_kernel_goes_on_from_a_snapshot(seed: int) -> None:
    random = Random(seed)
    combine = combine_of(random)
    kernel, lists = TopKernel(combine, SCHEMA, 1), SortedLists(combine)
    states: list[IncrementalSnapshot] = []
    for rows in at_roots(random, rows_from(random, 0, 150)):
        apply(kernel, rows, undoable=False)
        lists.add(rows)
        position = Root(rows[-1].root.time, rows[-1].root.origin + 1)
        kernel.snapshots.announce(position)
        state = kernel.snapshots.take()
        states += [] if state is None else [state]
        kernel = TopKernel(combine, SCHEMA, 1)
        kernel.snapshots.load(merge_snapshots(states, position, whole=True), position)
    last = rows_from(random, 10**6, 50)
    assert apply(kernel, last, undoable=False)[0] == lists.add(last)


def test_rows_that_show_no_more_are_dropped() -> None:
    random = Random(1)
    combine = combine_of(random)
    kernel, lists = TopKernel(combine, SCHEMA, 1), SortedLists(combine)
    kept = rows_from(random, 0, 100)
    _, undo = apply(kernel, kept, undoable=True)
    assert undo is not None
    for start in range(10**3, 10**6, 10**4):
        [price] = {key.descending for key in combine.order}
        better = [
            row._replace(values=(row.values[0], (start if price else -start) * 1.0, row.values[2]))
            for row in rows_from(random, start, 1000)
        ]
        apply(kernel, better, undoable=False)
    assert kernel.held <= 1 << 14
    kernel.restore(undo, everything(kernel))
    last = rows_from(random, 10**7, 50)
    assert apply(kernel, last, undoable=False)[0] == lists.add(last)


@pytest.mark.parametrize("seed", range(30))
def test_few_ranks_pass_registers_as_many_do(seed: int) -> None:
    random = Random(seed)
    limit, slots, empty = random.choice((1, 3, 10)), random.randrange(1, 5), 200
    numbers = random.sample(range(empty), 120)
    held: list[list[int]] = []
    sizes: list[int] = []
    group: list[int] = []
    for _ in range(slots):
        own = sorted(numbers.pop() for _ in range(random.randrange(limit + 1)))
        held.append([*own, *[empty] * (limit - len(own))])
        start = sum(sizes)
        sizes.append(random.randrange(1, 15))
        inner = sorted({start, *random.choices(range(start, start + sizes[-1]), k=5)})
        group += inner
    count = sum(sizes)
    first = np.cumsum([0, *sizes[:-1]])
    coming = NewRanks(np.array(numbers[:count]), first, np.array(group), np.array(held), empty)
    together = pass_registers(coming, 0, few_rows=0)
    few = pass_registers(coming, 0, few_rows=count)
    assert few.held.tolist() == together.held.tolist()
    assert few.entered.tolist() == together.entered.tolist()
    assert sorted(zip(*few.changes, strict=True)) == sorted(zip(*together.changes, strict=True))


@pytest.mark.parametrize("function", RankFunction)
@pytest.mark.parametrize("limit", [1, 3])
def test_rows_that_others_hide_are_not_selected(function: RankFunction, limit: int) -> None:
    """With ROW_NUMBER and RANK exactly the visible rows are selected, however many are equal."""
    random = Random(3)
    ranks = Ranks(function, ranked=True, skipped=0, limit=limit)
    for count in range(12):
        keys = [
            (random.randbytes(1)[:1] if random.random() < 0.5 else b"a", b"%02d" % n)
            for n in range(count)
        ]
        random.shuffle(keys)
        selected = ranks.select_first(list(range(count)), keys)
        assert selected == sorted(selected)
        shown = list(ranks.visible_rows(sorted(keys)))
        assert list(ranks.visible_rows(sorted(keys[row] for row in selected))) == shown
        if function is not RankFunction.DENSE_RANK:
            assert len(selected) == len(shown)
