"""The common part of the kernels of joins: the keys of rows, and their slots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import START
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    EXPIRES,
    HASH,
    WEIGHT,
    IncrementalSnapshot,
    incremental_snapshot,
    merge_snapshots,
)
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.order import key_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.owner_map import BinRanges
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.kernels.keyed.kernel import KeyedRows
    from fsql.runtime.kernels.keyed.slots import SlotTable


LEFT, RIGHT = 0, 1
PAIRS_MAX: Final = 1 << 18
"""The maximum number of pairs of one application, unless one root makes more."""


class KeyedJoin:
    """The part of `Kernel` that does not depend on how rows are stored.

    Prepared columns: keys, then those of the input.
    """

    def __init__(self, combine: CombineJoin, table: SlotTable) -> None:
        """`table` has the slots of the keys."""
        self._combine = combine
        self._evaluate = (Evaluator(combine.left_keys), Evaluator(combine.right_keys))
        self._keys = len(combine.left_keys)
        self._table = table

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        """Leave out rows with a NULL key; see `Kernel`."""
        keys, kept, errors = self._evaluate[side](batch)
        batch = batch if kept is None else batch.take(kept)
        prepared = batch.with_columns([*keys, *batch.columns])
        if any(key.null_count for key in keys):
            valid = np.logical_and.reduce(
                [key.is_valid().to_numpy(zero_copy_only=False) for key in keys]
            )
            prepared = prepared.take(np.flatnonzero(valid))
        return prepared, errors

    def keys(self, batch: Batch) -> Sequence[pa.Array]:
        return batch.columns[: self._keys]

    def slots(self, side: int, batch: Batch) -> Ints:
        del side
        return self._table.find(self.keys(batch), len(batch)).slots

    @property
    def table(self) -> SlotTable:
        return self._table

    def close(self, min_time: Root) -> None:
        """Return None: there are no windows."""
        del min_time

    def give_up(self, bins: BinRanges) -> None:
        """See `Kernel`."""

    def slots_in(self, bins: BinRanges, slots: Ints) -> Ints:
        types = [arrow_type(key.type) for key in self._combine.left_keys]
        return self._table.in_bins(bins, types, slots)

    @property
    def releases_in_parts(self) -> bool:
        return False

    def next_close(self) -> Root | None:
        return None


# The columns of the rows of a join in incremental snapshots.
#
#     key_0 …   hash   side   time   origin   path_0 …   weight   left_0 …   right_0 …   expires
#
# In a row of one side, the columns of the other side are NULL.


SIDE: Final = "side"
_NAMES: Final = ("left", "right")

KeysAndState = tuple[list[pa.Array], pa.RecordBatch]


class JoinEncoding:
    """Encodes and decodes rows whose columns are the keys, then those of the input."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema]) -> None:
        """`schemas` are those of the sides."""
        self._keys = [arrow_type(key.type) for key in combine.left_keys]
        self._depth = max(combine.left_depth, combine.right_depth)
        self._types = [[arrow_type(column.type) for column in schema] for schema in schemas]

    def no_rows(self, side: int) -> list[pa.Array]:
        """Return the columns of a side without rows."""
        return [pa.array([], kind) for kind in (*self._keys, *self._types[side])]

    def positions(self, columns: Sequence[Ints]) -> dict[str, Ints]:
        """Return position columns by name: time, origin and path, padded to the depth of the deeper side."""
        names = ("time", "origin", *(f"path_{level}" for level in range(self._depth)))
        padding = [np.full(len(columns[0]), -1)] * (len(names) - len(columns))
        return dict(zip(names, [*columns, *padding], strict=True))

    def rows_of(
        self,
        side: int,
        columns: Sequence[pa.Array],
        positions: Mapping[str, Ints],
        weight: Ints,
        expires: Ints,
    ) -> KeysAndState:
        """Return the keys of rows of a side, and the other columns of the snapshot."""
        count = len(weight)
        values = [decode_dictionary(column) for column in columns]
        keys = [_canonical(key) for key in values[: len(self._keys)]]
        made = {SIDE: pa.array(np.full(count, side, np.int8))}
        made.update((name, pa.array(column)) for name, column in positions.items())
        made[WEIGHT] = pa.array(weight)
        for other, name in enumerate(_NAMES):
            nulls = (pa.nulls(count, kind) for kind in self._types[other])
            own = values[len(keys) :] if other == side else nulls
            made.update((f"{name}_{index}", column) for index, column in enumerate(own))
        made[EXPIRES] = pa.array(expires)
        return keys, pa.RecordBatch.from_pydict(made)

    def columns_of(self, side: int, rows: pa.RecordBatch) -> list[pa.Array]:
        """Return the columns of a side's rows in an incremental snapshot."""
        names = [f"key_{index}" for index in range(len(self._keys))]
        names += [f"{_NAMES[side]}_{index}" for index in range(len(self._types[side]))]
        return [rows.column(name) for name in names]


def merge_parts(parts: Sequence[KeysAndState], position: Root) -> pa.RecordBatch:
    """Return the rows of the incremental snapshot with the rows of both sides."""
    keys = [pa.concat_arrays(columns) for columns in zip(*(k for k, _ in parts), strict=True)]
    state = pa.concat_batches([rows for _, rows in parts])
    return merge_snapshots([incremental_snapshot(keys, state, appends=True)], position).rows


def rows_of_side(state: IncrementalSnapshot, side: int) -> Ints:
    """Return the indexes of the rows of a side."""
    return np.flatnonzero(state.rows.column(SIDE).to_numpy() == side)


def _canonical(key: pa.Array) -> pa.Array:
    """Return a key column, which has no NULL, with one zero and one NaN."""
    key = key_values(key)
    if pa.types.is_floating(key.type):
        doubles = key.to_numpy()
        return pa.array(np.where(np.isnan(doubles), np.nan, doubles))
    return key


# The common part of snapshots of joins: they have rows of both sides, not states of keys.


PartT = TypeVar("PartT")
"""Some rows of a side, as the join stores them."""


class SideSnapshots(ABC, Generic[PartT]):
    """The part of `kernel.KernelSnapshots` that does not depend on how a join stores its rows."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema], table: SlotTable) -> None:
        """Start without a snapshot: the first one has all rows, and no changes are recorded before it."""
        self.position: Root | None = None
        self._encoding = JoinEncoding(combine, schemas)
        self._keys = len(combine.left_keys)
        self._table = table
        self._saved_to = START

    @abstractmethod
    def _unsaved_rows(self, side: int, position: Root) -> list[PartT]:
        """Return the rows of a side between the position of the last snapshot and `position`.

        Rows below `position` that have not settled follow other rows in the log of the fold; they are final,
        too.
        """

    @abstractmethod
    def _encode(self, side: int, parts: list[PartT]) -> KeysAndState:
        """Return the keys of rows of a side, and the other columns of the snapshot."""

    @abstractmethod
    def changed_keys(self) -> int:
        """See `kernel.KernelSnapshots`."""

    @abstractmethod
    def _record_from_now(self) -> None:
        """Record the rows that become final from now on, for the next snapshot."""

    @abstractmethod
    def _add(self, state: IncrementalSnapshot, slots: Ints) -> None:
        """Add the rows of a snapshot, in these slots, to those of the join."""

    def announce(self, position: Root) -> None:
        self.position = position

    def cancel(self) -> None:
        self.position = None

    def on_apply(self, sides: Sequence[KeyedRows | None]) -> None:
        """Do nothing: rows are recorded when they become final."""

    def on_undo(self, slots: Ints, greatest: Root) -> None:
        """Do nothing: undone rows were not final."""

    def on_slots_freed(self, slots: list[int]) -> None:
        """Do nothing: incremental snapshots contain keys, not slots."""

    def take(self) -> IncrementalSnapshot | None:
        position = self.position
        assert position is not None
        unsaved = [self._unsaved_rows(side, position) for side in (LEFT, RIGHT)]

        def rows() -> pa.RecordBatch:
            parts = [self._encode(side, rows) for side, rows in enumerate(unsaved)]
            return merge_parts(parts, position)

        self._saved_to = position
        self._record_from_now()
        self.position = None
        return IncrementalSnapshot(rows, self._keys, appends=True) if any(unsaved) else None

    def load(self, state: IncrementalSnapshot, position: Root) -> None:
        self._saved_to = position
        self._record_from_now()
        hashes = state.rows.column(HASH).to_numpy()
        self._add(state, self._table.load(state.rows.columns[: state.keys], hashes))

    def stage(self, state: IncrementalSnapshot) -> None:
        if len(state):
            keys = state.rows.columns[: state.keys]
            self._add(state, self._table.find(keys, len(state)).slots)

    def adopt(self, position: Root) -> None:
        """Do nothing: rows are found by their keys, for which no rows arrived before."""

    def discard_staged(self) -> None:
        """Do nothing: the fold releases the slots of the rows."""
