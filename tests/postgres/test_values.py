"""Texts of PostgreSQL, and what is said of a password, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.sqltypes import BIGINT, BOOLEAN, BYTES, STRING, Kind, SqlType
from fsql.connectors.postgres.copy_stream import row_of_copy
from fsql.connectors.postgres.values import json_of
from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path


def test_a_row_of_copy() -> None:
    line = b"a\\\\b\t\\N\t\\t\\n\\\\N\t\\\\\\\\x\t\n"
    assert row_of_copy(line) == ["a\\b", None, "\t\n\\N", "\\\\x", ""]


@pytest.mark.parametrize(
    ("server_type", "type_", "text", "json"),
    [
        ("int4", BIGINT, "-7", b"-7"),
        ("float8", BIGINT, "NaN", b'"NaN"'),
        ("bool", BOOLEAN, "t", b"true"),
        ("bytea", BYTES, "\\x00ff", b'"AP8="'),
        ("jsonb", STRING, '{"a": 1}', b'"{\\"a\\": 1}"'),
        ("json", SqlType(Kind.ARRAY, BIGINT), "[1,\n2]", b"[1, 2]"),
        ("_int4", SqlType(Kind.ARRAY, BIGINT), "[0:1]={1,NULL}", b"[1,null]"),
        ("_text", SqlType(Kind.ARRAY, STRING), '{"a,\\"","NULL",{}}', b'["a,\\"","NULL",[]]'),
    ],
)
def test_values_as_json(server_type: str, type_: SqlType, text: str, json: bytes) -> None:
    assert json_of(server_type, type_)(text) == json


@pytest.mark.parametrize(
    "url", ["postgresql://me:hunter2@h/db", "postgresql://h/db?password=hunter2"]
)
def test_a_password_in_the_url_is_refused(tmp_path: Path, url: str) -> None:
    script = tmp_path / "job.sql"
    script.write_text(
        f"CREATE TABLE w (a INT) WITH ('connector' = 'postgres', 'table' = 'w', 'url' = '{url}');\n"
        "INSERT INTO w SELECT 1;"
    )
    for command in ("check", "run"):
        result = fsql(command, "-q", script)
        assert result.code != 0
        assert result.err.startswith("error[FSQL-E534]: option 'url' has a password")
        assert "hunter2" not in result.err


def test_a_password_in_the_url_of_a_table_that_is_read_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "job.sql"
    script.write_text(
        "CREATE TABLE t (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'postgres', 'slot' = 's',"
        " 'table' = 't', 'url' = 'postgresql://me:hunter2@h/db');\nSELECT * FROM t;"
    )
    for command in ("check", "run"):
        result = fsql(command, "-q", script)
        assert result.code != 0
        assert result.err.startswith("error[FSQL-E534]: option 'url' has a password")
        assert "hunter2" not in result.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("password", "line 1: a line is NAME=VALUE"),
        ("# host\nhost=other", "line 2: property 'host' cannot be set here"),
        ("user=a\nuser=b", "line 2: property 'user' is set more than once"),
    ],
)
def test_properties_that_are_not_valid(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "db.properties").write_text(text)
    script = tmp_path / "job.sql"
    script.write_text(
        "CREATE TABLE w (a INT) WITH ('connector' = 'postgres', 'table' = 'w', 'url' = 'postgresql://h/db',"
        " 'properties' = 'db.properties');\nINSERT INTO w SELECT 1;"
    )
    result = fsql("check", "-q", script)
    assert result.code == 1
    path = tmp_path / "db.properties"
    assert result.err.startswith(f'error[FSQL-E534]: "{path}", {reason}\n')
    assert "help: see the option in the documentation: fsql connectors postgres\n" in result.err
