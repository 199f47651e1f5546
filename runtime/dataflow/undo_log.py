"""The undo log of a fold: its applications above min time, and the bound on the cost of repairs."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.compiler.records import dataclass
from fsql.runtime.batch import START, Root
from fsql.runtime.kernels.keyed.kernel import split_rows
from fsql.runtime.order import below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows
    from fsql.runtime.kernels.keyed.slot_marks import SlotMarks


REPAIR_BOUND: Final = 1.0
"""The number of rows that repairs may apply again for each applied row, beyond `repairs_free`."""
SCAN_BOUND: Final = 1.0
"""How much of the log repairs may scan for each applied row, in the unit of `RepairBound`."""
_HALVED_AT: Final = 1 << 18
_APPLICATION: Final = 512
_SCANNED_ENTRY: Final = 32
_SCANNED_ROWS: Final = 64


@dataclass(slots=True)
class Application:
    """One application above min time: its rows by side, its results, and how to undo it."""

    number: int
    sides: list[KeyedRows | None]
    applied: ApplyResult[Any]
    least: Root
    greatest: Root

    @property
    def rows(self) -> int:
        """Return the number of its rows."""
        return sum(len(rows.slot) for rows in self.sides if rows is not None)

    def slots_from(self, least: Root, marks: Bools | None = None) -> list[Ints]:
        """Return the slots of its rows at or above `least`, by side; with `marks`, only marked slots."""
        found: list[Ints] = []
        if self.greatest < least:
            return found
        for rows in self.sides:
            if rows is None:
                continue
            wanted = np.True_ if marks is None else marks[rows.slot]
            if wanted.any():
                found.append(rows.slot[wanted & ~below(rows.batch, least)])
        return found


class UndoLog:
    """Applications in the order in which they were made.

    Appending one, removing the oldest and finding the least root take constant time.
    """

    def __init__(self) -> None:
        self.applied_to = START
        """The greatest root that was ever applied."""
        self.count = 0
        """The number of applications ever appended, which is the number of the last one."""
        self._entries: deque[Application] = deque()
        self._minima: deque[Application] = deque()
        """The applications with a lesser root than all later ones."""

    def append(self, sides: list[KeyedRows | None], applied: ApplyResult[Any]) -> None:
        """Append an application of at least one row."""
        spans = [rows.batch.span() for rows in sides if rows is not None]
        least = min(span.least for span in spans)
        greatest = max(span.greatest for span in spans)
        self.count += 1
        self.applied_to = max(self.applied_to, greatest)
        self._append(Application(self.count, list(sides), applied, least, greatest))

    def _append(self, entry: Application) -> None:
        self._entries.append(entry)
        while self._minima and self._minima[-1].least >= entry.least:
            self._minima.pop()
        self._minima.append(entry)

    @property
    def oldest(self) -> int:
        """Return the number of the first application in the log, or of the next one if the log is empty."""
        return self._entries[0].number if self._entries else self.count + 1

    def least(self) -> Root | None:
        """Return the least root of all applications, or None."""
        return self._minima[0].least if self._minima else None

    def pop_below(self, final: Root) -> Iterator[Application]:
        """Remove and return the oldest applications, as long as all their rows are below `final`."""
        while self._entries and self._entries[0].greatest < final:
            entry = self._entries.popleft()
            if self._minima[0] is entry:
                self._minima.popleft()
            yield entry

    def from_root(self, least: Root) -> list[Application]:
        """Return the applications from the first one that has a row at or above `least` on."""
        if least > self.applied_to:
            return []
        for index, entry in enumerate(self._entries):
            if entry.greatest >= least:
                return list(islice(self._entries, index, None))
        return []

    def drop(self, marks: Bools) -> None:
        """Drop the rows and results of the marked slots, which are never undone."""
        for entry in self._entries:
            entry.sides = [split_rows(rows, marks)[0] for rows in entry.sides]
            entry.applied.rows = split_rows(entry.applied.rows, marks)[0]
            entry.applied.errors = split_rows(entry.applied.errors, marks)[0]

    def put_back(self, entry: Application) -> None:
        """Append an application again that was cut, and has fewer rows now."""
        spans = [rows.batch.span() for rows in entry.sides if rows is not None]
        entry.least = min(span.least for span in spans)
        entry.greatest = max(span.greatest for span in spans)
        self._append(entry)

    def cut(self, least: Root) -> list[Application]:
        """Remove and return the applications that `from_root` returns."""
        removed = self.from_root(least)
        kept = list(islice(self._entries, len(self._entries) - len(removed)))
        self._entries.clear()
        self._minima.clear()
        for entry in kept:
            self._append(entry)
        return removed


def disordered_slots(
    later: list[Application], least: Root, sides: list[KeyedRows | None], marks: SlotMarks
) -> Ints:
    """Return the slots of `sides` to which `later` has applied rows at or above `least`.

    `marks` has an element for each slot; all are unset before and after the call.
    """
    given = np.concatenate([rows.slot for rows in sides if rows is not None])
    marks.set(given, to=True)
    found = [given[:0]]
    for entry in later:
        found += entry.slots_from(least, marks.values)
    marks.set(given, to=False)
    return np.unique(np.concatenate(found))


class RepairBound:
    """Decides, from recent work, when repairs cost more than they save.

    It counts applied rows, rows that were applied again, and how much of the log was scanned for them.  The
    unit of cost is that of applying one row; an application costs `_APPLICATION` rows more.  All counts are
    halved each time `_HALVED_AT` has been spent, so that a long time without repairs does not allow many of
    them later.
    """

    __slots__ = ("_applied", "_free", "_redone", "_scanned", "_work")

    def __init__(self, free: int) -> None:
        """Allow `free` rows to be applied again regardless of how many were applied."""
        self._free = free
        self._applied = self._redone = self._scanned = self._work = 0

    def count_applied(self, rows: int) -> None:
        """Count an application of rows."""
        self._applied += rows
        self._work += rows + _APPLICATION
        if self._work >= _HALVED_AT:
            self._applied //= 2
            self._redone //= 2
            self._scanned //= 2
            self._work //= 2

    def count_repair(self, redone: int, entries: int, rows: int) -> None:
        """Count a repair that applied `redone` rows again, of `rows` in `entries` applications."""
        self._redone += redone
        self._scanned += entries * _SCANNED_ENTRY + rows // _SCANNED_ROWS

    @property
    def exceeded(self) -> bool:
        """Return whether repairs cost more than they save."""
        new = self._applied - self._redone
        too_many = self._redone > self._free + REPAIR_BOUND * new
        return too_many or self._scanned > _HALVED_AT + SCAN_BOUND * self._work
