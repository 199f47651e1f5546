"""The common part of snapshots of joins: they have rows of both sides, not states of keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from fsql.runtime.batch import START
from fsql.runtime.kernels.join.encoding import JoinEncoding, KeysAndState, merge_parts
from fsql.runtime.kernels.join.keyed_join import LEFT, RIGHT
from fsql.runtime.kernels.keyed.incremental_snapshot import HASH, IncrementalSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.keyed.kernel import KeyedRows
    from fsql.runtime.kernels.keyed.slots import SlotTable


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
