"""The two sides of a join of updating inputs: their net rows, and changes that may be undone."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.records import dataclass
from fsql.runtime.kernels.join.keyed_join import LEFT, RIGHT
from fsql.runtime.kernels.join.net_rows import NetRows, WeightedRows
from fsql.runtime.kernels.keyed.kernel import KeyedRows, split_rows
from fsql.runtime.kernels.keyed.slots import SlotTable

if TYPE_CHECKING:
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.join.closed_windows import ClosedWindows


_KEYS_MIN = 1024
"""With fewer keys than this, keys without rows are not searched for."""


@dataclass(slots=True, eq=False)
class SideChanges:
    """The changes of one application in each side; rows are sorted by slot.

    `passed` are slots of rows that were applied and not kept.
    """

    sides: list[KeyedRows | None]
    passed: Ints = field(default_factory=lambda: np.empty(0, np.int64))


class UpdatingSides:
    """The rows of both sides.  Their columns: keys, then those of the input."""

    def __init__(
        self, keys: int, *, counted: bool = False, closed: ClosedWindows | None = None
    ) -> None:
        """Begin without rows; `counted` is whether the rows of each slot are counted."""
        self.table = SlotTable()
        self.closed = closed
        left, right = (NetRows(keys, counted=counted, closed=closed) for _ in (LEFT, RIGHT))
        self.rows = (left, right)
        self.pending: list[SideChanges] = []
        """The changes that may be undone, in the order in which they were applied."""

    def add(self, changes: SideChanges, *, undoable: bool) -> None:
        """Add the changes of an application."""
        if undoable:
            self.pending.append(changes)
        merged = [
            self.rows[side].add(weighted(rows))
            for side, rows in enumerate(changes.sides)
            if rows is not None
        ]
        if any(merged) or len(changes.passed):
            self._forget_slots()

    def take_back(self, changes: SideChanges, affected: Bools) -> None:
        """Undo the changes of the slots that are marked."""
        for side, rows in enumerate(changes.sides):
            changes.sides[side], taken = split_rows(rows, affected)
            if taken is not None:
                self.rows[side].add(weighted(taken).negate())

    def drop(self, marks: Bools) -> None:
        """Drop the rows of the slots that are marked."""
        for rows in self.rows:
            rows.drop(marks)
        for changes in self.pending:
            changes.sides = [split_rows(rows, marks)[0] for rows in changes.sides]

    def settle(self, changes: SideChanges) -> None:
        """Record that an application will not be undone."""
        self.pending.remove(changes)

    def _forget_slots(self) -> None:
        """Free the slots without rows, if they are the majority.

        Slots that changed in an application that may be undone are kept: undoing may restore their rows.
        """
        if self.table.live <= _KEYS_MIN + 2 * sum(map(len, self.rows)):
            return
        used = np.zeros(len(self.table), np.bool_)
        for rows in self.rows:
            rows.mark_slots(used)
        for changes in self.pending:
            used[changes.passed] = True
            for side in changes.sides:
                if side is not None:
                    used[side.slot] = True
        self.table.free_all_but(used)


def weighted(rows: KeyedRows) -> WeightedRows:
    """Return rows as rows of a multiset."""
    return WeightedRows(rows.batch.columns, rows.slot, rows.batch.weights())
