"""Functions of ksqlDB that are calls of others: their values, also of NULL and in rows that lack one."""

from __future__ import annotations

import fsql

ROWS: list[dict[str, object]] = [
    {"a": [2, None, 1], "j": '{"b": 5, "a": "x"}', "n": 10, "s": "0x21"},
    {"a": None, "j": "[1", "n": -1, "s": "x'2'"},
    {"a": [], "j": None, "n": None, "s": None},
]


def test_arrays_and_json() -> None:
    query = """
        SELECT
            ARRAY_SORT(a, 'DESC') AS falling, ARRAY_SORT(a, 'asc') AS rising,
            JSON_RECORDS(j) AS records, IS_JSON_STRING(j) AS valid, FROM_DAYS(n) AS day
        FROM t
    """
    changes = fsql.sql(query, tables={"t": ROWS})
    assert [[*[*change.row.values()][:4], str(change.row["day"])] for change in changes] == [
        [
            [2, 1, None],
            [1, 2, None],
            [("a", '"x"'), ("b", "5")],
            True,
            "1970-01-11",
        ],
        [None, None, None, False, "1969-12-31"],
        [[], [], None, False, "None"],
    ]


def test_encodings() -> None:
    query = """
        SELECT
            TO_BYTES(s, 'hex') AS data, FROM_BYTES(TO_BYTES(s, 'hex'), 'utf8') AS text,
            ENCODE(s, 'utf8', 'hex') AS digits, ENCODE('IQ==', 'base64', 'ascii') AS mark
        FROM t
    """
    assert [change.row for change in fsql.sql(query, tables={"t": ROWS})] == [
        {"data": b"!", "text": "!", "digits": "30783231", "mark": "!"},
        {"data": None, "text": None, "digits": "78273227", "mark": "!"},
        {"data": None, "text": None, "digits": None, "mark": "!"},
    ]
