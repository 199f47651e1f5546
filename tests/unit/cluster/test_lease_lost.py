"""A coordinator that loses its lease, and gets it again, leads the job again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.cluster.coordinator.events import (
    EpochTaken,
    LeaseHeld,
    LeaseLost,
    OpenSinks,
    SinkLost,
    TakeEpoch,
)
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.frames import Hello
from fsql.runtime.cluster.job_spec import JobSpec, Settings
from fsql.runtime.cluster.node import Received
from fsql.tests.queries.examples import EXAMPLES

if TYPE_CHECKING:
    from fsql.runtime.cluster.coordinator.events import CoordinatorEffect


def node_with_a_worker() -> tuple[CoordinatorNode, list[CoordinatorEffect]]:
    """Return a coordinator that has the lease and all workers, and what it does then."""
    example = EXAMPLES["inverted_index"]
    plan = choose(
        example.compiled.graph, workers=1, fronts=example.fronts, policy=Policy.SPECULATIVE
    )
    node = CoordinatorNode(JobSpec("job", 0, plan, (), (), b""), "here", Settings())
    node.step(LeaseHeld(10.0), 0.0)
    return node, hello(node, 0.1)


def hello(node: CoordinatorNode, now: float) -> list[CoordinatorEffect]:
    return node.step(Received(Hello("job", "worker", "there"), "there"), now)


def test_one_that_could_not_take_an_epoch_asks_again() -> None:
    node, effects = node_with_a_worker()
    assert TakeEpoch() in effects
    node.step(LeaseLost(), 0.2)
    assert TakeEpoch() in node.step(LeaseHeld(20.0), 0.3)


def test_one_that_led_an_epoch_gathers_its_workers_again() -> None:
    node, _ = node_with_a_worker()
    assert any(isinstance(each, OpenSinks) for each in node.step(EpochTaken(1, None), 0.2))
    node.step(LeaseLost(), 0.3)
    node.step(LeaseHeld(20.0), 0.4)
    assert TakeEpoch() in hello(node, 0.5)
    assert any(isinstance(each, OpenSinks) for each in node.step(EpochTaken(2, None), 0.6))


def test_one_without_the_lease_asks_for_nothing() -> None:
    node, _ = node_with_a_worker()
    node.step(EpochTaken(1, None), 0.2)
    node.step(LeaseLost(), 0.3)
    assert TakeEpoch() not in node.step(SinkLost(0, "it is gone"), 0.4)
    assert TakeEpoch() not in hello(node, 0.5)
