"""JSON in JSON is not quoted: columns of JSON, and results of functions that give it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import fsql

if TYPE_CHECKING:
    from pathlib import Path

LINES = (
    '{"k": "a", "j": {"b": [1, "x"]}}',
    '{"k": "b", "j": "999"}',
    '{"k": "c", "j": "no JSON"}',
    '{"k": "d", "j": null}',
)
VALUES: list[object] = [{"b": [1, "x"]}, 999, "no JSON", None]


@pytest.fixture
def declared(tmp_path: Path) -> str:
    (tmp_path / "t.jsonl").write_text("".join(f"{line}\n" for line in LINES))
    path = tmp_path / "t.jsonl"
    return (
        f"CREATE TABLE t (k STRING, j JSONB) WITH ('connector' = 'file', 'path' = '{path}');"
        " CREATE VIEW v AS SELECT k AS name, j AS doc FROM t WHERE k < 'z';\n"
    )


def texts(query: str) -> list[object]:
    """Return what the documents of a query say; None where there is none."""
    found = [row["r"] for row in fsql.sql(query).table().to_pylist()]
    return [None if text is None else json.loads(text) for text in found]


@pytest.mark.parametrize(
    ("item", "shape"),
    [
        ("JSON_STRING(j)", lambda value: value),
        ("TO_JSONB(j)", lambda value: value),
        ("TO_JSON(COALESCE(j, JSON_OBJECT()))", lambda value: {} if value is None else value),
        ("JSON_OBJECT(KEY 'o' VALUE j)", lambda value: {"o": value}),
        ("JSON_BUILD_OBJECT('o', j, 'n', 1)", lambda value: {"o": value, "n": 1}),
        ("JSON_ARRAY(j, 'x' NULL ON NULL)", lambda value: [value, "x"]),
        ("JSON_STRING(ROW(j, 'x'))", lambda value: {"f1": value, "f2": "x"}),
        ("TO_JSON(STRUCT(doc := j, k := 1))", lambda value: {"doc": value, "k": 1}),
        ("TO_JSON(ARRAY[j, PARSE_JSON('[1]')])", lambda value: [value, [1]]),
        ("JSON_STRING(MAP['o', j, 'p', 'x'])", lambda value: {"o": value, "p": "x"}),
        ("JSON_OBJECT(KEY 'o' VALUE MAP[1, j])", lambda value: {"o": {"1": value}}),
        ("TO_JSON(MAP['o', ARRAY[j]])", lambda value: {"o": [value]}),
        ("JSON_OBJECT(KEY 'o' VALUE STRUCT(doc := j))", lambda value: {"o": {"doc": value}}),
        ("JSON_STRING(CASE WHEN k = 'a' THEN j END)", None),
    ],
)
def test_columns_of_json_are_not_quoted(declared: str, item: str, shape: object) -> None:
    found = texts(f"{declared} SELECT {item} AS r FROM t")
    expected = (
        [VALUES[0], None, None, None] if shape is None else [shape(each) for each in VALUES]  # type: ignore[operator]
    )
    if item.startswith(("JSON_STRING(j", "TO_JSONB")):
        expected[-1] = None
    assert found == expected


@pytest.mark.parametrize("source", ["t", "(SELECT name AS k, doc AS j FROM v)"])
@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("JSONB_AGG(j ORDER BY k)", VALUES),
        ("JSON_ARRAYAGG(j ORDER BY k)", VALUES[:3]),
        ("JSONB_OBJECT_AGG(k, j)", dict(zip("abcd", VALUES, strict=True))),
        ("JSON_OBJECTAGG(KEY k VALUE j)", dict(zip("abcd", VALUES, strict=True))),
        ("JSON_AGG(JSON_OBJECT(KEY 'o' VALUE j) ORDER BY k)", [{"o": each} for each in VALUES]),
        ("JSON_AGG(MAP[k, j] ORDER BY k)", [{k: v} for k, v in zip("abcd", VALUES, strict=True)]),
        ("JSON_AGG(STRUCT(doc := j) ORDER BY k)", [{"doc": each} for each in VALUES]),
    ],
)
def test_aggregates_of_json_do_not_quote(
    declared: str, source: str, call: str, value: object
) -> None:
    assert texts(f"{declared} SELECT {call} AS r FROM {source}") == [value]


def test_documents_stay_documents_through_a_query(declared: str) -> None:
    query = (
        "SELECT JSON_STRING(w.d) AS r FROM"
        " (SELECT MAX(j) AS d, k FROM t GROUP BY k UNION ALL SELECT PARSE_JSON('{}'), 'z') AS w"
        " JOIN t ON t.k = w.k WHERE t.k = 'a'"
    )
    assert texts(declared + query) == [VALUES[0]]


def test_texts_are_quoted() -> None:
    query = "SELECT JSON_OBJECT(KEY 'a' VALUE '[1]', KEY 'b' VALUE JSON_STRING('[1]')) AS r"
    assert texts(query) == [{"a": "[1]", "b": "[1]"}]
    assert texts("SELECT JSON_AGG(x) AS r FROM (VALUES ('[1]')) AS t(x)") == [["[1]"]]
    assert texts("SELECT JSON_QUOTE(JSON_ARRAY(1)) AS r") == ["[1]"]
    assert texts("SELECT JSON_STRING(JSON_STRING(JSON_OBJECT(KEY 'k' VALUE 'v'))) AS r") == [
        {"k": "v"}
    ]


ROWS = (
    '{"k": 1, "r": {"j": {"b": [1, "x"]}, "n": 1, "in": {"j": [1]}}}',
    '{"k": 2, "r": {"j": "no JSON", "n": 2, "in": null}}',
    '{"k": 3, "r": null}',
)
WHOLE: list[object] = [
    {"j": {"b": [1, "x"]}, "n": 1, "in": {"j": [1]}},
    {"j": "no JSON", "n": 2, "in": None},
    None,
]


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("SELECT TO_JSON(r) AS r FROM t", WHOLE),
        ("SELECT JSON_OBJECT(KEY 'o' VALUE r) AS r FROM t", [{"o": each} for each in WHOLE]),
        ("SELECT JSON_STRING(r.j) AS r FROM t", [{"b": [1, "x"]}, "no JSON", None]),
        (
            "SELECT TO_JSON(renamed.in) AS r FROM (SELECT r AS renamed FROM t)",
            [{"j": [1]}, None, None],
        ),
        ("SELECT TO_JSON(ROW(r.in.j, k)) AS r FROM t WHERE k = 1", [{"f1": [1], "f2": 1}]),
        ("SELECT TO_JSON(COALESCE(r, r)) AS r FROM t", WHOLE),
        (
            "SELECT JSONB_AGG(r.in) AS r FROM t GROUP BY k HAVING k = 1",
            [[{"j": [1]}]],
        ),
        ("SELECT TO_JSON(MAX(r.j)) AS r FROM t WHERE k = 1 GROUP BY k", [{"b": [1, "x"]}]),
        (
            "SELECT JSON_OBJECT('a' VALUE LAST_VALUE(r)) AS r FROM t WHERE k = 1 GROUP BY k",
            [{"a": WHOLE[0]}],
        ),
        ("SELECT TO_JSON(LAG(r.in) OVER ()) AS r FROM t WHERE k < 3", [None, {"j": [1]}]),
        (
            "SELECT TO_JSON(STRING_AGG(r.j)) AS r FROM t WHERE k < 3 GROUP BY r.n",
            ['{"b":[1,"x"]}', "no JSON"],
        ),
        (
            "SELECT TO_JSON(r) AS r FROM t WHERE k = 1 UNION ALL SELECT TO_JSON(r) FROM t WHERE k = 3",
            [WHOLE[0], None],
        ),
        (
            "SELECT TO_JSON(u) AS r FROM (SELECT r AS u FROM t UNION ALL SELECT r FROM t) WHERE u.n = 1",
            [WHOLE[0], WHOLE[0]],
        ),
    ],
)
def test_fields_of_rows_are_not_quoted(query: str, result: list[object], tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f"{line}\n" for line in ROWS))
    row = "ROW<j JSONB, n INT, `in` ROW<j JSON>>"
    table = f"CREATE TABLE t (k INT, r {row}) WITH ('connector' = 'file', 'path' = '{path}');"
    assert texts(f"{table} {query.replace('.in', '.`in`')}") == result
