"""Names that the compiler makes are equal to no name of a script, and are shown without marks of control."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.syntax.names import generated_name
from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

ROW = '{"k": 1, "exploded array 1": 5, "a": [10, 20], "an element": 7, "m": {"x": 1}}\n'
DECLARED = (
    'CREATE TABLE t (k BIGINT, "exploded array 1" BIGINT, a ARRAY<BIGINT>, "an element" BIGINT,'
    " m MAP<STRING, BIGINT>) WITH ('connector' = 'file', 'path' = 'rows.jsonl');"
)


def outcome_of(folder: Path, select: str) -> tuple[int, str, str]:
    (folder / "rows.jsonl").write_text(ROW)
    (folder / "job.sql").write_text(f"{DECLARED}\n{select};\n")
    said = fsql("run", "--quiet", folder / "job.sql")
    return said.code, said.out, said.err


def test_no_script_can_have_them() -> None:
    name = generated_name("array")
    assert unicodedata.normalize("NFC", name) != name
    assert name.isprintable()


@pytest.mark.parametrize(
    ("select", "rows"),
    [
        (
            'SELECT EXPLODE(a) AS e, "exploded array 1" AS n FROM t AS "exploded array"',
            '{"e":10,"n":5}\n{"e":20,"n":5}\n',
        ),
        (
            'SELECT k + "an element" AS n, "an element" = ANY (a) AS any, MAP_KEYS(m) AS keys FROM t',
            '{"n":8,"any":false,"keys":["x"]}\n',
        ),
        (
            'SELECT ARRAY(SELECT b.k + "array".k FROM t AS b ORDER BY 1) AS k FROM t AS "array"',
            '{"op":"+I","k":[2]}\n',
        ),
        (
            'SELECT k + (SELECT MAX(s.k) FROM t AS s WHERE s.k <= "subquery".k) AS m FROM t AS "subquery"',
            '{"op":"+I","m":2}\n',
        ),
        (
            'SELECT p.x FROM t AS "(part)", LATERAL (SELECT "(part)".k AS x UNION ALL SELECT 2) AS p',
            '{"x":1}\n{"x":2}\n',
        ),
    ],
)
def test_scripts_may_have_names_like_them(tmp_path: Path, select: str, rows: str) -> None:
    assert outcome_of(tmp_path, select) == (0, rows, "")


def test_messages_show_no_marks_of_control(tmp_path: Path) -> None:
    code, out, err = outcome_of(tmp_path, "SELECT EXPLODE(k) AS e FROM t")
    assert (code, out) == (1, "")
    assert err.replace("\n", "").isprintable()
