"""What a bare SELECT prints: a table on a terminal, JSON lines elsewhere."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.logical import Changes
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, TIMESTAMP, SqlType
from fsql.console.change_table import ChangeTable
from fsql.tests.cli.commands import fsql, on_workers, process
from fsql.tests.unit.connectors.tables import sink

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = (
    "CREATE TABLE t (name STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 't.jsonl');\n"
    "SELECT name, COUNT(*) AS rows_seen, SUM(n) AS total FROM t GROUP BY name EMIT CHANGES;\n"
)
ROWS = '{"name":"a","n":1}\n{"name":"b","n":null}\n{"name":"a","n":5}\n'
LINES = """\
{"op":"+I","name":"a","rows_seen":1,"total":1}
{"op":"+I","name":"b","rows_seen":1,"total":null}
{"op":"-U","name":"a","rows_seen":1,"total":1}
{"op":"+U","name":"a","rows_seen":2,"total":6}
"""
TABLE = """\
op  name      rows_seen  total
──  ────────  ─────────  ─────
+I  a                 1      1
+I  b                 1   NULL
-U  a                 1      1
+U  a                 2      6
"""


@pytest.fixture(name="script")
def _script(tmp_path: Path) -> Path:
    (tmp_path / "t.jsonl").write_text(ROWS)
    (tmp_path / "counts.sql").write_text(COUNTS)
    return tmp_path / "counts.sql"


@pytest.mark.parametrize("flags", [(), on_workers("--workers", "2")])
def test_a_table_can_be_asked_for(script: Path, flags: tuple[str, ...]) -> None:
    said = fsql("run", script, "--quiet", "--format", "table", *flags)
    assert said == (0, TABLE, "")


@pytest.mark.parametrize("flags", [(), ("--format", "json")])
def test_lines_are_printed_where_there_is_no_terminal(script: Path, flags: tuple[str, ...]) -> None:
    assert fsql("run", script, "--quiet", *flags) == (0, LINES, "")


@pytest.mark.parametrize(
    ("flags", "printed"),
    [((), TABLE), (("--format", "json"), LINES), (("--json",), LINES)],
    ids=["table", "format-json", "json"],
)
def test_on_a_terminal_there_is_a_table_unless_json_is_asked_for(
    script: Path, flags: tuple[str, ...], printed: str
) -> None:
    ours, theirs = os.openpty()
    run = process("run", script, "--quiet", *flags, stdout=theirs)
    os.close(theirs)
    shown = b""
    while shown.count(b"\n") < printed.count("\n"):
        shown += os.read(ours, 1 << 16)
    assert run.communicate()[1] == b""
    os.close(ours)
    assert shown.decode().replace("\r\n", "\n") == printed


def test_a_table_that_the_script_declares_keeps_its_format(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(ROWS)
    (tmp_path / "copy.sql").write_text(
        "CREATE TABLE t (name STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 't.jsonl');\n"
        "CREATE TABLE out (name STRING) WITH ('connector' = 'stdout');\n"
        "INSERT INTO out SELECT name FROM t;\n"
    )
    said = fsql("run", tmp_path / "copy.sql", "--quiet", "--format", "table")
    assert said == (0, '{"name":"a"}\n{"name":"b"}\n{"name":"a"}\n', "")


def table_of(types: dict[str, SqlType], *bundles: list[dict[str, object]], width: int) -> str:
    """Return what is drawn of bundles of rows, on a terminal of that width."""
    columns = tuple(Column(name, each, nullable=True) for name, each in types.items())
    stream = io.BytesIO()
    table = ChangeTable(sink(columns, Changes.APPEND), stream, width, "utf-8")
    for bundle in bundles:
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in bundle)
        table.write(memoryview(lines.encode()))
    return stream.getvalue().decode()


def test_long_texts_are_cut_and_numbers_are_not() -> None:
    types = {"n": BIGINT, "text": STRING, "at": TIMESTAMP}
    first = [{"n": 1, "text": "x" * 100, "at": "2026-01-01T12:00:00Z"}]
    later = [{"n": 2**63 - 1, "text": "東京都千代田区丸の内一丁目", "at": None}]
    assert table_of(types, first, later, width=40) == (
        "   n  text          at\n"
        "────  ────────────  ────────────────────\n"
        "   1  xxxxxxxxxxx…  2026-01-01T12:00:00Z\n"
        "9223372036854775807  東京都千代…   NULL\n"
    )


def test_times_are_not_cut() -> None:
    types = {"at": TIMESTAMP, "text": STRING}
    first: list[dict[str, object]] = [{"at": "2026-01-01T12:00:00Z", "text": "x" * 100}]
    later: list[dict[str, object]] = [{"at": "2026-01-01T12:00:00.025Z", "text": "x"}]
    assert table_of(types, first, later, width=40) == (
        "at                    text\n"
        "────────────────────  ──────────────────\n"
        "2026-01-01T12:00:00Z  xxxxxxxxxxxxxxxxx…\n"
        "2026-01-01T12:00:00.025Z  x\n"
    )
    assert table_of(types, later, width=40).splitlines()[1] == "────────────────────────  ────────"
    first[0]["text"] = "y"
    assert table_of(types, first, later, width=40) == (
        "at                        text\n"
        "────────────────────────  ────────\n"
        "2026-01-01T12:00:00Z      y\n"
        "2026-01-01T12:00:00.025Z  x\n"
    )


def test_digits_are_printed_as_they_are_written() -> None:
    rows: list[dict[str, object]] = [{"x": 1e300}, {"x": 0.1}, {"x": -2.0}]
    assert table_of({"x": DOUBLE}, rows, width=80) == ("     x\n──────\n1e+300\n   0.1\n  -2.0\n")


def test_control_characters_do_not_reach_the_terminal() -> None:
    row: dict[str, object] = {"a\nb": "\x1b[2J\u202e\u200b|\t|\u3000|"}
    assert table_of({"a\nb": STRING}, [row], width=80) == (
        "a\\nb\n──────────────────────────\n\\x1b[2J\\u202e\\u200b|\\t|\u3000|\n"
    )


def test_arrays_are_shown_as_json() -> None:
    tags = SqlType(STRING.kind.ARRAY, STRING)
    rows: list[dict[str, object]] = [{"tags": ["a b", None, "é"]}, {"tags": []}, {"tags": None}]
    assert table_of({"tags": tags}, rows, width=80) == (
        'tags\n────────────────\n["a b",null,"é"]\n[]\nNULL\n'
    )
