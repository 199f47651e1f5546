"""Queries of maps: what the oracle says, on every way and from snapshots.

Catches entries in another order than that of their keys, maps that are equal and go apart as keys of groups
and joins, and rows of MAP_AGG and UNNEST that are lost.  The oracle shares no code with the rest; types and
plans are common to both.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, map_of
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.values import random_value

if TYPE_CHECKING:
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
SEEDS = 8

TABLES = """
CREATE TABLE t (k STRING, b BIGINT, m MAP<STRING, BIGINT>, d MAP<DOUBLE, STRING>, moment TIMESTAMP,
    WATERMARK FOR moment AS moment - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
"""
MAPS = (
    "m",
    "MAP[COALESCE(k, '?'), b, 'z', 0]",
    "MAP_CONCAT(m, MAP['a', b])",
    "STR_TO_MAP(k, 'b', 'a')",
)
QUERIES = (
    ("x MAP<STRING, BIGINT>, n BIGINT", "SELECT m, COUNT(*) FROM t GROUP BY m"),
    ("x MAP<DOUBLE, STRING>, n BIGINT", "SELECT d, SUM(b) FROM t GROUP BY d"),
    ("k STRING, x MAP<BIGINT, STRING>", "SELECT k, MAP_AGG(b, k) FROM t GROUP BY k"),
    (
        "k STRING, x MAP<BIGINT, BIGINT>, y MAP<BIGINT, BIGINT>",
        (
            "SELECT k, MAP_AGG(b, n ORDER BY n DESC), MAP_AGG(n, b ORDER BY b) FILTER (WHERE b > 0)"
            " FROM (SELECT k, b, COUNT(*) AS n FROM t GROUP BY k, b) GROUP BY k"
        ),
    ),
    (
        "x STRING, y BIGINT, z BIGINT",
        "SELECT u.* FROM t CROSS JOIN UNNEST({map}) WITH ORDINALITY AS u (a, c, o)",
    ),
    (
        "k STRING, x BIGINT",
        "SELECT u.key, SUM(u.value) FROM t LEFT JOIN UNNEST(m) AS u ON TRUE GROUP BY u.key",
    ),
    (
        "k STRING, x MAP<STRING, STRING>",
        "SELECT DISTINCT k, CAST({map} AS MAP<STRING, STRING>) FROM t",
    ),
    (
        "b BIGINT, x MAP<STRING, BIGINT>",
        (
            "SELECT t.b, u.m FROM t JOIN t AS u ON t.m = u.m"
            " AND t.moment BETWEEN u.moment - INTERVAL '2' SECOND AND u.moment"
        ),
    ),
    (
        "e TIMESTAMP, x MAP<STRING, BIGINT>, y ARRAY<MAP<STRING, BIGINT>>",
        (
            "SELECT window_end, MAP_AGG(k, b), ARRAY_AGG(m) FROM TUMBLE(t, moment, INTERVAL '4' SECOND)"
            " GROUP BY window_start, window_end"
        ),
    ),
    (
        "b BIGINT, x BIGINT, y ARRAY<STRING>, z BOOLEAN, v ROW<a MAP<DOUBLE, STRING>, b STRING>",
        "SELECT b, m[k], MAP_KEYS({map}), MAP_CONTAINS_KEY(d, b), ROW(d, d[b]) FROM t WHERE m <> MAP['a', 1]",
    ),
    ("x MAP<STRING, BIGINT>", "SELECT MAP[k, b] FROM t"),
    ("x MAP<BIGINT, STRING>", "SELECT TRY_CAST(d AS MAP<BIGINT, STRING>) FROM t"),
)


def case_of(seed: int) -> Case:
    random = Random(f"maps {seed}")
    text = TABLES
    chosen = [QUERIES[(seed + 5 * place) % len(QUERIES)] for place in range(3)]
    for number, (columns, query) in enumerate(chosen):
        wanted = query.replace("{map}", random.choice(MAPS[:3]))
        text += f"CREATE TABLE s{number} ({columns}) WITH ('connector' = 'blackhole');\n"
        text += f"INSERT INTO s{number} {wanted};\n"
    job = bind(parse_script(SourceText("maps", text)), DECLARED).job
    verify_logical(job)
    splits: Splits = [[] for _ in range(random.choice((1, 2)))]
    clock = 3 * SECOND
    nothing = random.choice((None, "b"))
    for _ in range(random.choice((1, 6, 12, 24))):
        clock += random.choice((0, SECOND // 2, SECOND, 4 * SECOND))
        row = (
            random.choice(("a", "b", "ab", "a", nothing)),
            random.choice((None, 1, 2, -1)),
            random_value(random, map_of(STRING, BIGINT), awkward=0.1),
            random_value(random, map_of(DOUBLE, STRING), awkward=0.1),
            clock - random.choice((0, 0, SECOND, 2 * SECOND)),
        )
        random.choice(splits).append(row)
    return Case(f"maps {seed}", text, job, {0: splits})


@pytest.mark.slow
def test_queries_of_maps_agree_with_the_oracle() -> None:
    met: Counter[str] = Counter()
    codes: Counter[int] = Counter()
    for seed in range(SEEDS):
        case = case_of(seed)
        outcome = case.expected
        met.update(check(case, schedules=1))
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
        codes[0 if outcome.error is None else outcome.error[0]] += 1
        met.update(query for _, query in QUERIES if query.partition("{")[0] in case.text)
    assert all(met[query] for _, query in QUERIES), met
    assert met["rows restored"]
    assert met["something released"] > SEEDS // 2
    assert codes[0]
    assert codes[510], "no key was NULL"
