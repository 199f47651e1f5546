"""After how many rows the result of a query is complete."""

from __future__ import annotations

import pytest

from fsql.compiler.analysis.row_limits import rows_at_most
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text

TABLE = """
CREATE TABLE t (k STRING, at TIMESTAMP, WATERMARK FOR at) WITH ('connector' = 'file', 'path' = 't.jsonl');
"""


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT k FROM t", None),
        ("SELECT k FROM t LIMIT 3", 3),
        ("SELECT k FROM t LIMIT 3 OFFSET 5", 3),
        ("SELECT k FROM t OFFSET 5", None),
        ("SELECT k FROM t LIMIT 0", 0),
        ("SELECT COUNT(*) AS n FROM t LIMIT 0", 0),
        ("SELECT k || '!' AS l FROM (SELECT k FROM t WHERE k <> 'a' LIMIT 3) AS s", 3),
        ("SELECT k FROM (SELECT k FROM t LIMIT 3) AS s WHERE k <> 'a'", None),
        ("SELECT k FROM (SELECT k FROM t LIMIT 3) AS s UNION ALL SELECT k FROM t", None),
        ("SELECT k FROM (SELECT k FROM t LIMIT 3) AS s LIMIT 2", 2),
        ("SELECT k FROM (SELECT k FROM t LIMIT 3) AS s LIMIT 9", 3),
        ("SELECT k FROM (SELECT k FROM t LIMIT 3) AS s LIMIT 9 OFFSET 1", 2),
        ("SELECT k FROM (SELECT k FROM t LIMIT 3) AS s OFFSET 1", 2),
        ("SELECT k FROM (SELECT k FROM t LIMIT 3) AS s LIMIT 9 OFFSET 5", 0),
        ("SELECT k FROM (SELECT k FROM t WHERE k <> 'a') AS s LIMIT 9", 9),
        ("SELECT k FROM t ORDER BY k LIMIT 3", None),
        ("SELECT k FROM t ORDER BY at LIMIT 3", None),
        ("SELECT COUNT(*) AS n FROM t LIMIT 1", None),
        (
            "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY k) AS n FROM t) AS s WHERE n <= 1",
            None,
        ),
        (
            "SELECT COUNT(*) AS n FROM TUMBLE(t, at, INTERVAL '1' HOUR) GROUP BY window_end LIMIT 4",
            4,
        ),
    ],
)
def test_limits(query: str, rows: int | None) -> None:
    [insert] = compile_job(script_of_text(f"{TABLE}{query};", {})).bound.inserts
    assert rows_at_most(insert.query) == rows
