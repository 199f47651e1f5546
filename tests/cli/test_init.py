"""`fsql init`: a project, and the commands in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import CommandResult, fsql

if TYPE_CHECKING:
    from pathlib import Path


HELP = "  = help: name a new directory: fsql init NAME\n"
CHECKED = """\
../queries/page_views.sql: 1 INSERT
  into stdout: append by (window_end, page)
    state of WindowAggregate: one row per group with its values per open window
"""
TESTED = """\
ok      ../tests/page_views.md:5  Views are counted in the window of their time
ok      ../tests/page_views.md:20  A view that is more than five seconds late is not counted
"""
VIEWS = """\
{"window_end":"2026-01-01T12:00:10Z","page":"/","views":3,"visitors":2}
{"window_end":"2026-01-01T12:00:10Z","page":"/cart","views":2,"visitors":2}
{"window_end":"2026-01-01T12:00:10Z","page":"/help","views":1,"visitors":1}
{"window_end":"2026-01-01T12:00:20Z","page":"/","views":2,"visitors":2}
{"window_end":"2026-01-01T12:00:20Z","page":"/cart","views":1,"visitors":1}
{"window_end":"2026-01-01T12:00:30Z","page":"/help","views":2,"visitors":1}
"""
ALL = """\
{"window_end":"2026-01-01T12:01:40Z","page":"/","views":5,"visitors":4}
{"window_end":"2026-01-01T12:01:40Z","page":"/cart","views":3,"visitors":2}
{"window_end":"2026-01-01T12:01:40Z","page":"/help","views":3,"visitors":2}
"""


@pytest.mark.slow
def test_a_new_project_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert fsql("init", "demo") == CommandResult(
        0,
        "",
        "created a project in demo\n"
        "\n"
        "  fsql.toml\n"
        "  .gitignore\n"
        "  data/\n"
        "    views.jsonl\n"
        "  queries/\n"
        "    page_views.sql\n"
        "  tests/\n"
        "    page_views.md\n"
        "\n"
        "next:\n"
        "\n"
        "  cd demo\n"
        "  fsql run\n"
        "  fsql test\n"
        "  fsql check\n",
    )
    monkeypatch.chdir(tmp_path / "demo" / "data")
    assert fsql("run", "--quiet") == (0, VIEWS, "")
    assert fsql("run", "--quiet", "-D", "seconds=100", "--workers", "2") == (0, ALL, "")
    assert fsql("check") == (
        0,
        CHECKED,
        "",
    )
    code, out, err = fsql("test")
    assert (code, out) == (0, TESTED)
    assert err.startswith("2 cases: 2 passed, 0 failed, in ")
    assert fsql("fmt", "--check", "--quiet") == (0, "", "")
    assert fsql("explain").out.startswith("Insert into stdout\n")
    assert fsql("compile", "-o", tmp_path / "views.plan").code == 0
    assert fsql("run", "--quiet", tmp_path / "views.plan").out == VIEWS


def test_messages_as_json(tmp_path: Path) -> None:
    code, out, err = fsql("init", "--json", tmp_path / "new" / "demo")
    assert (code, out) == (0, "")
    assert json.loads(err) == {
        "event": "created",
        "directory": f"{tmp_path}/new/demo",
        "files": [
            "fsql.toml",
            ".gitignore",
            "data/views.jsonl",
            "queries/page_views.sql",
            "tests/page_views.md",
        ],
        "commands": [
            f"cd {tmp_path}/new/demo",
            "fsql run",
            "fsql test",
            "fsql check",
        ],
    }
    assert fsql("init", "--quiet", tmp_path / "other") == (0, "", "")


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    assert fsql("init").code == 0
    (tmp_path / "fsql.toml").write_text("# mine\n")
    assert fsql("init") == (
        1,
        "",
        f'error[FSQL-E704]: directory "." is not empty: it has .gitignore, data, fsql.toml, …\n{HELP}',
    )
    assert (tmp_path / "fsql.toml").read_text() == "# mine\n"
    message = f'error[FSQL-E704]: "fsql.toml" is a file\n{HELP}'
    assert fsql("init", "fsql.toml") == (1, "", message)
