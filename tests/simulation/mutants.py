"""Mistakes that a cluster could have, each with the contract that it breaks; simulation has to find them all.

A mutant replaces methods, private ones too, so it has to follow when those change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fsql.runtime.batch import END, Root
from fsql.runtime.cluster.coordinator.epoch import FrontPacing
from fsql.runtime.cluster.coordinator.node import CoordinatorNode, LeaseFence
from fsql.runtime.cluster.delivery.output_release import OutputRelease
from fsql.runtime.cluster.frames import Begin, Frame
from fsql.runtime.cluster.links.link import Link, LinkReceiver, LinkSender
from fsql.runtime.cluster.members.failure_detector import Timeouts
from fsql.runtime.cluster.worker.events import NotLoaded
from fsql.runtime.cluster.worker.node import WorkerEpoch, WorkerNode
from fsql.runtime.coordination.in_memory import MemoryCoordination
from fsql.runtime.coordination.lease import Lease
from fsql.runtime.coordination.port import CoordinationUnavailableError, Entry
from fsql.runtime.dataflow.barrier import Barrier
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.messages import Acknowledgement, Ids, Promise
from fsql.runtime.dataflow.outbox import Outbox
from fsql.runtime.dataflow.worker import Worker
from fsql.runtime.hosts import job_state
from fsql.runtime.kernels.aggregate.kernel import AggregateKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    Patch = pytest.MonkeyPatch


# Progress.


def what_was_consumed_is_acknowledged_before_what_was_sent(patch: Patch) -> None:
    right = Worker._finish_step

    def finish_step(self: Worker, *consumed: Any) -> list[Any]:
        effects = right(self, *consumed)
        if not consumed or not isinstance(effects[-1], Acknowledgement):
            return effects
        first, rest = effects[-1].entries[:1], effects[-1].entries[1:]
        return [Acknowledgement(first), *effects[:-1], Acknowledgement(rest)]

    patch.setattr(Worker, "_finish_step", finish_step)
    _items_travel_alone(patch)


def _items_travel_alone(patch: Patch) -> None:
    """Let no two items share a frame: what comes in one is taken at once."""
    right = Link.send

    def send(self: Link, items: Any, now: float) -> list[Frame]:
        return [frame for item in items for frame in right(self, [item], now)]

    patch.setattr(Link, "send", send)


def holds_are_not_counted(patch: Patch) -> None:
    patch.setattr(Outbox, "_take_changed_holds", lambda *_: [])


def restored_holds_are_not_counted(patch: Patch) -> None:
    right = Worker.load

    def load(self: Worker, state: Any, position: Root) -> list[Any]:
        right(self, state, position)
        return []

    patch.setattr(Worker, "load", load)


def promises_go_ahead_of_their_acknowledgements(patch: Patch) -> None:
    right = Worker.read_rest

    def read_rest(self: Worker, front: Front) -> list[Any]:
        effects = right(self, front)
        assert isinstance(effects[-1], Promise)
        return [effects[-1], *effects[:-1]]

    patch.setattr(Worker, "read_rest", read_rest)
    _items_travel_alone(patch)


def ids_are_bare_counters(patch: Patch) -> None:
    def bare(self: Ids) -> int:
        self.sequence += 1
        return self.sequence

    patch.setattr(Ids, "next", bare)


def fronts_promise_a_row_too_much(patch: Patch) -> None:
    right = Front._successor
    patch.setattr(Front, "_successor", lambda self, row: right(self, row + 1))


def the_barrier_releases_what_is_at_min_time(patch: Patch) -> None:
    right = Barrier.advance

    def advance(self: Barrier, min_time: Root) -> Any:
        later = min_time if min_time == END else Root(min_time.time + 1, min_time.origin)
        return right(self, max(later, self.min_time))

    patch.setattr(Barrier, "advance", advance)


def windows_close_ahead_of_their_rows(patch: Patch) -> None:
    right = AggregateKernel.close

    def close(self: AggregateKernel, min_time: Root) -> Any:
        later = min_time if min_time == END else Root(min_time.time + 1_000_000, min_time.origin)
        return right(self, later)

    patch.setattr(AggregateKernel, "close", close)


def blocked_fronts_never_read(patch: Patch) -> None:
    """Neither of the two ways is open: a front that gets the released position needs no credit."""
    patch.setattr(FrontPacing, "_grant_credit", lambda _: None)
    patch.setattr(FrontPacing, "_update_read_ahead", lambda *_: None)


# Links.


def frames_of_another_epoch_are_taken(patch: Patch) -> None:
    own, received = Link._is_own, CoordinatorNode._on_received

    def taken_as_own(self: Link, frame: Any) -> bool:
        return own(self, replace(frame, epoch=self._epoch))

    def taken(self: CoordinatorNode, what: Any, now: float) -> Any:
        if isinstance(what.what, Frame) and self.epoch is not None:
            what = replace(what, what=replace(what.what, epoch=self.epoch.number))
        return received(self, what, now)

    patch.setattr(Link, "_is_own", taken_as_own)
    patch.setattr(CoordinatorNode, "_on_received", taken)


def frames_that_came_before_are_taken_again(patch: Patch) -> None:
    right = LinkReceiver.receive

    def receive(self: LinkReceiver, frame: Any, now: float) -> list[Any]:
        again = frame.sequence <= self.received
        items = right(self, frame, now)
        return list(frame.items) if again else items

    patch.setattr(LinkReceiver, "receive", receive)


def frames_are_taken_as_they_come(patch: Patch) -> None:
    right = LinkReceiver.receive

    def receive(self: LinkReceiver, frame: Any, now: float) -> list[Any]:
        if frame.sequence > self.received + 1:
            self.received = frame.sequence
            return list(frame.items)
        return right(self, frame, now)

    patch.setattr(LinkReceiver, "receive", receive)


def what_is_lost_is_not_sent_again_nor_noticed(patch: Patch) -> None:
    patch.setattr(LinkSender, "_continue_repair", lambda _: [])
    patch.setattr(Link, "stuck_for", lambda *_: 0.0)


def an_early_frame_is_acknowledged_but_not_kept(patch: Patch) -> None:
    right = LinkReceiver.receive

    def receive(self: LinkReceiver, frame: Any, now: float) -> list[Any]:
        if frame.sequence > self.received + 1:
            self.received = frame.sequence
            return []
        return right(self, frame, now)

    patch.setattr(LinkReceiver, "receive", receive)


# Epochs and membership.


def an_epoch_is_begun_again(patch: Patch) -> None:
    right = WorkerNode._begin

    def begin(self: WorkerNode, begin: Any, now: float) -> Any:
        self._newest = 0, 0
        return right(self, begin, now)

    patch.setattr(WorkerNode, "_begin", begin)


def a_job_that_cannot_go_on_tries_for_ever(patch: Patch) -> None:
    right = WorkerNode._on_answer

    def answered(self: WorkerNode, epoch: Any, event: Any, now: float) -> Any:
        if isinstance(event, NotLoaded):
            event = replace(event, diagnostics=None)
        return right(self, epoch, event, now)

    patch.setattr(WorkerNode, "_on_answer", answered)


def a_worker_never_leaves_an_epoch(patch: Patch) -> None:
    patch.setattr(WorkerEpoch, "failure", lambda *_: None)


def the_coordinator_never_gives_up(patch: Patch) -> None:
    patch.setattr(CoordinatorNode, "_give_up_if_lost", lambda *_: [])


def epochs_do_not_ascend(patch: Patch) -> None:
    patch.setattr(job_state, "next_epoch", lambda *_: 1)


def a_lease_that_was_never_got_is_renewed(patch: Patch) -> None:
    right = Lease.hold

    def renewed(self: Lease) -> bool:
        self._has_entry = self._session is not None
        return right(self)

    patch.setattr(Lease, "hold", renewed)


def a_lease_is_held_without_an_answer(patch: Patch) -> None:
    right = Lease.renew

    def renew(self: Lease) -> bool:
        try:
            return right(self)
        except CoordinationUnavailableError:
            self._held_until = self._clock() + self._ttl_seconds
            return True

    patch.setattr(Lease, "renew", renew)


def writes_of_coordination_are_not_compared(patch: Patch) -> None:
    def of_version(self: MemoryCoordination, key: str, version: int) -> Entry:
        entry = self._ensemble.states[-1].entries.get(key)
        return Entry(key, b"", version, None) if entry is None else entry

    patch.setattr(MemoryCoordination, "_entry_of_version", of_version)


def results_are_released_without_the_lease(patch: Patch) -> None:
    patch.setattr(LeaseFence, "is_open", lambda *_: True)


def bundles_that_wait_go_out_without_the_lease(patch: Patch) -> None:
    patch.setattr(LeaseFence, "filter", lambda _, effects, *__: effects)


def long_steps_are_taken_for_losses(patch: Patch) -> None:
    patch.setattr(Timeouts, "on_computed", lambda *_: None)


def workers_keep_their_long_steps_to_themselves(patch: Patch) -> None:
    right = WorkerNode._on_time

    def on_time(self: WorkerNode, now: float) -> list[Any]:
        self._hello = replace(self._hello, computed=0.0)
        return right(self, now)

    patch.setattr(WorkerNode, "_on_time", on_time)


def workers_do_not_know_the_longer_timeout(patch: Patch) -> None:
    """They wait for a peer in a long step as shortly as ever, and leave."""
    right = WorkerNode._begin

    def begin(self: WorkerNode, what: Begin, now: float) -> list[Any]:
        return right(self, replace(what, failure_after=self._settings.failure_after), now)

    patch.setattr(WorkerNode, "_begin", begin)


def the_job_is_finished_before_consumers_have_it(patch: Patch) -> None:
    def is_over(self: OutputRelease) -> bool:
        return self.min_time >= (END if self.stopped is None else self.stopped.root)

    patch.setattr(OutputRelease, "is_over", is_over)


MUTANTS: tuple[Callable[[Patch], None], ...] = (
    what_was_consumed_is_acknowledged_before_what_was_sent,
    holds_are_not_counted,
    restored_holds_are_not_counted,
    promises_go_ahead_of_their_acknowledgements,
    ids_are_bare_counters,
    fronts_promise_a_row_too_much,
    the_barrier_releases_what_is_at_min_time,
    windows_close_ahead_of_their_rows,
    blocked_fronts_never_read,
    frames_of_another_epoch_are_taken,
    frames_that_came_before_are_taken_again,
    frames_are_taken_as_they_come,
    what_is_lost_is_not_sent_again_nor_noticed,
    an_early_frame_is_acknowledged_but_not_kept,
    an_epoch_is_begun_again,
    a_job_that_cannot_go_on_tries_for_ever,
    a_worker_never_leaves_an_epoch,
    the_coordinator_never_gives_up,
    epochs_do_not_ascend,
    a_lease_that_was_never_got_is_renewed,
    a_lease_is_held_without_an_answer,
    results_are_released_without_the_lease,
    bundles_that_wait_go_out_without_the_lease,
    the_job_is_finished_before_consumers_have_it,
)
MUTANTS_OF_LONG_STEPS: tuple[Callable[[Patch], None], ...] = (
    long_steps_are_taken_for_losses,
    workers_keep_their_long_steps_to_themselves,
    workers_do_not_know_the_longer_timeout,
)
MUTANTS_OF_COORDINATION: tuple[Callable[[Patch], None], ...] = (
    writes_of_coordination_are_not_compared,
)
