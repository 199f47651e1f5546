"""How late the times of a window's rows can be, where the rows of its aggregate are put into windows again.

Catches a delay that is too short, by which rows that are on time would be late; the oracle's must agree.
"""

from __future__ import annotations

import pytest

from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED
from fsql.tests.reference.delays import behind

SECOND = 1_000_000
TABLES = """
CREATE TABLE t (x BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)
WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE VIEW windows AS SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' MINUTE));
CREATE VIEW both AS SELECT * FROM windows UNION ALL SELECT * FROM windows;
"""
KEYS = "window_start, window_end, window_time, at"


@pytest.mark.parametrize("source", ["windows", "both"])
def test_the_time_of_a_row_is_behind_the_end_of_its_window(source: str) -> None:
    text = f"{TABLES} SELECT {KEYS}, COUNT(*) AS n FROM {source} GROUP BY {KEYS};"
    (insert,) = bind(parse_script(SourceText("test", text)), DECLARED).job.inserts
    plan = insert.query
    delays = {
        column.name: delay_us(plan, index)
        for index, column in enumerate(plan.schema)
        if column.time_attribute
    }
    assert delays == {
        "window_end": 5 * SECOND,
        "window_time": 5 * SECOND,
        # From the position at which the window closes back to its start, by the way of the row's own delay.
        "at": (5 + 60 + 5) * SECOND,
    }
    assert delays == {
        column.name: behind(plan, index)
        for index, column in enumerate(plan.schema)
        if column.time_attribute
    }


PAIRS = """
CREATE TABLE a (k BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' SECOND)
WITH ('connector' = 'file', 'path' = 'a.jsonl');
CREATE TABLE b (k BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '2' SECOND)
WITH ('connector' = 'file', 'path' = 'b.jsonl');
CREATE VIEW pairs AS SELECT a.k, a.at AS first, b.at AS second, GREATEST(b.at, a.at) AS latest
FROM a JOIN b WITHIN 1 MINUTE ON a.k = b.k;
"""

FURTHER = """FROM pairs AS p JOIN a
ON a.k = p.k AND a.at BETWEEN p.latest AND p.latest + INTERVAL '5' SECOND"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # One of the rows is the later one, so the greatest is behind by the delay of a table only.
        ("SELECT * FROM pairs WHERE k > 1", {"first": 62, "second": 61, "latest": 2}),
        # Of times that are not both of one pair, it is behind by no more than the nearest.
        ("SELECT GREATEST(first, latest) AS latest FROM pairs", {"latest": 2}),
        ("SELECT GREATEST(first, first) AS latest FROM pairs", {"latest": 62}),
        # The pair ends with the next join.
        (f"SELECT GREATEST(first, second) AS latest {FURTHER}", {"latest": 67}),
    ],
)
def test_the_greatest_time_of_a_pair_is_that_of_its_later_row(
    query: str, expected: dict[str, int]
) -> None:
    (insert,) = bind(parse_script(SourceText("test", f"{PAIRS} {query};")), DECLARED).job.inserts
    plan = insert.query
    times = {
        column.name: index for index, column in enumerate(plan.schema) if column.time_attribute
    }
    wanted = {name: seconds * SECOND for name, seconds in expected.items()}
    assert {name: delay_us(plan, index) for name, index in times.items()} == wanted
    assert {name: behind(plan, index) for name, index in times.items()} == wanted
