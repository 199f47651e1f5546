"""Queries over tables of changes that other systems had wrong: filters, joins, ranks of rows that change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import fsql

if TYPE_CHECKING:
    from pathlib import Path

TABLE = """
CREATE TABLE {name} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = '{name}', 'changes' = 'upsert');
"""


def table(folder: Path, name: str, columns: str, rows: list[dict[str, Any]]) -> str:
    """Write the rows of a table of changes whose key is its first column; return the statement."""
    (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return TABLE.format(name=name, columns=columns, key=columns.split(maxsplit=1)[0])


def test_a_filter_on_a_column_that_changes_removes_the_row(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"a": a, "c": c} for a, c in ((1, 1), (2, 1), (1, 2), (1, 0), (1, 5), (3, 9))
    ]
    script = table(tmp_path, "t", "a INT, c INT", [*rows, {"op": "-D", "a": 3}])
    script += table(tmp_path, "r", "a INT, c INT", []).replace("'r'", "'out'")
    fsql.Session(base_directory=tmp_path).run(
        script + "INSERT INTO r SELECT a, c FROM t WHERE c < 2;"
    )
    assert (tmp_path / "out").read_text().splitlines() == [
        '{"op":"+I","a":1,"c":1}',
        '{"op":"+I","a":2,"c":1}',
        '{"op":"-D","a":1,"c":1}',
        '{"op":"+I","a":1,"c":0}',
        '{"op":"-D","a":1,"c":0}',
    ]


def test_a_foreign_key_that_refers_to_nothing_any_more_ends_the_pair(tmp_path: Path) -> None:
    keys = (("k", 1), ("k", 7), ("m", None), ("m", 1))
    script = table(tmp_path, "a", "k STRING, fk INT", [{"k": k, "fk": fk} for k, fk in keys])
    script += table(
        tmp_path, "b", "id INT, name STRING", [{"id": 1, "name": n} for n in ("one", None)]
    )
    query = "SELECT k, fk, name FROM a JOIN b ON a.fk = b.id;"
    result = fsql.Session(base_directory=tmp_path).sql(script + query)
    assert [tuple(row.values()) for row in result.table().to_pylist()] == [("m", 1, None)]


def test_ranks_follow_rows_that_change_and_are_removed(tmp_path: Path) -> None:
    values = ((1, 5), (2, 5), (3, None), (4, 4), (1, 3), (2, None))
    rows: list[dict[str, Any]] = [{"id": i, "v": v} for i, v in values]
    script = table(tmp_path, "t", "id INT, v INT", [*rows, {"op": "-D", "id": 4}])
    query = """
        SELECT id, v, rn FROM (
            SELECT id, v, ROW_NUMBER() OVER (ORDER BY v DESC NULLS LAST, id) AS rn FROM t
        ) WHERE rn <= 2;
    """
    result = fsql.Session(base_directory=tmp_path).sql(script + query)
    assert [tuple(row.values()) for row in result.table().to_pylist()] == [(1, 3, 1), (2, None, 2)]


def test_a_row_that_a_limit_has_pushed_out_can_be_removed(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": i, "g": "A", "v": 10 * i} for i in (1, 2, 3, 4)]
    rows += [{"op": "-D", "id": i} for i in (2, 4, 4)]
    rows += [{"id": 2, "g": "A", "v": 99}, {"id": 3, "g": "B", "v": 30}, {"op": "-D", "id": 1}]
    script = table(tmp_path, "t", "id INT, g STRING, v INT", rows)
    query = """
        SELECT g, id, v FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC) AS n FROM t
        ) WHERE n <= 2;
    """
    result = fsql.Session(base_directory=tmp_path).sql(script + query)
    assert sorted(tuple(row.values()) for row in result.table().to_pylist()) == [
        ("A", 2, 99),
        ("B", 3, 30),
    ]


def test_aggregates_of_no_pair_are_null(tmp_path: Path) -> None:
    for name, rows in (("l", ((1, 1000), (2, 2000))), ("r", ((1, 2059),))):
        (tmp_path / name).write_text("".join(f'{{"a":{a},"at":{at}}}\n' for a, at in rows))
    script = """
        CREATE TABLE l (a INT, at TIMESTAMP, WATERMARK FOR at) WITH ('connector' = 'file', 'path' = 'l');
        CREATE TABLE r (a INT, at TIMESTAMP, WATERMARK FOR at) WITH ('connector' = 'file', 'path' = 'r');
        CREATE VIEW p AS SELECT l.a, EPOCH_MILLIS(r.at) - EPOCH_MILLIS(l.at) AS ms FROM l
            LEFT JOIN r ON l.a = r.a AND r.at BETWEEN l.at AND l.at + INTERVAL '1' DAY;
        SELECT a, MAX(ms) AS most, SUM(ms) AS s, COUNT(ms) AS n, COUNT(*) AS r FROM p GROUP BY a;
    """
    result = fsql.Session(base_directory=tmp_path).sql(script)
    assert sorted(tuple(row.values()) for row in result.table().to_pylist()) == [
        (1, 1059, 1059, 1, 1),
        (2, None, None, 0, 1),
    ]


def test_rows_of_two_tables_have_several_for_each_key(tmp_path: Path) -> None:
    script = table(tmp_path, "a", "k INT, v INT", []) + table(tmp_path, "b", "k INT, v INT", [])
    script += table(tmp_path, "o", "k INT, v INT", []).replace("'o'", "'out'")
    query = "INSERT INTO o SELECT k, v FROM a UNION ALL SELECT k, v FROM b;"
    with pytest.raises(fsql.QueryError, match="FSQL-E311"):
        fsql.Session(base_directory=tmp_path).run(script + query)
