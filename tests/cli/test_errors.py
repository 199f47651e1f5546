"""What the command says when something is wrong, whole, and the exit code that goes with it.

Broken queries by the hundred are in `tests/cases`; here is how one reaches the person at the terminal.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.console import run
from fsql.runtime.dataflow.invariants import InvariantError
from fsql.tests.cli.commands import NUMBERS, fsql

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_broken_query_is_shown_with_a_caret(folder: Path) -> None:
    (folder / "total.sql").write_text(f"{NUMBERS}SELECT SUM(amnt)\nFROM numbers;\n")
    code, out, err = fsql("run", "total.sql")
    assert (code, out) == (1, "")
    assert err == (
        'error[FSQL-E203]: column "amnt" does not exist\n'
        " --> total.sql:2:12\n"
        "  |\n"
        "2 | SELECT SUM(amnt)\n"
        "  |            ^^^^ not a column of numbers\n"
        "  = note: numbers has n\n"
    )


def test_a_broken_query_as_json() -> None:
    code, out, err = fsql("run", "--json", "-e", "SELCT n FROM numbers")
    assert (code, out) == (1, "")
    event = json.loads(err)
    assert event["event"] == "diagnostics"
    (diagnostic,) = event["diagnostics"]
    assert (diagnostic["code"], diagnostic["labels"][0]["line"]) == ("FSQL-E101", 1)


def test_a_missing_parameter() -> None:
    code, _, err = fsql("run", "-e", "SELECT ${colum} FROM t", "-D", "column=a")
    assert code == 1
    assert err == (
        'error[FSQL-E112]: the parameter "colum" is not given\n'
        " --> <command line>:1:8\n"
        "  |\n"
        "1 | SELECT ${colum} FROM t\n"
        "  |        ^^^^^^^^ has no value\n"
        '  = help: a parameter with a similar name is given: "column"\n'
        "  = help: give it: -D colum=value\n"
    )


@pytest.mark.parametrize("command", ["run", "check", "explain"])
def test_a_parameter_that_is_not_used(folder: Path, command: str) -> None:
    (folder / "numbers.jsonl").write_text('{"n":1}\n')
    (folder / "all.sql").write_text(f"{NUMBERS}SELECT n FROM numbers WHERE n < ${{most}};\n")
    given = (command, "all.sql", "-D", "most=3", "-D", "mots=3")
    warned = fsql(*given)
    assert warned.code == 0
    assert warned.err.startswith(
        'warning[FSQL-W101]: the parameter "mots" is given and not used\n'
        " --> all.sql\n"
        '  = help: a parameter with a similar name is in the script: "most"\n'
    )
    assert fsql(*given, "--quiet").err == ""
    event = json.loads(fsql(*given, "--json").err.splitlines()[0])
    assert event["diagnostics"][0]["code"] == "FSQL-W101"


def test_a_parameter_of_another_script_is_used(folder: Path) -> None:
    (folder / "numbers.jsonl").touch()
    (folder / "one.sql").write_text(f"{NUMBERS}SELECT n FROM numbers WHERE n < ${{most}};\n")
    (folder / "two.sql").write_text(f"{NUMBERS}SELECT n FROM numbers;\n")
    assert fsql("check", "one.sql", "two.sql", "-D", "most=3").err == ""


def test_a_missing_script_is_a_usage_error(folder: Path) -> None:
    (folder / "total.sql").touch()
    code, out, err = fsql("run", "totl.sql")
    assert (code, out) == (2, "")
    assert err == (
        'error[FSQL-E531]: path "totl.sql" cannot be read: no such file or directory\n'
        '  = help: a file with a similar name exists: "total.sql"\n'
    )


@pytest.mark.parametrize("command", ["run", "check", "explain"])
def test_a_missing_script_as_json(folder: Path, command: str) -> None:
    code, out, err = fsql(command, "--json", folder)
    assert (code, out) == (2, "")
    (diagnostic,) = json.loads(err)["diagnostics"]
    assert (diagnostic["code"], diagnostic["message"]) == (
        "FSQL-E531",
        f'path "{folder}" cannot be read: is a directory',
    )


def test_a_script_that_is_not_utf_8(folder: Path) -> None:
    (folder / "total.sql").write_bytes("\ufeff-- ü\nSELECT 'ü".encode() + b"\xfc' FROM t;\n")
    code, out, err = fsql("run", "total.sql")
    assert (code, out) == (1, "")
    assert err == (
        "error[FSQL-E117]: the script is not UTF-8 at byte 19, counted from 0\n"
        " --> total.sql:2:10\n"
        "  |\n"
        "2 | SELECT 'ü\ufffd' FROM t;\n"
        "  |          ^ byte 0xFC\n"
    )


def test_an_argument_that_is_not_utf_8() -> None:
    code, _, err = fsql("run", "-e", "SELECT '\udcff' FROM t")
    assert code == 1
    assert err.startswith("error[FSQL-E117]: the script is not UTF-8 at byte 8, counted from 0\n")


def test_a_mark_in_front_of_a_script_says_nothing(folder: Path) -> None:
    (folder / "numbers.jsonl").write_text('{"n":1}\n')
    (folder / "all.sql").write_text(f"\ufeff{NUMBERS}SELECT n FROM numbers;\n")
    assert fsql("run", "-q", "all.sql") == (0, '{"n":1}\n', "")


def test_a_missing_input_is_shown_in_the_script(folder: Path) -> None:
    (folder / "number.jsonl").touch()
    (folder / "all.sql").write_text(f"{NUMBERS}SELECT n FROM numbers;\n")
    code, out, err = fsql("run", "all.sql")
    assert (code, out) == (1, "")
    assert err == (
        f'error[FSQL-E531]: path "{folder}/numbers.jsonl" cannot be read: there is no such file\n'
        " --> all.sql:1:70\n"
        "  |\n"
        "1 | CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'file', 'path' = 'numbers.jsonl');\n"
        "  |                                                                      ^^^^^^^^^^^^^^^\n"
        f'  = help: a file with a similar name exists: "{folder}/number.jsonl"\n'
    )


def _copying(path: str, **options: str) -> str:
    given = "".join(f", '{key}' = '{value}'" for key, value in options.items())
    return (
        f"{NUMBERS}CREATE TABLE copied (n BIGINT) WITH\n"
        f"    ('connector' = 'file', 'path' = '{path}'{given});\n"
        "INSERT INTO copied SELECT n FROM numbers;\n"
    )


@pytest.mark.parametrize(
    ("path", "reason", "help_"),
    [
        (
            "missing/copied.jsonl",
            "its directory does not exist",
            'create the directory "{folder}/missing"',
        ),
        ("numbers.jsonl", 'table "numbers" reads it', "choose another path"),
        ("./odd/../numbers.jsonl", 'table "numbers" reads it', "choose another path"),
        ("link.jsonl", 'table "numbers" reads it', "choose another path"),
    ],
)
def test_an_output_that_may_not_be_written(
    folder: Path, path: str, reason: str, help_: str
) -> None:
    rows = '{"n":1}\n'
    (folder / "numbers.jsonl").write_text(rows)
    (folder / "link.jsonl").symlink_to("numbers.jsonl")
    code, _, err = fsql("run", "-e", _copying(path))
    assert code == 1
    first, where, _, _, _, helped = err.splitlines()
    assert first.startswith("error[FSQL-E532]: path ")
    assert first.endswith(f" cannot be written: {reason}")
    assert where == " --> <command line>:3:37"
    assert helped == f"  = help: {help_.format(folder=folder)}"
    assert (folder / "numbers.jsonl").read_text() == rows


def test_two_outputs_may_not_be_one_file(folder: Path) -> None:
    (folder / "numbers.jsonl").touch()
    code, _, err = fsql("run", "-e", _copying("copied.jsonl", late_path="copied.jsonl"))
    assert code == 1
    assert "cannot be written: table \"copied\" writes it as 'late_path'\n" in err


def test_an_output_within_a_directory_that_is_read(folder: Path) -> None:
    (folder / "rows").mkdir()
    (folder / "rows" / "a.jsonl").touch()
    script = _copying("rows/b.jsonl").replace("'numbers.jsonl'", "'rows'")
    code, _, err = fsql("run", "-e", script)
    assert code == 1
    assert 'cannot be written: table "numbers" reads it\n' in err
    assert not (folder / "rows" / "b.jsonl").exists()


@pytest.mark.parametrize("engine", ["columnar", "model"])
def test_a_malformed_row_stops_the_job(folder: Path, engine: str) -> None:
    (folder / "numbers.jsonl").write_text('{"n":1}\n\n{"n":"two"}\n{"n":3}\n')
    code, out, err = fsql("run", "-q", "--engine", engine, "-e", f"{NUMBERS}SELECT n FROM numbers")
    assert (code, out) == (3, '{"n":1}\n')
    assert err == (
        'error[FSQL-E513]: malformed row of table "numbers":'
        ' field "n": expected BIGINT, found a string\n'
        " --> numbers.jsonl:3 (byte 9)\n"
        '  = note: the line is {"n":"two"}\n'
        '  = note: the row is row 2 of file "numbers.jsonl"\n'
        "  = note: 1 row was released before the job stopped\n"
        "  = help: Declare the column with the type that the data has, and cast in the query.\n"
        "  = help: to skip such rows, set 'on_error' = 'reject' and 'rejects_path' = '…'\n"
    )


@pytest.mark.parametrize("engine", ["columnar", "model"])
def test_an_expression_that_fails_stops_the_job(folder: Path, engine: str) -> None:
    (folder / "numbers.jsonl").write_text('{"n":2}\n\n{"n":1}\n{"n":0}\n{"n":4}\n')
    script = f"{NUMBERS}SELECT 4 / n AS quarter FROM numbers"
    code, out, err = fsql("run", "--engine", engine, "-e", script)
    assert (code, out) == (3, '{"quarter":2}\n{"quarter":4}\n')
    said, summary = err.split("stopped after ")
    assert said == (
        'error[FSQL-E501]: division by zero, caused by a row of table "numbers"\n'
        " --> <command line>:2:8\n"
        "  |\n"
        "2 | SELECT 4 / n AS quarter FROM numbers\n"
        "  |        ^^^^^\n"
        '  = note: the row is row 3 of file "numbers.jsonl", at numbers.jsonl:4 (byte 17)\n'
        "  = note: 2 rows were released before the job stopped\n"
        "  = help: Use `a / NULLIF(b, 0)`, or cast to DOUBLE, where the result is Infinity or NaN.\n"
    )
    assert summary.splitlines()[2].split()[:3] == ["rows", "out", "2"]


MAPPING = "MAP['d', 'DELETE']"


def test_an_operation_that_is_not_mapped_is_told_with_the_mapping(folder: Path) -> None:
    (folder / "events.jsonl").write_text('{"op":"r","k":1}\n')
    script = (
        "CREATE TABLE e (op STRING, k BIGINT) WITH ('connector' = 'file', 'path' = 'events.jsonl');\n"
        f"SELECT k FROM FROM_CHANGELOG(TABLE e PARTITION BY k, op_mapping => {MAPPING})"
    )
    code, out, err = fsql("run", "-q", "-e", script)
    assert (code, out) == (3, "")
    assert err.splitlines()[4].split("|")[1].strip() == (
        f'{"^" * len(MAPPING)} operation "r" is not mapped to a kind of change'
    )


def test_a_failing_row_of_event_time_is_told_with_its_time(folder: Path) -> None:
    (folder / "splits").mkdir()
    (folder / "splits" / "a.jsonl").write_text('{"at":"2024-01-01T00:00:00Z","n":1}\n')
    (folder / "splits" / "b.jsonl").write_text('{"at":"2024-01-01T00:00:05.5Z","n":0}\n')
    script = (
        "CREATE TABLE t (at TIMESTAMP, n BIGINT, WATERMARK FOR at AS at)"
        " WITH ('connector' = 'file', 'path' = 'splits');\n"
        "SELECT 1 / n AS inverse FROM t"
    )
    code, out, err = fsql("run", "-q", "-e", script)
    assert (code, out) == (3, '{"inverse":1}\n')
    assert err.splitlines()[4:7] == [
        "  |        ^^^^^",
        '  = note: the row is row 1 of file "splits/b.jsonl", at splits/b.jsonl:1 (byte 0)',
        "  = note: event time was 2024-01-01T00:00:05.500Z",
    ]


def test_an_aggregate_that_fails_when_its_window_closes(folder: Path) -> None:
    (folder / "t.jsonl").write_text('{"at":"2024-01-01T00:00:00Z","n":0}\n')
    script = (
        "CREATE TABLE t (at TIMESTAMP, n BIGINT, WATERMARK FOR at AS at)"
        " WITH ('connector' = 'file', 'path' = 't.jsonl');\n"
        "SELECT 1 / SUM(n) AS inverse FROM TUMBLE(t, at, INTERVAL '1' MINUTE)"
        " GROUP BY window_start, window_end"
    )
    code, out, err = fsql("run", "-q", "-e", script)
    assert (code, out) == (3, "")
    assert err.splitlines()[:5] == [
        "error[FSQL-E501]: division by zero, in a window that closed at 2024-01-01T00:01:00Z",
        " --> <command line>:2:8",
        "  |",
        f"2 | {script.splitlines()[1]}",
        "  |        ^^^^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        # Of several that may fail the one that does, as lazily as the query is computed.
        ("(2 - 1) * («(1 + 1) / (n + n)» * 2 - (3))", ""),
        ("CAST(k AS BIGINT) + «CAST(s AS BIGINT)»", 'cannot read "x" as BIGINT'),
        ("CASE WHEN n = 0 THEN 0 ELSE 1 / n END + 2 / (n + 1) + «3 % n» * 2", ""),
        ("COALESCE(n, 1 / n) + («2 / n» + 1)", ""),
        ("TRANSFORM(ARRAY[n + 1, n], e -> e + «1 / e»)", ""),
        ("REDUCE(ARRAY[3, 2], 1, (total, e) -> total + «2 / (n * 5 + e - total)»)", ""),
        (
            "CASE WHEN n > 0 AND 1 / n > 0 OR n = 0 THEN «9223372036854775807 + m» ELSE n + n END",
            "BIGINT out of range",
        ),
        ("SUM(n + m) + SUM(1 / (n + 1)) + SUM(«1 / n»)", ""),
        # What depends on several rows, where only one part may fail with that code.
        ("«SUM(9223372036854775807 * m * m)» - 1 / COUNT(*)", ""),
        ("1 + «1 / SUM(m)»", ""),
        ("1 + «1 / COUNT(*) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)»", ""),
        # It may be one or the other.
        ("«1 / SUM(m)» + «1 / MIN(n)»", "this failed, here or at another label"),
    ],
)
def test_what_failed_is_marked(folder: Path, item: str, said: str) -> None:
    rows = [{"k": "1", "s": "1", "n": 1, "m": -1}, {"k": "2", "s": "x", "n": 0, "m": 1}]
    (folder / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    table = (
        "CREATE TABLE t (k STRING, s STRING, n BIGINT, m BIGINT)"
        " WITH ('connector' = 'file', 'path' = 't.jsonl');\n"
    )
    script = f"{table}SELECT {item.replace('«', '').replace('»', '')} AS x FROM t"
    code, _, err = fsql("run", "--json", "-e", script)
    assert code == 3
    labels = json.loads(err.splitlines()[0])["diagnostics"][0]["labels"]
    for label in reversed(labels):
        start, end = label["start"], label["end"]
        script = f"{script[:start]}«{script[start:end]}»{script[end:]}"
    assert script == f"{table}SELECT {item} AS x FROM t"
    assert [label["message"] for label in labels] == [said] + [""] * (len(labels) - 1)


def test_a_window_beyond_all_times_is_marked(folder: Path) -> None:
    (folder / "t.jsonl").write_text('{"at":"9998-12-31T23:59:59Z"}\n')
    script = (
        "CREATE TABLE t (at TIMESTAMP, WATERMARK FOR at)"
        " WITH ('connector' = 'file', 'path' = 't.jsonl');\n"
        "SELECT at FROM TUMBLE(t, at, INTERVAL '1000' DAY)"
    )
    code, _, err = fsql("run", "-q", "-e", script)
    assert code == 3
    assert err.splitlines()[:5] == [
        'error[FSQL-E504]: timestamp out of range, caused by a row of table "t"',
        " --> <command line>:2:16",
        "  |",
        "2 | SELECT at FROM TUMBLE(t, at, INTERVAL '1000' DAY)",
        "  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ TIMESTAMP outside of the years 1 to 9999",
    ]


def test_a_broken_invariant_has_a_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise InvariantError("min time of stage 1: time 2 is below time 3")

    monkeypatch.setattr(run, "compile_job", broken)
    code, out, err = fsql("run", "-e", "SELECT 1")
    assert (code, out) == (70, "")
    [first] = [line for line in err.splitlines() if line.startswith("error")]
    assert first == "error[FSQL-I902]: internal error: min time of stage 1: time 2 is below time 3"


def test_a_bug_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("the impossible has happened")

    monkeypatch.setattr(run, "compile_job", broken)
    code, out, err = fsql("run", "-e", "SELECT 1")
    assert (code, out) == (70, "")
    first, where, version, *helps = err.splitlines()
    assert first == "error[FSQL-I901]: internal error: AssertionError: the impossible has happened"
    assert where.startswith("  = note: at line ")
    assert version.startswith("  = note: fsql ")
    assert helps == [
        "  = help: report it with the script and, if possible, the input",
        "  = help: run it again with --debug and add the stack trace to the report",
    ]
    assert "Traceback" not in err
    assert "Traceback" in fsql("run", "--debug", "-e", "SELECT 1").err


def test_the_model_refuses_input_without_an_end() -> None:
    script = "CREATE TABLE t (line STRING) WITH ('connector' = 'words');\nSELECT line FROM t"
    code, out, err = fsql("run", "--engine", "model", "-e", script)
    assert (code, out) == (1, "")
    assert err == (
        'error[FSQL-E534]: table "t" has no end, and the model reads all input before it starts\n'
        " --> <command line>:1:14\n"
        "  |\n"
        "1 | CREATE TABLE t (line STRING) WITH ('connector' = 'words');\n"
        "  |              ^\n"
        "  = help: set the number of rows: 'count' = '1000'\n"
        "  = help: or remove --engine model\n"
    )
