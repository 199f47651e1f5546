"""What the other delivery options promise under kills, and the order of two channels that meet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.jobs import STDOUT, Job
from fsql.tests.cluster.leading import Kill, LedRun

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.nursery import Nursery

pytestmark = pytest.mark.cluster

COPY = (
    "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'file', 'path' = 'numbers');\n"
    "CREATE TABLE copies (n BIGINT) WITH ('connector' = 'file', 'path' = 'copies.jsonl');\n"
    "INSERT INTO copies SELECT n FROM numbers WHERE n >= 0;\n"
)
CONCATENATED = """
CREATE TABLE letters (letter STRING) WITH ('connector' = 'file', 'path' = 'letters');
CREATE TABLE seen (so_far ARRAY<STRING>, n BIGINT) WITH ('connector' = 'file', 'path' = 'seen.jsonl');
INSERT INTO seen SELECT ARRAY_AGG(letter) AS so_far, COUNT(*) AS n FROM letters;
"""
ROWS = 120
KILLS = [Kill("delivered", count, worker=count) for count in (3, 7, 11, 15)]


def numbers_job(directory: Path) -> Job:
    (directory / "numbers").mkdir()
    for split in range(2):
        lines = "".join(f'{{"n":{2 * n + split}}}\n' for n in range(ROWS // 2))
        (directory / "numbers" / f"{split}.jsonl").write_text(lines)
    (directory / "copy.sql").write_text(COPY)
    return Job.of(directory / "copy.sql")


def killed_run(job: Job, nursery: Nursery, delivery: str) -> bytes:
    """Return what is written of a run with kills."""
    description = job.description(2, chunk_rows=2, read_ahead_rows=4, delivery=delivery)
    run = LedRun(nursery, job, description, KILLS)
    written = run.written().files["copies.jsonl"]
    assert len(run.killed) >= 2
    return written


def test_at_least_once_repeats_suffixes_and_nothing_else(nursery: Nursery, tmp_path: Path) -> None:
    """What has come is always a prefix of what is right, with the end of a prefix before it again."""
    job = numbers_job(tmp_path)
    right = job.written_here().files["copies.jsonl"].splitlines()
    written = killed_run(job, nursery, "at-least-once").splitlines()
    at = 0
    most = 0
    for line in written:
        if at == len(right) or line != right[at]:
            at = right.index(line)
            assert at <= most, "rows were left out"
        at += 1
        most = max(most, at)
    assert most == at == len(right)


def test_at_most_once_writes_the_result_of_some_of_the_input(
    nursery: Nursery, tmp_path: Path
) -> None:
    job = numbers_job(tmp_path)
    right = job.written_here().files["copies.jsonl"].splitlines()
    written = killed_run(job, nursery, "at-most-once").splitlines()
    places = [right.index(line) for line in written]
    assert places == sorted(set(places)), "something came twice, or out of order"
    assert written[-1] == right[-1]


def test_none_writes_whole_rows(nursery: Nursery, tmp_path: Path) -> None:
    """Nothing is promised but that what is written are rows of the result."""
    job = numbers_job(tmp_path)
    right = job.written_here().files["copies.jsonl"]
    written = killed_run(job, nursery, "none")
    assert set(written.splitlines()) == set(right.splitlines())
    assert written.endswith(right.splitlines()[-1] + b"\n")


@pytest.mark.parametrize("count", range(1, 7))
def test_what_was_seen_of_two_channels_that_meet_is_never_taken_back(
    count: int, nursery: Nursery, tmp_path: Path
) -> None:
    """Letters come by two channels and are put one behind the other.

    Whoever has seen `ab` when a worker is killed sees `abc` next, not `bac`: the order in which channels
    meet is the same after the failure, since it is part of the data.
    """
    (tmp_path / "letters").mkdir()
    for split, letters in enumerate(("acegikmoqsuwy", "bdfhjlnprtvxz")):
        lines = "".join(f'{{"letter":"{letter}"}}\n' for letter in letters)
        (tmp_path / "letters" / f"{split}.jsonl").write_text(lines)
    (tmp_path / "letters.sql").write_text(CONCATENATED)
    job = Job.of(tmp_path / "letters.sql")
    kills = [Kill("delivered", count, worker=count), Kill("delivered", 2 * count, worker=count + 1)]
    run = LedRun(nursery, job, job.description(2, chunk_rows=1, read_ahead_rows=2), kills)
    written = run.written()
    assert run.killed
    changes = [json.loads(line) for line in written.files["seen.jsonl"].splitlines()]
    seen = ["".join(change["so_far"]) for change in changes if change["op"] != "-U"]
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    assert seen == [alphabet[: n + 1] for n in range(len(alphabet))]
    assert written.files[STDOUT] == b""
