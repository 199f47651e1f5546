"""The coordinator's node where something keeps failing: it waits between attempts, and says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics.encoding import error_of
from fsql.optimizer.choose import choose
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.coordinator.events import (
    EpochTaken,
    Finish,
    LeaseHeld,
    LeaseLost,
    OpenSinks,
    Progress,
    SinkLost,
    SinkOpened,
    TakeEpoch,
)
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.frames import COORDINATOR, Begin, Goodbye, Heartbeat, Hello
from fsql.runtime.cluster.job_spec import JobSpec, Output, Settings
from fsql.runtime.cluster.members.restart_strategy import (
    DISK_FAILURES_SECONDS,
    INVARIANT_FAILURES_MAX,
    DiskFailures,
    InvariantFailures,
)
from fsql.runtime.cluster.node import Received, TimerFired, Transmit
from fsql.tests.queries.examples import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.cluster.coordinator.events import CoordinatorEffect, CoordinatorEvent

OUTPUT = Output(DeliveryOption.EXACTLY_ONCE, insert=0, name='table "out"')


class Led:
    """A coordinator that has one worker and one output, and does at once what it asks for."""

    def __init__(self) -> None:
        example = EXAMPLES["inverted_index"]
        plan = choose(example.compiled.graph, workers=1, fronts=example.fronts, policy=None)
        spec = JobSpec("job", 0, plan, (), (OUTPUT,), b"")
        self.node = CoordinatorNode(spec, "here", Settings())
        self.now = 0.0
        self.epochs = 0
        self.details: list[str] = []
        self.step(LeaseHeld(1e9))

    def step(self, event: CoordinatorEvent) -> list[CoordinatorEffect]:
        effects = self.node.step(event, self.now)
        self.details += [each.detail for each in effects if isinstance(each, Progress)]
        return effects

    def waited(self) -> float:
        """Return how long it takes until the next epoch is asked for; a worker says Hello all the while."""
        since = self.now
        while True:
            effects = self.step(Received(Hello("job", "worker", "there"), "there"))
            if TakeEpoch() in effects or TakeEpoch() in self.step(TimerFired()):
                self.epochs += 1
                assert OpenSinks(self.epochs, START) in self.step(EpochTaken(self.epochs, None))
                return self.now - since
            timer = self.node.next_timer()
            assert timer is not None
            self.now = max(timer, self.now + 0.001)


def test_a_worker_that_has_to_wait_is_told_that_there_is_somebody() -> None:
    led = Led()
    for epoch in range(2):
        effects = led.step(Received(Hello("job", "worker", "there"), "there"))
        assert Transmit("there", Heartbeat("job", epoch, COORDINATOR)) in effects
        if epoch == 0:
            led.step(EpochTaken(1, None))


def test_an_output_that_is_lost_again_and_again() -> None:
    led = Led()
    led.waited()
    waits = []
    for _ in range(5):
        led.step(SinkLost(0, "no space left"))
        waits.append(round(led.waited(), 3))
    assert waits == [0.0, 0.125, 0.25, 0.5, 1.0]
    assert set(led.details[1:]) == {"", 'table "out": no space left'}


def sink_without_room(led: Led) -> list[CoordinatorEffect]:
    led.waited()
    return led.step(SinkLost(0, "no space left", disk_failed=True))


def coordination_without_room(led: Led) -> list[CoordinatorEffect]:
    led.now += 0.5
    return led.step(LeaseLost("no space left", disk_failed=True))


def store_without_room(led: Led) -> list[CoordinatorEffect]:
    led.waited()
    led.step(SinkOpened(led.epochs, 0, START, 4))
    reason = "no space left"
    goodbye = Goodbye("job", led.epochs, 0, finished=False, reason=reason, disk_failed=True)
    return led.step(Received(goodbye, "there"))


@pytest.mark.parametrize(
    ("fail", "why"),
    [
        (sink_without_room, 'table "out": no space left'),
        (coordination_without_room, "no space left"),
        (store_without_room, "worker 0 has left: no space left"),
    ],
)
def test_a_job_whose_disk_stays_full_ends(
    fail: Callable[[Led], list[CoordinatorEffect]], why: str
) -> None:
    led = Led()
    assert not any(isinstance(each, Finish) for each in fail(led))
    first = led.now
    finish: list[Finish] = []
    while not finish:
        finish = [each for each in fail(led) if isinstance(each, Finish)]
        assert led.now - first < 3 * DISK_FAILURES_SECONDS
    assert led.now - first >= DISK_FAILURES_SECONDS
    assert finish[0].diagnostics is not None
    [error] = error_of(finish[0].diagnostics).diagnostics
    assert (error.code, error.message, error.notes) == (
        "E621",
        f"the job cannot continue, because a disk is full or fails: {why}",
        ("a job with --state continues where it stopped when it is started again",),
    )
    assert error.helps == (
        "make room on the disk or repair it, and start the job again with the same state directory",
    )


def test_a_store_that_another_process_has_open_is_waited_for() -> None:
    led = Led()
    while led.now < 10 * DISK_FAILURES_SECONDS:
        led.waited()
        led.step(SinkOpened(led.epochs, 0, START, 4))
        goodbye = Goodbye("job", led.epochs, 0, finished=False, reason="the store is in use")
        effects = led.step(Received(goodbye, "there"))
        assert not any(isinstance(each, Finish) for each in effects)
    assert led.details[-1] == "worker 0 has left: the store is in use"


def test_an_output_that_is_missing_is_waited_for() -> None:
    led = Led()
    for _ in range(100):
        led.waited()
        effects = led.step(SinkLost(0, "nobody listens"))
        assert not any(isinstance(each, Finish) for each in effects)


def test_disk_failures_with_progress_or_long_pauses_in_between_do_not_add_up() -> None:
    failures = DiskFailures()
    assert not any(failures.record(Root(second, 0), second) for second in range(100))
    assert not any(failures.record(START, 200.0 + 31 * number) for number in range(100))
    assert [failures.record(START, 5000.0 + 5 * number) for number in range(8)] == [
        *[False] * 7,
        True,
    ]


def left(epoch: int) -> Received:
    """Return the event that a worker leaves an epoch because of a bug."""
    reason = "internal error FSQL-I902: a row was retracted that was never added"
    goodbye = Goodbye("job", epoch, 0, finished=False, reason=reason, broken_invariant=True)
    return Received(goodbye, "there")


def test_a_job_that_keeps_breaking_an_invariant_ends() -> None:
    led = Led()
    led.waited()
    for _ in range(INVARIANT_FAILURES_MAX - 1):
        effects = led.step(left(led.epochs))
        assert not any(isinstance(each, Finish) for each in effects)
        led.waited()
    [finish] = [each for each in led.step(left(led.epochs)) if isinstance(each, Finish)]
    assert finish.diagnostics is not None
    [error] = error_of(finish.diagnostics).diagnostics
    assert (error.code, error.message, error.notes) == (
        "I902",
        "worker 0 has left: internal error FSQL-I902: a row was retracted that was never added",
        ("3 epochs have ended in this way while outputs were at the beginning",),
    )


def test_a_job_that_gets_further_between_broken_invariants_goes_on() -> None:
    failures = InvariantFailures()
    positions = [1, 1, 2, 2, 3, 3, 3]
    assert [failures.record(Root(time, 0)) for time in positions] == [False] * 6 + [True]


def test_a_worker_that_cannot_load_says_why() -> None:
    led = Led()
    led.waited()
    for _ in range(2):
        began = led.step(SinkOpened(led.epochs, 0, START, 4))
        assert any(isinstance(each, Transmit) and isinstance(each.what, Begin) for each in began)
        goodbye = Goodbye("job", led.epochs, 0, finished=False, reason="its store is locked")
        led.step(Received(goodbye, "there"))
        led.waited()
    assert led.now >= 0.125
    assert led.details[-1] == "worker 0 has left: its store is locked"
