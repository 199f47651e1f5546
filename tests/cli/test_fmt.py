"""`fsql fmt`: files in place, checked, or as a diff."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

UGLY = "select a,b from t -- c\n;"
NICE = "SELECT a, b FROM t -- c\n;\n"
DIFF = """\
--- queries/a.sql
+++ queries/a.sql
@@ -1,2 +1,2 @@
-select a,b from t -- c
-;
\\ No newline at end of file
+SELECT a, b FROM t -- c
+;
"""


def test_files_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries").mkdir()
    ugly, nice, wrong = (tmp_path / "queries" / name for name in ("a.sql", "b.sql", "c.sql"))
    ugly.write_text(UGLY)
    nice.write_text(NICE)
    would = "would format queries/a.sql\n1 of 2 scripts unchanged\n"
    assert fsql("fmt", "--check", "queries") == (1, "", would)
    assert fsql("fmt", "--diff", "--quiet", "queries") == (1, DIFF, "")
    assert ugly.read_text() == UGLY
    (tmp_path / "fsql.toml").write_text("")
    assert fsql("fmt") == (0, "", "formatted queries/a.sql\n1 of 2 scripts unchanged\n")
    assert (ugly.read_text(), nice.read_text()) == (NICE, NICE)
    assert fsql("fmt", "--check") == (0, "", "2 of 2 scripts unchanged\n")
    wrong.write_text("SELECT FROM t")
    ugly.write_text(UGLY)
    code, out, err = fsql("fmt", "--json")
    assert code == 1
    assert json.loads(out) == {
        "changed": ["queries/a.sql"],
        "failed": ["queries/c.sql"],
        "scripts": 3,
        "written": True,
    }
    assert "FSQL-E101" in err
    assert wrong.read_text() == "SELECT FROM t"


def test_standard_input() -> None:
    assert fsql("fmt", "--quiet", "-", text=UGLY) == (0, NICE, "")
    assert fsql("fmt", "--check", "--quiet", "-", text=UGLY) == (1, "", "")
