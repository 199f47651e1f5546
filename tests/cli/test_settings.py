"""`fsql.toml`, the settings of the user and of the environment."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fsql.console.project.declared import SETTINGS
from fsql.tests.cli.commands import NUMBERS, fsql
from fsql.tests.docs.pages import page_text, section, table_rows

SHOWN = """\
script = "a.sql"        # fsql.toml
scripts = ["queries"]   # default
tests = ["tests"]       # default
# functions =           # not set

[run]
workers = 3             # environment variable FSQL_RUN_WORKERS
policy = "ordered"      # fsql.toml
format = "table"        # {user}
overwrite = false       # default
# state =               # not set

[parameters]
minutes = "5"           # fsql.toml
name = "a \\"b\\""      # fsql.toml
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of a project that is the working directory, of a user with settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "user" / "fsql").mkdir(parents=True)
    directory = tmp_path / "project"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def test_where_settings_come_from(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = Path(os.environ["XDG_CONFIG_HOME"]) / "fsql" / "config.toml"
    user.write_text('[run]\nformat = "table"\npolicy = "speculative"\nworkers = 2\n')
    (project / "fsql.toml").write_text(
        'script = "a.sql"\nrun.workers = 4\nrun.policy = "ordered"\n'
        "[parameters]\nminutes = 5\nname = 'a \"b\"'\n"
    )
    monkeypatch.setenv("FSQL_RUN_WORKERS", "3")
    code, out, err = fsql("config", "show", "--origin")
    assert (code, err) == (0, "")
    shown = "../user/fsql/config.toml"
    assert [line.split() for line in out.splitlines()] == [
        line.split() for line in SHOWN.format(user=shown).splitlines()
    ]
    facts = json.loads(fsql("config", "show", "--json").out)
    assert facts["run.policy"] == {"value": "ordered", "origin": "fsql.toml"}
    assert facts["parameters.minutes"] == {"value": "5", "origin": "fsql.toml"}


def test_what_config_shows_is_a_settings_file(project: Path) -> None:
    (project / "fsql.toml").write_text('run.workers = 4\n[parameters]\nname = "ä"\n')
    shown = fsql("config", "show").out
    (project / "fsql.toml").write_text(shown)
    assert fsql("config", "show").out == shown


def test_flags_come_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "one.sql").write_text(f"{NUMBERS}SELECT '${{word}}' AS w, ${{n}} AS n FROM numbers")
    (project / "numbers.jsonl").write_text('{"n": 1}\n')
    (project / "fsql.toml").write_text(
        'script = "one.sql"\n[parameters]\nword = "a"\nn = 1\nother = 2\n[run]\nformat = "table"\n'
    )
    assert fsql("run", "-q") == (0, "w            n\n────────  ────\na            1\n", "")
    assert fsql("run", "-q", "-D", "n=2", "--format", "json").out == '{"w":"a","n":2}\n'
    assert fsql("run", "-q", "-e", f"{NUMBERS}SELECT n + ${{n}} AS m FROM numbers").out == (
        "   m\n────\n   2\n"
    )
    monkeypatch.setenv("FSQL_SCRIPT", "two.sql")
    assert fsql("run").err.startswith('error[FSQL-E531]: path "two.sql" cannot be read')


ERRORS = {
    "[run]\nworker = 2\n": """\
error[FSQL-E702]: setting "run.worker" does not exist
 --> fsql.toml:2:1
  |
2 | worker = 2
  | ^^^^^^
  = help: a setting with a similar name exists: run.workers
  = help: fsql config show lists all settings
""",
    "workers = 2\n": """\
error[FSQL-E702]: setting "workers" does not exist
 --> fsql.toml:1:1
  |
1 | workers = 2
  | ^^^^^^^
  = help: a setting with a similar name exists: run.workers
  = help: fsql config show lists all settings
""",
    '[run]\nworkers = "two"  # "#"\n[parameters]\n"a b" = 1\nc = [1]\n[tables]\n': """\
error[FSQL-E703]: setting "run.workers" must be a whole number from 1 to 64
 --> fsql.toml:2:11
  |
2 | workers = "two"  # "#"
  |           ^^^^^

error[FSQL-E702]: "a b" is not a name of a parameter
 --> fsql.toml:4:1
  |
4 | "a b" = 1
  | ^^^^^
  = help: write [parameters] and below it lines such as: minutes = "5"

error[FSQL-E703]: parameter "c" must be text or a number
 --> fsql.toml:5:5
  |
5 | c = [1]
  |     ^^^

error[FSQL-E702]: setting "tables" does not exist
 --> fsql.toml:6:2
  |
6 | [tables]
  |  ^^^^^^
  = help: fsql config show lists all settings
""",
    "script = queries/a.sql\n": """\
error[FSQL-E701]: the file is not TOML: invalid value
 --> fsql.toml:1:10
  |
1 | script = queries/a.sql
  |          ^
""",
}


@pytest.mark.parametrize("text", ERRORS)
def test_what_is_wrong_in_a_file(text: str, project: Path) -> None:
    (project / "fsql.toml").write_text(text)
    assert fsql("config", "show") == (1, "", ERRORS[text])
    assert fsql("explain-error", "E702").code == 0  # commands without settings do not read the file


def test_the_file_of_the_user_has_no_scripts(project: Path) -> None:
    user = Path(os.environ["XDG_CONFIG_HOME"]) / "fsql" / "config.toml"
    user.write_text('script = "a.sql"\n')
    code, out, err = fsql("check")
    assert (code, out) == (1, "")
    assert err.startswith('error[FSQL-E702]: setting "script" belongs to a project\n')
    user.write_bytes(b"\xff")
    assert fsql("check") == (
        1,
        "",
        f'error[FSQL-E701]: settings file "{user}" cannot be read: it is not UTF-8\n',
    )
    user.unlink()
    assert project.is_dir()


def test_the_environment_is_checked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSQL_RUN_WORKERS", "65")
    message = (
        'environment variable FSQL_RUN_WORKERS is "65"; it must be a whole number from 1 to 64'
    )
    assert fsql("run", project / "a.sql") == (1, "", f"error[FSQL-E703]: {message}\n")


def test_scripts_of_directories(project: Path) -> None:
    (project / "queries" / "deep").mkdir(parents=True)
    for name in ("b.sql", "deep/c.sql", "a.sql", "notes.txt"):
        (project / "queries" / name).write_text(f"{NUMBERS}SELECT n FROM numbers")
    code, out, err = fsql("check")
    assert (code, out) == (2, "")
    assert "Error: give scripts or directories of scripts, or create a project" in err
    (project / "fsql.toml").write_text("")
    checked = "{}: 1 INSERT\n  into stdout: append\n    no state\n"
    names = ("queries/a.sql", "queries/b.sql", "queries/deep/c.sql")
    assert fsql("check").out == "".join(checked.format(name) for name in names)
    assert fsql("check", "queries/deep", "queries/a.sql").out == "".join(
        checked.format(name) for name in reversed(names) if "b" not in name
    )
    (project / "empty").mkdir()
    assert fsql("check", "empty") == (
        2,
        "",
        'error[FSQL-E531]: path "empty" cannot be read: is a directory\n',
    )


def test_the_page_has_all_settings() -> None:
    rows = table_rows(section(page_text("docs/projects.md"), "## Settings"))
    assert [row[0].strip("`") for row in rows] == [each.key for each in SETTINGS]
