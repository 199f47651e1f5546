"""A coordinator whose lease may be somebody else's hands out no bundles, nor those that waited."""

from __future__ import annotations

from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.delivery import Bundle
from fsql.runtime.cluster.lease_fence import LeaseFence
from fsql.runtime.cluster.node import Deliver, TakeEpoch


def test_bundles_wait_for_the_lease() -> None:
    fence = LeaseFence()
    fence.on_lease_held(5.0)
    first, second = (
        Deliver(7, 0, Bundle(START, Root(time, 0), 0, last=True, contents=None)) for time in (1, 2)
    )
    assert fence.filter([first, TakeEpoch()], 7, 4.9) == [first, TakeEpoch()]
    assert fence.filter([first, TakeEpoch()], 7, 5.0) == [TakeEpoch()]
    fence.on_lease_held(9.0)
    assert fence.filter([second], 7, 6.0) == [first, second]
    assert fence.filter([], 7, 6.0) == []
    assert fence.filter([first], 7, 9.5) == []
    fence.on_lease_lost()
    assert fence.filter([], None, 9.6) == []
    fence.on_lease_held(20.0)
    assert fence.filter([], 8, 10.0) == []
