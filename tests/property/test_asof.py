"""ASOF joins, LATERAL subqueries and DISTINCT ON: what DuckDB says, on every way and from snapshots.

Rows are out of order within what the tables allow, so none is late.  Two rows of the right side never have
one key and one time, for then DuckDB leaves open which of them it joins.
"""

from __future__ import annotations

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
SEEDS = 8

SCRIPT = """
CREATE TABLE t (
    id BIGINT, k STRING, moment TIMESTAMP, WATERMARK FOR moment AS moment - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE u (
    num BIGINT, k STRING, since TIMESTAMP, WATERMARK FOR since AS since - INTERVAL '5' SECOND
) WITH ('connector' = 'file', 'path' = 'u.jsonl');
CREATE TABLE sink (id BIGINT, num BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO sink {query};
"""
JOINS = (
    "SELECT t.id, u.num FROM t ASOF JOIN u ON t.k = u.k AND t.moment >= u.since",
    "SELECT t.id, u.num FROM t ASOF LEFT JOIN u ON u.since <= t.moment AND t.k = u.k",
    "SELECT t.id, u.num FROM t ASOF JOIN u ON t.moment > u.since AND t.k = u.k",
    "SELECT t.id, u.num FROM t ASOF LEFT OUTER JOIN u ON t.k = u.k AND u.since < t.moment",
    "SELECT t.id, u.num FROM t ASOF JOIN u ON t.k = u.k AND t.moment <= u.since",
    "SELECT t.id, u.num FROM t ASOF LEFT JOIN u ON u.since >= t.moment AND t.k = u.k",
    "SELECT t.id, u.num FROM t ASOF JOIN u ON t.moment < u.since AND t.k = u.k",
    "SELECT t.id, u.num FROM t ASOF LEFT JOIN u ON t.k = u.k AND u.since > t.moment",
)
FIRST_ROWS = (
    (
        "SELECT t.id, x.num FROM t, LATERAL"
        " (SELECT num FROM u WHERE u.k = t.k ORDER BY since DESC LIMIT 2) AS x"
    ),
    (
        "SELECT t.id, x.num FROM t LEFT JOIN LATERAL"
        " (SELECT num FROM u WHERE u.k = t.k AND num > 3 ORDER BY 1 LIMIT 1 OFFSET 1) AS x ON TRUE"
    ),
    "SELECT DISTINCT ON (k) id, id + 1 AS num FROM t ORDER BY k, moment DESC, num",
    "SELECT DISTINCT ON (k, num) id, id % 3 AS num FROM t ORDER BY 2, k, moment, id DESC",
    (
        "SELECT id, id + 1 AS num FROM t WHERE id IN"
        " (SELECT DISTINCT ON (k) num FROM u ORDER BY k, num DESC)"
    ),
    (
        "SELECT t.id, x.num FROM t JOIN LATERAL (SELECT num FROM u WHERE u.k = t.k) AS x ON TRUE"
        " RIGHT JOIN u ON u.num = t.id WHERE t.id = x.num"
    ),
)


VIEWS = {"t": "id, k, moment", "u": "num, k, since"}


def case_of(seed: int, query: str) -> Case:
    """Return a case over drawn rows."""
    random = Random(f"asof {seed}")
    text = SCRIPT.format(query=query)
    job = bind(parse_script(SourceText("asof", text)), DECLARED).job
    verify_logical(job)
    inputs: dict[int, Splits] = {}
    for table in job.tables:
        splits: Splits = [[] for _ in range(random.choice((1, 2)))]
        clock = 5 * SECOND
        for number in range(random.choice((6, 12, 18))):
            clock += random.choice((0, SECOND // 2, SECOND, 4 * SECOND))
            behind = random.choice((0, 0, SECOND, 2 * SECOND))
            # Times of the right side differ by a microsecond or more, and meet those of the left side.
            at = clock - behind + (number if table.name == "u" else random.choice((0, number)))
            row: tuple[Value, ...] = (number, random.choice(("a", "b", None)), at)
            random.choice(splits).append(row)
        inputs[table.ordinal] = splits
    return Case(f"asof {seed} {query}", text, job, inputs)


@pytest.mark.slow
def test_rows_are_joined_with_the_last_before_or_the_next_as_duckdb_joins_them() -> None:
    met: Counter[str] = Counter()
    for seed in range(SEEDS):
        for query in (JOINS[seed % len(JOINS)], FIRST_ROWS[seed % len(FIRST_ROWS)]):
            case = case_of(seed, query)
            outcome = case.expected
            assert not any(outcome.late), case
            met[query] += compare_with_duckdb(case, VIEWS, query)
            check(case, schedules=1)
            check_snapshots(case, outcome, roots_of(case), Random(seed), met)
    assert all(met[query] for query in (*JOINS, *FIRST_ROWS)), met
    assert met["rows restored"], met
