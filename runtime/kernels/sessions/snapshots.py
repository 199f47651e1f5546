"""Snapshots of sessions: for each key that has changed, the rows of its open sessions.

    key_0 …   hash   time   origin   path_0 …   column_0 …   expires

All columns except the keys, `hash` and `expires` are lists, in the total order.  When a snapshot is taken,
all rows below its position are placed, and none above it.  Sessions are computed from their rows: the
sessions of a key do not touch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    EXPIRES,
    GONE,
    HASH,
    NEVER,
    IncrementalSnapshot,
    incremental_snapshot,
    merge_snapshots,
)
from fsql.runtime.kernels.keyed.slot_marks import SlotMarks
from fsql.runtime.order import position_order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.keyed.kernel import KeyedRows
    from fsql.runtime.kernels.sessions.state import SessionState


class SessionSnapshots:
    """`kernel.KernelSnapshots` over the open sessions."""

    def __init__(
        self,
        state: SessionState,
        key_types: Sequence[pa.DataType],
        types: Sequence[pa.DataType],
        depth: int,
    ) -> None:
        """Start without a snapshot: the first one has all slots, and no changes are recorded before it."""
        self.position: Root | None = None
        self._state = state
        self._key_types = key_types
        self._types = types
        self._depth = depth
        self._changed: SlotMarks | None = None
        self._emptied: list[tuple[int, Callable[[], list[pa.Array]]]] = []
        """Numbers of removed keys, and functions that return the keys."""
        self._staged: list[IncrementalSnapshot] = []

    def announce(self, position: Root) -> None:
        self.position = position

    def cancel(self) -> None:
        self.position = None

    def on_apply(self, sides: Sequence[KeyedRows | None]) -> None:
        """Do nothing: sessions change when rows are placed."""

    def on_undo(self, slots: Ints, greatest: Root) -> None:
        """Do nothing: undone rows were not placed."""

    def on_change(self, slots: Ints) -> None:
        """Record that the sessions of slots have changed."""
        if self._changed is not None:
            self._changed.set(slots, to=True)

    def on_emptied(self, slots: Ints) -> None:
        """Record that slots are about to lose their keys."""
        if self._changed is not None:
            keys = self._state.table.copied_keys(slots, self._key_types)
            self._emptied.append((len(slots), keys))
            self._changed.set(slots, to=False)

    def on_slots_freed(self, slots: list[int]) -> None:
        if self._changed is not None and slots:
            self._changed.set(np.array(slots, np.int64), to=False)

    def changed_keys(self) -> int:
        return self._state.table.live if self._changed is None else self._changed.count()

    def take(self) -> IncrementalSnapshot | None:
        position = self.position
        assert position is not None
        whole = self._changed is None
        slots = (
            self._state.table.live_slots() if self._changed is None else self._changed.find_marked()
        )
        slots = np.sort(slots)
        batch, sizes = self._rows_of(slots)
        keys = self._state.table.copied_keys(slots, self._key_types)
        emptied, self._emptied = self._emptied, []
        self._changed, self.position = SlotMarks(), None
        if not len(slots) and not emptied:
            return None

        def rows() -> pa.RecordBatch:
            gone = [
                (made(), self._encode(None, np.zeros(count, np.int64))) for count, made in emptied
            ]
            # A key that was added again has a row after the one that marks it as removed.
            parts = [*gone, (keys(), self._encode(batch, sizes))]
            all_keys = [pa.concat_arrays(each) for each in zip(*(k for k, _ in parts), strict=True)]
            states = pa.concat_batches([state for _, state in parts])
            made = incremental_snapshot(all_keys, states, appends=False)
            return merge_snapshots([made], position, whole=whole).rows

        return IncrementalSnapshot(rows, len(self._key_types), appends=False)

    def _rows_of(self, slots: Ints) -> tuple[Batch | None, Ints]:
        """Return the rows of the open sessions of slots, slot by slot, and how many each has."""
        numbers, sizes = self._state.open.numbers_of(slots)
        return (self._state.rows.take(numbers) if len(numbers) else None), sizes

    def _encode(self, batch: Batch | None, sizes: Ints) -> pa.RecordBatch:
        """Return the state of slots; `sizes` has the number of rows of each."""
        offsets = pa.array(np.append(0, np.cumsum(sizes)), pa.int32())
        if batch is None:
            none = pa.array([], pa.int64())
            positions, values = [none] * (2 + self._depth), [pa.array([], t) for t in self._types]
        else:
            batch = _in_order(batch, np.repeat(np.arange(len(sizes)), sizes))
            positions = [pa.array(each) for each in (batch.time, batch.origin, *batch.path)]
            values = [decode_dictionary(column) for column in batch.columns]
        made = {
            name: pa.ListArray.from_arrays(offsets, column)
            for name, column in zip(self._names(), [*positions, *values], strict=True)
        }
        made[EXPIRES] = pa.array(np.where(sizes == 0, GONE, NEVER))
        return pa.RecordBatch.from_pydict(made)

    def _names(self) -> list[str]:
        path = (f"path_{level}" for level in range(self._depth))
        return ["time", "origin", *path, *(f"column_{n}" for n in range(len(self._types)))]

    def load(self, state: IncrementalSnapshot, position: Root) -> None:
        del position
        self._changed = SlotMarks()
        rows = state.rows
        if rows.num_rows:
            hashes = rows.column(HASH).to_numpy()
            self._add(rows, self._state.table.load(rows.columns[: state.keys], hashes))

    def stage(self, state: IncrementalSnapshot) -> None:
        self._staged.append(state)

    def adopt(self, position: Root) -> None:
        staged, self._staged = self._staged, []
        if not staged:
            return
        state = merge_snapshots(staged, position, whole=True)
        rows = state.rows
        if rows.num_rows:
            found = self._state.table.find(rows.columns[: state.keys], rows.num_rows)
            self._add(rows, found.slots)

    def discard_staged(self) -> None:
        self._staged = []

    def _add(self, rows: pa.RecordBatch, slots: Ints) -> None:
        lists = [rows.column(name) for name in self._names()]
        sizes = lists[0].value_lengths().to_numpy(zero_copy_only=False)
        flat = [each.flatten() for each in lists]
        time, origin, *path = (each.to_numpy() for each in flat[: 2 + self._depth])
        batch = Batch(flat[2 + self._depth :], time, origin, tuple(path))
        self._state.load(batch, np.repeat(slots, sizes))


def _in_order(batch: Batch, index: Ints) -> Batch:
    """Return rows sorted by index, those of one index in the total order, then by their columns."""
    order = position_order(batch, ties=True)
    order = np.arange(len(index)) if order is None else order
    return batch.take(order[np.argsort(index[order], kind="stable")])
