"""PROCTIME() over views and subqueries that only filter one table: Nexmark q12 and q13."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql, on_workers

if TYPE_CHECKING:
    from pathlib import Path

TABLES = """\
CREATE TABLE datagen (
    event_type INT, bid ROW<auction BIGINT, bidder BIGINT>, tags ARRAY<STRING>, at TIMESTAMP(3),
    WATERMARK FOR at AS at - INTERVAL '4' SECOND) WITH ('connector' = 'file', 'path' = 'datagen.jsonl');
CREATE VIEW bid AS SELECT bid.auction, bid.bidder, at FROM datagen WHERE event_type = 2;
CREATE TABLE side_input (key BIGINT, `value` STRING, PRIMARY KEY (key) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = 'side.jsonl');
"""
QUERIES = {
    "SELECT k.auction, PROCTIME() AS p FROM bid AS k WHERE k.bidder = 8": [
        '{"auction":1,"p":"2026-01-01T00:00:12Z"}'
    ],
    "SELECT *, NOW() AS p FROM (SELECT tag FROM datagen CROSS JOIN UNNEST(tags) AS t (tag))": [
        '{"tag":"x","p":"2026-01-01T00:00:12Z"}'
    ],
    # A late row has the time that its place in the order has.
    "SELECT *, PROCTIME() AS p FROM (SELECT at FROM bid WHERE auction = 2)": [
        '{"at":"2026-01-01T00:00:04.000Z","p":"2026-01-01T00:00:12Z"}'
    ],
    "SELECT bidder, COUNT(*) AS n, TUMBLE_START(p_time, INTERVAL '10' SECOND) AS s"
    " FROM (SELECT *, PROCTIME() AS p_time FROM bid)"
    " GROUP BY bidder, TUMBLE(p_time, INTERVAL '10' SECOND)": [
        '{"bidder":7,"n":2,"s":"2026-01-01T00:00:00Z"}',
        '{"bidder":7,"n":1,"s":"2026-01-01T00:00:10Z"}',
        '{"bidder":8,"n":1,"s":"2026-01-01T00:00:10Z"}',
    ],
    "SELECT b.auction, b.bidder, s.`value` FROM (SELECT *, PROCTIME() AS p_time FROM bid) AS b"
    " JOIN side_input FOR SYSTEM_TIME AS OF b.p_time AS s ON MOD(b.auction, 10000) = s.key": [
        '{"auction":1,"bidder":7,"value":"one"}',
        '{"auction":1,"bidder":7,"value":"one"}',
        '{"auction":1,"bidder":8,"value":"one"}',
    ],
}


@pytest.mark.parametrize("flags", [(), on_workers("--workers=2")], ids=["one process", "processes"])
@pytest.mark.parametrize("query", QUERIES)
def test_rows_of_a_view_have_the_time_of_the_rows_of_its_table(
    tmp_path: Path, query: str, flags: tuple[str, ...]
) -> None:
    (tmp_path / "datagen.jsonl").write_text(
        '{"event_type":2,"bid":{"auction":1,"bidder":7},"at":"2026-01-01T00:00:01Z"}\n'
        '{"event_type":1,"at":"2026-01-01T00:00:02Z"}\n'
        '{"event_type":2,"bid":{"auction":1,"bidder":7},"at":"2026-01-01T00:00:03Z"}\n'
        '{"event_type":2,"bid":{"auction":1,"bidder":8},"tags":["x"],"at":"2026-01-01T00:00:12Z"}\n'
        '{"event_type":2,"bid":{"auction":2,"bidder":7},"at":"2026-01-01T00:00:04Z"}\n'
    )
    (tmp_path / "side.jsonl").write_text('{"key":1,"value":"one"}\n')
    (tmp_path / "job.sql").write_text(f"{TABLES}{query};\n")
    assert fsql("run", "-q", tmp_path / "job.sql", *flags) == (
        0,
        "\n".join(QUERIES[query]) + "\n",
        "",
    )
