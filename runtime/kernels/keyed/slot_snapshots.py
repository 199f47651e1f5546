"""Snapshots of kernels that keep accumulators by slot: the changed slots, copied on write.

A changed slot is copied once, before rows at or above the announced position are applied to it.  Rows of a
slot are applied in order: a later application below the position first undoes everything above it, and
invalidates the copy.

    announced: 5   rows of a slot: 3  4  6  7     copied before 6 is applied, not again before 7
                   then 2 comes late:             all are undone; 2 3 4, copied again, 6 7
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

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
from fsql.runtime.kernels.keyed.steps import (
    StateColumn,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.keyed.kernel import KeyedRows
    from fsql.runtime.kernels.keyed.slot_ends import Closings, IdleSlots
    from fsql.runtime.kernels.keyed.slots import SlotTable


class SlotSnapshots:
    """`kernel.KernelSnapshots` over a slot table and the states of slots."""

    def __init__(
        self,
        table: SlotTable,
        key_types: Sequence[pa.DataType],
        states: Sequence[SnapshotState],
        closings: Closings | IdleSlots | None,
    ) -> None:
        """Start without a snapshot: the first one has all slots, and no changes are recorded before it."""
        self.position: Root | None = None
        self._table = table
        self._key_types = key_types
        self._states = states
        self._closings = closings
        self._changed: SlotMarks | None = None
        self._changed_above = SlotMarks()
        self._copy_of = StateColumn()
        self._copies: list[tuple[Ints, pa.RecordBatch]] = []
        self._emptied: list[tuple[Callable[[], list[pa.Array]], pa.RecordBatch]] = []
        """The keys and the empty state of freed slots, whose earlier state may be in older snapshots."""

    def announce(self, position: Root) -> None:
        self.position = position

    def cancel(self) -> None:
        above = self._changed_above.find_marked()
        self._changed_above.set(above, to=False)
        if self._changed is not None:
            self._changed.set(above, to=True)
        self._conclude()

    def _conclude(self) -> None:
        """Discard position and copies, at a cost that depends on the copies."""
        self.position = None
        for slots, _ in self._copies:
            self._copy_of.values[slots] = 0
        self._copies = []

    def on_apply(self, sides: Sequence[KeyedRows | None]) -> None:
        if self.position is None and self._changed is None:
            return
        for rows in sides:
            if rows is None:
                continue
            if self.position is not None and rows.batch.root(0) >= self.position:
                self._copy(rows.slot)
                self._changed_above.set(rows.slot, to=True)
            else:
                self._void_copies(rows.slot)
                if self._changed is not None:
                    self._changed.set(rows.slot, to=True)

    def _copy(self, slots: Ints) -> None:
        """Copy the state of changed slots that have no copy; slots may be repeated."""
        self._copy_of.grow(len(self._table))
        wanted = self._copy_of.values[slots] == 0
        if self._changed is not None:
            wanted &= self._changed.of(slots)
        if wanted.any():
            slots = np.unique(slots[wanted])
            self._copies.append((slots, self._state(slots)))
            self._copy_of.values[slots] = len(self._copies)

    def _void_copies(self, slots: Ints) -> None:
        if self._copies:
            self._copy_of.grow(len(self._table))
            self._copy_of.values[slots] = 0

    def on_undo(self, slots: Ints, greatest: Root) -> None:
        if self.position is not None and greatest < self.position:
            self._void_copies(slots)

    def on_emptied(self, slots: Ints) -> None:
        """Record that slots whose state is finally empty are about to lose their keys."""
        if self._changed is not None:
            keys = self._table.copied_keys(slots, self._key_types)
            self._emptied.append((keys, self._state(slots)))

    def on_slots_freed(self, slots: list[int]) -> None:
        if not slots:
            return
        freed = np.array(slots, np.int64)
        self._void_copies(freed)
        self._changed_above.set(freed, to=False)
        if self._changed is not None:
            self._changed.set(freed, to=False)

    def changed_keys(self) -> int:
        return self._table.live if self._changed is None else self._changed.count()

    def take(self) -> IncrementalSnapshot | None:
        position = self.position
        assert position is not None
        changed = self._changed
        whole = changed is None
        slots = self._table.live_slots() if changed is None else changed.find_marked()
        self._copy_of.grow(len(self._table))
        current = slots[self._copy_of.values[slots] == 0]
        parts = [(current, self._state(current))]
        for number, (copied, state) in enumerate(self._copies, 1):
            valid = np.flatnonzero(self._copy_of.values[copied] == number)
            parts.append((copied[valid], state.take(pa.array(valid))))
        copied = np.concatenate([slots for slots, _ in parts])
        keys = self._table.copied_keys(copied, self._key_types)

        # A key that was added again has a row after the row that marks it as removed.
        key_parts = [*(keys for keys, _ in self._emptied), keys]
        states = [*(state for _, state in self._emptied), *(state for _, state in parts)]
        self._emptied = []
        hashed = self._table.hashed

        def rows() -> pa.RecordBatch:
            columns = zip(*(made() for made in key_parts), strict=True)
            all_keys = [pa.concat_arrays(column) for column in columns]
            made = incremental_snapshot(
                all_keys, pa.concat_batches(states), appends=False, hashed=hashed
            )
            return merge_snapshots([made], position, whole=whole).rows

        unchanged = SlotMarks() if changed is None else changed
        unchanged.set(slots, to=False)
        self._changed, self._changed_above = self._changed_above, unchanged
        self._conclude()
        return (
            IncrementalSnapshot(rows, len(self._key_types), appends=False)
            if any(map(len, states))
            else None
        )

    def _state(self, slots: Ints) -> pa.RecordBatch:
        columns: dict[str, pa.Array] = {}
        empty = np.ones(len(slots), np.bool_)
        for number, one in enumerate(self._states):
            own = one.columns(slots)
            first = next(iter(own.values()))
            empty &= first.is_null().to_numpy(zero_copy_only=False)
            columns.update({f"{number}_{name}": column for name, column in own.items()})
        expires: Ints | int = NEVER if self._closings is None else self._closings.times(slots)
        columns[EXPIRES] = pa.array(np.where(empty, GONE, expires))
        return pa.RecordBatch.from_pydict(columns)

    def load(self, state: IncrementalSnapshot, position: Root) -> None:
        self._changed = SlotMarks()
        rows = state.rows
        if rows.num_rows == 0:
            return
        slots = self._table.load(rows.columns[: state.keys], rows.column(HASH).to_numpy())
        self._load(slots, rows, position)

    def stage(self, state: IncrementalSnapshot) -> None:
        rows = state.rows
        if rows.num_rows == 0:
            return
        found = self._table.find(rows.columns[: state.keys], rows.num_rows)
        for one in self._states:
            one.grow(len(self._table))
            one.clear(found.slots)
        gone = rows.column(EXPIRES).to_numpy() == GONE
        kept = np.flatnonzero(~gone)
        self._load_states(found.slots[kept], rows.take(pa.array(kept)))
        if self._closings is None:
            self._table.free(found.slots[gone])
            return
        # A slot whose window is staged is kept until the window closes.
        new, indexes = found.new() if found.any_new else (found.slots[:0], found.slots[:0])
        opened = ~gone[indexes]
        times = rows.column(EXPIRES).to_numpy()[indexes[opened]]
        self._closings.stage(times, new[opened])
        self._table.free(new[~opened])

    def adopt(self, position: Root) -> None:
        if self._closings is not None:
            closed = self._closings.adopt(position)
            for one in self._states:
                one.clear(closed)
            self._table.free(closed)

    def discard_staged(self) -> None:
        if self._closings is not None:
            self._closings.forget_staged()

    def _load(self, slots: Ints, rows: pa.RecordBatch, position: Root) -> None:
        self._load_states(slots, rows)
        if self._closings is not None:
            self._closings.open_again(rows.column(EXPIRES).to_numpy(), slots, position)

    def _load_states(self, slots: Ints, rows: pa.RecordBatch) -> None:
        for number, one in enumerate(self._states):
            one.grow(len(self._table))
            prefix = f"{number}_"
            one.load(
                slots,
                {
                    name.removeprefix(prefix): rows.column(name)
                    for name in rows.schema.names
                    if name.startswith(prefix)
                },
            )


class SnapshotState(Protocol):
    """State that is kept for every slot, and is part of snapshots."""

    def grow(self, slots: int) -> None:
        """Make room for `slots` slots; new ones are empty."""

    def clear(self, slots: Ints) -> None:
        """Make these slots empty again."""

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """Return a copy of the state of `slots`."""

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        """Set the state of `slots`, which are empty, to the result of `columns`."""


class UndoableState(SnapshotState, Protocol):
    """State of which copies can be restored."""

    def save(self, slots: Ints) -> Any:  # noqa: ANN401 - its type depends on the state
        """Return a copy of the state of `slots`."""

    def restore(self, slots: Ints, saved: Any, kept: Ints) -> None:  # noqa: ANN401
        """Restore `slots[kept]` from the result of `save(slots)`."""
