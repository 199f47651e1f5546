"""Derived keys and window columns of bound queries.

Catches a key that is claimed and not there, which would let an upsert table lose rows, and one that is
there and not found, which would refuse a query that is right.
"""

from __future__ import annotations

import pytest

from fsql.compiler.analysis.properties import derived_keys, window_columns
from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED

TABLES = """
CREATE TABLE t (k STRING, b BIGINT, i INT, a ARRAY<INT>, at TIMESTAMP, WATERMARK FOR at)
    WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE kept (k STRING, b BIGINT, i INT, PRIMARY KEY (k) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = 'k.jsonl', 'changes' = 'upsert');
CREATE VIEW counts AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;
CREATE VIEW totals AS SELECT i, b, SUM(i) AS s FROM t GROUP BY i, b;
"""


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("SELECT * FROM t", ()),
        ("SELECT COUNT(*) AS n FROM t", ((),)),
        ("SELECT n, k FROM counts WHERE n > 1", (("k",),)),
        ("SELECT n FROM counts", ()),
        ("SELECT UPPER(k) AS k, n FROM counts", ()),
        ("SELECT DISTINCT k, b FROM t", (("k", "b"),)),
        # Numbers in the total order, unless they are those of some rows, or of a frame.
        ("SELECT k, b FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY k) = 1", (("k",),)),
        ("SELECT k, ROW_NUMBER() OVER (PARTITION BY k) AS n FROM t", (("k", "n"),)),
        ("SELECT k, COUNT(*) OVER (PARTITION BY k ROWS 3 PRECEDING) AS n FROM t", ()),
        ("SELECT k, COUNT(b) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING) AS n FROM t", ()),
        ("SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY at) AS n FROM t", ()),
        ("SELECT ROW_NUMBER() OVER (PARTITION BY UPPER(k)) AS n, k FROM t", ()),
        # INT to DOUBLE keeps numbers apart, BIGINT to DOUBLE does not.
        ("SELECT i, b FROM totals UNION ALL SELECT i, b FROM totals", ()),
        ("SELECT CAST(i AS DOUBLE) AS i, b FROM totals", (("i", "b"),)),
        ("SELECT i, CAST(b AS DOUBLE) AS b FROM totals", ()),
        # Texts keep whole numbers, exact numbers, truth values and times apart, not floating-point zeros.
        ("SELECT CAST(i AS STRING) AS i, CAST(b AS VARCHAR) AS b FROM totals", (("i", "b"),)),
        ("SELECT CAST(b AS VARCHAR(3)) AS b, i FROM totals", ()),
        ("SELECT CAST(at AS STRING) AS s FROM (SELECT DISTINCT at FROM t)", (("s",),)),
        ("SELECT CAST(x AS STRING) AS x FROM (SELECT DISTINCT CAST(b AS DOUBLE) AS x FROM t)", ()),
        # A row has its fields apart.
        ("SELECT (i, b) AS place, s FROM totals", (("place",),)),
        ("SELECT s, (i, b) AS place, i FROM totals", (("place",),)),
        ("SELECT (i, s) AS pair, b FROM totals", (("pair", "b"),)),
        ("SELECT (i, UPPER(k)) AS pair, k FROM (SELECT DISTINCT i, k FROM t)", (("pair", "k"),)),
        ("SELECT (i, UPPER(k)) AS pair FROM (SELECT DISTINCT i, k FROM t)", ()),
        ("SELECT CAST((i, b) AS ROW<x BIGINT, y BIGINT>) AS place FROM totals", (("place",),)),
        ("SELECT CAST((i, b) AS ROW<x BIGINT, y DOUBLE>) AS place FROM totals", ()),
        ("SELECT CAST((i, b) AS STRING) AS place FROM totals", ()),
        # The bounds of windows are whole milliseconds, if their size is; a time need not be.
        (
            "SELECT k, WINDOWSTART AS s, COUNT(*) AS n FROM t WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k",
            (("k", "s"),),
        ),
        (
            (
                "SELECT EPOCH_MILLIS(window_end) AS e, COUNT(*) AS n"
                " FROM TUMBLE(t, at, INTERVAL '0.0005' SECOND) GROUP BY window_end"
            ),
            (),
        ),
        ("SELECT EPOCH_MILLIS(at) AS ms FROM (SELECT DISTINCT at FROM t)", ()),
        # A DECIMAL that does not fit fails its row; one with fewer digits of fraction is rounded.
        ("SELECT CAST(d AS DECIMAL(5, 2)) AS d FROM (SELECT DISTINCT b * 0.01 AS d FROM t)", ()),
        (
            "SELECT CAST(d AS DECIMAL(5, 2)) AS d FROM (SELECT DISTINCT b::DECIMAL(9, 1) AS d FROM t)",
            (("d",),),
        ),
        (
            "SELECT CAST(d AS DECIMAL(9, 0)) AS d FROM (SELECT DISTINCT b::DECIMAL(9, 1) AS d FROM t)",
            (),
        ),
        # A column with one value in all rows distinguishes none.
        ("SELECT k, 'all' AS s, COUNT(*) AS n FROM t GROUP BY k, s", (("k",),)),
        ("SELECT k, s FROM (SELECT k, i, TRUE AS s FROM t WHERE i > 1) GROUP BY k, s", (("k",),)),
        ("SELECT b, k, COUNT(*) AS n FROM t WHERE b = 1 AND i > 2 GROUP BY k, b", (("k",),)),
        ("SELECT b, COUNT(*) AS n FROM t WHERE b = 1 GROUP BY b", ((),)),
        (
            "SELECT b, k FROM t WHERE b = 1 QUALIFY ROW_NUMBER() OVER (PARTITION BY k, b) = 1",
            (("k",),),
        ),
        # GROUPING distinguishes the sets, if it has another value for each.
        (
            "SELECT k, b, GROUPING(k, b) AS g, COUNT(*) AS n FROM t GROUP BY ROLLUP (k, b)",
            (("k", "b", "g"),),
        ),
        (
            "SELECT k, i, CAST(GROUPING_ID(i, k) AS INT) AS g FROM t GROUP BY CUBE (i, k) HAVING SUM(b) > 1",
            (("k", "i", "g"),),
        ),
        (
            "SELECT window_end, GROUPING(k) AS g, k FROM t GROUP BY TUMBLE(at, INTERVAL '1' DAY), CUBE (k)",
            (("window_end", "g", "k"),),
        ),
        ("SELECT k, b, GROUPING(k) AS g FROM t GROUP BY ROLLUP (k, b)", ()),
        ("SELECT k, b, COUNT(*) AS n FROM t GROUP BY ROLLUP (k, b)", ()),
        ("SELECT k, GROUPING(k) AS g FROM t GROUP BY GROUPING SETS ((k), (k), ())", ()),
        ("SELECT k, CAST(GROUPING(k) AS BOOLEAN) AS g FROM t GROUP BY ROLLUP (k)", ()),
        # Of a window any bound will do.
        (
            "SELECT k, window_start, window_end FROM t GROUP BY k, TUMBLE(at, INTERVAL '1' HOUR)",
            (("k", "window_start"), ("k", "window_end")),
        ),
        (
            "SELECT window_end, COUNT(*) AS n FROM t GROUP BY TUMBLE(at, INTERVAL '1' HOUR)",
            (("window_end",),),
        ),
        # What a row is unnested to is distinguished by the ordinal only.
        ("SELECT k, x FROM counts, UNNEST(SPLIT(k, ' ')) AS u(x)", ()),
        (
            "SELECT k, x, o FROM counts, UNNEST(SPLIT(k, ' ')) WITH ORDINALITY AS u(x, o)",
            (("k", "o"),),
        ),
        (
            "SELECT k, x FROM counts, LATERAL (SELECT x FROM UNNEST(SPLIT(k, ' ')) AS u(x) GROUP BY x)",
            (("k", "x"),),
        ),
        # A pair is distinguished by both rows, or by the one that meets one other at most.
        ("SELECT b, s, n FROM totals JOIN counts ON b = n", ()),
        (
            "SELECT c.k AS k, i, b FROM totals JOIN counts AS c ON b = c.n",
            (("k", "i", "b"),),
        ),
        ("SELECT t.b, c.n FROM t JOIN counts AS c ON t.k = c.k", ()),
        ("SELECT c.k, d.n AS m FROM counts AS c JOIN counts AS d ON c.n = d.n", ()),
        ("SELECT c.k, d.k AS l FROM counts AS c JOIN counts AS d ON c.k = d.k", (("k",), ("l",))),
        ("SELECT c.k, s FROM counts AS c JOIN totals ON c.n = i AND c.n = b", (("k",),)),
        # The merged key of a FULL JOIN, unless a key may be NULL on both sides, or is not all of the join.
        ("SELECT k, a.b, c.b AS d FROM kept AS a FULL JOIN kept AS c USING (k)", (("k",),)),
        (
            "SELECT COALESCE(c.k, a.k) AS m FROM kept AS a FULL JOIN kept AS c ON a.k = c.k",
            (("m",),),
        ),
        ("SELECT COALESCE(a.k, c.k, '') AS m FROM kept AS a FULL JOIN kept AS c ON a.k = c.k", ()),
        ("SELECT COALESCE(a.b, c.b) AS m FROM kept AS a FULL JOIN kept AS c ON a.k = c.k", ()),
        ("SELECT k, a.n FROM counts AS a FULL JOIN counts AS c USING (k)", ()),
        ("SELECT b, a.k, c.k AS l FROM kept AS a FULL JOIN kept AS c USING (b)", (("k", "l"),)),
    ],
)
def test_derived_keys(query: str, keys: tuple[tuple[str, ...], ...]) -> None:
    plan = compile_script(SourceText("test.sql", TABLES + query), DECLARED).logical.inserts[0].query
    names = [column.name for column in plan.schema]
    assert tuple(tuple(names[i] for i in key) for key in derived_keys(plan)) == keys


def test_window_columns() -> None:
    query = """
        SELECT k, window_end AS e, n, s
        FROM (SELECT window_start AS s, window_end, k, COUNT(*) AS n FROM TUMBLE(t, at, INTERVAL '1' HOUR)
              GROUP BY k, window_start, window_end)
        WHERE n > 1
    """
    plan = compile_script(SourceText("test.sql", TABLES + query), DECLARED).logical.inserts[0].query
    found = [column and (column.bound.value, column.open) for column in window_columns(plan)]
    assert found == [None, ("window_end", False), None, ("window_start", False)]
