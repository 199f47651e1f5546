"""Every operator that drops a row because of its time counts it, whatever the query is called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from fsql.compiler import logical
from fsql.tests.cli.commands import fsql, on_workers

if TYPE_CHECKING:
    from pathlib import Path

OPERATORS: Final = {
    # Rows are late for these, which count them.
    logical.WindowAggregate: True,
    logical.AssignSessions: True,
    logical.Rank: True,
    logical.CountLateRows: True,
    # The rows of the sides of a join with a time range are counted by CountLateRows.
    logical.Join: False,
    # The others drop no row because of its time: they have no bound of time, or restart a group (TTL).
    logical.Scan: False,
    logical.Filter: False,
    logical.Project: False,
    logical.Unnest: False,
    logical.LateralAggregate: False,
    logical.AssignWindows: False,
    logical.AssignExpiry: False,
    logical.AssignRowTime: False,
    logical.AssignEnd: False,
    logical.Union: False,
    logical.ApplyChanges: False,
    logical.ToChangelog: False,
    logical.Aggregate: False,
    logical.Over: False,
}
"""Whether the rows of each logical operator can be late."""

TABLES = """
CREATE TABLE a (id STRING, k STRING, at TIMESTAMP(3), WATERMARK FOR at AS at)
    WITH ('connector' = 'file', 'path' = 'a.jsonl');
CREATE TABLE b (id STRING, k STRING, at TIMESTAMP(3), WATERMARK FOR at AS at)
    WITH ('connector' = 'file', 'path' = 'b.jsonl');
CREATE TABLE prices
    (k STRING, price INT, at TIMESTAMP(3), WATERMARK FOR at AS at, PRIMARY KEY (k) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = 'prices.jsonl');
CREATE VIEW aw AS SELECT * FROM TUMBLE(a, at, INTERVAL '5' SECOND);
CREATE VIEW bw AS SELECT * FROM TUMBLE(b, at, INTERVAL '5' SECOND);
"""
WINDOWS = "ON x.k = y.k AND x.window_start = y.window_start AND x.window_end = y.window_end"
NEAR = "ON a.k = b.k AND b.at BETWEEN a.at - INTERVAL '1' SECOND AND a.at + INTERVAL '1' SECOND"
SAME = "a.k = b.k AND b.at BETWEEN a.at - INTERVAL '1' SECOND AND a.at + INTERVAL '1' SECOND"

COUNTED = {
    "SELECT window_end, COUNT(*) AS n FROM TUMBLE(a, at, INTERVAL '5' SECOND) GROUP BY window_end": "a",
    "SELECT window_end, COUNT(*) AS n FROM HOP(a, at, INTERVAL '5' SECOND, INTERVAL '5' SECOND)"
    " GROUP BY window_end": "a",
    "SELECT window_end, COUNT(*) AS n FROM CUMULATE(a, at, INTERVAL '5' SECOND, INTERVAL '5' SECOND)"
    " GROUP BY window_end": "a",
    "SELECT window_end, COUNT(*) AS n FROM SESSION(a, at, INTERVAL '5' SECOND) GROUP BY window_end": "a",
    "SELECT window_end, COUNT(*) AS n FROM aw GROUP BY window_end EMIT CHANGES": "a",
    "SELECT window_end, k, COUNT(*) AS n FROM aw GROUP BY window_end, GROUPING SETS ((k))": "a",
    "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY id) AS r FROM aw)"
    " WHERE r <= 2": "a",
    "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_end, k ORDER BY at) AS r FROM aw)"
    " WHERE r = 1": "a",
    "SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY at RANGE BETWEEN INTERVAL '1' SECOND PRECEDING"
    " AND CURRENT ROW) AS n FROM a": "a",
    "SELECT id, LEAD(id) OVER (PARTITION BY k ORDER BY at) AS next FROM a": "a",
    "SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY at RANGE BETWEEN CURRENT ROW AND INTERVAL '1' SECOND"
    " FOLLOWING) AS n FROM a": "a",
    "SELECT * FROM a MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES V.id AS id PATTERN (V)"
    " DEFINE V AS TRUE)": "a",
    "SELECT a.id, p.price FROM a JOIN prices FOR SYSTEM_TIME AS OF a.at AS p ON a.k = p.k": "ap",
    "SELECT a.id, p.price FROM a LEFT JOIN prices FOR SYSTEM_TIME AS OF a.at AS p ON a.k = p.k": "ap",
    "SELECT a.id, b.id AS b FROM a ASOF JOIN b ON a.k = b.k AND a.at >= b.at": "ab",
    "SELECT a.id, b.id AS b FROM a ASOF LEFT JOIN b ON a.k = b.k AND a.at < b.at": "ab",
    f"SELECT a.id, b.id AS b FROM a JOIN b {NEAR}": "ab",
    f"SELECT a.id, b.id AS b FROM a, b WHERE {SAME}": "ab",
    "SELECT a.id, b.id AS b FROM a JOIN b WITHIN 1 SECOND ON a.k = b.k": "ab",
    f"SELECT a.id, b.id AS b FROM a LEFT JOIN b {NEAR}": "b",
    f"SELECT a.id, b.id AS b FROM a RIGHT JOIN b {NEAR}": "a",
    f"SELECT a.id, b.id AS b FROM a FULL JOIN b {NEAR}": "",
    f"SELECT a.id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {SAME})": "ab",
    f"SELECT a.id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {SAME})": "b",
    f"SELECT x.id, y.id AS b FROM aw AS x JOIN bw AS y {WINDOWS}": "ab",
    f"SELECT x.id, y.id AS b FROM aw AS x LEFT JOIN bw AS y {WINDOWS}": "ab",
    f"SELECT x.id, y.id AS b FROM aw AS x FULL JOIN bw AS y {WINDOWS}": "ab",
    "SELECT id FROM aw AS x WHERE k IN (SELECT k FROM bw AS y WHERE y.window_end = x.window_end)": "ab",
    "SELECT id FROM aw AS x WHERE k NOT IN (SELECT k FROM bw AS y WHERE y.window_end = x.window_end)": "ab",
    f"SELECT a.id FROM a WHERE k NOT IN (SELECT b.k FROM b WHERE {SAME})": "b",
    f"SELECT x.id, y.id AS b FROM aw AS x RIGHT JOIN bw AS y {WINDOWS} AND x.id < 'b'": "ab",
    "SELECT x.id, z.id AS c FROM (SELECT x.id, x.k, x.window_end FROM aw AS x LEFT JOIN bw AS y ON x.k = y.k"
    " AND x.window_end = y.window_end) AS x LEFT JOIN bw AS z ON x.window_end = z.window_end": "abb",
}
"""Queries for which rows are late, with the tables whose row is late, once for each join of them."""

ON_TIME = (
    "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, id ORDER BY at) AS r FROM a) WHERE r = 1",
    "SELECT a.id, b.id AS b FROM a JOIN b ON a.k = b.k",
    "SELECT k, COUNT(*) AS n FROM a GROUP BY k",
)
"""Queries that drop no row."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory with the files of the tables; the last row of each is late."""
    for name, seconds in {"a": (1, 22, 2), "b": (1, 23, 3)}.items():
        rows = [
            {"id": f"{name}{number}", "k": "k", "at": f"2026-01-01T00:00:{second:02}Z"}
            for number, second in enumerate(seconds)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "prices.jsonl").write_text(
        '{"k":"k","price":1,"at":"2026-01-01T00:00:01Z"}\n'
        '{"k":"k","price":2,"at":"2026-01-01T00:00:24Z"}\n'
        '{"k":"k","price":3,"at":"2026-01-01T00:00:04Z"}\n'
    )
    return tmp_path


def late_rows(folder: Path, query: str, *flags: str) -> list[dict[str, object]]:
    """Run a query; return the lines of its late rows, of which the summary has the number."""
    script = folder / "late.sql"
    words = query.split(" EMIT ")
    emit = " ".join(["", "EMIT", *words[1:]]) if len(words) > 1 else ""
    script.write_text(
        f"{TABLES}CREATE TABLE o WITH ('connector' = 'file', 'path' = 'o.jsonl', 'format' = 'debezium-json',"
        f" 'late_path' = 'late.jsonl') AS {words[0]}{emit};\n"
    )
    code, out, err = fsql("run", "--json", script, *flags)
    assert (code, out) == (0, ""), err
    lines = [json.loads(line) for line in (folder / "late.jsonl").read_text().splitlines()]
    assert json.loads(err.splitlines()[-1])["rows_late"] == len(lines)
    return lines


def test_every_operator_is_known() -> None:
    found, waiting = set[type](), [logical.Plan]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            found.add(kind)
            waiting.append(kind)
    assert found == set(OPERATORS), "say whether rows can be late for it, and count them"
    counting = [kind.__name__ for kind, late in OPERATORS.items() if late]
    assert logical.has_late_rows.__annotations__["return"] == f"TypeGuard[{' | '.join(counting)}]"


@pytest.mark.parametrize("query", COUNTED)
def test_rows_that_are_dropped_for_their_time_are_counted(folder: Path, query: str) -> None:
    tables = {"a": "a", "b": "b", "p": "prices"}
    lines = late_rows(folder, query)
    assert sorted(str(line["source"]) for line in lines) == [
        tables[each] for each in COUNTED[query]
    ]
    assert [line["row"] for line in lines] == [2] * len(lines)


@pytest.mark.parametrize("query", ON_TIME)
def test_other_queries_drop_no_row(folder: Path, query: str) -> None:
    assert late_rows(folder, query) == []


@pytest.mark.parametrize(
    "flags", [(), on_workers("--workers=3"), ("--engine=model",)], ids=["", "workers", "model"]
)
def test_late_rows_of_a_join_have_all_columns(folder: Path, flags: tuple[str, ...]) -> None:
    query = f"SELECT a.at FROM a JOIN b {NEAR} WHERE a.id <> 'a2'"
    assert late_rows(folder, query, *flags) == [
        {
            "id": "a2",
            "k": "k",
            "at": "2026-01-01T00:00:02.000Z",
            "source": "a",
            "split": "a.jsonl",
            "row": 2,
            "reason": "no row could be joined with it any more",
        },
        {
            "id": "b2",
            "k": "k",
            "at": "2026-01-01T00:00:03.000Z",
            "source": "b",
            "split": "b.jsonl",
            "row": 2,
            "reason": "no row could be joined with it any more",
        },
    ]


@pytest.mark.parametrize(
    "flags", [(), on_workers("--workers=3"), ("--engine=model",)], ids=["", "workers", "model"]
)
@pytest.mark.parametrize("kind", ["LEFT JOIN", "FULL JOIN", "NOT IN"])
def test_late_rows_of_a_join_of_windows_have_the_columns_of_their_side(
    folder: Path, kind: str, flags: tuple[str, ...]
) -> None:
    """NOT IN of a column that may be NULL is several joins, which have the same late rows."""
    query = f"SELECT x.id FROM aw AS x {kind} bw AS y {WINDOWS}"
    if kind == "NOT IN":
        rows = "SELECT k FROM bw AS y WHERE y.window_end = x.window_end"
        query = f"SELECT id FROM aw AS x WHERE k NOT IN ({rows})"
    window = {
        "window_start": "2026-01-01T00:00:00Z",
        "window_end": "2026-01-01T00:00:05Z",
        "window_time": "2026-01-01T00:00:04.999999Z",
    }
    assert late_rows(folder, query, *flags) == [
        {
            "id": f"{table}2",
            "k": "k",
            "at": f"2026-01-01T00:00:0{second}.000Z",
            **window,
            "source": table,
            "split": f"{table}.jsonl",
            "row": 2,
            "reason": "its window had closed",
        }
        for table, second in (("a", 2), ("b", 3))
    ]


@pytest.mark.parametrize(("second", "late"), [(17, True), (18, False)])
def test_a_row_is_late_when_the_last_row_that_it_could_join_has_expired(
    folder: Path, second: int, *, late: bool
) -> None:
    """The watermark is at 22 s: a row of 18 s may join one of 20 s, which is kept up to 22 s."""
    rows = (folder / "a.jsonl").read_text().replace("00:02Z", f"00:{second}Z")
    (folder / "a.jsonl").write_text(rows)
    near = "a.k = b.k AND b.at BETWEEN a.at - INTERVAL '2' SECOND AND a.at + INTERVAL '2' SECOND"
    lines = late_rows(folder, f"SELECT a.id FROM a JOIN b ON {near}")
    assert [line["id"] for line in lines if line["source"] == "a"] == (["a2"] if late else [])
