"""The fold: a fused drifting-state cycle, which handles all disorder.

Contract.  Rows arrive in any order.  Let m be min time at the fold's input, and let the *live content* be
the received rows, with the weights of equal rows at equal positions added up.  Then the output of the
fold, added up by weight, is at every moment the operator's result for some sequence of rows; below m it is
the result for the live content below m in the total order.  Both policies guarantee this:

* ORDERED keeps rows waiting until m has passed them.  It never undoes anything.
* SPECULATIVE applies rows as they arrive and logs, above m, the applied rows and their results.  A row at
  or before a position that its slot has seen causes a *repair*: the fold undoes the rows of the slots
  concerned, applies all of them again in order, and sends the difference of the outputs.  When repairs
  cost more than `undo_log.RepairBound` allows, the fold undoes what it applied from this row on, and
  works as ORDERED until m has passed it.  This bounds the cost of a hot key.  See `applied_rows`.

A change of policy takes effect when m reaches the position of the change.  Waiting rows are applied when the
fold becomes SPECULATIVE.  When it becomes ORDERED, rows that were applied ahead of m stay in the log until
m has passed them.

Windows close only when m has passed their punctuation, never speculatively.  `hold()` returns the least
root at which the fold may still send rows that no message in flight accounts for; min time downstream must
not pass it.

Snapshots.  After a position is announced, no application has rows on both sides of it.  As soon as m
reaches the position, the fold takes an incremental snapshot as of it: everything below is final, and rows
applied above are left out (`kernel.KernelSnapshots`).  A fold that loads the state as of a position
continues like one that has received the rows below it.

Steps.  A kernel may leave rows whose results would be too large for one step (`ApplyResult.rest`).  They
wait, and the fold **is behind** until `continue_work` has applied them, a part at a time; its own min time
stays below them.

The order of outputs is not defined, and a fold may send rows and undo them later.
`tests/property` checks released bytes under every policy and interleaving.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.runtime.batch import END, START, Batch, Root
from fsql.runtime.dataflow.applied_rows import AppliedRows
from fsql.runtime.dataflow.backlog import Backlog, in_turn
from fsql.runtime.dataflow.disorder import Disorder
from fsql.runtime.dataflow.fold_output import FoldOutput
from fsql.runtime.dataflow.fold_snapshots import FoldSnapshots
from fsql.runtime.dataflow.invariants import check_not_below
from fsql.runtime.dataflow.released_bins import ReleasedBins
from fsql.runtime.kernels.keyed.kernel import KeptResult, Kernel, KeyedRows, split_at_position
from fsql.runtime.order import concat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot


class Fold:
    """One fused cycle on one worker.

    `rows_held` counts the rows that have waited for min time, `rewinds` how often the whole log was undone
    after an expensive repair.  `disorder` counts in which order rows have come.
    """

    def __init__(
        self, head: FoldHead, kernel: Kernel[Any], *, ties: bool, append_only: bool
    ) -> None:
        self.operator = head.operator
        self.rows_held = 0
        self.rewinds = 0
        self.disorder = Disorder(kernel.keys)
        self.snapshots = FoldSnapshots(kernel.snapshots)
        self._kernel = kernel
        self._ordered = head.policy is Policy.ORDERED
        self._backlog = Backlog(len(head.inputs))
        self._applied = AppliedRows(head, kernel, self._backlog, ties=ties, append_only=append_only)
        self._min_time = self._target = START
        self._holding_until: Root | None = None
        self._next_policy: tuple[Root, Policy] | None = None
        """The policy from a position on that min time has not passed."""
        self._released: ReleasedBins | None = None
        self._holds_nothing = False
        """Whether all bins were given up: the remaining windows have no rows."""

    @property
    def reached(self) -> Root:
        """Return the greatest root that was applied or has closed a window."""
        return self._applied.reached

    @property
    def rows_applied(self) -> int:
        """Return the number of rows applied; repairs do not count again."""
        return self._applied.applied

    @property
    def rows_waiting(self) -> int:
        """Return the number of rows that wait."""
        return self._backlog.rows

    @property
    def policy(self) -> Policy:
        """Return the policy that is in force."""
        return Policy.ORDERED if self._ordered else Policy.SPECULATIVE

    @property
    def rows_redone(self) -> int:
        """Return how many rows repairs have applied again."""
        return self._applied.redone

    def accept(self, side: int, batch: Batch) -> FoldOutput:
        """Accept rows, none of them below min time; apply them immediately if the policy allows."""
        check_not_below(batch.span().least, self._target, "rows at the input of a fold")
        prepared, errors = self._kernel.prepare(side, batch)
        output = FoldOutput([], [] if errors is None else [errors])
        if len(prepared):
            self.disorder.add(prepared, self._backlog if self._holds else None)
            if not self._holds and not self._backlog.rows:
                self._apply_part(self._backlog.pass_on(side, prepared), output)
                return output
            self._backlog.append(side, prepared)
            if self._holds:
                self.rows_held += len(prepared)
            elif not self._backlog.is_behind:
                self._apply_waiting(output)
        return output

    @property
    def _holds(self) -> bool:
        """Return whether new rows have to wait until min time has passed them."""
        return self._ordered or self._holding_until is not None

    def advance(self, min_time: Root) -> FoldOutput:
        """Advance min time at the input: apply waiting rows below it, close windows, discard the log."""
        check_not_below(min_time, self._target, "min time at the input of a fold")
        self._target = min_time
        output = FoldOutput([], [])
        self._follow_min_time(output)
        return output

    @property
    def min_time_of_input(self) -> Root:
        """Return min time at the input; the fold's own min time follows it as far as waiting rows allow."""
        return self._target

    @property
    def is_behind(self) -> bool:
        """Return whether rows wait because the results of earlier ones filled a step."""
        return self._backlog.is_behind

    def continue_work(self) -> FoldOutput:
        """Apply more of the waiting rows, if the fold is behind."""
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
        """Advance to `min_time`, or to the first row that waits below it; return whether it was reached."""
        self.disorder.advances += self._has_rows_below(min_time)
        if self._holds:
            self._apply_waiting(output, min_time)
        least = self._backlog.least() if self._backlog.is_behind else None
        stopped = least is not None and least < min_time
        if least is not None and stopped:
            min_time = least
        self._min_time = min_time
        self._applied.settle(min_time)
        if self._holding_until is not None and self._holding_until < min_time:
            self._holding_until = None
            if not self._holds:
                self._apply_waiting(output)
        self._change_policy_if_due(output)
        closed = self._kernel.close(min_time)
        if closed is not None:
            self._applied.reach([closed.rows, closed.errors])
            output.append(closed)
        self._applied.recycle_slots()
        return not stopped

    def _has_rows_below(self, min_time: Root) -> bool:
        """Return whether rows below `min_time` wait, or have been applied ahead of it."""
        roots = self._backlog.least(), self._applied.least()
        return any(root is not None and root < min_time for root in roots)

    def change_policy(self, position: Root, policy: Policy) -> FoldOutput:
        """Change the policy when min time has reached `position`, perhaps immediately.

        Rows that wait then are applied, or wait for min time from then on.  Applied rows above min time may
        still be undone.
        """
        self._next_policy = position, policy
        output = FoldOutput([], [])
        self._change_policy_if_due(output)
        return output

    def _change_policy_if_due(self, output: FoldOutput) -> None:
        if self._next_policy is None or self._min_time < self._next_policy[0]:
            return
        (_, policy), self._next_policy = self._next_policy, None
        self._ordered = policy is Policy.ORDERED
        self._applied.change_policy(policy)
        if not self._holds:
            self._apply_waiting(output)

    def load(
        self, snapshots: Sequence[IncrementalSnapshot], owned: BinRanges, position: Root
    ) -> None:
        """Load the state as of `position`; see `FoldSnapshots.load`.  No input may have arrived yet."""
        self._min_time = self._target = position
        self.snapshots.load(snapshots, owned, position)
        self._kernel.expire(position)

    def release(self, bins: BinRanges) -> None:
        """Release some bins: min time has passed all of their rows that this worker receives.

        `collect` has to be called until it has dropped their state.
        """
        assert self._released is None
        self._kernel.give_up(bins)
        self._released = ReleasedBins(bins, self._kernel, self._applied)

    def hold_nothing(self) -> None:
        """Have no hold for windows any more, because all bins were given up, until some are adopted."""
        self._holds_nothing = True

    @property
    def has_released(self) -> bool:
        """Return whether state of released bins is left."""
        return self._released is not None

    def collect(self) -> bool:
        """Drop a part of the state of released bins; return whether any is left."""
        if self._released is not None and not self._released.collect():
            self._released = None
            self._kernel.give_up(())
        return self._released is not None

    def adopt(self, position: Root, queued: Sequence[tuple[int, Batch]]) -> FoldOutput:
        """Begin to own bins whose state as of `position` is staged, and apply their rows from there on.

        Min time is at `position` or has passed it.  The fold goes back to the position, which has no effect
        on the keys that it had, and advances again over the rows and windows of the new keys.

        Args:
            position: where the keys changed owner.
            queued: the rows of these keys that have arrived since, with their sides.
        """
        assert position <= self._min_time
        self._holds_nothing = False
        self._min_time = position
        self._kernel.expire(position)
        self.snapshots.adopt(position)
        output = FoldOutput([], [])
        for side, batch in queued:
            check_not_below(batch.span().least, position, "rows of an adopted key")
            prepared, errors = self._kernel.prepare(side, batch)
            if errors is not None:
                output.errors.append(errors)
            if len(prepared):
                self._backlog.append(side, prepared)
        if not self._holds:
            self._apply_waiting(output)
        self._follow_min_time(output)
        return output

    def announce(self, position: Root) -> bool:
        """Prepare a snapshot as of `position`; return False if the state has anything at or above it."""
        return self.snapshots.announce(position, reached=self.reached, min_time=self._min_time)

    def hold(self) -> Root | None:
        """Return the least root of waiting rows and open windows, None if there are none."""
        if self._holds_nothing:
            return None
        roots = [self._kernel.next_close(), self._backlog.least()]
        return min([root for root in roots if root is not None], default=None)

    def result(self) -> Batch | None:
        """Return the rows that all changes so far add up to, at min time; nothing may have arrived above it.

        The kernel must be a `KeptResult`.
        """
        assert isinstance(self._kernel, KeptResult)
        return self._kernel.result(self._min_time)

    def state_rows(self) -> int:
        """Return the number of rows or groups in the state and of rows that wait."""
        return self._kernel.state_rows() + self._backlog.rows

    def _apply_waiting(self, output: FoldOutput, bound: Root = END) -> None:
        """Apply the waiting rows below `bound`; if the fold is behind, only the next part of them."""
        was_behind = self._backlog.is_behind
        batches = self._backlog.take_below(bound)
        if was_behind:
            self._apply_part(batches, output, was_behind=True)
            return
        for part in in_turn(batches):
            if self._backlog.is_behind:  # the kernel has left rows of an earlier part
                self._backlog.append_all(part)
            else:
                self._apply_part(part, output)

    def _apply_part(
        self, batches: list[list[Batch]], output: FoldOutput, *, was_behind: bool = False
    ) -> None:
        """Apply rows that were taken from the backlog, and set how many the next part has."""
        applied = self._applied.applied
        self._apply_now(batches, output, was_behind=was_behind)
        self._backlog.resize_part(self._applied.applied - applied)

    def _apply_now(
        self, batches: list[list[Batch]], output: FoldOutput, *, was_behind: bool
    ) -> None:
        """Apply rows of each side, with a repair if the log has rows at or after theirs."""
        sides = [self._keyed_rows(side, parts) for side, parts in enumerate(batches)]
        new = [rows for rows in sides if rows is not None]
        if not new:
            return
        least = min(rows.batch.span().least for rows in new)
        later = self._applied.log_from(least)
        if not later:
            self._applied.apply(sides, output)
            return
        if was_behind:
            last = self._applied.logged_to
            sides, above = split_at_position(sides, Root(last.time, last.origin + 1))
            self._backlog.put_back([above])
        self._applied.repair(later, least, sides, self._min_time, output)
        if self._applied.repairs_exceeded and not self._holds:
            self._holding_until, held = self._applied.rewind(least, self._min_time, output)
            self.rows_held += held
            self.rewinds += 1

    def _keyed_rows(self, side: int, batches: list[Batch]) -> KeyedRows | None:
        if not batches:
            return None
        batch = concat(batches)
        return KeyedRows(batch, self._kernel.slots(side, batch))
