"""The state of sessions by slot: the rows that are not final yet, and the open sessions.

Rows are **pending** until min time has passed them; then they are **placed**: added to an open session,
or found to be late.  A repair may apply placed rows again, together with other rows of their slot that are
not final; the placed rows are then ignored.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import session_close_time
from fsql.compiler.records import dataclass
from fsql.runtime.batch import PUNCTUATION, START, Batch, Root
from fsql.runtime.kernels.keyed.numbered_rows import NumberedRows
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.kernels.keyed.steps import StateColumn
from fsql.runtime.order import lexicographic_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.compiler.graph import CombineSessions, SessionClosing
    from fsql.runtime.arrays import Bools, Ints


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


# The rows of open sessions: what is common to all ways of keeping them.


class SessionRows(NamedTuple):
    """Rows by number, with their slots, roots, times, and the ends of their own sessions."""

    slot: Ints
    number: Ints
    time: Ints
    origin: Ints
    start: Ints
    end: Ints

    def take(self, rows: Ints | Bools) -> SessionRows:
        """Return some of the rows."""
        return SessionRows(*(column[rows] for column in self))


class ClosedRows(NamedTuple):
    """Rows of closed sessions: their close times, slots, bounds of the sessions, and numbers of the rows."""

    close: Ints
    slot: Ints
    start: Ints
    end: Ints
    number: Ints


class OpenRows(Protocol):
    """The rows of the open sessions of all slots."""

    def insert(
        self, rows: SessionRows, in_total_order: Callable[[SessionRows], SessionRows]
    ) -> SessionRows:
        """Add rows, except those that are late, which are returned.

        All are below a min time that the rows added before were not; `in_total_order` sorts some of them.
        """

    def add(self, rows: SessionRows) -> None:
        """Add rows of which none is earlier than the watermark."""

    def least(self) -> Root | None:
        """Return a punctuation below which no session closes, if there are sessions."""

    def pop_below(self, bound: Root) -> ClosedRows | None:
        """Remove and return the rows of the sessions that close below `bound`."""

    def drop(self, slots: Ints) -> int:
        """Drop the sessions of some slots; return their number of rows."""

    def numbers_of(self, slots: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of the rows of slots, slot by slot, and the number of rows of each slot."""

    def numbers(self) -> list[Ints]:
        """Return the numbers of all rows, in parts."""

    def renumber(self, new: Callable[[Ints], Ints]) -> None:
        """Replace the numbers of all rows."""


def close_times(ends: Ints, closing: SessionClosing) -> Ints:
    """Return the close times of sessions with these ends."""
    return (ends // closing.grain_us + 1) * closing.grain_us + closing.delay_us


def rows_behind_watermark(rows: SessionRows, closing: SessionClosing) -> Bools:
    """Return which rows are earlier than the watermark at their position."""
    close = close_times(rows.start, closing)
    is_tardy: Bools = rows.time > close
    is_tardy |= (rows.time == close) & (rows.origin > PUNCTUATION)
    return is_tardy


# The open sessions of each slot: their rows, and the times at which they close.
#
# Rows are added in the total order, all rows below a min time at once.  Rows that are not earlier than the
# watermark can only touch open sessions, so the result does not depend on their order:
#
#     open     [10:00, 10:35)                                   gap: 30 minutes
#     rows     10:20  10:04  11:30  11:40
#     runs     [10:04, 10:50)  [11:30, 12:10)                   sorted by time, cut where the gap is longer
#     open     [10:00, 10:50)  [11:30, 12:10)
#
# If a slot has a row that is earlier than the watermark, its rows are added one by one, because a session may
# close in between. Each run takes a step of a loop in Python.


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


# The open sessions of one slot, by their starts: those that an interval touches are found by bisection.


@dataclass(slots=True, eq=False)
class Session:
    """An open session: `[start, end)`, and the numbers of its rows; `dropped` if it no longer exists."""

    slot: int
    start: int
    end: int
    rows: list[Ints]
    dropped: bool = False


class SessionsOfSlot:
    """Sessions in the order of their starts.

    Two sessions may overlap, if a row arrived after the end of the first, so the ends need not ascend.  No
    session is longer than `_longest`, which bounds the starts of those that an interval touches.
    """

    __slots__ = ("_longest", "_sessions", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._sessions: list[Session] = []
        self._longest = 0

    def __len__(self) -> int:
        """Return the number of open sessions."""
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        """Return the sessions in the order of their starts."""
        return iter(self._sessions)

    def add(self, session: Session) -> None:
        """Add a session."""
        index = bisect_right(self._starts, session.start)
        self._starts.insert(index, session.start)
        self._sessions.insert(index, session)
        self._longest = max(self._longest, session.end - session.start)

    def remove(self, session: Session) -> None:
        """Remove a session, which must exist and have the same start as when it was added."""
        index = bisect_left(self._starts, session.start)
        while self._sessions[index] is not session:
            index += 1
        del self._starts[index], self._sessions[index]

    def find_touching(self, start: int, end: int) -> list[Session]:
        """Return the sessions that overlap or touch `[start, end]`."""
        first = bisect_left(self._starts, start - self._longest)
        last = bisect_right(self._starts, end)
        return [each for each in self._sessions[first:last] if start <= each.end]


# Open sessions without a gap: the rows that wait for the watermark to pass their times.
#
# Each session consists of the rows of one time, so a row is late if it is earlier than the watermark,
# whatever other rows exist.  Rows are in columns, in chunks that are sorted by the time at which they
# close.  Chunks are merged as they grow, so each row is moved a logarithmic number of times.


class OpenTimes:
    """`open_rows.OpenRows` for sessions that each consist of the rows of one time."""

    def __init__(self, closing: SessionClosing) -> None:
        self._closing = closing
        self._chunks: list[ClosedRows] = []
        """Rows that will close, sorted by `close`; none is empty."""

    def insert(
        self, rows: SessionRows, in_total_order: Callable[[SessionRows], SessionRows]
    ) -> SessionRows:
        """Add rows, except those that are late, which are returned in the total order."""
        late = rows_behind_watermark(rows, self._closing)
        self.add(rows.take(~late) if late.any() else rows)
        return in_total_order(rows.take(late)) if late.any() else rows.take(late)

    def add(self, rows: SessionRows) -> None:
        """Add rows of which none is earlier than the watermark."""
        if not len(rows.slot):
            return
        close = close_times(rows.end, self._closing)
        parts = [ClosedRows(close, rows.slot, rows.start, rows.end, rows.number)]
        size = len(close)
        while self._chunks and len(self._chunks[-1].close) < 2 * size:
            parts.append(self._chunks.pop())
            size += len(parts[-1].close)
        merged = ClosedRows(*map(np.concatenate, zip(*parts, strict=True)))
        self._chunks.append(_take(merged, np.argsort(merged.close, kind="stable")))

    def least(self) -> Root | None:
        """Return the punctuation at which the first rows close, if there are rows."""
        if not self._chunks:
            return None
        return Root(min(int(chunk.close[0]) for chunk in self._chunks), PUNCTUATION)

    def pop_below(self, bound: Root) -> ClosedRows | None:
        """Remove and return the rows that close below `bound`."""
        # A punctuation at the time of the bound is below it if its origin is.
        end = bound.time + (bound.origin > PUNCTUATION)
        closed, kept = [], []
        for chunk in self._chunks:
            count = int(np.searchsorted(chunk.close, end))
            if count:
                closed.append(_take(chunk, slice(None, count)))
            if count < len(chunk.close):
                kept.append(_take(chunk, slice(count, None)))
        self._chunks = kept
        return ClosedRows(*map(np.concatenate, zip(*closed, strict=True))) if closed else None

    def drop(self, slots: Ints) -> int:
        """Drop the rows of some slots; return their number."""
        kept = [_take(chunk, ~np.isin(chunk.slot, slots)) for chunk in self._chunks]
        count = sum(len(chunk.close) for chunk in self._chunks)
        self._chunks = [chunk for chunk in kept if len(chunk.close)]
        return count - sum(len(chunk.close) for chunk in self._chunks)

    def numbers_of(self, slots: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of the rows of ascending slots, slot by slot, and how many each has."""
        if not self._chunks:
            return np.empty(0, np.int64), np.zeros(len(slots), np.int64)
        slot = np.concatenate([chunk.slot for chunk in self._chunks])
        number = np.concatenate(self.numbers())
        wanted = np.flatnonzero(np.isin(slot, slots))
        wanted = wanted[np.argsort(slot[wanted], kind="stable")]
        slot = slot[wanted]
        sizes = np.searchsorted(slot, slots, "right") - np.searchsorted(slot, slots)
        return number[wanted], sizes

    def numbers(self) -> list[Ints]:
        """Return the numbers of all rows, in parts."""
        return [chunk.number for chunk in self._chunks]

    def renumber(self, new: Callable[[Ints], Ints]) -> None:
        """Replace the numbers of all rows."""
        self._chunks = [chunk._replace(number=new(chunk.number)) for chunk in self._chunks]


def _take(rows: ClosedRows, chosen: Ints | Bools | slice) -> ClosedRows:
    return ClosedRows(*(column[chosen] for column in rows))
