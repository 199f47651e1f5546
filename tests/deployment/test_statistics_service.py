"""The statistics service: what it writes, where its collector fails, and how the agent keeps it."""

from __future__ import annotations

import json
import os
import signal
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.statistics import TICK_SECONDS
from fsql.deployment.directory import (
    ClusterDirectory,
    Deployment,
    StatisticsSettings,
    locked_by,
    take_lock,
)
from fsql.deployment.statistics_service import (
    FAILURES_MAX,
    LATE_SHARE,
    ROUND_SECONDS,
    StatisticsService,
    hold_service,
)
from fsql.optimizer.collectors import built_in
from fsql.optimizer.collectors.written_results import (
    newest_collected,
    newest_statistics,
    results_file,
)
from fsql.runtime.drivers.processes.process_role import processes_below
from fsql.runtime.drivers.statistics_files import StatisticsFiles
from fsql.runtime.state.local_directory import LocalDirectory
from fsql.tests.cli.commands import fsql
from fsql.tests.cluster.twin import command_of
from fsql.tests.deployment.cluster import TestCluster
from fsql.tests.unit.optimizer.recorded import EVERY, STARTED, drawn, record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.deployment.directory import JobDirectory
    from fsql.optimizer.collectors.files import Kept
    from fsql.optimizer.statistics import Statistics

MARK = ("made by the service",)
FIRST = int(STARTED / EVERY)


class Collector:
    """The built-in collector, whose results have a mark; or one that fails."""

    def __init__(self) -> None:
        self.states: list[Path] = []
        self.fails = False

    def __call__(self, state: Path, kept: Kept) -> Statistics:
        self.states.append(state)
        if self.fails:
            raise OSError("Spark is away")
        return built_in.collect(state, kept)._replace(problems=MARK)


@pytest.fixture
def cluster_of_jobs(tmp_path: Path) -> Iterator[ClusterDirectory]:
    """Return a cluster directory with the statistics of two jobs, the first of which runs."""
    cluster = ClusterDirectory(tmp_path / "cluster")
    cluster.create()
    for seed, name in enumerate(("running", "stopped")):
        job = cluster.job_of(name)
        job.state.mkdir(parents=True)
        job.set_deployment(Deployment(name, name, 2, 1000, None, "refuse", "running", 0.0))
        record(job.state, seed=seed)
    lock = take_lock(cluster.job_of("running").lock)
    assert lock is not None
    yield cluster
    os.close(lock)


def write_interval(job: JobDirectory, interval: int, workers: Sequence[int] = (0, 1, 2)) -> None:
    files = StatisticsFiles(LocalDirectory(job.state), EVERY, lambda: STARTED + interval * EVERY)
    for worker in workers:
        files.write(drawn(Random(interval), worker), files.now())


def test_each_new_interval_of_running_jobs_is_collected_once(
    cluster_of_jobs: ClusterDirectory,
) -> None:
    running, stopped = (cluster_of_jobs.job_of(name) for name in ("running", "stopped"))
    collector, said = Collector(), list[str]()
    service = StatisticsService(cluster_of_jobs, collector, said.append)
    service.round()
    service.round()
    assert collector.states == [running.state]
    assert newest_statistics(running.state).problems == MARK
    assert newest_statistics(stopped.state) == built_in.collect(stopped.state)
    write_interval(running, 5)
    service.round()
    assert newest_statistics(running.state) == built_in.collect(running.state)._replace(
        problems=MARK
    )
    # Another service goes on from what is there.
    StatisticsService(cluster_of_jobs, collector, said.append).round()
    assert collector.states == [running.state] * 2
    assert [each.rpartition(" in ")[0] for each in said] == [
        f"job running: results of interval {FIRST + interval}" for interval in (4, 5)
    ]


def test_an_interval_is_collected_when_all_workers_have_written_it(
    cluster_of_jobs: ClusterDirectory,
) -> None:
    """Their intervals do not end at the same moment, and what a collector sums is of all of them."""
    running = cluster_of_jobs.job_of("running")
    collector = Collector()
    service = StatisticsService(cluster_of_jobs, collector, lambda _: None)
    service.round()
    write_interval(running, 5, (1,))
    service.round()
    assert len(collector.states) == 1
    write_interval(running, 5, (0, 2))
    service.round()
    assert len(collector.states) == 2
    write_interval(running, 6, (0,))
    rounds = int(LATE_SHARE * TICK_SECONDS / ROUND_SECONDS)
    for _ in range(rounds):
        service.round()
    assert len(collector.states) == 2
    service.round()
    assert (len(collector.states), newest_collected(running.state).interval) == (3, FIRST + 6)


def test_a_collector_that_fails_costs_no_results_of_others(
    cluster_of_jobs: ClusterDirectory,
) -> None:
    running = cluster_of_jobs.job_of("running")
    collector, said = Collector(), list[str]()
    service = StatisticsService(cluster_of_jobs, collector, said.append)
    service.round()
    written = results_file(running.state).read_bytes()
    collector.fails = True
    for interval in range(5, 4 + FAILURES_MAX):
        write_interval(running, interval)
        service.round()
    assert results_file(running.state).read_bytes() == written
    collected = newest_collected(running.state)
    assert (collected.collector, collected.age) == ("spark", FAILURES_MAX - 1)
    assert collected.statistics.problems == MARK
    write_interval(running, 9)
    with pytest.raises(FsqlError) as raised:
        service.round()
    [error] = raised.value.diagnostics
    assert (error.code, error.message, error.notes) == (
        "E661",
        f"Spark has failed {FAILURES_MAX} times to compute statistics, without a success",
        ("the last time: Spark is away",),
    )
    assert said[1:] == [
        f"job running: no results of interval {FIRST + interval}: Spark is away"
        for interval in (*range(5, 4 + FAILURES_MAX), 9)
    ]


def test_a_cluster_directory_has_one_service(tmp_path: Path) -> None:
    lock = hold_service(ClusterDirectory(tmp_path))
    assert lock is not None
    said = fsql("stats", "serve", "--dir", tmp_path)
    assert said == (0, "", "a statistics service runs already\n")
    os.close(lock)


def test_the_agent_starts_a_service_again_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a Java that tells its version, and runs nothing."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\necho \'openjdk version "17.0.1"\' >&2\n[ "$1" = -version ]\n')
    java.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # for the logs of Spark that failures leave
    cluster = TestCluster(tmp_path / "cluster")
    directory = cluster.directory
    try:
        said = cluster.call("up", "--stats", "spark", "--stats-master", "local[1]")
        assert said.err == (
            f"the collector of statistics is Spark, local[1]\nthe agent of {cluster.path} started\n"
        )
        assert directory.statistics_settings() == StatisticsSettings("spark", "local[1]")
        again = f"the statistics service has ended, see {directory.statistics_log}; starting it"
        cluster.wait_until(lambda: directory.log.read_text().count(again) >= 2)
        assert "error[FSQL-E661]: Spark has failed" in directory.statistics_log.read_text()
        found = {
            each["name"]: each for each in json.loads(cluster.say("doctor", "--json").out)["checks"]
        }
        assert found["java"]["found"] == f"version 17 in {tmp_path / 'jdk'}"
        assert found["java"]["passed"]
        assert cluster.call("up", "--stats", "built-in").err == (
            "the collector of statistics is the built-in one\n"
            f"the agent of {cluster.path} runs already\n"
        )
        cluster.wait_until(
            lambda: cluster.say("doctor", "--json").out.count("the built-in collector") == 1
        )
    finally:
        cluster.close()
    assert directory.agent() is None


@pytest.mark.parametrize("of_java", [False, True], ids=["the service", "its Java"])
def test_the_agent_replaces_a_service_that_is_stopped_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, of_java: bool
) -> None:
    """With a Java that tells its version, and never answers Spark."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        '#!/bin/sh\necho \'openjdk version "17.0.1"\' >&2\n[ "$1" = -version ] || exec sleep 900\n'
    )
    java.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    cluster = TestCluster(tmp_path / "cluster")
    directory = cluster.directory

    def sleeping_java(service: int) -> list[int]:
        return [pid for pid in processes_below(service) if command_of(pid) == ["sleep", "900"]]

    def is_replaced() -> bool:
        found = locked_by(directory.statistics_lock)
        return found not in {None, 0, service}

    try:
        cluster.call("up", "--stats", "spark", "--stats-master", "local[1]")
        cluster.wait_until(lambda: bool(locked_by(directory.statistics_lock)))
        service = locked_by(directory.statistics_lock)
        assert service
        if of_java:
            cluster.wait_until(lambda: bool(sleeping_java(service)))
        os.kill(sleeping_java(service)[0] if of_java else service, signal.SIGSTOP)
        cluster.wait_until(is_replaced)
        assert "the statistics service has stood still" in directory.log.read_text()
    finally:
        cluster.close()
    cluster.wait_until(lambda: not locked_by(directory.statistics_lock))


def test_a_master_is_that_of_spark(tmp_path: Path) -> None:
    said = fsql("up", "--dir", tmp_path / "none", "--stats-master", "local[1]")
    assert said.code == 2
    assert "--stats-master requires --stats spark" in said.err
    assert not (tmp_path / "none").exists()


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsql.runtime.drivers.java._candidates", list)
    said = fsql("up", "--dir", tmp_path / "none", "--stats", "spark")
    assert (said.code, said.out) == (1, "")
    assert "error[FSQL-E644]: Java 17 or later is needed, and was not found" in said.err
    assert not (tmp_path / "none").exists()
    checked = json.loads(fsql("doctor", "--json", "--dir", tmp_path / "none").out)["checks"]
    assert [(each["name"], each["passed"]) for each in checked] == [
        ("directory", False),
        ("disk", True),
        ("open files", True),
        ("java", True),
    ]
    assert checked[-1]["found"] == "no Java 17 or later, which Spark and ZooKeeper need"
    cluster = ClusterDirectory(tmp_path)
    cluster.create()
    checked = json.loads(fsql("doctor", "--json", "--dir", tmp_path).out)["checks"]
    assert {
        name: value
        for each in checked
        if each["name"] == "java"
        for name, value in each.items()
        if name != "found"
    } == {"name": "java", "passed": True, "remedy": ""}
    cluster.set_statistics_settings(StatisticsSettings("spark"))
    checked = json.loads(fsql("doctor", "--json", "--dir", tmp_path).out)["checks"]
    assert {"java", "statistics"} < {each["name"] for each in checked if not each["passed"]}
