"""CSV, Parquet, Avro, compressed files and shards, on real workers of which one is killed."""

from __future__ import annotations

import gzip
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fsql.tests.cluster.jobs import Job
from fsql.tests.cluster.leading import MOMENTS, Kill, LedRun

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.jobs import Written
    from fsql.tests.cluster.nursery import Nursery

pytestmark = pytest.mark.cluster

SCRIPT = """\
CREATE TABLE t (n BIGINT, name STRING) WITH (
    'connector' = 'file', 'path' = 'in/*.csv.*', 'format' = 'csv'
);
CREATE TABLE sums (name STRING, n BIGINT) WITH (
    'connector' = 'file', 'path' = 'sums.csv', 'format' = 'csv', 'changes' = 'retract'
);
CREATE TABLE packed (n BIGINT, name STRING) WITH ('connector' = 'file', 'path' = 'packed.jsonl.gz');
CREATE TABLE dense (n BIGINT, name STRING) WITH (
    'connector' = 'file', 'path' = 'dense.csv.zst', 'format' = 'csv'
);
CREATE TABLE parts (n BIGINT, name STRING) WITH (
    'connector' = 'file', 'path' = 'parts', 'format' = 'parquet', 'rows_per_file' = '16'
);
CREATE TABLE changes (name STRING, n BIGINT) WITH (
    'connector' = 'file', 'path' = 'changes', 'format' = 'avro', 'rows_per_file' = '50',
    'changes' = 'retract'
);
CREATE TABLE totals (name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED) WITH (
    'connector' = 'file', 'path' = 'totals.jsonl', 'shards' = '2'
);
INSERT INTO sums SELECT name, SUM(n) FROM t GROUP BY name;
INSERT INTO totals SELECT name, COUNT(*) FROM t GROUP BY name;
INSERT INTO changes SELECT name, SUM(n) FROM t GROUP BY name;
INSERT INTO packed SELECT n, name FROM t;
INSERT INTO dense SELECT n, name FROM t;
INSERT INTO parts SELECT n, name FROM t;
"""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "in").mkdir()
    for file in ("a", "b"):
        rows = "".join(f'{n},"{file}\r\n{n % 3}"\r\n' for n in range(60))
        (tmp_path / "in" / f"{file}.csv.gz").write_bytes(gzip.compress(f"n,name\n{rows}".encode()))
    (tmp_path / "job.sql").write_text(SCRIPT)
    return Job.of(tmp_path / "job.sql")


def rows_of(job: Job, written: Written) -> dict[str, bytes]:
    """Take away what a run has written, and return it: files of parts by their names."""
    files = dict(written.files)
    files["packed"] = gzip.decompress(files.pop("packed.jsonl.gz"))
    files["dense"] = decompress_zstd(files.pop("dense.csv.zst"))
    for name in ("parts", "changes"):
        parts = job.directory / name
        files |= {path.name: path.read_bytes() for path in sorted(parts.iterdir())}
        shutil.rmtree(parts)
    return files


def decompress_zstd(data: bytes) -> bytes:
    """Return what all frames of a file hold."""
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        text: bytes = stream.read()
    return text


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_changes_no_row(moment: str, job: Job, nursery: Nursery) -> None:
    expected = rows_of(job, job.written_here())
    assert len(expected) == 4 + 2 + 8 + 5  # with standard output
    assert expected["totals-0-of-2.jsonl"].startswith(b'{"op":"+I","position":"')
    assert expected["totals-1-of-2.jsonl"].startswith(b'{"op":"+I","position":"')
    assert expected["sums.csv"].startswith(b'op,name,n\n+I,"')
    assert expected["dense"].startswith(b'n,name\n0,"a\r\n0"\n')
    count = 5 if moment == "delivered" else 1
    workers = 3 if moment == "delivered" else 2  # three encode the rows that they make
    run = LedRun(nursery, job, job.description(workers), [Kill(moment, count, worker=1)])
    assert rows_of(job, run.written()) == expected
