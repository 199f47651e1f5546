"""The front: gives the rows of one split their root positions, and promises.

Contract.  Roots of a split strictly increase with the row number; they depend on the split's rows alone,
not on how a reader cut them into chunks.  A promise p says that all further rows have roots >= p; it is
the successor of the last row that was read, so it needs no log.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.logical import Table, TimeKind
from fsql.runtime.batch import END, START, TIME_START, Batch, Root, origin
from fsql.runtime.kernels.expressions import compile_expressions
from fsql.runtime.order import integers
from fsql.runtime.ports import Chunk, Reject

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

NULL_EVENT_TIME = 521


class Front:
    """One split's way into the job."""

    def __init__(self, number: int, table: Table, split: int) -> None:
        """Stand before the first row of split number `split` of `table`; `number` is the front's own."""
        self.number = number
        self.stops_on_error = dict(table.options).get("on_error", "stop") == "stop"
        self.promised = START
        self.rows_read = 0
        self.bytes_read = 0
        self._kind = table.time
        self._base = origin(table.ordinal, split, 0)
        self._event_time = None
        if table.event_time is not None:
            self._event_time = compile_expressions([table.event_time])
        self._greatest_time = TIME_START
        self._unsettled: deque[tuple[Root, int]] = deque()
        self._rows_unsettled = 0

    @property
    def ended(self) -> bool:
        """Say whether the front has promised that nothing more will come."""
        return self.promised == END

    def take(self, chunk: Chunk) -> tuple[Batch | None, tuple[tuple[Root, Reject], ...]]:
        """Return the chunk's rows with their positions (path ()), and its malformed rows with theirs."""
        rejects = list(chunk.rejects)
        columns, rows = chunk.columns, chunk.rows
        times = rows
        if self._event_time is not None and len(rows):
            [result] = self._event_time(columns, len(rows))
            times, valid = integers(result.values)
            failed = np.zeros(len(rows), np.int16) if result.failed is None else result.failed
            if valid is not None:
                failed = np.where((failed == 0) & ~valid, NULL_EVENT_TIME, failed)
            if failed.any():
                rejects += [_no_event_time(rows[i], failed[i]) for i in np.flatnonzero(failed)]
                kept = np.flatnonzero(failed == 0)
                picked = Batch(columns, rows, rows, ()).take(kept)
                columns, rows, times = picked.columns, picked.time, times[kept]
        time = self._times(times)
        positioned = self._positioned(time, rows, rejects)
        if len(time):
            self._greatest_time = int(time[-1])
        last = max([reject.row for reject in rejects], default=-1)
        last = max(last, int(rows[-1])) if len(rows) else last
        self._settle_later(len(rows) + len(rejects), last)
        self.bytes_read += chunk.bytes_read
        batch = Batch(columns, time, rows + self._base, ()) if len(rows) else None
        return batch, positioned

    def _times(self, times: Ints) -> Ints:
        if self._kind is TimeKind.EVENT:
            return np.maximum.accumulate(np.maximum(times, self._greatest_time))
        if self._kind is TimeKind.START:
            return np.full(len(times), TIME_START, np.int64)
        return times

    def _positioned(
        self, time: Ints, rows: Ints, rejects: list[Reject]
    ) -> tuple[tuple[Root, Reject], ...]:
        placed = []
        for reject in sorted(rejects, key=lambda reject: reject.row):
            before = int(np.searchsorted(rows, reject.row))
            at = int(time[before - 1]) if before else self._greatest_time
            if self._kind is TimeKind.OFFSET:
                at = reject.row
            placed.append((Root(at, self._base + reject.row), reject))
        return tuple(placed)

    def _settle_later(self, count: int, last: int) -> None:
        """Count the rows as sent, up to row number `last`, and promise what follows from it."""
        if count == 0:
            return
        self.rows_read += count
        next_time = last + 1 if self._kind is TimeKind.OFFSET else self._greatest_time
        self.promised = Root(next_time, self._base + last + 1)
        self._unsettled.append((self.promised, count))
        self._rows_unsettled += count

    def end(self) -> None:
        """Promise that nothing more will come."""
        self.promised = END

    def rows_above(self, min_time: Root) -> int:
        """Return about how many rows were sent that min time has not passed: the lead."""
        while self._unsettled and self._unsettled[0][0] <= min_time:
            self._rows_unsettled -= self._unsettled.popleft()[1]
        return self._rows_unsettled


def _no_event_time(row: int, code: int) -> Reject:
    reason = "the event time is NULL" if code == NULL_EVENT_TIME else "the event time has no value"
    return Reject(int(row), -1, -1, int(code), "", reason, "")
