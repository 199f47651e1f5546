"""The Spark session of all tests that need one: starting another takes as long as ten jobs."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from fsql.job import bootstrap
from fsql.runtime.drivers.spark.session import spark_session
from fsql.tests.spark.shared_session import PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    with spark_session("local[2]", PARTITIONS) as session:
        yield session


@pytest.fixture
def bootstraps(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have bootstraps use the session; return the masters at which they would start one."""
    masters: list[str] = []

    def begin(master: str, *_: object) -> nullcontext[SparkSession]:
        masters.append(master)
        return nullcontext(session)

    monkeypatch.setattr(bootstrap, "spark_session", begin)
    monkeypatch.setattr(bootstrap, "PARTITIONS", PARTITIONS)
    return masters
