"""The cluster of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.deployment.changed_job import Change
from fsql.tests.deployment.cluster import TestCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[TestCluster]:
    """Return a cluster directory whose agent runs."""
    found = TestCluster(tmp_path / "cluster")
    found.call("up", "--quiet")
    yield found
    found.close()


@pytest.fixture
def change(cluster: TestCluster, tmp_path: Path) -> Change:
    """Return a job to be changed while it runs."""
    return Change(cluster, tmp_path / "work")
