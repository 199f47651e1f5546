"""The common part of the kernels that keep the state of each group in a slot.

Groups of windows are freed when their window closes, and other groups when their last row is removed, or when
no row has arrived for a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from fsql.compiler.graph import Closing
from fsql.runtime.kernels.keyed.slot_ends import Closings, EmptiedSlots
from fsql.runtime.kernels.keyed.slot_snapshots import SlotSnapshots
from fsql.runtime.kernels.keyed.slots import SlotTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.keyed.slot_ends import CountsRows, IdleSlots
    from fsql.runtime.kernels.keyed.slot_snapshots import SnapshotState


class SlotUndo(Protocol):
    """The undo of an application, with the slots that it restores."""

    @property
    def slots(self) -> Ints:
        """Return the slots, each once."""


UndoT = TypeVar("UndoT", bound=SlotUndo)


class GroupKernel(Generic[UndoT]):
    """The slots of groups: the part of `Kernel` that does not depend on the aggregates."""

    def __init__(
        self,
        key_types: Sequence[pa.DataType],
        states: Sequence[SnapshotState],
        counts: CountsRows,
        closing: Closing | Closings | None,
        *,
        final: bool,
        idle: IdleSlots | None = None,
    ) -> None:
        """Begin without groups; `states` has their state.

        `counts`, one of the states, counts the rows of groups.  With `idle`, another state, groups end if no
        row arrives for a time.
        """
        self._key_types = key_types
        self._states = states
        self._counts = counts
        self._idle = idle
        closings = Closings(closing) if isinstance(closing, Closing) else closing
        self._table = SlotTable(hashed=None if closings is None else closings.hashed)
        self._closings = closings
        self._emptied = EmptiedSlots() if closing is None else None
        """None for windows: their slots are freed when they close."""
        self._closes_with_rows = final and closing is not None
        self._given_up: BinRanges = ()
        self._snapshots = SlotSnapshots(
            self._table, key_types, states, self._closings if idle is None else idle
        )

    @property
    def table(self) -> SlotTable:
        return self._table

    @property
    def snapshots(self) -> SlotSnapshots:
        return self._snapshots

    def settle(self, undo: UndoT | None) -> None:
        """See `Kernel`."""
        if self._emptied is not None and undo is not None:
            self._emptied.on_settle(undo.slots)

    def expire(self, horizon: Root) -> None:
        """Free the slots of groups without rows, and of those that have ended; see `Kernel`."""
        if self._idle is not None:
            ended = self._table.live_of(self._idle.take_ended(horizon))
            if len(ended):
                self._free(ended)
        if self._emptied is None:
            return
        slots = self._table.live_of(self._emptied.take(self._counts))
        if len(slots):
            # The snapshots copy the keys, so the slots are freed afterwards.
            self._clear(slots)
            self._snapshots.on_emptied(slots)
            self._table.free(slots)

    def give_up(self, bins: BinRanges) -> None:
        self._given_up = bins

    def slots_in(self, bins: BinRanges, slots: Ints) -> Ints:
        return self._table.in_bins(bins, self._key_types, slots)

    def release(self, slots: Ints, marks: Bools) -> None:
        if self._closings is not None:
            self._closings.forget(slots, marks)
        self._free(slots)

    @property
    def releases_in_parts(self) -> bool:
        return True

    def next_close(self) -> Root | None:
        if self._closings is None or not self._closes_with_rows:
            return None
        return self._closings.least()

    def state_rows(self) -> int:
        return self._table.live

    def _free(self, slots: Ints) -> None:
        """Drop the state of groups, and free their slots."""
        self._clear(slots)
        self._table.free(slots)

    def _clear(self, slots: Ints) -> None:
        for state in self._states:
            state.clear(slots)
