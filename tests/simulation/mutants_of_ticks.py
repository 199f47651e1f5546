"""Mistakes that ticks could have; simulation has to find them all.  See `mutants`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fsql.compiler.holdings import Holdings
from fsql.compiler.owners import BinSets, Owners
from fsql.runtime.cluster.members.epoch_members import EpochMembers
from fsql.runtime.cluster.ticks.copied_state import CopiedState
from fsql.runtime.cluster.ticks.epoch_ticks import LayoutTick
from fsql.runtime.cluster.ticks.proposed_ticks import ProposedTicks
from fsql.runtime.cluster.ticks.worker_ticks import WorkerTicks
from fsql.runtime.dataflow.applied_rows import AppliedRows
from fsql.runtime.dataflow.fold import Fold
from fsql.runtime.dataflow.routing import LayoutChange, Routing
from fsql.runtime.dataflow.worker import Worker
from fsql.runtime.kernels.keyed.slot_snapshots import SlotSnapshots
from fsql.runtime.state.segments import StateSegments

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from fsql.runtime.cluster.ticks.events import TickProposed
    from fsql.runtime.dataflow.acker import Acker

    Patch = pytest.MonkeyPatch


def segments_stay_valid_for_bins_that_went(patch: Patch) -> None:
    """The old segments of a worker come back with the bins, and raise deleted keys."""

    def change_bins(self: StateSegments, bins: Any) -> None:
        self.bins = bins

    patch.setattr(StateSegments, "change_bins", change_bins)


def rows_go_to_new_owners_before_the_switch(patch: Patch) -> None:
    patch.setattr(LayoutChange, "defers", lambda *_: False)
    patch.setattr(LayoutChange, "defer", lambda _self, rows: rows)


def bins_are_adopted_without_a_hold(patch: Patch) -> None:
    def switch(self: LayoutTick, acker: Acker) -> Any:
        with_hold = acker.acknowledge
        acker.acknowledge = lambda _: None  # type: ignore[method-assign, assignment]
        switches = right(self, acker)
        acker.acknowledge = with_hold  # type: ignore[method-assign]
        return switches and {worker: replace(each, holds=()) for worker, each in switches.items()}

    right = LayoutTick.switch
    patch.setattr(LayoutTick, "switch", switch)


def a_front_reads_on_beyond_the_position(patch: Patch) -> None:
    patch.setattr(LayoutChange, "defer", lambda _self, rows: rows)


def rows_are_routed_by_todays_map(patch: Patch) -> None:
    """A repair goes to the new owner of its key, although what it corrects went to the old one."""

    def route(self: LayoutChange, exchange: str, batch: Any, hashes: Any, owner: Any) -> Any:
        owners, _ = right(self, exchange, batch, hashes, owner)
        if not self.switched:
            return owners, owners != owner
        new = np.array(self.owners.of(exchange).owners)[hashes >> 20]
        return new, new != owner

    right = LayoutChange.route
    patch.setattr(LayoutChange, "route", route)


def rows_are_routed_by_one_map_for_all_exchanges(patch: Patch) -> None:
    """A worker looks up owners in the map of the exchanges that are not named, once owners have changed."""

    def complete_change(self: Worker) -> None:
        right(self)
        holdings = Holdings(Owners(self.owners.every), self.holdings.replicated)
        self._routing = Routing(holdings, self._routing.exchanges)

    right = Worker.complete_change
    patch.setattr(Worker, "complete_change", complete_change)


def state_is_copied_by_one_map_for_all_exchanges(patch: Patch) -> None:
    def add(self: CopiedState, state: Any) -> int:
        self._outgoing = {peer: BinSets(bins.every) for peer, bins in self._outgoing.items()}
        return right(self, state)

    right = CopiedState._add
    patch.setattr(CopiedState, "_add", add)


def windows_are_lost_on_the_way(patch: Patch) -> None:
    def adopt(self: SlotSnapshots, position: Any) -> None:
        if self._closings is not None:
            self._closings.forget_staged()
        right(self, position)

    right = SlotSnapshots.adopt
    patch.setattr(SlotSnapshots, "adopt", adopt)


def old_owners_keep_their_bins(patch: Patch) -> None:
    patch.setattr(Fold, "release", lambda *_: None)


def folds_pass_the_position_before_they_hand_over(patch: Patch) -> None:
    patch.setattr(LayoutChange, "holds_back", False)


def what_changes_after_the_copy_is_not_sent(patch: Patch) -> None:
    right = WorkerTicks.on_last_snapshot
    patch.setattr(WorkerTicks, "on_last_snapshot", lambda self, _states: right(self, []))


def queued_rows_are_lost(patch: Patch) -> None:
    def adopt(self: Worker, holds: Any) -> Any:
        assert self.change is not None
        self.change.queued.clear()
        return right(self, holds)

    right = Worker.adopt
    patch.setattr(Worker, "adopt", adopt)


def adopted_bins_are_not_stored(patch: Patch) -> None:
    patch.setattr(StateSegments, "take_over", lambda *_: None)


def bins_are_adopted_before_the_own_state_is_at_the_position(patch: Patch) -> None:
    patch.setattr(Worker, "may_adopt", property(lambda self: self.has_switched))


def two_ticks_are_under_way(patch: Patch) -> None:
    """A second proposal replaces the first one, however far that is."""

    def on_proposal(self: ProposedTicks, proposal: TickProposed, now: float) -> None:
        self._proposal, self._proposed_at, self._epochs_lost = proposal, now, 0

    patch.setattr(ProposedTicks, "on_proposal", on_proposal)


def workers_that_leave_hold_windows_back(patch: Patch) -> None:
    """Windows that are open in the ack table when their worker leaves stay there forever."""
    patch.setattr(Fold, "hold_nothing", lambda _: None)


def stores_of_workers_that_join_are_deleted(patch: Patch) -> None:
    """Only those that took part in the newest snapshot are taken for members."""
    patch.setattr(EpochMembers, "_set_present", lambda _: None)


def a_fold_that_becomes_speculative_logs_nothing(patch: Patch) -> None:
    """It cannot undo what it applies ahead of min time."""
    patch.setattr(AppliedRows, "change_policy", lambda *_: None)


MUTANTS_OF_MEMBERS: tuple[Callable[[Patch], None], ...] = (
    workers_that_leave_hold_windows_back,
    stores_of_workers_that_join_are_deleted,
)
MUTANTS: tuple[Callable[[Patch], None], ...] = (
    segments_stay_valid_for_bins_that_went,
    rows_go_to_new_owners_before_the_switch,
    bins_are_adopted_without_a_hold,
    a_front_reads_on_beyond_the_position,
    rows_are_routed_by_todays_map,
    rows_are_routed_by_one_map_for_all_exchanges,
    state_is_copied_by_one_map_for_all_exchanges,
    windows_are_lost_on_the_way,
    old_owners_keep_their_bins,
    folds_pass_the_position_before_they_hand_over,
    what_changes_after_the_copy_is_not_sent,
    queued_rows_are_lost,
    adopted_bins_are_not_stored,
    bins_are_adopted_before_the_own_state_is_at_the_position,
    two_ticks_are_under_way,
    a_fold_that_becomes_speculative_logs_nothing,
)
