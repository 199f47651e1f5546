"""Mistakes that moves of fronts could have; simulation has to find `MUTANTS`.  See `mutants`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fsql.runtime.batch import START, TIME_START, Root
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.snapshots.worker_snapshots import WorkerSnapshots
from fsql.runtime.cluster.ticks.worker_ticks import FrontMoves
from fsql.runtime.cluster.worker.local_fronts import LocalFronts
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.routing import LayoutChange

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from fsql.runtime.cluster.frames import AnnounceSnapshot

    Patch = pytest.MonkeyPatch


def show_broken_invariants(patch: Patch) -> None:
    """Fail where an invariant is broken: otherwise another epoch makes up for it."""

    def leave(
        self: WorkerNode, reason: str, now: float, *, broken_invariant: bool = False, **rest: bool
    ) -> Any:
        assert not broken_invariant, reason
        return right(self, reason, now, **rest)

    def on_broken_invariant(_: CoordinatorNode, why: str, now: float) -> Any:
        raise AssertionError(why, now)

    right = WorkerNode._leave
    patch.setattr(WorkerNode, "_leave", leave)
    patch.setattr(CoordinatorNode, "_on_broken_invariant", on_broken_invariant)


def malformed_rows_beyond_the_position_are_sent_by_both_owners(patch: Patch) -> None:
    """Found in memory; see `tests/property/test_ticks.py`."""

    def defer(self: LayoutChange, rows: Any) -> Any:
        kept = right(self, rows)
        waiting = self.deferred.get(rows.front.number)
        if waiting is not None:
            self.deferred[rows.front.number] = waiting._replace(dead_letters=())
        return kept._replace(dead_letters=rows.dead_letters)

    right = LayoutChange.defer
    patch.setattr(LayoutChange, "defer", defer)

    def drop(self: Front, dead_letters: Any) -> Any:
        return tuple(each for each in dead_letters if each[0] >= self._below)

    patch.setattr(Front, "_drop_dead_letters", drop)


def rows_that_wait_for_the_switch_are_sent_by_the_old_owner(patch: Patch) -> None:
    def take_deferred(self: LayoutChange, fronts: Any) -> Any:
        waiting = dict(self.deferred)
        right(self, fronts)
        return list(waiting.values())

    right = LayoutChange.take_deferred
    patch.setattr(LayoutChange, "take_deferred", take_deferred)


def the_old_owner_sends_its_last_chunk_whole(patch: Patch) -> None:
    patch.setattr(Front, "stop_at", lambda *_: None)


def the_old_owner_promises_what_the_new_one_has_to_read(patch: Patch) -> None:
    def promise_of(self: LayoutChange, front: Front) -> Root:
        return front.promised if self.switched else min(front.promised, self.position)

    show_broken_invariants(patch)
    patch.setattr(LayoutChange, "promise_of", promise_of)


def the_new_owner_repeats_rows_below_the_position(patch: Patch) -> None:
    def adopt(self: LocalFronts, *what: Any, ended: bool) -> Any:
        here = right(self, *what, ended=ended)
        here.front._below = START
        return here

    show_broken_invariants(patch)
    right = LocalFronts.adopt
    patch.setattr(LocalFronts, "adopt", adopt)


def the_greatest_time_is_lost_on_the_way(patch: Patch) -> None:
    def adopt(self: LocalFronts, task: Any, point: Any, position: Root, *, ended: bool) -> Any:
        without = msgspec.structs.replace(point, time=TIME_START)
        return right(self, task, without, position, ended=ended)

    right = LocalFronts.adopt
    patch.setattr(LocalFronts, "adopt", adopt)


def fronts_that_have_ended_are_forgotten(patch: Patch) -> None:
    """Snapshots have no resume point of them, so they are read again after a failure."""

    def adopt(self: FrontMoves, item: Any) -> Any:
        here, opened = right(self, item)
        if item.ended:
            self._fronts.release(item.point.front)
        return here, opened

    right = FrontMoves.adopt
    patch.setattr(FrontMoves, "adopt", adopt)


def a_snapshot_has_the_fronts_of_the_moment_when_it_is_stored(patch: Patch) -> None:
    """That of the position at which fronts move lacks those that have left."""

    def on_announcement(self: WorkerSnapshots, announce: AnnounceSnapshot) -> Any:
        answer = right(self, announce)
        if answer.accepted:
            self._fronts_of[announce.snapshot] = self._fronts  # type: ignore[assignment]
        return answer

    right = WorkerSnapshots.on_announcement
    patch.setattr(WorkerSnapshots, "on_announcement", on_announcement)


MUTANTS: tuple[Callable[[Patch], None], ...] = (
    rows_that_wait_for_the_switch_are_sent_by_the_old_owner,
    the_old_owner_sends_its_last_chunk_whole,
    the_old_owner_promises_what_the_new_one_has_to_read,
    the_new_owner_repeats_rows_below_the_position,
    the_greatest_time_is_lost_on_the_way,
    fronts_that_have_ended_are_forgotten,
)
MUTANTS_OF_RECOVERY: tuple[Callable[[Patch], None], ...] = (
    a_snapshot_has_the_fronts_of_the_moment_when_it_is_stored,
)
