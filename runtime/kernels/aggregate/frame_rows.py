"""The rows that frames hold, by slot: those in the frame of the last row of the slot.

The rows are numbered, and the rows of a slot have consecutive numbers.  `FrameRows` has the methods of an
accumulator that snapshots and undoing use: the state of a slot is a list for each column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.aggregate.state_column import StateColumn
from fsql.runtime.kernels.aggregate.steps import Values
from fsql.runtime.kernels.sessions.numbered_rows import NumberedRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.runtime.arrays import Ints


class SlotRows(NamedTuple):
    """The rows of some slots, slot by slot, and the number of rows of each slot; None for no rows."""

    sizes: Ints
    rows: Batch | None


def ranges(start: Ints, size: Ints) -> Ints:
    """Return the integers of ranges, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(size) - size
    return np.arange(int(size.sum())) + np.repeat(start - before, size)


class FrameRows:
    """The rows that each slot holds: their times, and arguments."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        """Begin without rows; `types` are those of the arguments."""
        self._types = types
        self._rows = NumberedRows()
        self._start = StateColumn()
        self._size = StateColumn()

    def grow(self, slots: int) -> None:
        """See `Accumulator`."""
        self._start.grow(slots)
        self._size.grow(slots)

    def clear(self, slots: Ints) -> None:
        """See `Accumulator`."""
        self._rows.forget(int(self._size.values[slots].sum()))
        self._size.values[slots] = 0

    def read(self, slots: Ints) -> Values:
        """Return the number of rows of each slot."""
        return Values(pa.array(self._size.values[slots]))

    def take(self, slots: Ints) -> SlotRows:
        """Return the rows of slots."""
        sizes = self._size.values[slots]
        numbers = ranges(self._start.values[slots], sizes)
        return SlotRows(sizes, self._rows.take(numbers) if len(numbers) else None)

    def put(self, slots: Ints, held: SlotRows) -> None:
        """Replace the rows of slots."""
        self.clear(slots)
        if held.rows is not None:
            first = int(self._rows.add(held.rows)[0])
            self._start.values[slots] = first + np.cumsum(held.sizes) - held.sizes
            self._size.values[slots] = held.sizes
        if self._rows.mostly_forgotten:
            self._renumber()

    def _renumber(self) -> None:
        """Drop the rows that no slot holds."""
        slots = np.flatnonzero(self._size.values)
        start, size = self._start.values[slots], self._size.values[slots]
        order = np.argsort(start)
        slots, start, size = slots[order], start[order], size[order]
        numbers = self._rows.renumber(ranges(start, size))
        if len(numbers):
            self._start.values[slots] = numbers[0] + np.cumsum(size) - size

    def save(self, slots: Ints) -> SlotRows:
        """See `Accumulator`."""
        return self.take(slots)

    def restore(self, slots: Ints, saved: SlotRows, kept: Ints) -> None:
        """See `Accumulator`."""
        sizes = saved.sizes[kept]
        if saved.rows is None or not sizes.any():
            self.clear(slots[kept])
            return
        start = np.cumsum(saved.sizes) - saved.sizes
        self.put(slots[kept], SlotRows(sizes, saved.rows.take(ranges(start[kept], sizes))))

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """See `Accumulator`: NULL for slots that hold nothing."""
        sizes, rows = self.take(slots)
        offsets = pa.array(np.append(0, np.cumsum(sizes)), pa.int32())
        if rows is None:
            flat = [pa.array([], pa.int64()), *(pa.array([], kind) for kind in self._types)]
        else:
            flat = [pa.array(rows.time), *map(decode_dictionary, rows.columns)]
        empty = pa.array(sizes == 0)
        return {
            name: pa.ListArray.from_arrays(offsets, column, mask=empty)
            for name, column in zip(self._names(), flat, strict=True)
        }

    def _names(self) -> list[str]:
        return ["time", *(f"argument{index}" for index in range(len(self._types)))]

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        """See `Accumulator`."""
        lists = [columns[name] for name in self._names()]
        sizes = lists[0].value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        time, *arguments = (each.flatten() for each in lists)
        if len(time):
            self.put(slots, SlotRows(sizes.astype(np.int64), rows_of(arguments, time.to_numpy())))


def rows_of(arguments: Sequence[pa.Array], time: Ints) -> Batch:
    """Return rows to hold."""
    return Batch(list(arguments), time, np.zeros(len(time), np.int64), ())
