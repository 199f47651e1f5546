"""The least ranks of each slot, after each of its rows: ranks that pass through a row of registers.

A new rank passes through the registers of its slot one after the other.  Each register keeps the lesser of
its own rank and the new one, and passes the greater one on:

    new rank         30  10  20  40
    register 1   -   30  10  10  10
    register 2   -    -  30  20  20

Over the rows of a slot, a register is a running minimum, and the ranks that it passes on are the input of the
next register.  So a register takes a constant number of array operations for all slots and rows.  A few rows
are processed one by one.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fsql.runtime.few_rows import FEW_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.arrays import Bools, Ints


class NewRanks(NamedTuple):
    """New ranks, at least one, slot by slot, all different.

    `first` has the first row of each slot, `group` the first row of each root of a slot.  `held` has the
    initial ranks in the registers of each slot, ascending, as `(slots, registers)`; a register without a rank
    has `empty`, which is greater than all ranks.
    """

    rank: Ints
    first: Ints
    group: Ints
    held: Ints
    empty: int


class RegisterChanges(NamedTuple):
    """Changes of registers from the beginning of a root to its end: first row of the root, rank, weight."""

    row: Ints
    register: Ints
    rank: Ints
    weight: Ints

    def without_moved(self, empty: int) -> RegisterChanges:
        """Return the changes without those of ranks that move from one register to another."""
        change = self.row * (empty + 1) + self.rank
        removed, added = change[self.weight < 0], change[self.weight > 0]
        moved = np.intersect1d(removed, added, assume_unique=True)
        return self.take(~np.isin(change, moved))

    def take(self, changes: Ints | Bools) -> RegisterChanges:
        """Return some of the changes."""
        return RegisterChanges(*(column[changes] for column in self))


class RegisterResult(NamedTuple):
    """The final ranks in the registers, the rows that entered a register, and the changes of registers."""

    held: Ints
    entered: Ints
    changes: RegisterChanges


def pass_registers(coming: NewRanks, skipped: int, few_rows: int = FEW_ROWS) -> RegisterResult:
    """Pass ranks through the registers; the changes are those of the registers from `skipped` on.

    `few_rows` affects speed only.
    """
    few = len(coming.rank) <= few_rows
    return _pass_one_by_one(coming, skipped) if few else _pass_together(coming, skipped)


def _pass_together(coming: NewRanks, skipped: int) -> RegisterResult:
    rows = len(coming.rank)
    last = np.append(coming.first[1:], rows) - 1
    group_last = np.append(coming.group[1:], rows) - 1
    held = np.empty_like(coming.held)
    changes, greatest = [], coming.rank
    for number, (before, after) in enumerate(_registers(coming)):
        held[:, number] = after[last]
        greatest = after
        if number >= skipped:
            old, new = before[coming.group], after[group_last]
            added = np.flatnonzero(old != new)
            removed = added[old[added] != coming.empty]
            changes += [
                (removed, np.full(len(removed), number), old[removed], np.full(len(removed), -1)),
                (added, np.full(len(added), number), new[added], np.ones(len(added), np.int64)),
            ]
    group, register, rank, weight = map(np.concatenate, zip(*changes, strict=True))
    entered = np.flatnonzero(coming.rank <= greatest)
    return RegisterResult(
        held, entered, RegisterChanges(coming.group[group], register, rank, weight)
    )


def _registers(coming: NewRanks) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rank in each register before and after each row, one register after the other."""
    first, rows = coming.first, len(coming.rank)
    # A running minimum begins again with each slot: all ranks of a slot are less than those of the slots
    # before it.
    lift = np.arange(len(first) - 1, -1, -1) * (coming.empty + 1)
    lifts = np.repeat(lift, np.diff(np.append(first, rows)))
    passed_on = coming.rank + lifts
    for own in coming.held.T:
        after = passed_on.copy()
        after[first] = np.minimum(after[first], own + lift)
        np.minimum.accumulate(after, out=after)
        before = np.empty_like(after)
        before[1:] = after[:-1]
        before[first] = own + lift
        yield before - lifts, after - lifts
        passed_on = np.maximum(before, passed_on)


def _pass_one_by_one(coming: NewRanks, skipped: int) -> RegisterResult:
    ranks, empty = coming.rank.tolist(), coming.empty
    starts, groups = {*coming.first.tolist()}, coming.group.tolist()
    held, registers = iter(coming.held.tolist()), []
    entered: list[int] = []
    changes: list[tuple[int, int, int, int]] = []
    for start, end in zip(groups, [*groups[1:], len(ranks)], strict=True):
        if start in starts:
            registers.append(next(held))
        own = registers[-1]
        before = own.copy()
        for row in range(start, end):
            insort(own, ranks[row])
            if own.pop() != ranks[row]:
                entered.append(row)
        for number in range(skipped, len(own)):
            if before[number] != own[number]:
                if before[number] != empty:
                    changes.append((start, number, before[number], -1))
                changes.append((start, number, own[number], 1))
    columns = np.array(changes, np.int64).reshape(-1, 4).T
    return RegisterResult(
        np.array(registers), np.array(entered, np.int64), RegisterChanges(*columns)
    )
