"""The open sessions of each slot: their rows, and the times at which they close.

Rows are added in the total order, all rows below a min time at once.  Rows that are not earlier than the
watermark can only touch open sessions, so the result does not depend on their order:

    open     [10:00, 10:35)                                   gap: 30 minutes
    rows     10:20  10:04  11:30  11:40
    runs     [10:04, 10:50)  [11:30, 12:10)                   sorted by time, cut where the gap is longer
    open     [10:00, 10:50)  [11:30, 12:10)

If a slot has a row that is earlier than the watermark, its rows are added one by one, because a session may
close in between. Each run takes a step of a loop in Python.
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.logical import session_close_time
from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.kernels.sessions.open_rows import ClosedRows, rows_behind_watermark
from fsql.runtime.kernels.sessions.sessions_of_slot import Session, SessionsOfSlot
from fsql.runtime.order import lexicographic_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.compiler.graph import SessionClosing
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.sessions.open_rows import SessionRows


class OpenSessions:
    """Sessions by slot, and a heap of their close times, in which the time of a session may be too early."""

    def __init__(self, closing: SessionClosing) -> None:
        self._closing = closing
        self._of_slot: dict[int, SessionsOfSlot] = {}
        self._heap: list[tuple[int, int, Session]] = []
        self._made = 0

    def _close_time(self, end: int) -> int:
        return session_close_time(end, self._closing.delay_us, self._closing.grain_us)

    def insert(
        self, rows: SessionRows, in_total_order: Callable[[SessionRows], SessionRows]
    ) -> SessionRows:
        """Add rows, except those that are late, which are returned; see `OpenRows`."""
        tardy = rows_behind_watermark(rows, self._closing)
        if not tardy.any():
            self.add(rows)
            return rows.take(tardy)
        one_by_one = np.isin(rows.slot, rows.slot[tardy])
        self.add(rows.take(~one_by_one))
        ordered = in_total_order(rows.take(one_by_one))
        return ordered.take(self._add_one_by_one(ordered))

    def add(self, rows: SessionRows) -> None:
        """Add rows of which none is earlier than the watermark."""
        if len(rows.slot) == 0:
            return
        order = lexicographic_order([rows.slot, rows.start])
        if order is not None:
            rows = rows.take(order)
        # Times ascend in a slot, and so do the ends.
        cut = np.flatnonzero((rows.slot[1:] != rows.slot[:-1]) | (rows.start[1:] > rows.end[:-1]))
        first, last = np.append(0, cut + 1), np.append(cut, len(rows.slot) - 1)
        for slot, start, end, numbers in zip(
            rows.slot[first].tolist(),
            rows.start[first].tolist(),
            rows.end[last].tolist(),
            np.split(rows.number, cut + 1),
            strict=True,
        ):
            self._add(slot, start, end, numbers, self._find_touched(slot, start, end))

    def _add_one_by_one(self, rows: SessionRows) -> Ints:
        """Add rows, which are in the total order; return which of them are late."""
        late = []
        for index, (slot, _, time, origin, start, end) in enumerate(
            zip(*(column.tolist() for column in rows), strict=True)
        ):
            root = Root(time, origin)
            touched = [
                each
                for each in self._find_touched(slot, start, end)
                if root <= Root(self._close_time(each.end), PUNCTUATION)
            ]
            if not touched and root > Root(self._close_time(end), PUNCTUATION):
                late.append(index)
            else:
                self._add(slot, start, end, rows.number[index : index + 1], touched)
        return np.array(late, np.int64)

    def _find_touched(self, slot: int, start: int, end: int) -> list[Session]:
        sessions = self._of_slot.get(slot)
        return [] if sessions is None else sessions.find_touching(start, end)

    def _add(self, slot: int, start: int, end: int, numbers: Ints, touched: list[Session]) -> None:
        """Add rows to the sessions that they touch, which become one, or to a new one."""
        if not touched:
            session = Session(slot, start, end, [numbers])
            self._of_slot.setdefault(slot, SessionsOfSlot()).add(session)
            self._push(session)
            return
        sessions = self._of_slot[slot]
        for each in touched:
            sessions.remove(each)
        session, *others = touched
        session.rows.append(numbers)
        for other in others:
            session.rows += other.rows
            other.dropped = True
        session.start = min(start, *(each.start for each in touched))
        session.end = max(end, *(each.end for each in touched))
        sessions.add(session)

    def _push(self, session: Session) -> None:
        self._made += 1
        heapq.heappush(self._heap, (self._close_time(session.end), self._made, session))

    def least(self) -> Root | None:
        """Return a punctuation below which no session closes, if there are sessions."""
        while self._heap and self._heap[0][2].dropped:
            heapq.heappop(self._heap)
        return Root(self._heap[0][0], PUNCTUATION) if self._heap else None

    def pop_below(self, bound: Root) -> ClosedRows | None:
        """Remove and return the rows of the sessions that close below `bound`."""
        closed = []
        while self._heap and Root(self._heap[0][0], PUNCTUATION) < bound:
            time, _, session = heapq.heappop(self._heap)
            if session.dropped:
                continue
            if time < self._close_time(session.end):
                self._push(session)
                continue
            session.dropped = True
            self._of_slot[session.slot].remove(session)
            if not self._of_slot[session.slot]:
                del self._of_slot[session.slot]
            closed.append((time, session))
        if not closed:
            return None
        numbers = [np.concatenate(session.rows) for _, session in closed]
        sizes = [len(each) for each in numbers]
        close, slot, start, end = (
            np.repeat(np.array(column, np.int64), sizes)
            for column in zip(
                *((time, each.slot, each.start, each.end) for time, each in closed), strict=True
            )
        )
        return ClosedRows(close, slot, start, end, np.concatenate(numbers))

    def drop(self, slots: Ints) -> int:
        """Drop the sessions of some slots; return their number of rows."""
        count = 0
        for slot in slots.tolist():
            for session in self._of_slot.pop(slot, ()):
                session.dropped = True
                count += sum(map(len, session.rows))
        return count

    def numbers_of(self, slots: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of the rows of slots, slot by slot, and the number of rows of each slot."""
        parts = [
            [part for session in self._of_slot.get(slot, ()) for part in session.rows]
            for slot in slots.tolist()
        ]
        sizes = np.array([sum(map(len, each)) for each in parts], np.int64)
        return np.concatenate([np.empty(0, np.int64), *itertools.chain(*parts)]), sizes

    def numbers(self) -> list[Ints]:
        """Return the numbers of all rows, in parts."""
        return [part for session in self._all() for part in session.rows]

    def renumber(self, new: Callable[[Ints], Ints]) -> None:
        """Replace the numbers of all rows."""
        for session in self._all():
            session.rows = [new(np.concatenate(session.rows))]

    def _all(self) -> Iterator[Session]:
        return (session for sessions in self._of_slot.values() for session in sessions)
