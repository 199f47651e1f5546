"""One server for all tests of a process that do not stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.runtime.drivers.zookeeper_server import ServerOptions, ZooKeeperServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    started = ZooKeeperServer(ServerOptions(tmp_path_factory.mktemp("zookeeper"), tick_ms=100))
    started.start()
    yield started
    started.stop()
