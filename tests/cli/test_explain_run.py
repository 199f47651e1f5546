"""`fsql run --explain`: the logical plan with the rows that each operator has returned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
CREATE TABLE bids (auction BIGINT, price BIGINT) WITH ('connector' = 'file', 'path' = 'bids.jsonl');
CREATE TABLE high (auction BIGINT, price BIGINT) WITH ('connector' = 'file', 'path' = 'high.jsonl');
CREATE TABLE counts (auction BIGINT, n BIGINT, both BIGINT)
WITH ('connector' = 'file', 'path' = 'counts.jsonl');
CREATE VIEW per_auction AS SELECT auction, COUNT(*) AS n FROM bids GROUP BY auction;
INSERT INTO high SELECT auction, price FROM bids WHERE price > 5;
INSERT INTO counts
SELECT a.auction, a.n, a.n + b.n FROM per_auction a JOIN per_auction b ON a.auction = b.auction;
"""
PLAN = """\
r0 := Scan bids; lines 5, 6, 8
   columns: auction BIGINT, price BIGINT
   time: offset
   rows: 6
Insert into high
│  columns: auction BIGINT, price BIGINT
│  changes: append
└─ Filter price > 5
   │  changes: append; state: none
   │  rows: 3
   └─ r0
Insert into counts
│  columns: auction BIGINT, n BIGINT, both BIGINT
│  changes: retract; key: (auction); operation in op
└─ Project auction#0 AS auction, n#1 AS n, n#1 + n#3 AS both
   │  columns: auction BIGINT, n BIGINT NOT NULL, both BIGINT NOT NULL
   │  changes: upsert; key: (auction); state: none
   │  rows: 10
   └─ Join on left.auction = right.auction
      │  columns: auction BIGINT, n BIGINT NOT NULL, auction BIGINT, n BIGINT NOT NULL
      │  changes: upsert; key: (auction#0); state: the rows of both sides, unbounded
      │  rows: 10
      ├─ Aggregate by auction; compute COUNT(*) AS n
      │  │  columns: those below, n BIGINT NOT NULL
      │  │  changes: upsert; key: (auction); state: one row per group, unbounded
      │  │  rows: 10
      │  └─ Project auction
      │     │  columns: auction BIGINT
      │     │  changes: append; state: none
      │     │  rows: 6
      │     └─ r0
      └─ Aggregate by auction; compute COUNT(*) AS n
         │  columns: those below, n BIGINT NOT NULL
         │  changes: upsert; key: (auction); state: one row per group, unbounded
         │  rows: 10
         └─ Project auction
            │  columns: auction BIGINT
            │  changes: append; state: none
            │  rows: 6
            └─ Scan bids; line 8
                  columns: auction BIGINT, price BIGINT
                  time: offset
                  rows: 6
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    rows = [f'{{"auction": {number % 2}, "price": {number + 3}}}\n' for number in range(6)]
    (tmp_path / "bids.jsonl").write_text("".join(rows))
    (tmp_path / "job.sql").write_text(SCRIPT)
    return tmp_path / "job.sql"


def test_the_plan_as_text(job: Path) -> None:
    file = job.parent / "plan.txt"
    assert fsql("run", "--quiet", "--explain", file, job) == (0, "", "")
    assert file.read_text() == PLAN


def test_the_plan_as_a_picture_and_as_a_page(job: Path) -> None:
    picture, page = job.parent / "plan.svg", job.parent / "plan.html"
    assert fsql("run", "--quiet", "--explain", picture, job) == (0, "", "")
    assert fsql("run", "--quiet", "--overwrite", "--explain", page, job) == (0, "", "")
    counts = re.findall(r'<text class="rows" [^>]*>([^<]*)</text>', picture.read_text())
    assert counts == ["6", "3", "6", "10", "6", "6", "10", "10", "10"]
    assert picture.read_text() in page.read_text()
    rows = re.findall(r"<td>([^<]*)</td></tr>", page.read_text())
    assert rows == [*counts, "", ""]


def test_the_plan_of_a_job_that_stops(job: Path) -> None:
    with (job.parent / "bids.jsonl").open("a") as bids:
        bids.write("not JSON\n")
    file = job.parent / "plan.txt"
    assert fsql("run", "--quiet", "--explain", file, job).code == 3
    assert file.read_text() == PLAN


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (
            ["--workers", "2"],
            "--explain cannot be used with --workers: rows are counted in a run of",
        ),
        (
            ["--state", "state"],
            "--explain cannot be used with --state: rows are counted in a run of",
        ),
        (["--engine", "model"], "--explain cannot be used with --engine model: rows are counted"),
        (
            ["--profile", "p"],
            "--explain cannot be used with --profile: rows are counted in a run of",
        ),
        (["--explain", "plan.pdf"], "--explain requires a FILE with suffix .html, .svg, .txt"),
    ],
)
def test_what_cannot_be_counted_is_refused(job: Path, flags: list[str], reason: str) -> None:
    refused = fsql("run", "--explain", job.parent / "plan.txt", *flags, job)
    assert refused.code == 2
    assert reason in " ".join(refused.err.split())
    assert not (job.parent / "counts.jsonl").exists()


def test_the_plan_is_not_written_over_a_file_of_the_job(job: Path) -> None:
    job.write_text(SCRIPT.replace("counts.jsonl", "counts.txt"))
    refused = fsql("run", "--explain", job.parent / "counts.txt", job)
    assert refused.code == 1
    assert "error[FSQL-E532]" in refused.err
    assert not (job.parent / "counts.txt").exists()


def test_a_folder_that_does_not_exist_is_found_before_the_run(job: Path) -> None:
    file = job.parent / "none" / "plan.txt"
    refused = fsql("run", "--explain", file, job)
    assert refused.code == 1
    assert f'error[FSQL-E535]: "{file}" cannot be written: its folder does not exist' in refused.err
    assert not (job.parent / "counts.jsonl").exists()
