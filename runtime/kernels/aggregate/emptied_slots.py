"""The slots of groups without rows, which can be freed.

A slot can be freed when its group has no row and no undo refers to it: everything applied to it is then
final, and its rows have cancelled out.  Slots are checked when a row is finally removed and when an undo is
discarded, so the cost is proportional to the changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from fsql.runtime.kernels.aggregate.state_column import StateColumn

if TYPE_CHECKING:
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.aggregate.steps import Values


class CountsRows(Protocol):
    """A state that counts the rows of each slot."""

    def read(self, slots: Ints) -> Values:
        """Return the number of rows of each of the slots."""


class EmptiedSlots:
    """Slots that may be freed soon, and the number of undos that refer to each slot."""

    def __init__(self) -> None:
        self._undos = StateColumn()
        self._noted: list[Ints] = []

    def on_apply(self, slots: Ints, *, undoable: bool) -> None:
        """Record an application to slots, which are distinct."""
        if undoable:
            self._undos.grow(int(slots.max()) + 1)
            self._undos.values[slots] += 1
        else:
            self._noted.append(slots)

    def on_settle(self, slots: Ints) -> None:
        """Record that the undo of an application to these slots was discarded."""
        self._undos.values[slots] -= 1
        self._noted.append(slots)

    def take(self, rows: CountsRows) -> Ints:
        """Return the slots that can be freed, ascending, each once; `rows` counts the rows of each slot."""
        if not self._noted:
            return np.empty(0, np.int64)
        slots, self._noted = np.concatenate(self._noted), []
        slots = slots[rows.read(slots).array.to_numpy() == 0]
        if len(slots):
            self._undos.grow(int(slots.max()) + 1)
        return np.unique(slots[self._undos.values[slots] == 0])
