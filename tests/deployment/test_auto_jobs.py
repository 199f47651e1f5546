"""A deployed job that chooses its ticks: it goes on doing so after kills, and output is the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fsql.job.state_directory import read_description
from fsql.optimizer.collectors.written_results import AGE_MAX, written_interval
from fsql.optimizer.statistics import source_text
from fsql.tests.cli.commands import fsql
from fsql.tests.cluster.test_auto_ticks import damage
from fsql.tests.cluster.twin import for_an_hour
from fsql.tests.command_server import run_command
from fsql.tests.deployment.cluster import kill

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.deployment.cluster import TestCluster

pytestmark = pytest.mark.cluster

FLAGS = ("--auto", "--tick", "0.5", "-w", "2", "--snapshot-ms", "300", "--quiet")


def script(options: str, conditions: str = "") -> str:
    return f"""
CREATE TABLE lines (id BIGINT, line STRING) WITH (
    'connector' = 'words', 'seed' = '17', 'vocabulary' = '500', 'words_per_line' = '1', {options});
CREATE TABLE counts (line STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
INSERT INTO counts SELECT line, COUNT(*) AS n FROM lines
GROUP BY line HAVING COUNT(*) % 100 = 0{conditions};
"""


def costly(directory: Path) -> Path:
    """Return a job that keeps whatever worker owns its keys busy: the conditions hold for all groups."""
    distinct = "".join(f" AND COUNT(DISTINCT id % {each}) > 0" for each in (7, 11, 13, 17, 19, 23))
    directory.mkdir()
    path = directory / "words.sql"
    path.write_text(script(for_an_hour(30_000), distinct))
    return path


def chosen(cluster: TestCluster) -> list[dict[str, Any]]:
    """Return the ticks of the job's choice, as its status shows them."""
    ticks = cluster.status("words")["ticks"]
    return [each for each in ticks if each["reason"].startswith("auto: owners: ")]


def unbalance(cluster: TestCluster) -> None:
    """Give all bins to worker 1, and wait until the job moves some back."""
    flags = ("--to", "1", "--wait", "--seconds", "300", "--json")
    said = cluster.say("tick", "propose", "words", *flags)
    while said.code:  # a tick of the job's own choice is under way
        assert "FSQL-E652" in said.err
        said = cluster.say("tick", "propose", "words", *flags)
    proposed = json.loads(said.out)["tick"]

    def is_chosen() -> bool:
        newer = [each for each in chosen(cluster) if each["tick"] > proposed]
        return any(each["state"] == "taken" for each in newer)

    cluster.wait_until(is_chosen)


def test_a_job_goes_on_choosing_ticks(cluster: TestCluster, tmp_path: Path) -> None:
    path = costly(tmp_path / "work")
    cluster.call("deploy", path, *FLAGS)
    cluster.wait_for_snapshot("words")
    [job] = cluster.directory.jobs()
    bins = job.state / "statistics" / "bins"
    cluster.wait_until(lambda: bins.is_dir() and any(bins.iterdir()))
    for process in cluster.processes("coordinator"):
        kill(process)
    cluster.kill_job("words")
    damage(job.state / "statistics")
    cluster.wait(
        "words", lambda status: status["state"] == "running" and status["process"] is not None
    )
    unbalance(cluster)
    shown = cluster.call("status", "words").out
    assert "  chooses its ticks every 0.5 s\n" in shown
    line = shown.partition(" moved; statistics: built-in, newest\n    ")[2].partition("\n")[0]
    assert line.startswith("owners: ")
    assert chosen(cluster)[0]["reason"].startswith(f"auto: {line}")
    cluster.call("deploy", path, "--no-auto", "--quiet")
    status = cluster.status("words")
    assert (status["auto"], status["tick_seconds"], status["workers"]) == (False, 0.5, 2)
    lines = cluster.drain("words")
    right = tmp_path / "right"
    right.mkdir()
    (right / "words.sql").write_text(script(f"'count' = '{lines}'"))
    run_command(["run", "--quiet", str(right / "words.sql")], check=True)
    assert (path.parent / "counts.jsonl").read_bytes() == (right / "counts.jsonl").read_bytes()


def test_a_job_starts_with_the_plan_that_suits_a_profile(
    cluster: TestCluster, tmp_path: Path
) -> None:
    path, profile = tmp_path / "words.sql", tmp_path / "profile"
    path.write_text(script("'count' = '5000'"))
    assert fsql("run", path, "--quiet").code == 0
    expected = (tmp_path / "counts.jsonl").read_bytes()
    assert fsql("stats", "profile", path, "-o", profile, "--quiet").code == 0
    cluster.call("deploy", path, *FLAGS, "--profile", profile, "--overwrite")
    cluster.wait_for_state("words", "finished")
    [job] = cluster.directory.jobs()
    description = read_description(job.state)
    assert description is not None
    assert description.first is not None
    assert str(description.first.reasons[0]).startswith("owners: ")
    assert " times the mean of the rows" in str(description.first.reasons[0])
    assert (tmp_path / "counts.jsonl").read_bytes() == expected


def test_flags_of_a_new_job(cluster: TestCluster, tmp_path: Path) -> None:
    path = costly(tmp_path / "work")
    said = fsql("deploy", path, "--tick", "-1", "--dir", cluster.path)
    assert said.code == 2
    cluster.call("deploy", path, "--tick", "0", "--quiet")
    status = cluster.status("words")
    assert (status["auto"], status["tick_seconds"], status["ticks"]) == (False, 0.0, [])


@pytest.mark.slow
def test_a_tick_is_chosen_by_results_of_a_spark_service(
    cluster: TestCluster, tmp_path: Path
) -> None:
    path = costly(tmp_path / "work")
    cluster.call("up", "--stats", "spark", "--stats-master", "local[1]")
    cluster.call("deploy", path, "--auto", "--tick", "3", "-w", "2", "--quiet")
    [job] = cluster.directory.jobs()
    cluster.wait_until(lambda: written_interval(job.state) >= 0)
    unbalance(cluster)
    [tick, *_] = chosen(cluster)
    assert (tick["state"], tick["collector"]) == ("taken", "spark")
    assert 0 <= tick["age"] <= AGE_MAX
    source = source_text("spark", tick["age"])
    listed = cluster.call("tick", "list", "words").out
    assert any(f"  {source}  auto: owners: " in line for line in listed.splitlines())
    logged = [each for each in job.log.read_text().splitlines() if '"tick_chosen"' in each]
    assert any(json.loads(each)["collector"] == "spark" for each in logged)
