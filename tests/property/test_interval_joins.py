"""Outer joins with a time range are what DuckDB makes of the pairs that are not too late, on every way.

A pair is too late if the watermark, by the greater delay of both tables, has passed at the later row the time
up to which the earlier row could be joined.  The queries for DuckDB leave out such pairs by that definition.
Rows without a match come where the watermark passes the time up to which they could be joined, or at the next
punctuation after them.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.logical import append_only
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.by_duckdb import compare_with_duckdb
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.test_ticks import check_layouts

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
DELAY = 3 * SECOND
"""The greater delay of both tables."""
GRAIN = 1_000

SCRIPT = """
CREATE TABLE a (
    id BIGINT, k STRING, x DOUBLE, seen TIMESTAMP, WATERMARK FOR seen AS seen - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 'a.jsonl');
CREATE TABLE b (
    num BIGINT, k STRING, y DOUBLE, moment TIMESTAMP, WATERMARK FOR moment AS moment - INTERVAL '1' SECOND
) WITH ('connector' = 'file', 'path' = 'b.jsonl');
CREATE TABLE sink (id BIGINT, num BIGINT) WITH ('connector' = 'blackhole');
"""
VIEWS = {"a": "id, k, x, seen", "b": "num, k, y, moment"}


class Join(NamedTuple):
    """A query with `{on}`, which is a time range in seconds."""

    query: str
    low: int
    high: int


PAIRED = "SELECT a.id, b.num FROM"
JOINS = (
    Join(f"{PAIRED} a LEFT JOIN b ON a.k = b.k AND {{on}}", -4, 0),
    Join(f"{PAIRED} a LEFT JOIN b ON {{on}} AND a.k = b.k", 0, 6),
    Join(f"{PAIRED} a LEFT JOIN b ON {{on}} AND a.k = b.k AND a.id > 3 AND b.num > 2", -2, 2),
    Join(f"{PAIRED} a LEFT JOIN b ON {{on}} AND a.k = b.k AND b.num < a.id", -6, -2),
    Join(f"{PAIRED} a LEFT JOIN b ON {{on}} AND a.k = b.k", 2, 5),
    Join(f"{PAIRED} a LEFT JOIN b ON {{on}} AND a.x = b.y", 0, 0),
    Join(f"{PAIRED} a RIGHT JOIN b ON {{on}} AND a.k = b.k", -3, 1),
    Join(f"{PAIRED} a RIGHT JOIN b ON {{on}} AND a.k = b.k AND a.id < b.num AND b.y > 0.5", 0, 5),
    Join(f"{PAIRED} a FULL JOIN b ON {{on}} AND a.k = b.k", -3, 3),
    Join(f"{PAIRED} a FULL JOIN b ON {{on}} AND a.k = b.k AND a.id <= b.num AND b.num > 3", 1, 4),
    Join(f"{PAIRED} a FULL JOIN b ON {{on}} AND a.k IS NOT DISTINCT FROM b.k", -4, -1),
    Join("SELECT a.id, a.id + 1 AS num FROM a LEFT SEMI JOIN b ON {on} AND a.k = b.k", -4, 0),
    Join("SELECT a.id, a.id + 1 AS num FROM a LEFT ANTI JOIN b ON {on} AND a.k = b.k", 0, 4),
    Join("SELECT id, id + 1 AS num FROM a WHERE k IN (SELECT k FROM b WHERE {on})", -3, 3),
    Join(
        "SELECT id, id + 1 AS num FROM a"
        " WHERE COALESCE(k, '') NOT IN (SELECT COALESCE(k, '') FROM b WHERE {on})",
        *(-4, 0),
    ),
    Join(
        "SELECT id, id + 1 AS num FROM a"
        " WHERE EXISTS (SELECT * FROM b WHERE {on} AND a.k = b.k AND num > id)",
        *(0, 5),
    ),
    Join(
        "SELECT id, id + 1 AS num FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE {on} AND a.k = b.k)",
        *(1, 5),
    ),
)


def ours(join: Join) -> str:
    """Return a query for fsql."""
    low, high = (f"a.seen + INTERVAL '{seconds}' SECOND" for seconds in (join.low, join.high))
    return join.query.format(on=f"b.moment BETWEEN {low} AND {high}")


def theirs(join: Join) -> str:
    """Return a query for DuckDB, where times are microseconds."""
    low, high = join.low * SECOND, join.high * SECOND
    last = (
        f"CASE WHEN (a.time, a.origin) < (b.time, b.origin)"
        f" THEN b.time <= a.seen + {high + DELAY + GRAIN - 1} - (a.seen + {high}) % {GRAIN}"
        f" ELSE a.time <= b.moment + {DELAY - low + GRAIN - 1} - (b.moment - {low}) % {GRAIN} END"
    )
    text = join.query.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")
    return text.format(on=f"b.moment BETWEEN a.seen + {low} AND a.seen + {high} AND {last}")


def case_of(seed: int, query: str, insert: str = "INSERT INTO sink ") -> Case:
    """Return a case over drawn rows, some of them late."""
    random = Random(f"intervals {seed}")
    text = f"{SCRIPT}{insert}{query};"
    job = bind(parse_script(SourceText("intervals", text)), DECLARED).job
    verify_logical(job)
    inputs: dict[int, Splits] = {}
    for table in job.tables:
        splits: Splits = [[] for _ in range(random.choice((1, 2)))]
        clock = 7 * SECOND
        for number in range(random.choice((6, 10, 14))):
            clock += random.choice((0, SECOND // 2, SECOND, 3 * SECOND, SECOND + 1))
            at = clock - random.choice((0, 0, 0, SECOND, 3 * SECOND, 7 * SECOND))
            key, value = random.choice(("a", "b", None)), random.choice((0.5, 1.0, None))
            row: tuple[Value, ...] = (number, key, value, at)
            random.choice(splits).append(row)
        inputs[table.ordinal] = splits
    return Case(f"intervals {seed}", text, job, inputs)


def expiries(case: Case, table: int, wait: int) -> dict[int, tuple[int, int]]:
    """Return where the rows of a table come that have no match, by their numbers."""
    found: dict[int, tuple[int, int]] = {}
    for split in case.inputs[table]:
        greatest = None
        for row in split:
            assert isinstance(row, tuple)
            number, _, _, at = row
            assert isinstance(number, int)
            assert isinstance(at, int)
            greatest = at if greatest is None else max(greatest, at)
            until = max(at + wait, (greatest - DELAY) // GRAIN * GRAIN)
            found[number] = ((until // GRAIN + 1) * GRAIN + DELAY, -1)
    return found


@pytest.mark.slow
def test_rows_are_joined_as_duckdb_joins_them_and_come_when_no_match_can_come() -> None:
    met: Counter[str] = Counter()
    for seed, join in enumerate(JOINS):
        case = case_of(seed, ours(join))
        assert append_only(case.job.inserts[0].query), join
        outcome = case.expected
        met["late"] += sum(map(len, outcome.late))
        met[join.query] += compare_with_duckdb(case, VIEWS, theirs(join))
        of_left = expiries(case, 0, max(join.high, 0) * SECOND)
        of_right = expiries(case, 1, max(-join.low, 0) * SECOND)
        for root, line in outcome.released[0]:
            row = json.loads(line)
            if row["id"] is None or (row["num"] is None and "a.id, b.num" in join.query):
                alone = of_left[row["id"]] if row["num"] is None else of_right[row["num"]]
                assert tuple(root) == alone, (case, line)
                met["alone"] += 1
            elif "a.id, b.num" not in join.query:
                assert tuple(root) == of_left[row["id"]], (case, line)
            else:
                met["pairs"] += 1
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
        if seed % 2:
            check_layouts(case, Random(seed), met)
    assert all(met[join.query] for join in JOINS), met
    assert met["alone"], met
    assert met["late"], met
    assert met["pairs"], met
    assert met["rows restored"], met
