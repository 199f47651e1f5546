"""`fsql run`: what comes out where, and with which exit code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import NUMBERS, fsql

if TYPE_CHECKING:
    from pathlib import Path

ROWS = '{"n":1}\n{"n":2}\n{"n":3}\n'


@pytest.fixture
def numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with three rows in `numbers.jsonl`; it is the working directory."""
    (tmp_path / "numbers.jsonl").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("numbers")
def test_a_select_prints_json_lines_and_nothing_else() -> None:
    code, out, err = fsql("run", "-e", f"{NUMBERS} SELECT n, n * n AS square FROM numbers")
    assert (code, out) == (0, '{"n":1,"square":1}\n{"n":2,"square":4}\n{"n":3,"square":9}\n')
    assert err.startswith("finished after ")


@pytest.mark.usefixtures("numbers")
def test_an_updating_select_prints_its_changes() -> None:
    code, out, _ = fsql("run", "-q", "-e", f"{NUMBERS} SELECT SUM(n) AS total FROM numbers")
    assert code == 0
    assert out == (
        '{"op":"+I","total":1}\n'
        '{"op":"-U","total":1}\n'
        '{"op":"+U","total":3}\n'
        '{"op":"-U","total":3}\n'
        '{"op":"+U","total":6}\n'
    )


@pytest.mark.usefixtures("numbers")
@pytest.mark.parametrize("flags", [("--quiet",), ("--quiet", "--json")])
def test_quiet_prints_errors_only(flags: tuple[str, ...]) -> None:
    said = fsql("run", *flags, "-e", f"{NUMBERS} SELECT n FROM numbers WHERE n > 2")
    assert said == (0, '{"n":3}\n', "")
    code, out, err = fsql("run", *flags, "-e", "SELECT n FROM nowhere;")
    assert (code, out) == (1, "")
    if "--json" in flags:
        [event] = map(json.loads, err.splitlines())
        assert (event["event"], event["diagnostics"][0]["code"]) == ("diagnostics", "FSQL-E201")
    else:
        assert err.startswith("error[FSQL-E201]: ")


@pytest.mark.usefixtures("numbers")
def test_a_script_on_standard_input() -> None:
    said = fsql("run", "-q", "-", text=f"{NUMBERS} SELECT n FROM numbers WHERE n < 2;\n")
    assert said == (0, '{"n":1}\n', "")


@pytest.mark.usefixtures("numbers")
def test_parameters() -> None:
    script = f"{NUMBERS} SELECT n FROM numbers WHERE n ${{comparison}} ${{limit}}"
    said = fsql("run", "-q", "-D", "comparison=>=", "--define", "limit=2", "-e", script)
    assert said == (0, '{"n":2}\n{"n":3}\n', "")


def test_paths_start_from_the_directory_of_the_script(
    numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = numbers / "copy.sql"
    script.write_text(
        f"{NUMBERS}"
        "CREATE TABLE copied (n BIGINT) WITH ('connector' = 'file', 'path' = 'copied.jsonl');\n"
        "INSERT INTO copied SELECT n FROM numbers;\n"
    )
    elsewhere = numbers / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert fsql("run", "-q", "../copy.sql") == (0, "", "")
    assert (numbers / "copied.jsonl").read_text() == ROWS
    assert list(elsewhere.iterdir()) == []


@pytest.mark.usefixtures("numbers")
def test_the_summary_has_every_count() -> None:
    _, _, err = fsql("run", "-e", f"{NUMBERS} SELECT n FROM numbers")
    lines = [line.split() for line in err.splitlines()]
    assert lines[0][:2] == ["finished", "after"]
    assert [line[0] for line in lines[1:]] == [
        *("rows", "rows", "bytes", "late", "rejected", "unknown", "state"),
        *("held", "repairs", "messages", "acknowledged", "releases", "written"),
    ]
    assert lines[1][:3] == ["rows", "in", "3"]
    assert lines[2][:3] == ["rows", "out", "3"]


@pytest.mark.usefixtures("numbers")
@pytest.mark.parametrize("engine", ["columnar", "model"])
def test_the_summary_as_json(engine: str) -> None:
    _, out, err = fsql(
        "run", "--json", "--engine", engine, "-e", f"{NUMBERS} SELECT n FROM numbers"
    )
    assert out == ROWS
    summary = json.loads(err)
    assert {name: summary[name] for name in ("event", "status", "rows_in", "rows_out")} == {
        "event": "summary",
        "status": "finished",
        "rows_in": 3,
        "rows_out": 3,
    }
    assert summary["bytes_in"] == len(ROWS)


@pytest.mark.parametrize("engine", ["columnar", "model"])
def test_unknown_fields_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    (tmp_path / "numbers.jsonl").write_text('{"n":1,"m":2}\n{"n":2}\n{"a":{"n":3},"b":[]}\n')
    monkeypatch.chdir(tmp_path)
    script = f"{NUMBERS} SELECT COUNT(n) AS n FROM numbers"
    _, _, err = fsql("run", "--engine", engine, "-e", script)
    (line,) = [line for line in err.splitlines() if line.startswith("  unknown ")]
    assert line.split() == [
        "unknown",
        "3",
        "fields",
        "that",
        "their",
        "table",
        "does",
        "not",
        "declare",
    ]
    _, _, err = fsql("run", "--json", "--engine", engine, "-e", script)
    assert json.loads(err)["unknown_fields"] == 3


@pytest.mark.usefixtures("numbers")
def test_several_inserts_are_one_job() -> None:
    script = (
        f"{NUMBERS}"
        "CREATE TABLE odd (n BIGINT) WITH ('connector' = 'file', 'path' = 'odd.jsonl');\n"
        "CREATE TABLE even (n BIGINT) WITH ('connector' = 'file', 'path' = 'even.jsonl');\n"
        "INSERT INTO odd SELECT n FROM numbers WHERE n % 2 = 1;\n"
        "INSERT INTO even SELECT n FROM numbers WHERE n % 2 = 0;\n"
    )
    code, _, err = fsql("run", "--json", "-e", script)
    assert (code, json.loads(err)["rows_in"]) == (0, 3)


def test_input_of_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numbers.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    for engine in ("columnar", "model"):
        said = fsql("run", "-q", "--engine", engine, "-e", f"{NUMBERS} SELECT n FROM numbers")
        assert said == (0, "", "")


@pytest.mark.usefixtures("numbers")
def test_show_describe_and_explain_are_printed_before_the_rows() -> None:
    script = f"{NUMBERS} SHOW TABLES; DESCRIBE numbers; EXPLAIN PLAN FOR SELECT n FROM numbers;"
    code, out, err = fsql("run", "-q", "--format", "table", "-e", script)
    assert (code, err) == (0, "")
    assert out == (
        "table name\n"
        "numbers\n"
        "\n"
        "name  type    null  key  extras  watermark  comment\n"
        "n     BIGINT  TRUE\n"
        "\n"
        "Insert into stdout\n"
        "│  columns: n BIGINT\n"
        "│  changes: append\n"
        "└─ Scan numbers; line 2\n"
        "      columns: n BIGINT\n"
        "      time: offset\n"
        "\n"
    )
    for flags in ((), ("--workers=2",)):
        code, out, _ = fsql(
            "run", "-q", *flags, "-e", f"{script} SELECT n FROM numbers WHERE n > 2"
        )
        lines = out.splitlines()
        assert (code, lines[0], lines[-1]) == (0, '{"table name":"numbers"}', '{"n":3}')
        assert len(lines) == 4


def test_a_script_that_only_shows_prints_its_warnings_and_is_no_job(numbers: Path) -> None:
    (numbers / "show.sql").write_text("SET 'parallelism.default' = '2'; SHOW TABLES;")
    code, out, err = fsql("run", "show.sql")
    assert (code, out) == (0, "")
    assert err.startswith("warning[FSQL-W202]: setting 'parallelism.default' has no effect\n")
    code, out, _ = fsql("check", "show.sql")
    assert (code, out) == (0, "show.sql: 0 INSERTs\n")
    code, out, err = fsql("compile", "show.sql", "-o", "plan")
    assert (code, out) == (1, "")
    assert err.startswith("error[FSQL-E314]: script has no INSERT and no SELECT: it runs nothing\n")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_standard_output_is_written_by_one_table(workers: str) -> None:
    script = (
        "CREATE TABLE a (n BIGINT) WITH ('connector' = 'stdout');\n"
        "CREATE TABLE b (n BIGINT) WITH ('connector' = 'stdout');\n"
        "INSERT INTO a VALUES (1);\nINSERT INTO b VALUES (1);\n"
    )
    assert fsql("run", "--workers", workers, "-e", script) == (
        1,
        "",
        """\
error[FSQL-E532]: standard output can be written by one table, not by "a" and "b"
 --> <command line>:2:47
  |
2 | CREATE TABLE b (n BIGINT) WITH ('connector' = 'stdout');
  |                                               ^^^^^^^^
  = help: write the others to files
""",
    )
