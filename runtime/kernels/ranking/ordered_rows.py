"""The rows of each slot in their order: a multiset with weights, which may be temporarily negative.

`OrderedRows` has the methods of an accumulator that snapshots use: the state of a slot is a list for each
column, with one element for each row.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.kernels.keyed.steps import Values
from fsql.runtime.kernels.ranking.sort_keys import codes_of_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.ranking.ranks import Key

    Row = tuple[Value, ...]
    MakeKeys = Callable[[Sequence[pa.Array], Sequence[Ints]], list[Key]]

ROWS, WEIGHT = "rows", "weight"
"""Columns of the state: the number of rows of a slot, and lists of their weights."""


def column_name(index: int) -> str:
    """Return the name of the state column with the values of a column."""
    return f"column_{index}"


def position_name(index: int) -> str:
    """Return the name of the state column with an integer of the positions of rows."""
    return f"position_{index}"


class Change(NamedTuple):
    """A change of the weight of a row."""

    key: Key
    row: Row
    weight: int


class Partition:
    """The rows of one slot: `rows` by key, with weights, and `keys` in order, repeated by their weights."""

    __slots__ = ("_keys", "rows")

    def __init__(self) -> None:
        self._keys: list[Key] | None = []
        self.rows: dict[Key, tuple[Row, int]] = {}

    @property
    def keys(self) -> list[Key]:
        """Return the keys of the rows in order."""
        if self._keys is None:
            self._keys = [key for key in sorted(self.rows) for _ in range(self.rows[key][1])]
        return self._keys

    def add(self, change: Change) -> None:
        """Add to the weight of a row; remove the row if the weight becomes 0."""
        copies, keys = self.copies(change), self.keys
        self._put(change)
        if copies > 0:
            index = bisect_left(keys, change.key)
            keys[index:index] = [change.key] * copies
        elif copies < 0:
            index = bisect_left(keys, change.key)
            del keys[index : index - copies]

    def add_unordered(self, change: Change) -> None:
        """Add to the weight of a row, whose place is found when `keys` are read: one sort for all rows."""
        self._put(change)
        self._keys = None

    def _put(self, change: Change) -> None:
        key, row, weight = change
        after = weight + (self.rows[key][1] if key in self.rows else 0)
        if after:
            self.rows[key] = row, after
        else:
            self.rows.pop(key, None)

    def copies(self, change: Change) -> int:
        """Return the number of keys that a change would add."""
        before = self.rows[change.key][1] if change.key in self.rows else 0
        return max(before + change.weight, 0) - max(before, 0)


class OrderedRows:
    """The partitions of all slots.

    The order of rows with equal sort keys begins with `position_width` integers of their positions, if any.
    """

    def __init__(self, schema: Schema, position_width: int, make_keys: MakeKeys) -> None:
        """Begin empty; `make_keys` makes the keys of rows from their columns and positions."""
        self._types = [column.type for column in schema]
        self._positions = position_width
        self._make_keys = make_keys
        self._partitions: list[Partition | None] = []

    def partition(self, slot: int) -> Partition:
        """Return the rows of a slot."""
        found = self._partitions[slot]
        if found is None:
            found = self._partitions[slot] = Partition()
        return found

    def grow(self, slots: int) -> None:
        """See `Accumulator`."""
        self._partitions.extend([None] * (slots - len(self._partitions)))

    def clear(self, slots: Ints) -> None:
        """See `Accumulator`."""
        for slot in slots.tolist():
            self._partitions[slot] = None

    def read(self, slots: Ints) -> Values:
        """Return the number of rows of each slot, including those with negative weight."""
        return Values(pa.array(self._counts(slots)))

    def _counts(self, slots: Ints) -> Ints:
        found = (self._partitions[slot] for slot in slots.tolist())
        counts = (0 if partition is None else len(partition.rows) for partition in found)
        return np.fromiter(counts, np.int64, len(slots))

    def batch_columns(self, rows: Sequence[Row]) -> list[pa.Array]:
        """Return rows in columns."""
        columns = zip(*rows, strict=True) if rows else ((),) * len(self._types)
        return [to_arrow(values, kind) for values, kind in zip(columns, self._types, strict=True)]

    def rows_of(self, columns: Sequence[pa.Array]) -> list[Row]:
        """Return columns as rows."""
        values = [
            from_arrow(column, kind) for column, kind in zip(columns, self._types, strict=True)
        ]
        return list(zip(*values, strict=True))

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """See `Accumulator`: rows in their order, with weights and positions."""
        counts = self._counts(slots)
        found = [self._partitions[slot] for slot in slots.tolist()]
        keys = [sorted(partition.rows) for partition in found if partition is not None]
        entries = [
            partition.rows[key]
            for partition, own in zip(filter(None, found), keys, strict=True)
            for key in own
        ]
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        flat = {WEIGHT: pa.array([weight for _, weight in entries], pa.int64())}
        columns = self.batch_columns([row for row, _ in entries])
        flat |= {column_name(index): column for index, column in enumerate(columns)}
        flat |= {
            position_name(index): pa.array(integers)
            for index, integers in enumerate(self._positions_of(chain.from_iterable(keys)))
        }
        some = pa.array(counts, mask=counts == 0)
        lists = {name: pa.ListArray.from_arrays(offsets, column) for name, column in flat.items()}
        return {ROWS: some, **lists}

    def _positions_of(self, keys: chain[Key]) -> list[Ints]:
        if not self._positions:
            return []
        return codes_of_bytes([tie for _, tie in keys], self._positions)

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        """See `Accumulator`."""
        counts = columns[ROWS].fill_null(0).to_numpy(zero_copy_only=False)
        values = [columns[column_name(index)].flatten() for index in range(len(self._types))]
        positions = [
            columns[position_name(index)].flatten().to_numpy() for index in range(self._positions)
        ]
        weights = columns[WEIGHT].flatten().to_pylist()
        if not weights:
            return
        rows = zip(
            np.repeat(slots, counts).tolist(),
            self._make_keys(values, positions),
            self.rows_of(values),
            weights,
            strict=True,
        )
        for slot, key, row, weight in rows:
            # Rows are loaded in their order.
            partition = self.partition(slot)
            partition.rows[key] = row, weight
            partition.keys.extend([key] * weight)
