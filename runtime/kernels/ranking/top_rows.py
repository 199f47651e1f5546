"""The first rows of each slot, in their order, of rows that are never removed.

A slot has the numbers of its rows, at most `limit`; `NumberedRows` has their columns.  The integers that
order the rows, those of ORDER BY and then those of the position, are also stored by number.  Rows that no
slot and no undo refers to are dropped when the number of rows has doubled since the last time.

`TopRows` has the methods of an accumulator that snapshots use; its state columns are those of `OrderedRows`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.aggregate.steps import Values
from fsql.runtime.kernels.ranking.ordered_rows import ROWS, WEIGHT, column_name, position_name
from fsql.runtime.kernels.sessions.numbered_rows import NumberedRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.runtime.arrays import Bools, Ints


NONE: Final = -1
"""Represents the absence of a row."""
_KEPT_MIN: Final = 1 << 13
"""With fewer rows than this, no rows are dropped."""


class TopUndo:
    """The numbers that slots had before an application."""

    def __init__(self, slots: Ints, numbers: Ints) -> None:
        self.slots = slots
        self.numbers = numbers


class TopRows:
    """The first `limit` rows of each slot."""

    def __init__(
        self,
        limit: int,
        types: Sequence[pa.DataType],
        depth: int,
        codes: int,
        codes_of: Callable[[Sequence[pa.Array]], list[Ints]],
    ) -> None:
        """Begin empty; the rows have columns of `types` and a path of `depth` integers.

        The rows are ordered by `codes` integers, which `codes_of` computes from loaded columns, and by
        position.
        """
        self.limit = limit
        self._types = types
        self._positions = 2 + depth
        self._codes_of = codes_of
        self._keys = np.empty((codes + self._positions, 16), np.int64)
        self._numbers = np.full((16, limit), NONE)
        self._rows = NumberedRows()
        self._undos: dict[int, TopUndo] = {}
        self._renumbered_at = _KEPT_MIN

    def of(self, slots: Ints) -> Ints:
        """Return the numbers of the rows of each slot, as `(slots, limit)`, NONE after the last."""
        return self._numbers[slots]

    def set(self, slots: Ints, numbers: Ints) -> None:
        """Set the rows of slots."""
        self._numbers[slots] = numbers

    def add(self, batch: Batch, keys: Ints) -> Ints:
        """Add rows, at least one, to no slot; return their numbers.  `keys` is as `keys` returns it."""
        numbers = self._rows.add(batch)
        width, have = self._keys.shape
        if self._rows.end > have:
            more = np.empty((width, 2 * self._rows.end - have), np.int64)
            self._keys = np.concatenate([self._keys, more], axis=1)
        self._keys[:, self._rows.end - len(batch) : self._rows.end] = keys
        return numbers

    def take(self, numbers: Ints) -> Batch:
        """Return rows, at least one, in the form in which they were added."""
        return self._rows.take(numbers)

    def keys(self, numbers: Ints) -> Ints:
        """Return the integers that order rows, as `(integers, rows)`, the most significant one first."""
        return self._keys[:, numbers]

    @property
    def held(self) -> int:
        """Return the number of rows, including those that nothing refers to."""
        return self._rows.held

    def keep(self, undo: TopUndo) -> None:
        """Keep the rows of `undo` until `forget`."""
        self._undos[id(undo)] = undo

    def forget(self, undo: TopUndo) -> None:
        """Allow the rows of an undo, which was given to `keep`, to be dropped."""
        del self._undos[id(undo)]

    def restore(self, undo: TopUndo, affected: Bools) -> None:
        """Undo an application for the slots that are marked."""
        marked = affected[undo.slots]
        self.set(undo.slots[marked], undo.numbers[marked])

    def drop_unused(self) -> None:
        """Drop the rows that nothing refers to, once they may be the majority."""
        if self._rows.held <= self._renumbered_at:
            return
        tables = [self._numbers, *(undo.numbers for undo in self._undos.values())]
        used = np.zeros(self._rows.end, np.bool_)
        for table in tables:
            used[table[table != NONE]] = True
        old = np.flatnonzero(used)
        self._keys = self._keys[:, old]
        new = np.full(self._rows.end + 1, NONE)
        new[old] = self._rows.renumber(old)
        for table in tables:
            table[:] = new[table]
        self._renumbered_at = max(_KEPT_MIN, 2 * self._rows.held)

    def grow(self, slots: int) -> None:
        """See `Accumulator`."""
        have = len(self._numbers)
        if slots > have:
            more = np.full((2 * slots - have, self.limit), NONE)
            self._numbers = np.concatenate([self._numbers, more])

    def clear(self, slots: Ints) -> None:
        """See `Accumulator`."""
        self._numbers[slots] = NONE

    def read(self, slots: Ints) -> Values:
        """Return the number of rows of each slot."""
        return Values(pa.array(self._counts(slots)))

    def _counts(self, slots: Ints) -> Ints:
        return np.count_nonzero(self._numbers[slots] != NONE, axis=1)

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """See `Accumulator`: rows in their order, with weights and positions."""
        counts = self._counts(slots)
        numbers = self._numbers[slots]
        numbers = numbers[numbers != NONE]
        if len(numbers):
            batch = self.take(numbers)
            columns = [decode_dictionary(column) for column in batch.columns]
            positions = [pa.array(each) for each in (batch.time, batch.origin, *batch.path)]
        else:
            columns = [pa.array([], kind) for kind in self._types]
            positions = [pa.array([], pa.int64())] * self._positions
        flat = {WEIGHT: pa.array(np.ones(len(numbers), np.int64))}
        flat |= {column_name(index): column for index, column in enumerate(columns)}
        flat |= {position_name(index): column for index, column in enumerate(positions)}
        offsets = pa.array(np.append(0, np.cumsum(counts)).astype(np.int32))
        lists = {name: pa.ListArray.from_arrays(offsets, column) for name, column in flat.items()}
        return {ROWS: pa.array(counts, mask=counts == 0), **lists}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        """See `Accumulator`."""
        counts = columns[ROWS].fill_null(0).to_numpy(zero_copy_only=False)
        if not counts.any():
            return
        values = [columns[column_name(index)].flatten() for index in range(len(self._types))]
        time, origin, *path = (
            columns[position_name(index)].flatten().to_numpy() for index in range(self._positions)
        )
        batch = Batch(values, time, origin, tuple(path))
        keys = np.stack([*self._codes_of(values), time, origin, *path])
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        indexes = np.arange(len(batch)) - starts
        self._numbers[np.repeat(slots, counts), indexes] = self.add(batch, keys)
