"""The front assigns root positions to the rows of one split, and promises.

Contract.  Roots of a split strictly increase with the row number; they depend on the split's rows alone,
not on the chunks of a reader.  A promise p means that all further rows have roots >= p; it is the
successor of the last row that was read, so it needs no log.

A front that resumes begins at the boundary of a chunk and drops the rows below a snapshot's position; from
there on its rows, dead letters and promises are those of a front that was never interrupted.  A front that
another worker continues drops the rows from a position on, at which the other worker resumes.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.logical import Table, TimeKind
from fsql.compiler.sqltypes import EVENT_TIME_MAX, EVENT_TIME_MIN, TIMESTAMP
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import END, START, TIME_START, Batch, Root, origin
from fsql.runtime.dataflow.event_times import EventTimes
from fsql.runtime.dataflow.replaced_rows import ReplacedRows
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.dataflow.rows_ahead import rows_ahead
from fsql.runtime.kernels.declared_digits import cut_to_digits
from fsql.runtime.kernels.expressions import compile_expressions
from fsql.runtime.order import below, integers
from fsql.runtime.ports import Chunk, DeadLetter, SourceOffset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Ints
    from fsql.runtime.ports import FollowingRows


NULL_EVENT_TIME = 521
EVENT_TIME_AHEAD = 522
EVENT_TIME_OUTSIDE = 504

_TIMES_OF_CLOCKS: Final = (TimeKind.EVENT, TimeKind.ARRIVAL)
BOUNDARIES_MAX: Final = 256
"""The maximum number of chunk boundaries that a front keeps: every one, every second, fourth and so on."""


class Boundary(NamedTuple):
    """Where a chunk begins: all rows before it have roots below `root`, and times up to `time`."""

    root: Root
    source_offset: SourceOffset
    time: int


class Front:
    """The entry of one split into the job."""

    def __init__(self, number: int, table: Table, split: int) -> None:
        """Start before the first row of split number `split` of `table`; `number` is that of the front."""
        self.number = number
        self.table = table
        self.split = split
        self.stops_on_error = table.stops_on_error
        self.promised = START
        self.rows_read = 0
        self.bytes_read = 0
        self.bytes_passed = 0
        """The reader's position in its file in bytes, set by the driver for monitoring."""
        self.blocked_seconds = 0.0
        """How long the front might not read because of its read-ahead, set by the driver for monitoring."""
        self.unknown_fields = self.nulled_fields = 0
        self.event_times = EventTimes(split)
        self._kind = table.time
        self._base = origin(table.ordinal, split, 0)
        self._event_time = None
        if table.event_time is not None:
            self._event_time = compile_expressions([table.event_time])
        self._cut = cut_to_digits(table.columns)
        self._greatest_time = TIME_START
        self._ahead: deque[tuple[Root, int]] = deque()
        self._rows_ahead = 0
        self._read_up_to = START
        self._next_row = 0
        self._boundaries: deque[Boundary] = deque()
        self._stride = 1
        self._passed_boundaries = 0
        self._below = START
        self._end = END
        self._skipped: list[tuple[Root, Root]] = []
        self._replaced = ReplacedRows(table) if table.replaced else None

    def resume(self, point: ResumePoint, position: Root) -> None:
        """Resume from `point`, and drop the rows with roots below `position`: the snapshot has them."""
        assert self.promised == START, "a front resumes before it has read anything"
        self._greatest_time = point.time
        self._next_row = point.row
        if point.row or point.time != TIME_START:
            self._read_up_to = self._successor(point.row - 1)
        assert self._read_up_to <= position
        self._boundaries.append(Boundary(self._read_up_to, point.source_offset, point.time))
        self._below = position
        self.promised = max(self._read_up_to, position)

    def skip(self, first: Root, end: Root) -> None:
        """Skip the rows with roots from `first` on and below `end`.

        Their times still advance the times of the rows after them.
        """
        self._skipped.append((first, end))

    def stop_at(self, position: Root, unsent: int = 0) -> None:
        """Drop the rows with roots from `position` on: another worker reads them.

        `unsent` of these rows were read already.
        """
        self._end = position
        self.remember_next()
        self.rows_read -= unsent

    def continue_counts(self, before: Front) -> None:
        """Continue the counts of a front of the same split that stopped on this worker, for monitoring."""
        self.rows_read, self.bytes_read = before.rows_read, before.bytes_read
        self.unknown_fields, self.nulled_fields = before.unknown_fields, before.nulled_fields
        self.blocked_seconds = before.blocked_seconds

    def resume_point(self, position: Root) -> ResumePoint:
        """Return where to resume so that no row with a root at or above `position` is missed.

        Requires the source offsets of all chunks, and that `forget_below` was not called beyond `position`.
        """
        found = Boundary(START, SourceOffset(0, 1, 0), TIME_START)
        for boundary in self._boundaries:
            if boundary.root <= position:
                found = boundary
        return ResumePoint(
            self.number, *found.source_offset[:3], found.time, found.source_offset.content
        )

    def forget_below(self, position: Root) -> None:
        """Discard the resume points of positions before this one."""
        while len(self._boundaries) > 1 and self._boundaries[1].root <= position:
            self._boundaries.popleft()
        if len(self._boundaries) < BOUNDARIES_MAX // 4:
            self._stride = max(self._stride // 2, 1)

    @property
    def next_row(self) -> int:
        """Return the number of the next row to read."""
        return self._next_row

    @property
    def read_up_to(self) -> Root:
        """Return the least possible root of the next row."""
        return self._read_up_to

    @property
    def ended(self) -> bool:
        """Return whether the front has promised that no more rows follow."""
        return self.promised == END

    def take(
        self, chunk: Chunk, source_offset: SourceOffset | None = None
    ) -> tuple[Batch | None, tuple[tuple[Root, DeadLetter], ...]]:
        """Return the chunk's rows with their positions (path ()), and its malformed rows with theirs.

        `source_offset` is the reader's offset before it read them; it is needed only to resume.
        """
        self._remember(source_offset)
        dead_letters = list(chunk.dead_letters)
        columns, rows = chunk.columns, chunk.rows
        if self._cut is not None and len(rows):
            columns = self._cut(columns, len(rows))
        times = rows if chunk.arrivals is None else chunk.arrivals
        if self._event_time is not None and len(rows):
            columns, rows, times = self._with_event_time(chunk, columns, dead_letters)
        if self._event_time is not None and len(times):
            self.event_times.add(times, rows)
        time = self._times(times)
        positioned = self._position_dead_letters(time, rows, dead_letters) if dead_letters else ()
        if len(time):
            self._greatest_time = int(time[-1])
        last = max([dead_letter.row for dead_letter in dead_letters], default=-1)
        last = max(last, int(rows[-1])) if len(rows) else last
        self.bytes_read += chunk.bytes_read
        self.unknown_fields += chunk.unknown_fields
        self.nulled_fields += chunk.nulled_fields
        batch = self._batch(columns, time, rows) if len(rows) else None
        if last >= 0 and self._drops():
            batch, positioned = self._drop_rows(batch), self._drop_dead_letters(positioned)
        self._count_sent((0 if batch is None else len(batch)) + len(positioned), last)
        if chunk.time_at_least is not None:
            self._pass_time(chunk.time_at_least)
        return batch, positioned

    def _with_event_time(
        self, chunk: Chunk, columns: Sequence[pa.Array], dead_letters: list[DeadLetter]
    ) -> tuple[Sequence[pa.Array], Ints, Ints]:
        """Return the rows of a chunk that have an event time, their numbers and times; append the others."""
        rows = chunk.rows
        times, failed = self._event_times(columns, len(rows))
        without = np.flatnonzero((failed != 0) & (failed != EVENT_TIME_OUTSIDE))
        dead_letters += [_no_event_time(rows[i], failed[i]) for i in without]
        dead_letters += [
            _outside(rows[i], times[i]) for i in np.flatnonzero(failed == EVENT_TIME_OUTSIDE)
        ]
        if chunk.time_at_most is not None:
            ahead = np.flatnonzero((failed == 0) & (times > chunk.time_at_most))
            dead_letters += [_ahead(rows[i], times[i], chunk.time_at_most) for i in ahead]
            failed[ahead] = EVENT_TIME_AHEAD
        if chunk.following is not None:
            for row in self._rows_ahead_of_others(times, failed == 0, chunk.following):
                dead_letters.append(_ahead_of_others(rows[row], times[row]))
                failed[row] = EVENT_TIME_AHEAD
        if not failed.any():
            return columns, rows, times
        kept = np.flatnonzero(failed == 0)
        picked = Batch(columns, rows, rows, ()).take(kept)
        return picked.columns, picked.time, times[kept]

    def _event_times(
        self, columns: Sequence[pa.Array], count: int
    ) -> tuple[Ints, NDArray[np.int16]]:
        """Return the event times of rows, and the code of the error of each that has none, else 0."""
        assert self._event_time is not None
        [result] = self._event_time(columns, count)
        times, valid = integers(result.values)
        failed = np.zeros(count, np.int16) if result.failed is None else result.failed.copy()
        if valid is not None:
            failed[(failed == 0) & ~valid] = NULL_EVENT_TIME
        outside = (times < EVENT_TIME_MIN) | (times > EVENT_TIME_MAX)
        failed[(failed == 0) & outside] = EVENT_TIME_OUTSIDE
        return times, failed

    def _rows_ahead_of_others(
        self, times: Ints, timed: NDArray[np.bool_], following: FollowingRows
    ) -> list[int]:
        """Return which rows of a chunk are far ahead of the rows before and after them."""
        all_times, all_timed = [times], [timed]
        for part in following.parts:
            columns = part if self._cut is None else self._cut(part, len(part[0]))
            after, failed = self._event_times(columns, len(part[0]))
            all_times.append(after)
            all_timed.append(failed == 0)
        merged = np.concatenate(all_times), np.concatenate(all_timed)
        return rows_ahead(*merged, len(times), self._greatest_time, following.max_ahead_us)

    def _batch(self, columns: Sequence[pa.Array], time: Ints, rows: Ints) -> Batch:
        if self._replaced is not None:
            columns = self._replaced.add_to(columns, len(rows))
        if self.table.row_time:
            columns = [*columns, pa.array(time).view(arrow_type(TIMESTAMP))]
        return Batch(columns, time, rows + self._base, ())

    def on_wait(self, source_offset: SourceOffset) -> None:
        """Record a boundary because the source has no more rows yet, however small the last chunk was."""
        self.remember_next()
        self._remember(source_offset)

    def remember_next(self) -> None:
        """Keep the next chunk boundary: another worker is to resume near it."""
        self._passed_boundaries = self._stride

    def _remember(self, source_offset: SourceOffset | None) -> None:
        """Record where the next chunk begins, unless it is too close to the last recorded boundary."""
        if source_offset is None or (
            self._boundaries and self._boundaries[-1].root == self._read_up_to
        ):
            return
        if self._replaced is not None and self._replaced.waits:
            return
        self._passed_boundaries += 1
        if self._passed_boundaries < self._stride:
            return
        self._passed_boundaries = 0
        self._boundaries.append(Boundary(self._read_up_to, source_offset, self._greatest_time))
        if len(self._boundaries) > BOUNDARIES_MAX:
            self._boundaries = deque(list(self._boundaries)[::2])
            self._stride *= 2

    def _drops(self) -> bool:
        """Return whether any row from the next one on may have to be dropped."""
        ends = [self._below, *(end for _, end in self._skipped)]
        return self._read_up_to < max(ends) or self._end != END

    def _drop_rows(self, batch: Batch | None) -> Batch | None:
        if batch is None:
            return None
        marks = ~below(batch, self._below)
        if self._end != END:
            marks &= below(batch, self._end)
        for first, end in self._skipped:
            marks &= below(batch, first) | ~below(batch, end)
        kept = np.flatnonzero(marks)
        return batch.take(kept) if len(kept) else None

    def _drop_dead_letters(
        self, dead_letters: tuple[tuple[Root, DeadLetter], ...]
    ) -> tuple[tuple[Root, DeadLetter], ...]:
        return tuple(
            (root, dead_letter)
            for root, dead_letter in dead_letters
            if self._below <= root < self._end
            and not any(first <= root < end for first, end in self._skipped)
        )

    def _times(self, times: Ints) -> Ints:
        if self._kind in _TIMES_OF_CLOCKS:
            return np.maximum.accumulate(np.maximum(times, self._greatest_time))
        if self._kind is TimeKind.START:
            return np.full(len(times), TIME_START, np.int64)
        return times

    def _position_dead_letters(
        self, time: Ints, rows: Ints, dead_letters: list[DeadLetter]
    ) -> tuple[tuple[Root, DeadLetter], ...]:
        positioned = []
        for dead_letter in sorted(dead_letters, key=lambda dead_letter: dead_letter.row):
            before = int(np.searchsorted(rows, dead_letter.row))
            at = int(time[before - 1]) if before else self._greatest_time
            if self._kind is TimeKind.OFFSET:
                at = dead_letter.row
            positioned.append((Root(at, self._base + dead_letter.row), dead_letter))
        return tuple(positioned)

    def _count_sent(self, count: int, last: int) -> None:
        """Count the rows up to row number `last` as sent, and raise the promise accordingly."""
        if last < 0:
            return
        self._next_row = last + 1
        self._read_up_to = self._successor(last)
        self.promised = max(self.promised, self._read_up_to)
        if count == 0:
            return
        self.rows_read += count
        self._ahead.append((self.promised, count))
        self._rows_ahead += count

    def _pass_time(self, time: int) -> None:
        """Raise the time of all later rows to `time` at least, and promise it."""
        if self._kind not in _TIMES_OF_CLOCKS or time <= self._greatest_time:
            return
        self._greatest_time = time
        self._read_up_to = Root(time, self._base + self._next_row)
        self.promised = max(self.promised, self._read_up_to)

    def _successor(self, row: int) -> Root:
        """Return the least root that can follow a row that has been read."""
        next_time = row + 1 if self._kind is TimeKind.OFFSET else self._greatest_time
        return Root(next_time, self._base + row + 1)

    def end(self, source_offset: SourceOffset | None = None) -> None:
        """Promise that no more rows follow; `source_offset` is the reader's offset at the end."""
        self._remember(source_offset)
        self.promised = END

    def rows_above(self, min_time: Root) -> int:
        """Return the approximate number of sent rows that min time has not passed: the read-ahead."""
        while self._ahead and self._ahead[0][0] <= min_time:
            self._rows_ahead -= self._ahead.popleft()[1]
        return self._rows_ahead


def _ahead(row: int, time: int, time_at_most: int) -> DeadLetter:
    reason = (
        f"the event time {format_timestamp(int(time))} is after {format_timestamp(time_at_most)},"
        " which is as far ahead of the clock as 'max_ahead' allows"
    )
    return DeadLetter(int(row), -1, -1, EVENT_TIME_AHEAD, "", reason, "")


def _ahead_of_others(row: int, time: int) -> DeadLetter:
    reason = (
        f"the event time {format_timestamp(int(time))} is ahead of the rows before and after it"
        " by more than 'max_ahead' allows"
    )
    return DeadLetter(int(row), -1, -1, EVENT_TIME_AHEAD, "", reason, "")


def _outside(row: int, time: int) -> DeadLetter:
    reason = f"the event time {format_timestamp(int(time))} is outside of the years 2 to 9998"
    return DeadLetter(int(row), -1, -1, EVENT_TIME_OUTSIDE, "", reason, "")


def _no_event_time(row: int, code: int) -> DeadLetter:
    reason = "the event time is NULL" if code == NULL_EVENT_TIME else "the event time has no value"
    return DeadLetter(int(row), -1, -1, int(code), "", reason, "")
