"""While state is loaded: a worker that falls silent, or comes no further, is missed, and others are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.coordinator.events import EpochTaken, LeaseHeld
from fsql.runtime.cluster.coordinator.phase import Phase
from fsql.runtime.cluster.frames import Heartbeat
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.cluster.members.failure_detector import LOADING_FACTOR_MAX
from fsql.runtime.cluster.node import Received, TimerFired
from fsql.tests.unit.cluster.test_lease_lost import hello, node_with_a_worker

if TYPE_CHECKING:
    from fsql.runtime.cluster.coordinator.node import CoordinatorNode

AT_MOST = Settings().loading_at_most
BEAT = Settings().failure_after / 2


def loads(node: CoordinatorNode) -> bool:
    return node.phase is Phase.RESTORING


def given_up_after(node: CoordinatorNode, epoch: int, now: float, *, beating: bool) -> float:
    """Begin an epoch in which nobody gets ready; return how long it is waited for."""
    node.step(LeaseHeld(1e9), now)
    hello(node, now)
    node.step(EpochTaken(epoch, None), now)
    assert loads(node)
    begun = now
    while loads(node):
        now += BEAT
        if beating:
            node.step(Received(Heartbeat("job", epoch, 0), "there"), now)
        node.step(TimerFired(), now)
    return now - begun


def test_a_worker_that_falls_silent_while_it_loads_is_missed() -> None:
    node, _ = node_with_a_worker()
    assert given_up_after(node, 1, 1.0, beating=False) < 3 * Settings().failure_after


def test_each_attempt_gives_workers_longer_to_load() -> None:
    node, _ = node_with_a_worker()
    first = given_up_after(node, 1, 1.0, beating=True)
    second = given_up_after(node, 2, 1000.0, beating=True)
    assert AT_MOST < first < 1.5 * AT_MOST
    assert 2 * AT_MOST < second < 3 * AT_MOST


def test_loading_that_comes_further_is_waited_for_and_what_stands_still_is_not_for_ever() -> None:
    node, _ = node_with_a_worker()
    node.step(LeaseHeld(1e9), 1.0)
    hello(node, 1.0)
    node.step(EpochTaken(1, None), 1.0)
    now = 1.0
    for loaded in range(100):
        now += AT_MOST / 4
        for _ in range(2):
            node.step(Received(Heartbeat("job", 1, 0, loaded), "there"), now)
            node.step(TimerFired(), now)
        assert loads(node)
        node.epoch.detector.watch([0], now + AT_MOST / 4)  # type: ignore[union-attr] # it beats in between
    for epoch in range(2, 12):
        last = given_up_after(node, epoch, 10_000.0 * epoch, beating=True)
    assert LOADING_FACTOR_MAX * AT_MOST < last < 1.1 * LOADING_FACTOR_MAX * AT_MOST
