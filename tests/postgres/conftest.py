"""The server of the tests of connector `postgres`."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from fsql.tests.postgres.server import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBERS = count()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server that no test stops."""
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def url(shared_server: PostgresServer) -> str:
    """The URL of a new database."""
    return shared_server.new_database(f"test{next(_NUMBERS)}")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    """A server that the test kills and starts."""
    folder = tmp_path / "postgres"
    folder.mkdir()
    server = PostgresServer(folder)
    server.start()
    yield server
    server.kill()
