"""Groups and ranks of running aggregates: what DuckDB says, on every way and from snapshots.

OVER puts rows in the order of event time, and what stands above it takes them as they come.  Times differ, so
that DuckDB has one order too.
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

SCRIPT = """
CREATE TABLE t (
    id BIGINT, k STRING, b BIGINT, moment TIMESTAMP,
    WATERMARK FOR moment AS moment - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE sink ({columns}) WITH ('connector' = 'blackhole');
INSERT INTO sink {query};
"""
SUM = "SUM(b) OVER (PARTITION BY k ORDER BY moment ROWS UNBOUNDED PRECEDING)::BIGINT AS f"
LAGGED = "SELECT *, LAG(b) OVER (PARTITION BY k ORDER BY moment) AS f FROM t"
RANKED = f"SELECT id, {SUM}, ROW_NUMBER() OVER (PARTITION BY k ORDER BY b DESC, id) AS rn FROM t"
QUERIES = {
    f"SELECT k, COUNT(*) AS n, MAX(b - f) AS f FROM ({LAGGED}) GROUP BY k": "k STRING, n BIGINT, f BIGINT",
    f"SELECT id, f, rn FROM ({RANKED}) WHERE rn <= 2": "id BIGINT, f BIGINT, rn BIGINT",
    f"SELECT id, {SUM} FROM t QUALIFY RANK() OVER (PARTITION BY k ORDER BY moment DESC) = 1": (
        "id BIGINT, f BIGINT"
    ),
}


VIEWS = {"t": "id, k, b, moment"}


def case_of(seed: int, columns: str, query: str) -> Case:
    """Return a case over drawn rows."""
    random = Random(f"over below {seed}")
    text = SCRIPT.format(columns=columns, query=query)
    job = bind(parse_script(SourceText("over", text)), DECLARED).job
    verify_logical(job)
    splits: Splits = [[] for _ in range(random.choice((1, 2)))]
    clock = 3 * SECOND
    for number in range(random.choice((6, 12, 24))):
        clock += random.choice((0, SECOND // 2, SECOND, 4 * SECOND))
        at = clock - random.choice((0, 0, SECOND, 2 * SECOND)) + number
        key = random.choice(("a", "b", None))
        row: tuple[Value, ...] = (number, key, random.choice((None, number % 7)), at)
        random.choice(splits).append(row)
    return Case(f"over below {seed} {query}", text, job, {0: splits})


@pytest.mark.slow
def test_groups_and_ranks_take_the_rows_of_running_aggregates() -> None:
    met: Counter[str] = Counter()
    for seed in range(9):
        query, columns = [*QUERIES.items()][seed % len(QUERIES)]
        case = case_of(seed, columns, query)
        outcome = case.expected
        assert not any(outcome.late), case
        compare_with_duckdb(case, VIEWS, query)
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
    assert met["rows restored"], met
