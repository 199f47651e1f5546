"""Rows by their number in any order, and beside their whole partition: what DuckDB says.

On every way and from snapshots.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.by_duckdb import compare_with_duckdb
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000

SCRIPT = """
CREATE TABLE t (
    id BIGINT NOT NULL, k STRING, n BIGINT, seen TIMESTAMP, WATERMARK FOR seen AS seen - INTERVAL '9' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE sink (id BIGINT, a BIGINT, b BIGINT) WITH ('connector' = 'blackhole');
"""
VIEWS = {"t": "id, k, n, seen"}
GROUPED = "(SELECT MIN(id) AS id, k, SUM(n) AS n, COUNT(*) AS c FROM t GROUP BY k, id % 3) AS g"
WINDOW = "(SELECT * FROM TUMBLE(t, seen, INTERVAL '5' SECOND)) AS w"
"""Windows, which have no name in DuckDB: see `in_duckdb`."""
QUERIES = (
    "SELECT id, COUNT(DISTINCT n) OVER (PARTITION BY k) AS a, COUNT(*) OVER () AS b FROM t",
    (
        "SELECT id, MAX(n) OVER (PARTITION BY k, n % 2 ORDER BY id DESC"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS a, MIN(n) OVER () AS b"
        " FROM t WHERE n > 2"
    ),
    (
        "SELECT id, FIRST_VALUE(id) OVER w AS a, LAST_VALUE(id) OVER w AS b FROM t WINDOW w AS"
        " (PARTITION BY k ORDER BY n DESC, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    ),
    "SELECT id, n - MIN(n) OVER (PARTITION BY k) AS a, c * 10 / SUM(c) OVER () AS b FROM "
    + GROUPED,
    (
        "SELECT id, SUM(n) OVER (PARTITION BY k ORDER BY id DESC ROWS 2 PRECEDING) AS a,"
        " COUNT(n) OVER (PARTITION BY k ORDER BY id DESC ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS b"
        " FROM t"
    ),
    (
        "SELECT id, LAG(n) OVER (PARTITION BY k ORDER BY n, id DESC) AS a,"
        " LEAD(id, 2, -1) OVER (ORDER BY n DESC, id) AS b FROM t"
    ),
    (
        "SELECT id, FIRST_VALUE(id) OVER w AS a, LAST_VALUE(id) OVER w AS b FROM t"
        " WINDOW w AS (PARTITION BY k ORDER BY n, id ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)"
    ),
    (
        "SELECT id, SUM(n) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a,"
        " COUNT(*) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS b FROM " + GROUPED
    ),
    (
        "SELECT id, LAG(n, 1, 0) OVER (PARTITION BY k ORDER BY id) AS a,"
        " LEAD(n) OVER (ORDER BY id) AS b FROM " + GROUPED
    ),
    # Running totals.
    (
        "SELECT id, SUM(n) OVER (PARTITION BY k ORDER BY n DESC) AS a,"
        " COUNT(*) OVER (ORDER BY n % 3 NULLS FIRST, k) AS b FROM t"
    ),
    (
        "SELECT id, SUM(n) OVER (PARTITION BY k ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS a,"
        " COUNT(n) OVER (PARTITION BY k ORDER BY n DESC NULLS LAST, id"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS b FROM t"
    ),
    # Equal rows are told apart by their numbers, whichever they are.
    (
        "SELECT n AS id, COUNT(*) OVER (PARTITION BY k ORDER BY n ROWS UNBOUNDED PRECEDING) AS a, 0 AS b"
        " FROM t UNION ALL SELECT n, COUNT(*) OVER"
        " (ORDER BY n ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS a, 1 AS b FROM t"
    ),
    (
        "SELECT id, SUM(n) OVER (PARTITION BY k ORDER BY id) AS a,"
        " MAX(c) OVER (ORDER BY n, id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b FROM "
        + GROUPED
    ),
    (
        "SELECT id, FIRST_VALUE(id) OVER (PARTITION BY k ORDER BY n, id DESC) AS a, LAST_VALUE(id) OVER"
        " (PARTITION BY k ORDER BY n, id RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b FROM "
        + GROUPED
    ),
    (
        "SELECT id, LAG(n) IGNORE NULLS OVER (PARTITION BY k ORDER BY id) AS a,"
        " COALESCE(LAG(n) IGNORE NULLS OVER (ORDER BY id DESC), -1) AS b FROM t"
    ),
    # Distances of values, groups of equal rows, and what EXCLUDE leaves out.
    (
        "SELECT id, SUM(n) OVER (PARTITION BY k ORDER BY n RANGE 2 PRECEDING) AS a, COUNT(*) OVER"
        " (ORDER BY n DESC RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS b FROM t"
    ),
    (
        "SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY n NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING"
        " AND 1 FOLLOWING) AS a, COUNT(*) OVER (ORDER BY CAST(n AS DOUBLE) DESC RANGE BETWEEN 0.5 FOLLOWING"
        " AND UNBOUNDED FOLLOWING) AS b FROM t"
    ),
    (
        "SELECT id, COUNT(*) OVER (ORDER BY seen DESC RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND"
        " INTERVAL '1' SECOND FOLLOWING) AS a, 0 AS b FROM t"
    ),
    (
        "SELECT id, SUM(n) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND"
        " 2 PRECEDING) AS a, COUNT(*) OVER (ORDER BY n, id ROWS BETWEEN 2 PRECEDING AND"
        " UNBOUNDED FOLLOWING) AS b FROM " + GROUPED
    ),
    (
        "SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY n GROUPS 1 PRECEDING) AS a, MAX(id) OVER"
        " (ORDER BY n DESC GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS b FROM t"
    ),
    (
        "SELECT id, SUM(id) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING"
        " EXCLUDE CURRENT ROW) AS a, SUM(id) OVER (ORDER BY n GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING"
        " EXCLUDE GROUP) AS b FROM t"
    ),
    (
        "SELECT id, SUM(id) OVER (PARTITION BY k ORDER BY n RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING"
        " EXCLUDE TIES) AS a, COUNT(*) OVER (ORDER BY n RANGE BETWEEN UNBOUNDED PRECEDING AND"
        " UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS b FROM " + GROUPED
    ),
    (
        "SELECT id, COUNT(DISTINCT n) OVER (PARTITION BY k ORDER BY id DESC ROWS 2 PRECEDING) AS a,"
        " MAX_BY(id, id) OVER (ORDER BY n, id) AS b FROM t"
    ),
    (
        "SELECT id, NTH_VALUE(id, 2) OVER (PARTITION BY k ORDER BY id DESC ROWS 2 PRECEDING) AS a,"
        " NTH_VALUE(id, 3) OVER (ORDER BY n, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
        " AS b FROM t"
    ),
    # LAG and LEAD of values that are not NULL, also in the order of event time.
    (
        "SELECT id, LAG(n, 2) IGNORE NULLS OVER (PARTITION BY k ORDER BY id DESC) AS a,"
        " LEAD(n, 2, -1) IGNORE NULLS OVER (ORDER BY n DESC, id) AS b FROM t"
    ),
    "SELECT id, 0 AS a, LEAD(n) IGNORE NULLS OVER (PARTITION BY k ORDER BY seen, id) AS b FROM t",
    # Ranks in proportion to the rows of the partition: each row changes all others.
    "SELECT id, NTILE(3) OVER (PARTITION BY k ORDER BY n, id DESC) AS a, 0 AS b FROM t",
    "SELECT id, NTILE(9) OVER (ORDER BY id DESC) AS a, 0 AS b FROM " + GROUPED,
    "SELECT id, CAST(ROUND(1000 * PERCENT_RANK() OVER (ORDER BY n)) AS BIGINT) AS a, 0 AS b FROM t",
    (
        "SELECT id, CAST(ROUND(1000 * CUME_DIST() OVER (PARTITION BY k ORDER BY n DESC)) AS BIGINT) AS a,"
        " 0 AS b FROM t"
    ),
    # NULLs that are kept.
    (
        "SELECT id, (ARRAY_AGG(n ORDER BY id) FILTER (WHERE id % 3 > 0) OVER (PARTITION BY k))[2] AS a,"
        " LAST_VALUE(n) RESPECT NULLS OVER (PARTITION BY k ORDER BY id) AS b FROM t"
    ),
    (
        "SELECT id, MIN(n) OVER (ORDER BY seen ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS a,"
        " COUNT(*) OVER (PARTITION BY k ORDER BY seen RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
        " AS b FROM (SELECT * FROM t WHERE id % 2 = 0) AS s"
    ),
    (
        "SELECT id, SUM(n) OVER (PARTITION BY window_start, window_end) AS a,"
        " COUNT(*) OVER (PARTITION BY window_end, k) AS b FROM " + WINDOW
    ),
    # Ranks in proportion to the rows of a window are final.
    (
        "SELECT id, CAST(ROUND(1000 * CUME_DIST() OVER (PARTITION BY window_start, window_end ORDER BY n))"
        " AS BIGINT) AS a, NTILE(2) OVER (PARTITION BY window_end, k ORDER BY n DESC, id) AS b FROM "
        + WINDOW
    ),
    # What comes behind it: ranks, groups, conditions.
    (
        "SELECT id, a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY id) AS b FROM"
        " (SELECT id, SUM(n) OVER (PARTITION BY k) AS a FROM t) AS s"
    ),
    (
        "SELECT v AS id, COUNT(*) AS a, MAX(id) AS b FROM"
        " (SELECT id, LAG(n) OVER (ORDER BY n DESC, id) AS v FROM t) AS s GROUP BY v"
    ),
    "SELECT id, n AS a, n AS b FROM t QUALIFY n >= AVG(n) OVER (PARTITION BY k)",
    # ALL numbers equal rows, also those that can be retracted.
    (
        "SELECT n AS id, c AS a, 0 AS b FROM "
        + GROUPED
        + " EXCEPT ALL SELECT n, 1 AS a, 0 AS b FROM t WHERE id > 3"
    ),
    (
        "SELECT c AS id, n AS a, 0 AS b FROM "
        + GROUPED
        + " INTERSECT ALL (SELECT 1 AS c, n, 0 AS b FROM t UNION ALL SELECT c, n, 0 AS b FROM "
        + GROUPED
        + ")"
    ),
)


TIED = (
    "SELECT n AS id, LAG(id) OVER (ORDER BY n|) AS a, ROW_NUMBER() OVER (ORDER BY n|) AS b FROM t",
    (
        "SELECT n AS id, LAG(n) OVER (PARTITION BY k ORDER BY n|) AS a,"
        " ROW_NUMBER() OVER (ORDER BY k|) AS b FROM t"
    ),
    (
        "SELECT LAG(id) OVER (ORDER BY n, k|) AS id, LEAD(n) OVER (PARTITION BY k ORDER BY n DESC|) AS a,"
        " ROW_NUMBER() OVER (PARTITION BY n ORDER BY k|) AS b FROM t"
    ),
    (
        "SELECT n AS id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n|) AS a,"
        " ROW_NUMBER() OVER (ORDER BY k DESC|) AS b FROM t"
    ),
    (
        "SELECT COUNT(*) OVER (PARTITION BY k) AS id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n|) AS a,"
        " RANK() OVER (PARTITION BY k ORDER BY n) AS b FROM t"
    ),
    (
        "SELECT n AS id, NTILE(3) OVER (ORDER BY n|) AS a,"
        " NTILE(2) OVER (PARTITION BY k ORDER BY n|) AS b FROM t"
    ),
    (
        "SELECT n AS id, SUM(id) OVER (PARTITION BY k ORDER BY n| ROWS UNBOUNDED PRECEDING) AS a,"
        " ROW_NUMBER() OVER (PARTITION BY k ORDER BY n|) AS b FROM t"
    ),
    (
        "SELECT n AS id, SUM(id) OVER (ORDER BY n| ROWS UNBOUNDED PRECEDING) AS a,"
        " SUM(id) OVER (ORDER BY n| ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING) AS b FROM t"
    ),
    (
        "SELECT RANK() OVER (ORDER BY n) AS id, SUM(n) OVER (ORDER BY n) AS a,"
        " SUM(id) OVER (ORDER BY k| ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) AS b FROM t"
    ),
    (
        "SELECT COUNT(*) OVER (ORDER BY seen) AS id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n|) AS a,"
        " ROW_NUMBER() OVER (ORDER BY seen DESC|) AS b FROM t"
    ),
    (
        "SELECT n AS id, ROW_NUMBER() OVER (PARTITION BY window_end, k ORDER BY n|) AS a,"
        " ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY k|) AS b FROM " + WINDOW
    ),
    (
        "SELECT n AS id, NTILE(2) OVER (PARTITION BY window_start, window_end ORDER BY n|) AS a,"
        " COUNT(*) OVER (PARTITION BY k ORDER BY seen) AS b FROM " + WINDOW
    ),
    "SELECT n AS id, LAG(n) OVER (ORDER BY k|) AS a, ROW_NUMBER() OVER (ORDER BY n|) AS b FROM EQUAL",
    (
        "SELECT n AS id, SUM(n) OVER (ORDER BY k| ROWS UNBOUNDED PRECEDING) AS a,"
        " LAG(n) OVER (PARTITION BY n ORDER BY k|) AS b FROM EQUAL"
    ),
    (
        "SELECT n AS id, SUM(n) OVER (PARTITION BY k || ROWS UNBOUNDED PRECEDING) AS a,"
        " LAG(n, 2) OVER (||) AS b FROM EQUAL"
    ),
    (
        "SELECT COUNT(*) OVER (|| ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS id,"
        " SUM(n) OVER (|| ROWS 1 PRECEDING) AS a, ROW_NUMBER() OVER (PARTITION BY n ||) AS b FROM EQUAL"
    ),
)
"""Orders in which rows are equal; | stands for the columns that tell them apart in DuckDB.

Without ORDER BY, rows that can be retracted are in the order of their columns: || stands for that.
"""
EQUAL = "(SELECT k, n FROM t UNION ALL SELECT k, MAX(n) AS n FROM t GROUP BY k, id % 4)"
"""Rows that are equal in all columns, and can be retracted."""


def in_duckdb(query: str) -> str:
    """Return the query with windows as DuckDB computes them."""
    start = f"seen // {5 * SECOND}"
    windows = f"(SELECT *, {start} AS window_start, {start} + 1 AS window_end FROM t) AS w"
    query = re.sub(r"\((n[^()]*)\) IGNORE NULLS", r"(\1 IGNORE NULLS)", query)
    query = query.replace(" RESPECT NULLS", "")
    query = query.replace(WINDOW, windows).replace(" / ", " // ")
    return re.sub(r"INTERVAL '(\d+)' SECOND", lambda found: f"{int(found[1]) * SECOND}", query)


def case_of(seed: int, query: str) -> Case:
    """Return a case over drawn rows, none of them late; there are few, since each changes many others."""
    random = Random(f"frames {seed}")
    text = f"{SCRIPT}INSERT INTO sink {query};"
    job = bind(parse_script(SourceText("frames", text)), DECLARED).job
    verify_logical(job)
    inputs: dict[int, Splits] = {}
    for table in job.tables:
        splits: Splits = [[] for _ in range(random.choice((1, 2)))]
        clock = 9 * SECOND
        for number in range(random.choice((6, 9, 12))):
            clock += random.choice((0, SECOND, 2 * SECOND))
            seen = clock - random.choice((0, 0, SECOND, 3 * SECOND))
            value = random.choice((number % 5, number % 3, 7, None))
            row: tuple[Value, ...] = (number, random.choice(("a", "b", None)), value, seen)
            random.choice(splits).append(row)
        inputs[table.ordinal] = splits
    return Case(f"frames {seed}", text, job, inputs)


@pytest.mark.slow
def test_frames_in_any_order_are_those_of_duckdb() -> None:
    met: Counter[str] = Counter()
    for seed, query in enumerate(QUERIES):
        case = case_of(seed, query)
        outcome = case.expected
        assert not any(outcome.late), case
        met[query] += compare_with_duckdb(case, VIEWS, in_duckdb(query))
        check(case, schedules=1)
        if seed % 2 == 0:
            check_snapshots(case, outcome, roots_of(case), Random(seed), met)
    assert all(met[query] for query in QUERIES), met
    assert met["rows restored"], met


@pytest.mark.slow
def test_rows_that_are_equal_in_an_order_have_the_same_order_in_all_columns() -> None:
    numbered = f"(SELECT *, ROW_NUMBER() OVER (PARTITION BY k, n) AS tie FROM {EQUAL}) AS s"
    for seed, tied in enumerate(TIED):
        written = tied.replace("|", "").replace("FROM EQUAL", f"FROM {EQUAL} AS s")
        case = case_of(seed, written)
        assert not any(case.expected.late), case
        tie = ", k, n, tie" if "EQUAL" in tied else ", time, origin"
        query = tied.replace("||", f"ORDER BY {tie[2:]}").replace("|", tie)
        other = in_duckdb(query.replace("FROM EQUAL", f"FROM {numbered}"))
        assert compare_with_duckdb(case, VIEWS, other), case
        if seed % 6 == 0:
            check(case, schedules=1)
