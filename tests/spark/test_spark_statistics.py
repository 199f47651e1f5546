"""The collector in PySpark makes the tables that the built-in one makes of the same files."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from fsql.optimizer.collectors import built_in, spark
from fsql.optimizer.statistics import Statistics
from fsql.tests.cli.commands import fsql
from fsql.tests.unit.optimizer.recorded import record

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from fsql.optimizer.collectors.files import Kept


def test_nothing_is_known_at_first(session: SparkSession, tmp_path: Path) -> None:
    collector = spark.SparkCollector(session)
    assert collector.collect(tmp_path) == collector.collect(tmp_path, {}) == Statistics()


def test_the_tables_are_equal(session: SparkSession, tmp_path: Path) -> None:
    state = tmp_path / "a [b]{c}*, é=1"  # Spark takes such paths for patterns and partitions
    state.mkdir()
    record(state, intervals=12)  # more than 32 files: Spark lists them in another way
    collector = spark.SparkCollector(session)
    kept: Kept = {}  # with it, Spark is given the rows
    found = collector.collect(state)
    assert found == built_in.collect(state)
    assert found == collector.collect(state, kept)
    assert found == collector.collect(state, kept)
    assert found.problems == ()
    assert all(found[:-1])


def test_new_files_are_summed_once_and_tables_may_be_missing(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, intervals=2)
    for path in (tmp_path / "statistics" / "heavy").iterdir():
        path.unlink()
    collector = spark.SparkCollector(session)
    asked: list[int] = []
    sums = collector._summed

    def summed(files: dict[int, tuple[str, pa.Table]]) -> dict[int, pa.Table]:
        asked.append(len(files))
        return sums(files)

    monkeypatch.setattr(collector, "_summed", summed)
    kept: Kept = {}
    assert collector.collect(tmp_path, kept) == built_in.collect(tmp_path)
    first = len(kept)
    record(tmp_path, intervals=3)
    assert collector.collect(tmp_path, kept) == built_in.collect(tmp_path)
    assert collector.collect(tmp_path, kept) == built_in.collect(tmp_path)
    assert asked[0] == first
    assert len(asked) == 2


def test_files_of_a_failed_collection_are_summed_by_the_next_one(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, intervals=2)
    collector = spark.SparkCollector(session)
    kept: Kept = {}
    with monkeypatch.context() as patch:
        patch.setattr(session, "createDataFrame", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            collector.collect(tmp_path, kept)
    assert kept == {}
    assert collector.collect(tmp_path, kept) == built_in.collect(tmp_path)


def test_the_command_prints_the_same_and_leaves_out_the_same_files(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, seed=2)
    for place, table in enumerate(("bins", "folds", "operators")):
        path = sorted((tmp_path / "statistics" / table).iterdir())[place]
        path.write_bytes(path.read_bytes()[: place * 100])
    (tmp_path / "statistics" / "heavy" / "notes.txt").write_text("not a file of statistics")
    monkeypatch.setattr("fsql.console.stats.job_of_state", lambda _: None)
    monkeypatch.setattr(
        "fsql.runtime.drivers.spark.session.spark_session", lambda *_: nullcontext(session)
    )
    on_spark = fsql("stats", "--state", tmp_path, "--json", "--spark")
    assert on_spark == fsql("stats", "--state", tmp_path, "--json")
    assert len(json.loads(on_spark.out)["problems"]) == 3
