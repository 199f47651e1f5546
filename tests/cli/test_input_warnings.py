"""Warnings about input: before a job runs, of what is likely to be meant otherwise; and what a run drops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path


def table(options: str = "", columns: str = "userid BIGINT, at TIMESTAMP") -> str:
    return (
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'file', 'path' = 't.jsonl'{options});\n"
        "SELECT * FROM t;\n"
    )


def warnings_of(
    command: str, directory: Path, text: str, rows: str | None
) -> list[tuple[str, str]]:
    """Return the warnings of a command, by code and message."""
    (directory / "job.sql").write_text(text)
    (directory / "r.jsonl").unlink(missing_ok=True)
    if rows is not None:
        (directory / "t.jsonl").write_text(rows)
    said = fsql(command, "--json", directory / "job.sql")
    assert said.code == 0, said
    text = said.out if command == "check" else said.err
    events = [json.loads(line) for line in text.splitlines()]
    listed = events[0]["files"] if command == "check" else events
    found = [each for event in listed for each in event.get("diagnostics", ())]
    return [(each["code"], each["message"]) for each in found]


def test_what_the_first_row_shows(tmp_path: Path) -> None:
    rows = '{"userId":1,"at":1767225600}\n{"userid":2,"at":1767225600000}\n'
    assert warnings_of("run", tmp_path, table(), rows) == [
        ("FSQL-W503", 'field "userId" of table "t" is not column "userid": case matters'),
        ("FSQL-W504", 'column "at" of table "t" seems to have seconds since 1970'),
    ]
    right = '{"userid":1,"userId":1,"at":1767225600000,"more":1}\n'
    assert warnings_of("run", tmp_path, table(), right) == []
    for other in ("", "[1]\n", "{\n", "[" * 100_000 + "\n"):
        text = table(", 'on_error' = 'reject', 'rejects_path' = 'r.jsonl'")
        assert warnings_of("run", tmp_path, text, other) == []


def test_input_that_is_not_there(tmp_path: Path) -> None:
    message = f'path "{tmp_path}/t.jsonl" cannot be read: there is no such file'
    assert warnings_of("check", tmp_path, table(), None) == [("FSQL-W501", message)]
    assert warnings_of("check", tmp_path, table(), "") == []


def test_rows_that_are_not_kept(tmp_path: Path) -> None:
    text = table(", 'on_error' = 'reject'")
    warning = ("FSQL-W502", 'malformed rows of table "t" are counted and dropped')
    assert warnings_of("check", tmp_path, text, "") == [warning]
    assert warnings_of("run", tmp_path, text, "{}\n[]\n") == [warning]
    said = fsql("run", tmp_path / "job.sql")
    assert said.err.endswith(
        "  written       1 row    standard output\n"
        "  1 rejected row was dropped: table \"t\" has no 'rejects_path'\n"
    )


def test_a_run_prints_the_warnings_of_check(tmp_path: Path) -> None:
    text = table().replace("*", "userid, COUNT(*) AS n").replace("t;\n", "t GROUP BY userid;\n")
    [(code, _)] = warnings_of("run", tmp_path, text, "")
    assert code == "FSQL-W301"
    assert "FSQL" not in fsql("run", "--quiet", tmp_path / "job.sql").err


def test_a_first_row_that_is_not_utf8_is_the_affair_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "job.sql").write_text(table())
    (tmp_path / "t.jsonl").write_bytes(b'{"s":"\xff"}\n')
    said = fsql("run", "--quiet", tmp_path / "job.sql")
    assert said.err.startswith("error[FSQL-E515]: ")
