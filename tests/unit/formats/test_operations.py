"""Rows of changes: which kinds are known, and where the others are reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import fsql

if TYPE_CHECKING:
    from pathlib import Path

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
