"""The rows of one result, after the changes up to a position, found by their key.

Rows are kept in columns, in the order in which they were last changed.  A slot (`SlotTable`) stands for each
key, and has the number of the row that is in force; without a key, equal rows share a slot, which counts
them.  A result that only grows has no slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.order import concat_arrays
from fsql.runtime.ports import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_SLACK_ROWS: Final = 65_536
"""How many replaced rows are kept before the columns are rewritten, at least."""
_NONE: Final = -1
_WEIGHTS: Final = np.array([1, -1, 1, -1])
assert (INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE) == (0, 1, 2, 3)


class CurrentRows:
    """The rows of one result."""

    def __init__(
        self,
        types: Sequence[pa.DataType],
        key: Sequence[int] | None,
        *,
        appends: bool,
        rows_max: int,
    ) -> None:
        """Start without rows.

        Of a result that `appends`, the last `rows_max` rows are kept, and up to twice as many.
        """
        self._types = types
        self._key = None if key is None else list(key)
        self._appends = appends
        self._rows_max = rows_max
        self._parts: list[list[pa.Array]] = []
        self._starts: list[int] = []
        """The number of the first row of each part."""
        self._end = 0
        self._slots = SlotTable()
        self._row_of_slot = np.full(0, _NONE, np.int64)
        self._count_of_slot = np.zeros(0, np.int64)
        self.live = 0
        """How many rows there are."""
        self.dropped = 0
        """How many of the first rows of a result that only grows were dropped."""

    def apply(self, columns: Sequence[pa.Array], operations: NDArray[np.int8]) -> None:
        """Apply changes, in their order."""
        count = len(operations)
        if not count:
            return
        first = self._end
        if self._appends:
            self._add(columns, count)
            self.live += count
            self._drop_first()
            return
        if self._key is None:
            self._count_equal_rows(columns, operations, first)
        else:
            self._replace(columns, operations, first)
        self._add(columns, count)
        if self._end - self._starts[0] > 2 * self.live + _SLACK_ROWS:
            self._rewrite()

    def load(self, columns: Sequence[pa.Array]) -> None:
        """Take the rows that `all_rows` has returned elsewhere, as the first."""
        for start in range(0, len(columns[0]) if columns else 0, _SLACK_ROWS):
            part = [column.slice(start, _SLACK_ROWS) for column in columns]
            self.apply(part, np.zeros(len(part[0]), np.int8))

    def all_rows(self) -> list[pa.Array]:
        """Return the columns of all rows, in the order in which they were last changed."""
        if not self._parts:
            return [pa.array([], kind) for kind in self._types]
        columns = [concat_arrays(list(column)) for column in zip(*self._parts, strict=True)]
        if self._appends:
            return columns
        numbers = self._numbers_in_force() - self._starts[0]
        return [column.take(pa.array(numbers)) for column in columns]

    def rows_of_key(self, key: Sequence[pa.Array]) -> list[pa.Array] | None:
        """Return the columns of the rows with one key; None if rows are not found by key."""
        if self._key is None or self._appends:
            return None
        found = self._slots.find(key, 1)
        slot = int(found.slots[0])
        if found.any_new:
            self._slots.free(found.slots)
            self._slots.recycle(self._slots.take_retired())
            return [pa.array([], kind) for kind in self._types]
        number = int(self._row_of_slot[slot])
        part = int(np.searchsorted(self._starts, number, side="right")) - 1
        return [column.slice(number - self._starts[part], 1) for column in self._parts[part]]

    def _numbers_in_force(self) -> Ints:
        """Return the number of each row, ascending; equal rows have one number, once for each of them."""
        slots = np.flatnonzero(self._row_of_slot != _NONE)
        numbers = self._row_of_slot[slots]
        if self._key is None:
            numbers = np.repeat(numbers, self._count_of_slot[slots])
        return np.sort(numbers)

    def _replace(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8], first: int
    ) -> None:
        """Let the last change of each key decide which row it has."""
        assert self._key is not None
        slots = self._slots_of([columns[at] for at in self._key], len(operations))
        # Of the changes of a key the last one counts: the first, seen from behind.
        touched, behind = np.unique(slots[::-1], return_index=True)
        rows = len(slots) - 1 - behind
        removed = _WEIGHTS[operations[rows]] < 0
        before = np.count_nonzero(self._row_of_slot[touched] != _NONE)
        self._row_of_slot[touched] = np.where(removed, _NONE, first + rows)
        self.live += int(np.count_nonzero(~removed)) - int(before)
        self._free(touched[removed])

    def _count_equal_rows(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8], first: int
    ) -> None:
        slots = self._slots_of(columns, len(operations))
        np.add.at(self._count_of_slot, slots, _WEIGHTS[operations])
        added = np.flatnonzero(_WEIGHTS[operations] > 0)
        self._row_of_slot[slots[added]] = first + added
        touched = np.unique(slots)
        self.live += int(_WEIGHTS[operations].sum())
        empty = touched[self._count_of_slot[touched] <= 0]
        self._row_of_slot[empty] = _NONE
        self._free(empty)

    def _slots_of(self, key: Sequence[pa.Array], count: int) -> Ints:
        slots = self._slots.find(key, count).slots
        missing = len(self._slots) - len(self._row_of_slot)
        if missing > 0:
            more = max(missing, len(self._row_of_slot) // 2)
            self._row_of_slot = np.append(self._row_of_slot, np.full(more, _NONE, np.int64))
            self._count_of_slot = np.append(self._count_of_slot, np.zeros(more, np.int64))
        return slots

    def _free(self, slots: Ints) -> None:
        if len(slots):
            self._slots.free(slots)
            self._slots.recycle(self._slots.take_retired())
            self._count_of_slot[slots] = 0

    def _add(self, columns: Sequence[pa.Array], count: int) -> None:
        """Add rows behind the others; parts are joined so that each row is copied a few times only."""
        self._parts.append(list(columns))
        self._starts.append(self._end)
        self._end += count
        while len(self._parts) > 1 and 2 * self._size(-1) >= self._size(-2):
            last, before = self._parts.pop(), self._parts.pop()
            self._starts.pop()
            self._parts.append([concat_arrays([*pair]) for pair in zip(before, last, strict=True)])

    def _size(self, part: int) -> int:
        columns = self._parts[part]
        return len(columns[0]) if columns else 0

    def _rewrite(self) -> None:
        """Keep the rows in force only, with new numbers."""
        slots = np.flatnonzero(self._row_of_slot != _NONE)
        numbers = self._row_of_slot[slots]
        order = np.argsort(numbers, kind="stable")
        columns = [concat_arrays(list(column)) for column in zip(*self._parts, strict=True)]
        kept = pa.array(numbers[order] - self._starts[0])
        self._parts = [[column.take(kept) for column in columns]]
        self._row_of_slot[slots[order]] = np.arange(len(slots))
        self._starts, self._end = [0], len(slots)

    def _drop_first(self) -> None:
        """Of a result that only grows, drop the first rows if there are too many."""
        if self.live <= 2 * self._rows_max:
            return
        over = self.live - self._rows_max
        columns = [concat_arrays(list(column)) for column in zip(*self._parts, strict=True)]
        # Copied, so that the memory of the rows before is released.
        kept = pa.array(np.arange(over, self.live))
        self._parts = [[column.take(kept) for column in columns]]
        self._starts, self._end = [0], self._rows_max
        self.live -= over
        self.dropped += over
