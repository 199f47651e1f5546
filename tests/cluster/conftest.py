"""One nursery for all tests that need workers, and runs of the command of which nothing survives a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.nursery import Nursery
from fsql.tests.cluster.twin import Twin, expected, for_an_hour

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RATE, COUNT = 100, 1_000
"""A run that nothing happens to takes about ten seconds."""

ENDLESS = 100_000
"""So many lines take longer than any test has to do."""


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def new_twin(tmp_path: Path) -> Iterator[Callable[..., Twin]]:
    """Return what makes a job in a directory of its own; none of its processes survives the test."""
    twins: list[Twin] = []

    def new(count: int = COUNT) -> Twin:
        twins.append(Twin(tmp_path / f"run{len(twins)}", RATE, count))
        return twins[-1]

    yield new
    for twin in twins:
        twin.shut_down()


@pytest.fixture
def twin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Twin]:
    """Return a run, not started yet, of the job that `script` of the test's module returns: for an hour."""
    twin = Twin(tmp_path / "run", 0, 0)
    (twin.directory / "job.sql").write_text(request.module.script(for_an_hour(50)))
    yield twin
    twin.shut_down()


@pytest.fixture(scope="session")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return what the job writes that nothing happens to."""
    return expected(tmp_path_factory.mktemp("right"), COUNT)
