"""The broker of the tests of connector `kafka`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.kafka.broker import Broker
from fsql.tests.kafka.server import KafkaServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of Apache Kafka that no test stops."""
    server = KafkaServer(tmp_path_factory.mktemp("kafka"))
    server.start()
    yield Broker(server.servers)
    server.kill()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[KafkaServer]:
    """A broker that the test kills and starts."""
    folder = tmp_path / "kafka"
    folder.mkdir()
    server = KafkaServer(folder)
    server.start()
    yield server
    server.kill()
