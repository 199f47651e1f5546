"""Rows of changes: which kinds are known, and where the others are reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fsql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

SCRIPT = """
    CREATE TABLE u (k BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH (
        'connector' = 'file', 'path' = 'u', 'format' = '${format}', 'changes' = 'upsert',
        'on_error' = 'reject', 'rejects_path' = 'rejects'
    );
    CREATE TABLE o (k BIGINT) WITH ('connector' = 'file', 'path' = 'o');
    INSERT INTO o SELECT k FROM u;
"""
JSON = '{"op":"+I","k":1}\n{"op":"x","k":2}\n{"k":null}\n{"k":3}\n{"op":"-D","k":1}\n'
CSV = "k,op\n1,+I\n2,x\n,+U\n3,\n1,-D\n"


@pytest.mark.parametrize(("name", "text", "first_line"), [("json", JSON, 2), ("csv", CSV, 3)])
def test_unknown_kinds_and_keys_without_value_are_rejects(
    name: str, text: str, first_line: int, tmp_path: Path
) -> None:
    (tmp_path / "u").write_text(text)
    fsql.Session(base_directory=tmp_path, parameters={"format": name}).run(SCRIPT)
    released = [json.loads(line) for line in (tmp_path / "o").read_text().splitlines()]
    assert [(row["op"], row["k"]) for row in released] == [("+I", 1), ("+I", 3), ("-D", 1)]
    rejects = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert [(reject["line"], reject["code"], reject["field"]) for reject in rejects] == [
        (first_line, "FSQL-E524", "op"),
        (first_line + 1, "FSQL-E521", "k"),
    ]


# Columns that are NOT NULL, of which a deletion needs those of the key only.

ROWS = (
    {"op": "+I", "id": 1, "name": "a", "n": 1},
    {"op": "+U", "id": 2, "name": "b", "n": 2},
    {"op": "-D", "id": 1, "name": None, "n": None},
    {"op": "+I", "id": 3, "name": None, "n": 3},
    {"op": "-U", "id": 2, "name": "b", "n": None},
    {"op": None, "id": 4, "name": "d", "n": 4},
    {"op": None, "id": 5, "name": "e", "n": None},
    {"op": "-D", "id": 4, "name": None, "n": None},
    {"op": "-D", "id": None, "name": "f", "n": 6},
)
AVRO = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": name, "type": ["null", kind]}
        for name, kind in (("op", "string"), ("id", "int"), ("name", "string"), ("n", "int"))
    ],
}


def write_json(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows))


def write_sparse_json(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    write_json(path, [{k: v for k, v in row.items() if v is not None} for row in rows])


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    lines = [",".join("" if v is None else str(v) for v in row.values()) for row in rows]
    path.write_text("\n".join(("op,id,name,n", *lines, "")))


def write_parquet(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    types = (("op", pa.string()), ("id", pa.int32()), ("name", pa.string()), ("n", pa.int32()))
    pq.write_table(pa.Table.from_pylist(list(rows), pa.schema(types)), path)


def write_avro(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("wb") as file:
        fastavro.writer(file, AVRO, rows)


def write_events(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    events = []
    for row in rows:
        image = {k: v for k, v in row.items() if k != "op"}
        events.append(
            {"op": "d", "before": image, "after": None}
            if row["op"] == "-D"
            else {"op": "u", "before": None, "after": image}
        )
    write_json(path, events)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("json", write_json),
        ("json", write_sparse_json),
        ("csv", write_csv),
        ("parquet", write_parquet),
        ("avro", write_avro),
        ("debezium-json", write_events),
    ],
)
@pytest.mark.parametrize("on_error", ["reject", "null_field"])
def test_a_deletion_needs_the_key_only(
    name: str,
    write: Callable[[Path, Sequence[dict[str, Any]]], None],
    on_error: str,
    tmp_path: Path,
) -> None:
    write(tmp_path / "s", [row for row in ROWS if name != "debezium-json" or row["op"] != "-U"])
    changes = "" if name == "debezium-json" else "'changes' = 'upsert',"
    parameters = {"format": name, "changes": changes, "on_error": on_error}
    fsql.Session(base_directory=tmp_path, parameters=parameters).run(
        """
        CREATE TABLE s (id INT, name STRING NOT NULL, n INT NOT NULL, PRIMARY KEY (id) NOT ENFORCED)
            WITH (
                'connector' = 'file', 'path' = 's', 'format' = '${format}', ${changes}
                'on_error' = '${on_error}', 'rejects_path' = 'rejects'
            );
        CREATE TABLE o (id INT NOT NULL, name STRING NOT NULL, n INT NOT NULL)
            WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT id, name, n FROM s;
        """
    )
    assert (tmp_path / "o").read_text().splitlines() == [
        '{"op":"+I","id":1,"name":"a","n":1}',
        '{"op":"+I","id":2,"name":"b","n":2}',
        '{"op":"-D","id":1,"name":"a","n":1}',
        '{"op":"+I","id":4,"name":"d","n":4}',
        '{"op":"-D","id":4,"name":"d","n":4}',
    ]
    rejects = map(json.loads, (tmp_path / "rejects").read_text().splitlines())
    assert [(each["code"], each["field"], each["reason"]) for each in rejects] == [
        ("FSQL-E521", field, "a value is required") for field in ("name", "n", "id")
    ]


def test_a_malformed_value_of_a_required_column_is_no_null(tmp_path: Path) -> None:
    rows = ({"id": 1, "n": "x"}, {"op": "-D", "id": 1, "n": "x"}, {"id": 2, "n": 2})
    write_json(tmp_path / "s", rows)
    fsql.Session(base_directory=tmp_path).run(
        """
        CREATE TABLE s (id INT, n INT NOT NULL, PRIMARY KEY (id) NOT ENFORCED) WITH (
            'connector' = 'file', 'path' = 's', 'changes' = 'upsert',
            'on_error' = 'null_field', 'rejects_path' = 'rejects'
        );
        CREATE TABLE o (id INT, n INT) WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT id, n FROM s;
        """
    )
    assert (tmp_path / "o").read_text() == '{"op":"+I","id":2,"n":2}\n'
    rejects = map(json.loads, (tmp_path / "rejects").read_text().splitlines())
    assert [(each["row"], each["code"], each["field"]) for each in rejects] == [
        (0, "FSQL-E513", "n"),
        (1, "FSQL-E513", "n"),
    ]
