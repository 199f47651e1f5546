"""Queries that other engines have been wrong at, by public reports: ours stay right."""

from __future__ import annotations

import math

import fsql

Rows = list[dict[str, object]]


def rows(query: str, **tables: Rows) -> Rows:
    found: Rows = fsql.sql(query, tables=tables).table().to_pylist()
    return found


def test_a_name_of_a_column_and_an_alias_is_the_column_in_group_by() -> None:
    found = rows(
        "SELECT COALESCE(action, 'none') AS action, COUNT(*) AS n FROM t GROUP BY action",
        t=[{"action": "x"}, {"action": None}, {"action": "x"}],
    )
    assert sorted(found, key=str) == [{"action": "none", "n": 1}, {"action": "x", "n": 2}]


def test_counts_of_no_rows_are_computed_in_lateral_and_scalar_subqueries() -> None:
    query = (
        "SELECT o.id, s.a, s.c, (SELECT COUNT(*) + 2 FROM t WHERE t.oid = o.id) AS b"
        " FROM o LEFT JOIN LATERAL (SELECT COUNT(*) + 2 AS a,"
        " CASE WHEN COUNT(*) = 0 THEN 7 ELSE COUNT(*) END AS c FROM t WHERE t.oid = o.id) AS s"
        " ON TRUE"
    )
    found = rows(query, o=[{"id": 1}, {"id": 2}], t=[{"oid": 1}, {"oid": 1}])
    assert sorted(found, key=str) == [
        {"id": 1, "a": 4, "c": 2, "b": 4},
        {"id": 2, "a": 2, "c": 7, "b": 2},
    ]


def test_zeros_are_one_key_and_so_are_nans() -> None:
    values: Rows = [{"d": 0.0, "n": 1}, {"d": -0.0, "n": 2}, {"d": math.nan, "n": 3}]
    grouped = rows("SELECT CAST(d AS STRING) AS g, SUM(n) AS s FROM t GROUP BY d", t=values)
    assert sorted(grouped, key=str) == [{"g": "0.0", "s": 3}, {"g": "NaN", "s": 3}]
    (distinct,) = rows(
        "SELECT COUNT(DISTINCT d) AS a, COUNT(DISTINCT ARRAY[d]) AS b, COUNT(DISTINCT ROW(d)) AS c FROM t",
        t=values,
    )
    assert distinct == {"a": 2, "b": 2, "c": 2}


def test_aggregates_of_null_alone_are_null() -> None:
    (found,) = rows(
        "SELECT MAX(v) AS m, MIN(v) AS l, SUM(v) AS s, AVG(v) AS a, COUNT(v) AS n FROM"
        " (SELECT CAST(NULL AS BIGINT) AS v)"
    )
    assert found == {"m": None, "l": None, "s": None, "a": None, "n": 0}


def test_paths_of_json_reach_odd_keys() -> None:
    text = '{"a.b": 1, "c d": {"é\\"x": [1, 2.50, 9007199254740993]}, "": 0, "$ref": "r"}'
    (found,) = rows(
        """SELECT JSON_VALUE(l, '$."a.b"') AS a, JSON_VALUE(l, '$["a.b"]') AS b,
        JSON_VALUE(l, '$."c d"."é\\"x"[2]') AS big, l ->> '' AS empty, l ->> '$ref' AS ref FROM t""",
        t=[{"l": text}],
    )
    assert found == {"a": "1", "b": "1", "big": "9007199254740993", "empty": "0", "ref": "r"}


def test_texts_are_of_code_points() -> None:
    (found,) = rows(
        "SELECT UPPER(s) AS u, LENGTH(s) AS n, REVERSE(s) AS r, SUBSTRING(s, 2, 2) AS m FROM t",
        t=[{"s": "Straße"}],
    )
    assert found == {"u": "STRASSE", "n": 6, "r": "eßartS", "m": "tr"}
