"""A coordinator whose lease may be somebody else's hands out no bundles, nor those that waited."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.coordinator_node import CoordinatorNode
from fsql.runtime.cluster.delivery import Bundle
from fsql.runtime.cluster.job_spec import JobSpec, Settings
from fsql.runtime.cluster.node import Deliver, LeaseHeld, LeaseLost, TakeEpoch


def test_bundles_wait_for_the_lease() -> None:
    plan: Any = SimpleNamespace(workers=1)
    node = CoordinatorNode(JobSpec("job", 0, plan, (), (), b""), "address", Settings())
    node.step(LeaseHeld(5.0), 1.0)
    epoch: Any = SimpleNamespace(number=7)
    node.epoch = epoch
    first, second = (
        Deliver(7, 0, Bundle(START, Root(time, 0), 0, last=True, contents=None)) for time in (1, 2)
    )
    assert node._fenced([first, TakeEpoch()], 4.9) == [first, TakeEpoch()]
    assert node._fenced([first, TakeEpoch()], 5.0) == [TakeEpoch()]
    node._lease_changed(LeaseHeld(9.0))
    assert node._fenced([second], 6.0) == [first, second]
    assert node._fenced([], 6.0) == []
    assert node._fenced([first], 9.5) == []
    node._lease_changed(LeaseLost())
    assert node._fenced([], 9.6) == []
    node._lease_changed(LeaseHeld(20.0))
    later: Any = SimpleNamespace(number=8)
    node.epoch = later
    assert node._fenced([], 10.0) == []
