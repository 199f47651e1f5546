"""The state of sessions by slot: the rows that are not final yet, and the open sessions.

Rows are **pending** until min time has passed them; then they are **placed**: added to an open session,
or found to be late.  A repair may apply placed rows again, together with other rows of their slot that are
not final; the placed rows are then ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import PUNCTUATION, START, Batch, Root
from fsql.runtime.kernels.aggregate.state_column import StateColumn
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.kernels.sessions.numbered_rows import NumberedRows
from fsql.runtime.kernels.sessions.open_rows import SessionRows, close_times
from fsql.runtime.kernels.sessions.open_sessions import OpenSessions
from fsql.runtime.kernels.sessions.open_times import OpenTimes
from fsql.runtime.order import lexicographic_order

if TYPE_CHECKING:
    from fsql.compiler.graph import CombineSessions
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.sessions.open_rows import ClosedRows, OpenRows


_NO_ROWS = np.empty(0, np.int64)


class InsertResult(NamedTuple):
    """The result of placing rows: their slots, and the late rows."""

    slots: Ints
    late: SessionRows | None


class Pending:
    """The rows of one application that are not placed; `least` is the least root of their effects."""

    def __init__(self, rows: SessionRows, least: Root | None) -> None:
        self.rows = rows
        self.least = least

    def __len__(self) -> int:
        """Return the number of remaining rows."""
        return len(self.rows.slot)


class SessionState:
    """The state of a sessions kernel.  Its rows have the columns of the input, without keys."""

    def __init__(self, combine: CombineSessions) -> None:
        self.table = SlotTable()
        self.rows = NumberedRows()
        one_time = combine.time_column == combine.closing.window_end
        self.open: OpenRows = (OpenTimes if one_time else OpenSessions)(combine.closing)
        self._combine = combine
        self._pending: list[Pending] = []
        self._count = StateColumn()
        """The number of rows of each slot."""
        self._placed_time = np.empty(0, np.int64)
        self._placed_origin = np.empty(0, np.int64)
        """The greatest root of the rows that each slot has placed."""

    def grow(self) -> None:
        """Make room for the slots of the table; new ones have no rows."""
        slots = len(self.table)
        self._count.grow(slots)
        if slots > len(self._placed_time):
            more = 2 * slots - len(self._placed_time)
            self._placed_time = np.append(self._placed_time, np.full(more, START.time))
            self._placed_origin = np.append(self._placed_origin, np.full(more, START.origin))

    def add(self, batch: Batch, slot: Ints) -> Pending:
        """Add rows, which are in the total order, except those that are placed; return the added rows."""
        placed_time, placed_origin = self._placed_time[slot], self._placed_origin[slot]
        new = (batch.time > placed_time) | (
            (batch.time == placed_time) & (batch.origin > placed_origin)
        )
        if not new.all():
            kept = np.flatnonzero(new)
            batch, slot = batch.take(kept), slot[kept]
        pending = Pending(*self._number(batch, slot))
        if len(pending):
            self._pending.append(pending)
        return pending

    def _number(self, batch: Batch, slot: Ints) -> tuple[SessionRows, Root | None]:
        start, end = (
            batch.columns[index].view(pa.int64()).to_numpy(zero_copy_only=False)
            for index in (self._combine.time_column, self._combine.closing.window_end)
        )
        numbers = self.rows.add(batch) if len(batch) else _NO_ROWS
        np.add.at(self._count.values, slot, 1)
        rows = SessionRows(slot, numbers, batch.time, batch.origin, start, end)
        return rows, self._least_effect(rows)

    def _least_effect(self, rows: SessionRows) -> Root | None:
        """Return the least root at which rows can be late or their sessions close."""
        if len(rows.slot) == 0:
            return None
        close = close_times(rows.end, self._combine.closing)
        closing = close[close >= rows.time]
        least = [Root(int(closing.min()), PUNCTUATION)] if len(closing) else []
        late = np.flatnonzero(close <= rows.time)
        least += [Root(*root) for root in zip(rows.time[late], rows.origin[late], strict=True)]
        return Root(*map(int, min(least)))

    def forget(self, pending: Pending, affected: Bools) -> None:
        """Forget the rows of the slots that are marked."""
        gone = affected[pending.rows.slot]
        np.subtract.at(self._count.values, pending.rows.slot[gone], 1)
        self.rows.forget(int(gone.sum()))
        pending.rows = pending.rows.take(~gone)

    def least(self) -> Root | None:
        """Return the least root at which a row may be late or a session may close; it may be too small."""
        roots = [self.open.least(), *(each.least for each in self._pending if len(each))]
        return min([root for root in roots if root is not None], default=None)

    def place_below(self, bound: Root) -> InsertResult | None:
        """Place the pending rows below `bound`, all of which are final; None if there are no such rows."""
        parts, kept = [], []
        for pending in self._pending:
            rows = pending.rows
            final = (rows.time < bound.time) | (
                (rows.time == bound.time) & (rows.origin < bound.origin)
            )
            if final.any():
                parts.append(rows.take(final))
                pending.rows = rows.take(~final)
                pending.least = self._least_effect(pending.rows)
            if len(pending):
                kept.append(pending)
        self._pending = kept
        if not parts:
            return None
        return self._insert(SessionRows(*map(np.concatenate, zip(*parts, strict=True))))

    def _insert(self, rows: SessionRows) -> InsertResult:
        # Later applications to a slot have later rows, so the last row of a slot is the greatest.
        order = np.argsort(rows.slot, kind="stable")
        in_order = rows.slot[order]
        last = order[np.append(np.flatnonzero(in_order[1:] != in_order[:-1]), len(order) - 1)]
        slots = rows.slot[last]
        self._placed_time[slots], self._placed_origin[slots] = rows.time[last], rows.origin[last]
        late = self.open.insert(rows, self._in_total_order)
        np.subtract.at(self._count.values, late.slot, 1)
        return InsertResult(slots, late if len(late.slot) else None)

    def _in_total_order(self, rows: SessionRows) -> SessionRows:
        """Return rows in the total order, and by their time where positions are equal."""
        path = self.rows.take(rows.number).path
        order = lexicographic_order([rows.time, rows.origin, *path, rows.start])
        return rows if order is None else rows.take(order)

    def pop_below(self, bound: Root) -> ClosedRows | None:
        """Remove and return the rows of sessions that close below `bound`; the caller forgets them."""
        closed = self.open.pop_below(bound)
        if closed is not None:
            np.subtract.at(self._count.values, closed.slot, 1)
        return closed

    def without_rows(self, slots: Ints) -> Ints:
        """Return which of the slots have no rows, each once."""
        slots = np.unique(slots)
        return slots[self._count.values[slots] == 0]

    def free(self, slots: Ints) -> None:
        """Free slots without rows."""
        self._placed_time[slots], self._placed_origin[slots] = START
        self.table.free(slots)

    def release(self, slots: Ints, marks: Bools) -> None:
        """Drop the rows and sessions of some slots, which `marks` marks, and free them."""
        for pending in self._pending:
            self.forget(pending, marks)
        self.rows.forget(self.open.drop(slots))
        self._count.values[slots] = 0
        self.free(slots)

    def load(self, batch: Batch, slot: Ints) -> None:
        """Add rows of open sessions; their slots have no others."""
        self.grow()
        self.open.add(self._number(batch, slot)[0])

    def renumber_if_mostly_forgotten(self) -> None:
        """Drop the rows that nothing refers to, once they are the majority."""
        if not self.rows.mostly_forgotten:
            return
        used = [*self.open.numbers(), *(pending.rows.number for pending in self._pending)]
        old = np.sort(np.concatenate(used)) if used else _NO_ROWS
        new = self.rows.renumber(old)
        self.open.renumber(lambda numbers: new[old.searchsorted(numbers)])
        for pending in self._pending:
            number = new[old.searchsorted(pending.rows.number)]
            pending.rows = pending.rows._replace(number=number)
