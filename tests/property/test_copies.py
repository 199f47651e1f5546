"""Subplans that are named twice are computed once, and nobody can tell: not by bytes, nor by late rows."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.lowering.copies import copies_of
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of

if TYPE_CHECKING:
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
SCRIPT = """
CREATE TABLE t (k BIGINT, v BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '2' SECOND)
    WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE VIEW counts AS
    SELECT k, window_end AS e, COUNT(*) AS n FROM HOP(t, at, INTERVAL '2' SECOND, INTERVAL '4' SECOND)
    GROUP BY k, window_start, window_end;
CREATE VIEW most AS SELECT e, MAX(n) AS n FROM counts GROUP BY e;
CREATE VIEW sums AS SELECT k, SUM(v) AS v FROM t GROUP BY k;
CREATE VIEW firsts AS SELECT k, v, at FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) <= 2;
CREATE VIEW pairs AS
    SELECT a.k, COUNT(*) AS v FROM t AS a JOIN t AS b ON a.k = b.v GROUP BY a.k;
CREATE TABLE sink (x BIGINT, y BIGINT) WITH ({sink});
INSERT INTO sink {query};
"""
QUERIES = (
    "SELECT c.k, c.n FROM counts AS c JOIN most AS m ON c.e = m.e AND c.n >= m.n",
    "SELECT k, n FROM counts UNION ALL SELECT n, k FROM counts WHERE n > 1 UNION ALL SELECT k, n FROM counts",
    "SELECT a.k, b.v FROM sums AS a JOIN sums AS b ON a.v = b.k",
    "SELECT k, v FROM sums WHERE v > 3 UNION ALL SELECT k, v FROM sums",
    "SELECT a.k, b.v FROM firsts AS a LEFT JOIN firsts AS b ON a.k = b.v",
    "SELECT a.k, b.v FROM pairs AS a JOIN pairs AS b ON a.k = b.k",
    "SELECT a.n, b.n FROM most AS a JOIN most AS b ON a.e = b.e",
)
LATE = (
    "'connector' = 'file', 'path' = 'out.jsonl', 'late_path' = 'late.jsonl', 'changes' = 'retract'"
)


def case_of(seed: int, query: str) -> Case:
    """Return a case over drawn rows, some of them late."""
    random = Random(f"copies {seed}")
    text = SCRIPT.format(query=query, sink=random.choice(("'connector' = 'blackhole'", LATE)))
    job = bind(parse_script(SourceText("copies", text)), DECLARED).job
    verify_logical(job)
    splits: Splits = [[] for _ in range(random.choice((1, 2)))]
    clock = 9 * SECOND
    for _ in range(random.choice((6, 12, 24))):
        clock += random.choice((0, SECOND // 2, SECOND))
        at = clock - random.choice((0, 0, SECOND, 7 * SECOND))
        row = (random.randrange(4), random.choice((None, *range(4))), at)
        random.choice(splits).append(row)
    return Case(f"copies {seed} {query}", text, job, {0: splits})


@pytest.mark.parametrize("query", QUERIES)
def test_copies_are_as_if_each_was_computed(query: str) -> None:
    met: Counter[str] = Counter()
    for seed in range(3):
        case = case_of(seed, query)
        assert copies_of(case.job)
        check(case, schedules=1)
    check_snapshots(case, case.expected, roots_of(case), Random(seed), met)
    assert met["rows restored"], met


def test_late_rows_of_copies_are_counted_for_each() -> None:
    cases = [case_of(seed, QUERIES[0]) for seed in range(6)]
    late = [case.expected.late for case in cases]
    assert any(any(of_window) for of_window in late)
