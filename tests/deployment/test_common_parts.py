"""What a deployed script has in common with running jobs: the note of `fsql deploy` and of `fsql explain`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.deployment.common_parts import CommonPart, common_parts_text
from fsql.job.compilation import compile_job
from fsql.job.script_file import read_script
from fsql.job.state_operators import state_operators

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.deployment.cluster import TestCluster

pytestmark = pytest.mark.cluster

TABLES = """
CREATE TABLE views (page STRING, n BIGINT)
WITH ('connector' = 'file', 'path' = '{path}', 'format' = 'csv', 'source.monitor-interval' = '1 s');
CREATE TABLE people (id BIGINT, name STRING)
WITH ('connector' = 'file', 'path' = 'people.jsonl', 'source.monitor-interval' = '1 s');
"""
PAGES = TABLES + (
    "CREATE TABLE out (page STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'pages.jsonl');\n"
    "INSERT INTO out SELECT page, COUNT(*) AS n FROM views GROUP BY page;\n"
)
HISTOGRAM = TABLES.replace("views", "hits") + (
    "CREATE TABLE out (n BIGINT, pages BIGINT) WITH ('connector' = 'file', 'path' = 'h.jsonl');\n"
    "CREATE TABLE names (n BIGINT) WITH ('connector' = 'file', 'path' = 'n.jsonl');\n"
    "INSERT INTO names SELECT COUNT(*) FROM people;\n"
    "INSERT INTO out SELECT n, COUNT(*)"
    " FROM (SELECT page, COUNT(*) AS n FROM hits GROUP BY page) AS p GROUP BY n;\n"
)
"""The same aggregate by page, over a table of another name and its second scan: it has another id."""


def script(directory: Path, text: str, path: str) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "people.jsonl").write_text("")
    file = directory / f"{directory.name}.sql"
    file.write_text(text.format(path=path))
    return file


def note(text: str) -> str:
    """Return what is printed after the warnings of a script."""
    return text[text.find("note: job") :]


def test_a_part_that_another_job_computes_is_named(cluster: TestCluster, tmp_path: Path) -> None:
    """The scripts are in different directories, and another scan comes first in one of them."""
    (tmp_path / "views.csv").write_text("page,n\na,1\nb,2\n")
    pages = script(tmp_path / "pages", PAGES, "../views.csv")
    histogram = script(tmp_path / "histogram", HISTOGRAM, str(tmp_path / "views.csv"))
    elsewhere = script(tmp_path / "elsewhere", HISTOGRAM, "views.csv")
    (tmp_path / "elsewhere" / "views.csv").write_text("page,n\na,1\n")
    cluster.call("deploy", pages)
    cluster.wait_for_state("pages", "running")
    [operator] = state_operators(compile_job(read_script(str(pages), {})).job)
    assert operator not in state_operators(compile_job(read_script(str(histogram), {})).job)
    said = cluster.call("deploy", histogram, "--dry-run").err
    assert note(said) == (
        "note: job pages computes this already, so it runs twice:\n"
        f"  Aggregate by page; compute COUNT(*) AS n ({operator}): no estimate of what it takes\n"
        "  to compute it once: use one script for both, or write it to a table or topic that both read\n"
        "histogram would be a new job\n"
    )
    assert "note: job" not in cluster.call("deploy", elsewhere, "--dry-run").err
    assert "note: job" not in cluster.call("deploy", pages, "--dry-run").err
    events = cluster.call("deploy", histogram, "--json").err.splitlines()
    part = {
        "job": "pages",
        "operator": operator,
        "text": "Aggregate by page; compute COUNT(*) AS n",
        "busy": None,
        "state_bytes": None,
    }
    assert [json.loads(line) for line in events][-2] == {
        "event": "computed_twice",
        "job": "histogram",
        "parts": [part],
        "command": None,
    }
    cluster.wait_for_state("histogram", "running")
    told = note(cluster.call("explain", "--stage", "tick", "--job", "pages").out)
    assert told.startswith("note: job histogram computes this already, so it runs twice:\n")
    assert told.count("Aggregate by page") == 1
    shown = cluster.call("explain", "--stage", "tick", "--job", "histogram", "--format", "json").out
    assert json.loads(shown)["computed_twice"] == [part]
    cluster.call("stop", "pages")
    shown = cluster.call("explain", "--stage", "tick", "--job", "histogram", "--format", "json").out
    assert json.loads(shown)["computed_twice"] == []


def test_what_a_part_takes_is_what_its_job_has_measured() -> None:
    measured = CommonPart("pages", "aggregate-1", "Aggregate by page", 0.041, 1_258_291)
    again = CommonPart("pages", "join-2", "Join on page", None, None)
    other = CommonPart("totals", "aggregate-1", "Aggregate by page", 0.5, 512)
    assert common_parts_text([]) == ""
    assert common_parts_text([measured, again, other]) == (
        "note: job pages computes this already, so it runs twice:\n"
        "  Aggregate by page (aggregate-1): takes 4.1% of a core there, and 1.2 MiB of state\n"
        "  Join on page (join-2): no estimate of what it takes\n"
        "note: job totals computes this already, so it runs twice:\n"
        "  Aggregate by page (aggregate-1): takes 50.0% of a core there, and 512 B of state\n"
        "  to compute it once: use one script for both, or write it to a table or topic that both read\n"
    )
