"""Marks of slots in a persistent array: the cost depends on the number of slots set or read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fsql.runtime.arrays import Bools, Ints


class SlotMarks:
    """Marked slots.  Only `count` and `find_marked` read all slots: a millisecond for millions."""

    def __init__(self) -> None:
        self.values = np.zeros(16, np.bool_)

    def set(self, slots: Ints, *, to: bool) -> None:
        """Mark slots, or unmark them."""
        if len(slots):
            self.grow(int(slots.max()) + 1)
            self.values[slots] = to

    def of(self, slots: Ints) -> Bools:
        """Return for each slot whether it is marked."""
        if len(slots):
            self.grow(int(slots.max()) + 1)
        return self.values[slots]

    def count(self) -> int:
        """Return the number of marked slots."""
        return int(np.count_nonzero(self.values))

    def find_marked(self) -> Ints:
        """Return the slots that are marked, ascending."""
        return np.flatnonzero(self.values)

    def grow(self, slots: int) -> None:
        """Make room for `slots` slots; new ones are not marked."""
        if slots > len(self.values):
            self.values = np.append(self.values, np.zeros(2 * slots - len(self.values), np.bool_))
