"""Which columns of its tables a job reads, before any rule has changed it."""

from __future__ import annotations

import pytest

from fsql.compiler.pipeline import compile_script
from fsql.compiler.rules.prune_columns.demand import columns_read
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED

TABLES = """
    CREATE TABLE t (a BIGINT, b BIGINT, c STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' SECOND)
        WITH ('connector' = 'file', 'path' = 't.parquet', 'format' = 'parquet');
    CREATE TABLE u (a BIGINT, b BIGINT, ms BIGINT, at AS TIMESTAMP_MILLIS(ms),
                    WATERMARK FOR at AS at - INTERVAL '1' SECOND)
        WITH ('connector' = 'file', 'path' = 'u.parquet', 'format' = 'parquet');
    CREATE TABLE changes (k BIGINT, v BIGINT, w BIGINT, PRIMARY KEY (k) NOT ENFORCED)
        WITH ('connector' = 'file', 'path' = 'c.parquet', 'format' = 'parquet', 'changes' = 'upsert');
    CREATE TABLE late (n BIGINT)
        WITH ('connector' = 'file', 'path' = 'n.jsonl', 'late_path' = 'late.jsonl');
"""
WINDOWS = "SELECT COUNT(*) AS n FROM TUMBLE(t, at, INTERVAL '5' SECOND) GROUP BY window_end"


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT a FROM t", {"t": {"a", "at"}}),
        ("SELECT * FROM t", {"t": {"a", "b", "c", "at"}}),
        ("SELECT a FROM u", {"u": {"a", "ms"}}),
        ("SELECT a FROM t WHERE b = b OR TRUE", {"t": {"a", "b", "at"}}),
        # What is not shown is used if it may fail.
        ("SELECT a FROM (SELECT a, CAST(c AS BIGINT) AS d FROM t)", {"t": {"a", "c", "at"}}),
        ("SELECT a FROM (SELECT a, UPPER(c) AS d FROM t)", {"t": {"a", "at"}}),
        ("SELECT COUNT(*) AS n FROM t EMIT CHANGES", {"t": {"a", "at"}}),
        ("SELECT t.a FROM t JOIN u ON t.b = u.b", {"t": {"a", "b", "at"}, "u": {"b", "ms"}}),
        ("SELECT t.a FROM t JOIN t AS s ON t.b = s.a AND s.c = 'x'", {"t": {"a", "b", "c", "at"}}),
        ("SELECT COUNT(v) AS n FROM changes", {"changes": {"op", "k", "v"}}),
        (WINDOWS, {"t": {"at"}}),
        (f"INSERT INTO late {WINDOWS}", {"t": {"a", "b", "c", "at"}}),
    ],
)
def test_columns_read(query: str, read: dict[str, set[str]]) -> None:
    job = compile_script(SourceText("test", f"{TABLES} {query}"), DECLARED).logical
    assert columns_read(job) == read
