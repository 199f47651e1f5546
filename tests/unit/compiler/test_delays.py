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
