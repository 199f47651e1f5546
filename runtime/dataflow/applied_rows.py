"""The rows that a fold has applied: they are applied in order, and may be undone and applied again.

Unless the policy is ORDERED, rows above min time are logged with their results when they are applied.  After
a change to ORDERED, rows are still logged until min time has passed all rows that were applied before it.  A
row at or before a position that its slot has seen already is applied by a *repair*:

    log      [a3 b5] [a7 b8] [a9]       row a6 comes: entries in which slot a has later rows
                     [   b8] [  ]       undo rows of slot a, the latest entry first
    log      [a3 b5] [   b8] [  ] [a6 a7 a9]                apply them again in order, and log that

Only entries are undone in which the slot has rows after the new one.  In others of the log its rows are all
before it, because the entries of a slot are in order; some of them may be followed by rows that were applied
again below min time, and are not in the log any more.

The output of a repair is the difference between new and old results.  A *rewind* undoes the rows of all slots
from a root on in the same way; the undone rows wait in the backlog.

Rows that the kernel leaves for a later step (`ApplyResult.rest`) return to the backlog.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from fsql.compiler.pre_aggregation import read_columns
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.runtime.batch import START, Root
from fsql.runtime.dataflow.row_order import RowOrder
from fsql.runtime.dataflow.undo_log import RepairBound, UndoLog, disordered_slots
from fsql.runtime.kernels.keyed.kernel import (
    ApplyResult,
    Kernel,
    KeyedRows,
    merge_rows,
    split_at_position,
    split_rows,
)
from fsql.runtime.kernels.keyed.slot_marks import SlotMarks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.dataflow.backlog import Backlog
    from fsql.runtime.dataflow.fold_output import FoldOutput
    from fsql.runtime.dataflow.undo_log import Application


class AppliedRows:
    """The rows that the kernel of one fold has applied, with an undo log of those above min time.

    `reached` is the greatest root that was applied or has closed a window, `applied` counts the rows, and
    `redone` counts how often repairs have applied a row again.
    """

    def __init__(
        self,
        head: FoldHead,
        kernel: Kernel[Any],
        backlog: Backlog,
        *,
        ties: bool,
        append_only: bool,
    ) -> None:
        self.reached = START
        self.applied = 0
        self.redone = 0
        self._kernel = kernel
        self._backlog = backlog
        self._speculates = head.policy is Policy.SPECULATIVE
        self._undoable = self._speculates
        self._in_order = RowOrder(
            ties=ties, append_only=append_only, multiplies=read_columns(head) is not None
        )
        self._append_only = append_only
        self._bound = RepairBound(head.repairs_free)
        self._log = UndoLog()
        self._affected = SlotMarks()
        self._here = SlotMarks()
        self._retired: deque[tuple[int, list[int]]] = deque()

    @property
    def repairs_exceeded(self) -> bool:
        """Return whether repairs cost more than they save."""
        return self._bound.exceeded

    def change_policy(self, policy: Policy) -> None:
        """Log all applied rows from now on, or only as long as earlier rows may be undone."""
        self._speculates = policy is Policy.SPECULATIVE
        self._undoable = self._speculates or self._log.least() is not None

    def reach(self, sides: Sequence[KeyedRows | None]) -> None:
        """Record that rows were applied, or were emitted by closing windows; each side is in order."""
        for rows in sides:
            if rows is not None and len(rows.slot):
                self.reached = max(self.reached, rows.batch.root(len(rows.slot) - 1))

    def log_from(self, least: Root) -> list[Application]:
        """Return the log from the first entry on that has a row at or above `least`."""
        return self._log.from_root(least)

    def least(self) -> Root | None:
        """Return the least root of the log, None if it is empty."""
        return self._log.least()

    @property
    def logged_to(self) -> Root:
        """Return the greatest root that was ever logged."""
        return self._log.applied_to

    def apply(self, sides: list[KeyedRows | None], output: FoldOutput) -> None:
        """Apply rows that come after all logged rows of their slots."""
        parts = self._split_at_announced(sides)
        for number, part in enumerate(parts, 1):
            applied, rest = self._apply(part, undoable=self._undoable)
            if applied is not None:
                if self._undoable:
                    self._log.append(part, applied)
                output.append(applied)
            if rest is not None:
                self._backlog.put_back([rest, *parts[number:]])
                return

    def _split_at_announced(
        self, sides: list[KeyedRows | None]
    ) -> Sequence[list[KeyedRows | None]]:
        """Split rows at the announced position, into those below it and the rest."""
        position = self._kernel.snapshots.position
        return [sides] if position is None else split_at_position(sides, position)

    def _apply(
        self, sides: list[KeyedRows | None], *, undoable: bool
    ) -> tuple[ApplyResult[Any] | None, list[KeyedRows | None] | None]:
        """Sort each side into the total order, without undone rows, and apply it.

        Return the results, and the rows that the kernel has left, if any; they are removed from `sides`.
        """
        for side, rows in enumerate(sides):
            if rows is not None:
                sides[side], early = self._in_order(rows, undoable=self._undoable)
                if early is not None:
                    self._backlog.append(side, early)
        if all(rows is None for rows in sides):
            return None, None
        self._kernel.snapshots.on_apply(sides)
        applied, rest = self._kernel.apply(sides, undoable=undoable), None
        if applied.rest is not None:
            sides[:], rest = split_at_position(sides, applied.rest)
        count = sum(len(rows.slot) for rows in sides if rows is not None)
        self.applied += count
        self._bound.count_applied(count)
        self.reach(sides)
        return applied, rest

    def repair(
        self,
        later: list[Application],
        least: Root,
        sides: list[KeyedRows | None],
        final: Root,
        output: FoldOutput,
    ) -> None:
        """Undo the rows of `later` in the slots that get earlier rows; apply them again together.

        `least` is the least root of `sides`, `later` is `log_from(least)`, and `final` is min time.
        """
        scanned = sum(entry.rows for entry in later)
        self._affected.grow(len(self._kernel.table))
        affected = disordered_slots(later, least, sides, self._affected)
        self._affected.set(affected, to=True)
        again: list[list[KeyedRows | None]] = [[rows] for rows in sides]
        old = []
        for entry in reversed(later if len(affected) else []):
            slots = entry.slots_from(least, self._affected.values)
            if any(map(len, slots)):
                old.append(self._take_out(entry, np.concatenate(slots), again))
        self._affected.set(affected, to=False)
        redone = sum(len(rows.slot) for side in again for rows in side[1:] if rows is not None)
        self.redone += redone
        self.applied -= redone
        made = self._apply_again([merge_rows(rows) for rows in again], least, final)
        output.append_differences(made, old, by_path=self._append_only)
        self._bound.count_repair(redone, len(later), scanned)

    def _take_out(
        self, entry: Application, slots: Ints, out: list[list[KeyedRows | None]]
    ) -> ApplyResult[Any]:
        """Undo the rows of an entry in `slots`, append them to `out`, and return their results.

        The entry has rows of each of the slots.  The undo of other slots may be invalid, because a repair has
        removed their rows from the entry.
        """
        self._here.grow(len(self._kernel.table))
        self._here.set(slots, to=True)
        here = self._here.values
        self._restore(entry, slots, here)
        parts = [split_rows(rows, here) for rows in entry.sides]
        for side, (kept, taken) in enumerate(parts):
            entry.sides[side] = kept
            out[side].append(taken)
        entry.applied.rows, rows = split_rows(entry.applied.rows, here)
        entry.applied.errors, errors = split_rows(entry.applied.errors, here)
        self._here.set(slots, to=False)
        return ApplyResult(rows, errors, None)

    def _restore(self, entry: Application, slots: Ints, marks: Bools) -> None:
        """Restore the state of `slots`, which are marked, as it was before an entry."""
        self._kernel.restore(entry.applied.undo, marks)
        self._kernel.snapshots.on_undo(slots, entry.greatest)

    def rewind(self, least: Root, final: Root, output: FoldOutput) -> tuple[Root, int]:
        """Undo all rows from `least` on, and put them into the backlog; `final` is min time.

        Return the greatest root in the removed part of the log, and the number of undone rows.  Rows before
        `least`, the root of the rows that the fold is about to apply, stay applied: min time downstream may
        have passed them, although the fold has not received that update yet.
        """
        entries = self._log.cut(least)
        until = max(entry.greatest for entry in entries)
        sides: list[list[KeyedRows | None]] = [[] for _ in entries[0].sides]
        old = []
        for entry in reversed(entries):
            slots = entry.slots_from(least)
            if any(map(len, slots)):
                old.append(self._take_out(entry, np.concatenate(slots), sides))
        for entry in entries:
            if entry.rows:
                self._log.put_back(entry)
            else:
                self._kernel.settle(entry.applied.undo)
        staying, undone = split_at_position([merge_rows(parts) for parts in sides], least)
        count = 0
        for side, rows in enumerate(undone):
            if rows is not None:
                self._backlog.append(side, rows.batch)
                count += len(rows.slot)
        self.applied -= count
        made = self._apply_again(staying, least, final)
        output.append_differences(made, old, by_path=self._append_only)
        return until, count

    def _apply_again(
        self, sides: list[KeyedRows | None], least: Root, final: Root
    ) -> list[ApplyResult[Any]]:
        """Apply rows of a repair; those below `final` are not logged.

        Rows that the kernel leaves for later wait only if they are not below `least`: see `rewind`.
        """
        below, later = split_at_position(sides, final)
        parts = [below, *self._split_at_announced(later)]
        made = []
        for number, whole in enumerate(parts):
            undoable = number > 0
            left: list[KeyedRows | None] | None = whole
            while left is not None:
                part = left
                applied, left = self._apply(part, undoable=undoable)
                if applied is None:
                    continue
                made.append(applied)
                if undoable:
                    self._log.append(part, applied)
                if (
                    left is not None
                    and applied.rest is not None
                    and undoable
                    and applied.rest >= least
                ):
                    self._backlog.put_back([left, *parts[number + 1 :]])
                    return made
        return made

    def settle(self, final: Root) -> None:
        """Discard the log of rows below `final`, which is min time, and state that has expired."""
        for entry in self._log.pop_below(final):
            self._kernel.settle(entry.applied.undo)
        least = self._log.least()
        self._undoable = self._speculates or least is not None
        self._kernel.expire(final if least is None else min(final, least))

    def release(self, slots: Ints) -> None:
        """Drop all state and all logged rows of these slots, which are never undone."""
        self._affected.grow(len(self._kernel.table))
        self._affected.set(slots, to=True)
        self._log.drop(self._affected.values)
        self._kernel.release(slots, self._affected.values)
        self._affected.set(slots, to=False)
        self.recycle_slots()

    def recycle_slots(self) -> None:
        """Recycle retired slots once no entry of the log can have rows of their former keys."""
        retired = self._kernel.table.take_retired()
        if retired:
            self._kernel.snapshots.on_slots_freed(retired)
            self._retired.append((self._log.count, retired))
        while self._retired and self._retired[0][0] < self._log.oldest:
            self._kernel.table.recycle(self._retired.popleft()[1])
