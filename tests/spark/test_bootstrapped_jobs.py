"""`fsql deploy --bootstrap`: the agent starts a job behind the history that Spark has processed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.tests.deployment.conftest import cluster
from fsql.tests.queries.examples import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cli.commands import CommandResult
    from fsql.tests.deployment.cluster import TestCluster

pytestmark = pytest.mark.cluster
__all__ = ["cluster"]  # a fixture

LIVE = """
CREATE TABLE visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at)
    WITH ('connector' = 'socket', 'address' = '127.0.0.1:0', 'format' = 'json');
CREATE TABLE counts (page STRING, visits BIGINT)
    WITH ('connector' = 'file', 'path' = 'out.jsonl', 'format' = 'json');
INSERT INTO counts SELECT page, COUNT(*) AS visits FROM visits GROUP BY page;
"""


def _error(said: CommandResult) -> str:
    return next(line for line in said.err.splitlines() if line.startswith("error"))


def test_a_job_begins_behind_its_history(
    cluster: TestCluster, bootstraps: list[str], tmp_path: Path
) -> None:
    example = EXAMPLES["change_data"]
    folder = tmp_path / "work"
    folder.mkdir()
    script = example.copy_to(folder)
    said = cluster.call(
        *("deploy", script, "--name", "changes", "-w", "2", "--json"),
        *("--bootstrap", "--master", "local[1]"),
    )
    assert bootstraps == ["local[1]"]
    done = json.loads(said.err.splitlines()[-1])
    rows_in = sum(len(rows) for splits in example.inputs.values() for rows in splits)
    assert (done["event"], done["rows_in"]) == ("bootstrapped", rows_in)
    cluster.wait_for_state("changes", "finished")
    assert {p.name: p.read_text() for p in sorted(folder.glob("*.jsonl"))} == example.expected


@pytest.mark.usefixtures("bootstraps")
def test_rows_that_were_read_are_not_those_of_the_history(
    cluster: TestCluster, tmp_path: Path
) -> None:
    script = tmp_path / "years.sql"
    script.write_text(
        "CREATE TABLE t (a INT, at TIMESTAMP, WATERMARK FOR at AS at)"
        " WITH ('connector' = 'datagen', 'count' = '2000');"
        "CREATE TABLE s WITH ('connector' = 'file', 'path' = 's.jsonl') AS"
        " SELECT COUNT(*) AS n FROM t;"
    )
    said = cluster.call("deploy", script, "--bootstrap", "--bootstrap-until", "2025-12-31")
    text, _, _ = said.err.splitlines()[-1].rpartition(", in ")
    assert text == (
        "years is deployed, and continues after its history:"
        " 2,000 rows read, 0 rows written, 0 rows of state (0 B)"
    )


def test_a_job_without_history_is_refused_and_not_deployed(
    cluster: TestCluster, tmp_path: Path
) -> None:
    script = tmp_path / "live.sql"
    script.write_text(LIVE)
    said = cluster.say("deploy", script, "--bootstrap")
    assert _error(said) == (
        "error[FSQL-E662]: the job cannot be bootstrapped:"
        ' no table comes before table "visits", which is live'
    )
    said = cluster.say("deploy", script, "--bootstrap", "--bootstrap-until", "2026-01-01T00:00:00Z")
    assert _error(said) == (
        "error[FSQL-E662]: the job cannot be bootstrapped:"
        ' table "visits" is live: the positions of its rows are not known yet'
    )
    assert json.loads(cluster.call("list", "--json").out)["jobs"] == []
