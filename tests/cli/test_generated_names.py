"""Names that the compiler makes are equal to no name of a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

ROW = '{"k": 1, "exploded array 1": 5, "a": [10, 20]}\n'


def rows_of(folder: Path, select: str) -> str:
    (folder / "rows.jsonl").write_text(ROW)
    (folder / "job.sql").write_text(
        'CREATE TABLE t (k BIGINT, "exploded array 1" BIGINT, a ARRAY<BIGINT>)'
        f" WITH ('connector' = 'file', 'path' = 'rows.jsonl');\n{select};\n"
    )
    said = fsql("run", "--quiet", folder / "job.sql")
    assert (said.code, said.err) == (0, "")
    return said.out


def test_an_alias_like_that_of_exploded_arrays(tmp_path: Path) -> None:
    select = 'SELECT EXPLODE(a) AS e, "exploded array 1" AS n FROM t AS "exploded array"'
    assert rows_of(tmp_path, select) == '{"e":10,"n":5}\n{"e":20,"n":5}\n'


def test_an_alias_like_that_of_subqueries(tmp_path: Path) -> None:
    select = (
        'SELECT k, k + (SELECT MAX(s.k) FROM t AS s WHERE s.k <= "(subquery)".k) AS m'
        ' FROM t AS "(subquery)"'
    )
    assert rows_of(tmp_path, f"{select} EMIT CHANGES").splitlines()[-1].count('"m":2') == 1
