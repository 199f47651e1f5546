"""Nodes that were busy for long: they look at what has come before they send anything again."""

from __future__ import annotations

from fsql.optimizer.choose import choose
from fsql.runtime.batch import START
from fsql.runtime.cluster.coordinator.events import EpochTaken, LeaseHeld, SinkOpened
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.frames import COORDINATOR, Begin, Frame, Heartbeat, Hello, Ready, Start
from fsql.runtime.cluster.job_spec import JobSpec, Output, Settings
from fsql.runtime.cluster.node import Received, TimerFired, Transmit
from fsql.runtime.cluster.worker.events import Loaded
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.tests.queries.examples import EXAMPLES

EXAMPLE = EXAMPLES["inverted_index"]
PLAN = choose(EXAMPLE.compiled.graph, workers=1, fronts=EXAMPLE.fronts, policy=None)
BUSY_UNTIL = 1.0
BEGIN = Begin("job", 0, 1, "worker", 0, "here", ("there",), b"", b"", 5.0)
"""Longer than the timers of links run, shorter than a node is waited for."""


def frames(effects: list[object]) -> list[Frame]:
    """Return the frames with items that are sent."""
    sent = [each.what for each in effects if isinstance(each, Transmit)]
    return [each for each in sent if isinstance(each, Frame) and each.items]


def test_a_worker_takes_an_acknowledgement_that_came_while_it_was_busy() -> None:
    node = WorkerNode("job", "worker", "there", Settings())
    node.step(Received(BEGIN, "here"), 0.0)
    [ready] = frames(list(node.step(Loaded(1, 0, PLAN, (), {}, Settings()), 0.0)))
    assert ready.items == (Ready(),)
    # Something else stands before the acknowledgement in its input.
    beat = Received(Heartbeat("job", 1, COORDINATOR), "here")
    assert frames(list(node.step(beat, BUSY_UNTIL))) == []
    assert frames(list(node.step(TimerFired(), BUSY_UNTIL))) == []
    told = Received(Frame("job", 0, 1, COORDINATOR, 0, 0, ready.sequence, ()), "here")
    assert frames(list(node.step(told, BUSY_UNTIL))) == []
    assert [frames(list(node.step(TimerFired(), at))) for at in (BUSY_UNTIL, 2.0, 2.0)] == [
        [],
        [],
        [],
    ]


def test_a_worker_sends_again_what_is_not_acknowledged() -> None:
    node = WorkerNode("job", "worker", "there", Settings())
    node.step(Received(BEGIN, "here"), 0.0)
    [ready] = frames(list(node.step(Loaded(1, 0, PLAN, (), {}, Settings()), 0.0)))
    assert frames(list(node.step(TimerFired(), BUSY_UNTIL))) == []
    assert frames(list(node.step(TimerFired(), BUSY_UNTIL))) == [ready]


def test_so_does_a_coordinator() -> None:
    output = Output(DeliveryOption.EXACTLY_ONCE, insert=0, name='table "out"')
    node = CoordinatorNode(JobSpec("job", 0, PLAN, (), (output,), b""), "here", Settings())
    node.step(LeaseHeld(1e9), 0.0)
    node.step(Received(Hello("job", "worker", "there"), "there"), 0.0)
    node.step(EpochTaken(1, None), 0.0)
    node.step(SinkOpened(1, 0, START, 4), 0.0)
    ready = Frame("job", 0, 1, 0, COORDINATOR, 1, 0, (Ready(),))
    [go] = frames(list(node.step(Received(ready, "there"), 0.0)))
    assert Start() in go.items
    beat = Received(Heartbeat("job", 1, 0), "there")
    assert frames(list(node.step(beat, BUSY_UNTIL))) == []
    assert [frames(list(node.step(TimerFired(), BUSY_UNTIL))) for _ in range(2)] == [[], [go]]
