"""Coordination by a real ZooKeeper server: the suite that every driver has to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.unit.coordination.conformance import Conformance
from fsql.tests.zookeeper.worlds import TimedServerPath

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.drivers.zookeeper_server import ZooKeeperServer


@pytest.fixture(name="world")
def zookeeper_world(server: ZooKeeperServer) -> Iterator[TimedServerPath]:
    world = TimedServerPath(server.address)
    yield world
    world.close()


class TestConformance(Conformance):
    """The suite, over one server."""
