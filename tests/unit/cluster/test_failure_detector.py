"""Workers that are silent: those that have computed meanwhile are given more time."""

from __future__ import annotations

from dataclasses import replace

from fsql.runtime.batch import START
from fsql.runtime.cluster.coordinator.events import SinkOpened
from fsql.runtime.cluster.frames import COORDINATOR, Begin, Goodbye, Heartbeat, Hello
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.cluster.members.failure_detector import DECAY_SECONDS, Timeouts, has_computed
from fsql.runtime.cluster.node import Computed, Received, TimerFired, Transmit
from fsql.runtime.cluster.worker.events import Leave, Load
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.tests.unit.cluster.test_coordinator_backoff import Led

BASE = Settings().failure_after


def begun(led: Led) -> Begin:
    """Begin the next epoch; return what its worker is told."""
    led.waited()
    effects = led.step(SinkOpened(led.epochs, 0, START, 4))
    [begin] = [e.what for e in effects if isinstance(e, Transmit) and isinstance(e.what, Begin)]
    return begin


def silence_borne(led: Led, computed: float = 0.0) -> float:
    """Return how long an epoch bears a worker that says nothing; it has computed for so long before."""
    begun(led)
    led.step(Received(Hello("job", "worker", "there", computed), "there"))
    since = led.now
    while led.node.epoch is not None:
        timer = led.node.next_timer()
        assert timer is not None
        led.now = max(timer, led.now + 0.001)
        led.step(TimerFired())
    return led.now - since


def test_silence_alone_makes_no_later_loss_harder_to_see() -> None:
    """A worker that is stopped, or whose link is cut, has not computed meanwhile."""
    led = Led()
    borne = [silence_borne(led) for _ in range(4)]
    assert [round(seconds / BASE) for seconds in borne] == [1, 1, 1, 1]
    assert led.details[-1] == "worker 0 has been silent for 5 s"


def test_a_worker_that_has_computed_in_silence_is_waited_for() -> None:
    led = Led()
    borne = [silence_borne(led, seconds) for seconds in (0.0, 6.0, 21.0)]
    assert [round(seconds / BASE) for seconds in borne] == [1, 2, 8]
    assert led.details[-1] == "worker 0 has been silent for 40 s"


def test_workers_bear_as_much_as_their_coordinator() -> None:
    led = Led()
    assert begun(led).failure_after == BASE
    led.step(Computed(7.0))
    silent = "no message from the coordinator for 10 s"
    led.step(Received(Goodbye("job", 1, 0, finished=False, reason=silent), "there"))
    begin = begun(led)
    assert begin.failure_after == 2 * BASE

    node = WorkerNode("job", "worker", "there", Settings())
    assert Load(begin) in node.step(Received(begin, "here"), 100.0)
    node.step(TimerFired(), 100.0 + 1.5 * BASE)
    assert node.epoch is not None
    node.step(Received(Heartbeat("job", 2, -1), "here"), 100.0 + 1.9 * BASE)
    node.step(TimerFired(), 100.0 + 3.8 * BASE)
    assert node.epoch is not None
    effects = node.step(TimerFired(), 100.0 + 4 * BASE)
    assert Leave() not in effects
    goodbye = Goodbye("job", 2, 0, finished=False, reason=silent)
    assert Transmit("here", goodbye) in effects


def test_a_worker_says_in_its_hello_how_long_it_has_computed() -> None:
    led = Led()
    begin = begun(led)
    node = WorkerNode("job", "worker", "there", Settings())
    node.step(Received(begin, "here"), 100.0)
    for seconds in (3.0, 8.0, 2.0):
        node.step(Computed(seconds), 100.0)
    ended = Goodbye("job", 1, COORDINATOR, finished=False)
    effects = node.step(Received(ended, "here"), 110.0)
    assert Transmit("here", Hello("job", "worker", "there", 8.0)) in effects
    node.step(Received(replace(begin, epoch=2), "here"), 111.0)
    effects = node.step(Received(replace(ended, epoch=2), "here"), 112.0)
    assert Transmit("here", Hello("job", "worker", "there")) in effects


def test_a_worker_that_leaves_for_another_reason_is_no_cause_to_wait_longer() -> None:
    led = Led()
    begun(led)
    led.step(Received(Goodbye("job", 1, 0, finished=False, reason="its store is locked"), "there"))
    assert begun(led).failure_after == BASE


def test_the_timeout_is_bounded_and_decays_unless_it_is_needed() -> None:
    timeouts = Timeouts(Settings(failure_after=5.0, failure_after_most=30.0))
    seconds = []
    for computed in (4.0, 5.0, 9.0, 25.0, 200.0):
        timeouts.on_computed(computed, 1000.0)
        seconds.append(timeouts.silence)
    assert seconds == [5.0, 10.0, 10.0, 30.0, 30.0]
    timeouts.on_silence_ended(14.0, 1100.0)
    timeouts.advance(1000.0 + DECAY_SECONDS - 1)
    assert timeouts.silence == 30.0
    timeouts.advance(1000.0 + DECAY_SECONDS)
    assert timeouts.silence == 15.0
    timeouts.on_silence_ended(8.0, 1200.0)
    timeouts.advance(1199.0 + DECAY_SECONDS)
    assert timeouts.silence == 15.0
    timeouts.advance(1200.0 + 9 * DECAY_SECONDS)
    assert timeouts.silence == 5.0


def test_a_process_that_was_stopped_has_not_computed() -> None:
    assert has_computed(20.0, 19.0)
    assert has_computed(20.0, 2.5)
    assert not has_computed(20.0, 1.0)
