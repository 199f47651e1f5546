"""The fold: a fused drifting-state cycle, which handles all disorder.

Contract.  Rows come in any order.  Let m be min time at the fold's input, and let the *live content* be
the rows that came in, equal rows at equal positions summed by weight.  Then what the fold has sent,
summed by weight, is at every moment what the operator makes of some sequence of rows, and below m it is
what it makes of the live content below m in the total order.  Both policies keep that:

* ORDERED holds rows until m has passed them.  It never undoes anything.
* SPECULATIVE applies rows as they arrive and logs, above m, the applied rows and their results.  A row at
  or before a position that its slot has seen causes a *repair*: the fold undoes the rows of the slots
  concerned, applies all of them again in order, and sends the difference of the outputs.  When repairs
  cost more than `undo_log.RepairBound` allows, the fold undoes what it applied from this row on, and
  works as ORDERED until m has passed it.  This bounds the cost of a hot key.

Windows close only when m has passed their punctuation, never speculatively.  `hold()` returns the least
root at which the fold may still send rows that no message in flight accounts for; min time behind the
fold must not pass it.

Snapshots.  After a position is announced, no application has rows from both sides of it.  As soon as m
reaches the position, the fold takes an incremental snapshot as of it: everything below is final, and what
was applied above is left out (`kernel.KernelSnapshots`).  A fold that loads the state as of a position
continues like one that has received the rows below it.

Steps.  A kernel may leave rows whose results would be too large for one step (`ApplyResult.rest`).  They
wait, and the fold **is behind** until `go_on` has applied them, a part at a time; its own min time stays
below them.

The order in which outputs leave the fold is not defined, and it may send rows and undo them later.
`tests/property` checks released bytes under every policy and interleaving.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.runtime.batch import END, START, Batch, Root
from fsql.runtime.dataflow.fold_output import FoldOutput
from fsql.runtime.dataflow.fold_snapshots import FoldSnapshots
from fsql.runtime.dataflow.invariants import check_not_below
from fsql.runtime.dataflow.row_order import RowOrder
from fsql.runtime.dataflow.undo_log import RepairBound, UndoLog, disordered_slots
from fsql.runtime.dataflow.waiting_rows import WaitingRows
from fsql.runtime.kernels.keyed.kernel import (
    ApplyResult,
    Kernel,
    KeyedRows,
    merge_rows,
    split_at_position,
    split_rows,
)
from fsql.runtime.kernels.keyed.slot_marks import SlotMarks
from fsql.runtime.order import concat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.dataflow.undo_log import Application
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

PART_ROWS_MIN: Final = 64
"""A fold that is behind takes at least about this many waiting rows of each side at once."""


class Fold:
    """One fused cycle on one worker.

    `reached` is the greatest root that was applied or has closed a window.
    """

    def __init__(
        self, head: FoldHead, kernel: Kernel[Any], *, ties: bool, append_only: bool
    ) -> None:
        self.operator = head.operator
        self.reached = START
        self._kernel = kernel
        self.snapshots = FoldSnapshots(kernel.snapshots)
        self._ordered = head.policy is Policy.ORDERED
        self._repairs = RepairBound(head.repairs_free)
        self._in_order = RowOrder(ties=ties, append_only=append_only, ordered=self._ordered)
        self._append_only = append_only
        self._waiting = [WaitingRows() for _ in head.inputs]
        self._log = UndoLog()
        self._affected = SlotMarks()
        self._here = SlotMarks()
        self._retired: deque[tuple[int, list[int]]] = deque()
        self._min_time = self._target = START
        self._behind = False
        self._part_rows = PART_ROWS_MIN
        self._part_start = START
        """What waits below this position was given to the kernel, or came later."""
        self._holding_until: Root | None = None
        self.rows_applied = 0
        self.rows_redone = 0
        self.rows_held = 0

    def accept(self, side: int, batch: Batch) -> FoldOutput:
        """Take in rows, none of them below min time; apply them at once if the policy allows."""
        check_not_below(batch.span().least, self._target, "rows at the input of a fold")
        prepared, errors = self._kernel.prepare(side, batch)
        output = FoldOutput([], [] if errors is None else [errors])
        if len(prepared):
            self._waiting[side].append(prepared)
            if self._holds:
                self.rows_held += len(prepared)
            elif not self._behind:
                self._apply_waiting(output)
        return output

    @property
    def _holds(self) -> bool:
        """Return whether rows wait until min time has passed them."""
        return self._ordered or self._holding_until is not None

    def advance(self, min_time: Root) -> FoldOutput:
        """Advance min time at the input: apply held rows below it, close windows, discard undo."""
        check_not_below(min_time, self._target, "min time at the input of a fold")
        self._target = min_time
        output = FoldOutput([], [])
        self._follow_min_time(output)
        return output

    @property
    def is_behind(self) -> bool:
        """Return whether rows wait because the results of earlier ones filled a step."""
        return self._behind

    def go_on(self) -> FoldOutput:
        """Apply more of the rows because of which the fold is behind."""
        output = FoldOutput([], [])
        if not self._holds:
            self._apply_waiting(output)
        self._follow_min_time(output)
        return output

    def _follow_min_time(self, output: FoldOutput) -> None:
        """Advance to min time at the input, as far as waiting rows allow."""
        position = self.snapshots.position
        if position is not None and position <= self._target:
            if not self._advance(position, output):
                return
            self.snapshots.cross(position)
        self._advance(self._target, output)

    def _advance(self, min_time: Root, output: FoldOutput) -> bool:
        """Advance to `min_time`, or to the first row that waits below it; return whether to `min_time`."""
        if self._holds:
            self._apply_waiting(output, min_time)
        least = self._least_waiting() if self._behind else None
        stopped = least is not None and least < min_time
        if least is not None and stopped:
            min_time = least
        self._min_time = min_time
        self._settle_log(min_time)
        if self._holding_until is not None and self._holding_until < min_time:
            self._holding_until = None
            self._apply_waiting(output)
        closed = self._kernel.close(min_time)
        if closed is not None:
            self._reach([closed.rows, closed.errors])
            output.append(closed)
        self._recycle_slots()
        return not stopped

    def load(
        self, increments: Sequence[IncrementalSnapshot], owned: BinRanges, position: Root
    ) -> None:
        """Load the state as of `position`; see `FoldSnapshots.load`.  Nothing may have come in yet."""
        self._min_time = self._target = position
        self.snapshots.load(increments, owned, position)
        self._kernel.expire(position)

    def announce(self, position: Root) -> bool:
        """Prepare a snapshot of the state as of `position`, unless the state has anything at or above it."""
        return self.snapshots.announce(position, reached=self.reached, min_time=self._min_time)

    def _recycle_slots(self) -> None:
        """Recycle retired slots once no entry of the log can have rows of their former keys."""
        retired = self._kernel.table.take_retired()
        if retired:
            self._kernel.snapshots.on_slots_freed(retired)
            self._retired.append((self._log.count, retired))
        while self._retired and self._retired[0][0] < self._log.oldest:
            self._kernel.table.recycle(self._retired.popleft()[1])

    def hold(self) -> Root | None:
        """Return the least root of waiting rows and of open windows, or None."""
        roots = [self._kernel.next_close(), self._least_waiting()]
        return min([root for root in roots if root is not None], default=None)

    def _least_waiting(self) -> Root | None:
        roots = [waiting.least() for waiting in self._waiting]
        return min([root for root in roots if root is not None], default=None)

    def state_rows(self) -> int:
        """Return the number of rows or groups in the state and of rows that wait."""
        return self._kernel.state_rows() + sum(waiting.rows for waiting in self._waiting)

    def _apply_waiting(self, output: FoldOutput, bound: Root = END) -> None:
        """Apply the waiting rows below `bound`; where the fold is behind, only the next part of them."""
        part = self._next_part(bound)
        batches = [waiting.take_below(part) for waiting in self._waiting]
        left, applied = self._least_waiting(), self.rows_applied
        was_behind, self._behind = self._behind, left is not None and left < bound
        self._part_start = part
        self._apply_now(batches, output, was_behind=was_behind)
        self._part_rows = max(PART_ROWS_MIN, 2 * (self.rows_applied - applied))

    def _next_part(self, bound: Root) -> Root:
        """Return the position below which the next part of the waiting rows lies, `bound` at most.

        A fold that is behind takes about twice as many rows as the kernel took the last time, so that a long
        backlog is not sorted and put back for each part.
        """
        if not self._behind:
            return bound
        count, start = self._part_rows, self._part_start
        ends = [waiting.position_behind(count, start) for waiting in self._waiting]
        return min(bound, *ends)

    def _apply_now(
        self, batches: list[list[Batch]], output: FoldOutput, *, was_behind: bool
    ) -> None:
        """Apply rows of each side, with a repair where the log has rows at or behind theirs."""
        sides = [self._keyed_rows(side, parts) for side, parts in enumerate(batches)]
        new = [rows for rows in sides if rows is not None]
        if not new:
            return
        least = min(rows.batch.span().least for rows in new)
        later = self._log.from_root(least)
        if later:
            if was_behind:
                last = self._log.applied_to
                sides, behind = split_at_position(sides, Root(last.time, last.origin + 1))
                self._put_back([behind])
            self._repair(later, least, sides, output)
            return
        parts = self._split_at_announced(sides)
        for number, part in enumerate(parts, 1):
            applied, rest = self._apply(part, undoable=not self._ordered)
            if applied is not None:
                if not self._ordered:
                    self._log.append(part, applied)
                output.append(applied)
            if rest is not None:
                self._put_back([rest, *parts[number:]])
                return

    def _put_back(self, parts: Sequence[Sequence[KeyedRows | None]]) -> None:
        """Let rows wait for a later step; the fold is behind, if there are any."""
        for sides in parts:
            for side, rows in enumerate(sides):
                if rows is not None:
                    self._waiting[side].append(rows.batch)
                    self._part_start = min(self._part_start, rows.batch.span().least)
                    self._behind = True

    def _split_at_announced(
        self, sides: list[KeyedRows | None]
    ) -> Sequence[list[KeyedRows | None]]:
        """Return rows on either side of the announced position apart, the lesser first."""
        position = self._kernel.snapshots.position
        return [sides] if position is None else split_at_position(sides, position)

    def _repair(
        self,
        later: list[Application],
        least: Root,
        sides: list[KeyedRows | None],
        output: FoldOutput,
    ) -> None:
        """Undo what `later` applied to slots that get earlier rows; apply it again with them."""
        scanned = sum(entry.rows for entry in later)
        self._affected.grow(len(self._kernel.table))
        affected = disordered_slots(later, least, sides, self._affected)
        self._affected.set(affected, to=True)
        again: list[list[KeyedRows | None]] = [[rows] for rows in sides]
        old = []
        for entry in reversed(later if len(affected) else []):
            taken = self._take_out(entry, again)
            if taken is not None:
                old.append(taken)
        self._affected.set(affected, to=False)
        redone = sum(len(rows.slot) for side in again for rows in side[1:] if rows is not None)
        self.rows_redone += redone
        self.rows_applied -= redone
        made = self._apply_again([merge_rows(rows) for rows in again], least)
        output.append_differences(made, old, by_path=self._append_only)
        self._repairs.count_repair(redone, len(later), scanned)
        if self._repairs.exceeded and self._holding_until is None:
            self._rewind(least, output)

    def _take_out(
        self, entry: Application, again: list[list[KeyedRows | None]]
    ) -> ApplyResult[Any] | None:
        """Undo what an entry applied to the affected slots, and append its rows to `again`.

        Return what it made of them; None if it has no such rows.
        """
        affected = self._affected.values
        parts = [split_rows(rows, affected) for rows in entry.sides]
        taken = [taken for _, taken in parts]
        if all(rows is None for rows in taken):
            return None
        self._restore(entry, taken)
        for side, (kept, out) in enumerate(parts):
            entry.sides[side] = kept
            again[side].append(out)
        entry.applied.rows, rows = split_rows(entry.applied.rows, affected)
        entry.applied.errors, errors = split_rows(entry.applied.errors, affected)
        return ApplyResult(rows, errors, None)

    def _restore(self, entry: Application, rows: list[KeyedRows | None]) -> None:
        """Undo an entry for the slots of `rows`, which are all its rows of these slots.

        For other slots its undo may be void: a repair has taken their rows out of it.
        """
        slots = [side.slot for side in rows if side is not None]
        if not slots:
            return
        here = np.concatenate(slots)
        self._here.grow(len(self._kernel.table))
        self._here.set(here, to=True)
        self._kernel.restore(entry.applied.undo, self._here.values)
        self._here.set(here, to=False)
        self._kernel.snapshots.on_undo(here, entry.greatest)

    def _rewind(self, least: Root, output: FoldOutput) -> None:
        """Undo all rows from `least` on, and hold them until min time has passed them.

        What is before `least`, the root of what the fold is just dealing with, stays applied: min time
        behind the fold may have passed it, although the fold has not heard so yet.
        """
        entries = self._log.cut(least)
        self._holding_until = max(entry.greatest for entry in entries)
        sides: list[list[KeyedRows | None]] = [[] for _ in self._waiting]
        for entry in reversed(entries):
            self._restore(entry, entry.sides)
            self._kernel.settle(entry.applied.undo)
            for side, rows in enumerate(entry.sides):
                sides[side].append(rows)
        staying, held = split_at_position([merge_rows(parts) for parts in sides], least)
        for side, behind in enumerate(held):
            if behind is not None:
                self._waiting[side].append(behind.batch)
                self.rows_held += len(behind.slot)
                self.rows_applied -= len(behind.slot)
        made = self._apply_again(staying, least)
        old = [entry.applied for entry in entries]
        output.append_differences(made, old, by_path=self._append_only)

    def _apply_again(self, sides: list[KeyedRows | None], least: Root) -> list[ApplyResult[Any]]:
        """Apply rows of a repair; those below min time are final and are not logged.

        What the kernel leaves waits if it is not below `least`: see `_rewind`.
        """
        final, later = split_at_position(sides, self._min_time)
        parts = [final, *self._split_at_announced(later)]
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
                    self._put_back([left, *parts[number + 1 :]])
                    return made
        return made

    def _settle_log(self, final: Root) -> None:
        """Discard the undo of what is final, and state that has expired."""
        for entry in self._log.pop_below(final):
            self._kernel.settle(entry.applied.undo)
        least = self._log.least()
        self._kernel.expire(final if least is None else min(final, least))

    def _keyed_rows(self, side: int, batches: list[Batch]) -> KeyedRows | None:
        if not batches:
            return None
        batch = concat(batches)
        return KeyedRows(batch, self._kernel.slots(side, batch))

    def _apply(
        self, sides: list[KeyedRows | None], *, undoable: bool
    ) -> tuple[ApplyResult[Any] | None, list[KeyedRows | None] | None]:
        """Sort each side into the total order, without undone rows, and apply it.

        Return what that made, and the rows that the kernel has left, if any; they are no more in `sides`.
        """
        for side, rows in enumerate(sides):
            if rows is not None:
                sides[side], early = self._in_order(rows)
                if early is not None:
                    self._waiting[side].append(early)
        if all(rows is None for rows in sides):
            return None, None
        self._kernel.snapshots.on_apply(sides)
        applied, rest = self._kernel.apply(sides, undoable=undoable), None
        if applied.rest is not None:
            sides[:], rest = split_at_position(sides, applied.rest)
        count = sum(len(rows.slot) for rows in sides if rows is not None)
        self.rows_applied += count
        self._repairs.count_applied(count)
        self._reach(sides)
        return applied, rest

    def _reach(self, sides: Sequence[KeyedRows | None]) -> None:
        """Record that rows were applied, or were made by closing windows; each side is in order."""
        for rows in sides:
            if rows is not None and len(rows.slot):
                self.reached = max(self.reached, rows.batch.root(len(rows.slot) - 1))
