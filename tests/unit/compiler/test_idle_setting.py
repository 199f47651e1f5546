"""The setting for sources that are idle is the option `idle` of the live tables that have event time."""

from __future__ import annotations

import pytest

from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED

WATERMARK = "at TIMESTAMP, WATERMARK FOR at"


@pytest.mark.parametrize(
    ("columns", "options", "idle"),
    [
        (WATERMARK, "'connector' = 'stdin'", "10000 ms"),
        (WATERMARK, "'connector' = 'stdin', 'idle' = '3 s'", "3 s"),
        (WATERMARK, "'connector' = 'stdin', 'time' = 'arrival'", None),
        ("at TIMESTAMP", "'connector' = 'stdin'", None),
        (WATERMARK, "'connector' = 'file', 'path' = 'a'", None),
        (
            WATERMARK,
            "'connector' = 'file', 'path' = 'a', 'source.monitor-interval' = '1 s'",
            "10000 ms",
        ),
    ],
)
def test_tables_take_it_that_can_be_idle(columns: str, options: str, idle: str | None) -> None:
    script = (
        f"CREATE TABLE t ({columns}) WITH ({options});"
        "SET 'table.exec.source.idle-timeout' = '10 s';"
        "SELECT * FROM t;"
    )
    [table] = compile_script(SourceText("t.sql", script), DECLARED).logical.tables
    assert dict(table.options).get("idle") == idle


@pytest.mark.parametrize("value", ["0", "0 s"])
def test_zero_is_never_idle(value: str) -> None:
    script = (
        f"SET 'table.exec.source.idle-timeout' = '{value}';"
        f"CREATE TABLE t ({WATERMARK}) WITH ('connector' = 'stdin'); SELECT * FROM t;"
    )
    [table] = compile_script(SourceText("t.sql", script), DECLARED).logical.tables
    assert "idle" not in dict(table.options)
