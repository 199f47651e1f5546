"""The metrics of a run: what was read and written by table, and what operators were given."""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fsql
from fsql.runtime.dataflow.metrics import (
    Metrics,
    OperatorMetrics,
    SinkMetrics,
    SourceMetrics,
    merge,
    without_current,
)

if TYPE_CHECKING:
    from pathlib import Path

ROWS: Final = 1_000
SCRIPT: Final = """
    CREATE TABLE plain (n BIGINT) WITH ('connector' = 'file', 'path' = 'plain.jsonl',
        'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl');
    CREATE TABLE packed (n BIGINT) WITH ('connector' = 'file', 'path' = 'packed.jsonl.gz');
    CREATE TABLE columns (n BIGINT)
        WITH ('connector' = 'file', 'path' = 'columns.parquet', 'format' = 'parquet');
    CREATE TABLE sums (n BIGINT, s BIGINT) WITH ('connector' = 'file', 'path' = 'sums.jsonl');
    CREATE TABLE copied (n BIGINT) WITH ('connector' = 'blackhole');
    INSERT INTO sums SELECT n % 7, SUM(n) FROM plain WHERE n > 9 GROUP BY n % 7;
    INSERT INTO copied SELECT n FROM packed UNION ALL SELECT n FROM columns;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = "".join(f'{{"n":{number}}}\n' for number in range(ROWS)).encode()
    (tmp_path / "plain.jsonl").write_bytes(lines + b"[]\n{}}\n")
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(lines))
    pq.write_table(pa.table({"n": range(ROWS)}), tmp_path / "columns.parquet", row_group_size=300)
    return tmp_path


def run(folder: Path, **options: Any) -> Metrics:
    metrics = fsql.Session(base_directory=folder).run(SCRIPT, **options)
    assert isinstance(metrics, Metrics)
    return metrics


def passed(metrics: Metrics) -> dict[str, int]:
    """Return how much of each table's files was read."""
    return {name: source.bytes_passed for name, source in metrics.sources.items()}


def counts(metrics: Metrics) -> object:
    """Return what does not depend on how the job is executed."""
    sources = {name: replace(each, bytes=0) for name, each in metrics.sources.items()}
    return sources, metrics.sinks, metrics.rows_out, metrics.rows_rejected


@pytest.mark.cluster
@pytest.mark.slow
def test_processes_have_the_metrics_of_one_process(folder: Path) -> None:
    one = run(folder)
    sizes = {
        table: (folder / name).stat().st_size
        for table, name in (
            ("plain", "plain.jsonl"),
            ("packed", "packed.jsonl.gz"),
            ("columns", "columns.parquet"),
        )
    }
    assert passed(one) == sizes
    assert {name: source.rows for name, source in one.sources.items()} == {
        "plain": ROWS + 2,
        "packed": ROWS,
        "columns": ROWS,
    }
    assert one.sources["plain"].rows_rejected == 2
    assert one.sinks["copied"] == SinkMetrics(2 * ROWS)
    assert one.bytes_state > 0
    (folder / "sums.jsonl").unlink()
    (folder / "rejects.jsonl").unlink()
    state = folder / "state"
    many = run(folder, processes=2, state=state)
    assert counts(many) == counts(one)
    # What folds have done since the last report of their worker is not known, and may be all.
    assert set(many.operators) == set(one.operators)
    # A job that continues has passed what it read before.
    again = run(folder, processes=2, state=state)
    assert passed(again) == sizes


def test_merged_metrics_are_sums() -> None:
    one = Metrics(
        rows_in=1,
        rows_state=2,
        seconds_behind=3.0,
        operators={"a": OperatorMetrics(0.5, 1), "b": OperatorMetrics(1.0)},
        sources={"t": SourceMetrics(1, 2, 3, 4)},
        sinks={"s": SinkMetrics(5)},
        rows_late_by_window={0: 6},
    )
    other = Metrics(
        rows_in=10,
        seconds_behind=1.0,
        operators={"a": OperatorMetrics(0.25, 2)},
        sources={"t": SourceMetrics(10, 20, 30, 40), "u": SourceMetrics(1)},
        rows_late_by_window={0: 60, 1: 7},
    )
    assert merge([one, other]) == Metrics(
        rows_in=11,
        rows_state=2,
        seconds_behind=3.0,
        operators={"a": OperatorMetrics(0.75, 3), "b": OperatorMetrics(1.0)},
        sources={"t": SourceMetrics(11, 22, 33, 44), "u": SourceMetrics(1)},
        sinks={"s": SinkMetrics(5)},
        rows_late_by_window={0: 66, 1: 7},
    )
    ended = without_current(one)
    assert (ended.rows_in, ended.rows_state, ended.sources["t"]) == (1, 0, SourceMetrics(1, 2, 3))
