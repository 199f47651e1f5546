"""Workers that are silent: after each epoch that is lost to silence, the next one waits twice as long."""

from __future__ import annotations

from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.coordinator_events import SinkOpened
from fsql.runtime.cluster.failure_detector import Timeouts
from fsql.runtime.cluster.frames import NOTHING_RECEIVED, Begin, Goodbye, Heartbeat
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.cluster.node import Received, TimerFired, Transmit
from fsql.runtime.cluster.worker_events import Leave, Load
from fsql.runtime.cluster.worker_node import WorkerNode
from fsql.tests.unit.cluster.test_coordinator_backoff import Led

BASE = Settings().failure_after


def begun(led: Led) -> Begin:
    """Begin the next epoch; return what its worker is told."""
    led.waited()
    effects = led.step(SinkOpened(led.epochs, 0, START, 4))
    [begin] = [e.what for e in effects if isinstance(e, Transmit) and isinstance(e.what, Begin)]
    return begin


def silence_borne(led: Led) -> float:
    """Return how long an epoch bears a worker that says nothing."""
    begun(led)
    since = led.now
    while led.node.epoch is not None:
        timer = led.node.next_timer()
        assert timer is not None
        led.now = max(timer, led.now + 0.001)
        led.step(TimerFired())
    return led.now - since


def test_a_worker_at_a_step_that_takes_longer_than_that_is_waited_for_in_the_end() -> None:
    led = Led()
    borne = [silence_borne(led) for _ in range(4)]
    assert [round(seconds / BASE) for seconds in borne] == [1, 2, 4, 8]
    assert led.details[-1] == "worker 0 has been silent for 40 s"


def test_workers_bear_as_much_as_their_coordinator() -> None:
    led = Led()
    assert begun(led).failure_after == BASE
    led.step(Received(Goodbye("job", 1, 0, finished=False, reason=NOTHING_RECEIVED), "there"))
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
    goodbye = Goodbye("job", 2, 0, finished=False, reason=NOTHING_RECEIVED)
    assert Transmit("here", goodbye) in effects


def test_a_worker_that_leaves_for_another_reason_is_no_cause_to_wait_longer() -> None:
    led = Led()
    begun(led)
    led.step(Received(Goodbye("job", 1, 0, finished=False, reason="its store is locked"), "there"))
    assert begun(led).failure_after == BASE


def test_patience_grows_only_where_nothing_got_done_and_not_for_ever() -> None:
    timeouts = Timeouts(Settings(failure_after=5.0, failure_after_most=30.0))
    seconds = []
    for done in (Root(1, 0), Root(1, 0), Root(2, 0), Root(2, 0), Root(1, 0), Root(3, 0)):
        timeouts.on_silence(done, "worker", 0.0)
        seconds.append(timeouts.silence)
    assert seconds == [5.0, 10.0, 10.0, 20.0, 30.0, 30.0]


def test_the_timeout_grows_beyond_the_silence_of_a_worker_that_lives() -> None:
    timeouts = Timeouts(Settings(failure_after=5.0, failure_after_most=30.0))
    seconds = []
    for position, (since, hello) in enumerate(
        [(0.0, 5.1), (20.0, 27.0), (40.0, 61.0), (70.0, 200.0)], 1
    ):
        timeouts.on_silence(Root(position, 0), "worker", since)
        timeouts.on_hello("another", hello)
        timeouts.on_hello("worker", hello)
        timeouts.on_hello("worker", hello + 100.0)
        seconds.append(timeouts.silence)
    assert seconds == [10.0, 10.0, 30.0, 30.0]
