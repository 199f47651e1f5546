"""Warnings about input: before a job runs, of what is likely to be meant otherwise; and what a run drops."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import COMMAND, fsql

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
    said = fsql(*command.split(), "--json", directory / "job.sql")
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


def test_a_column_that_no_row_has_and_a_field_with_a_similar_name(tmp_path: Path) -> None:
    text = """
        CREATE TABLE t (custmer STRING, name STRING, amount INT, k INT)
            WITH ('connector' = 'file', 'path' = 't.jsonl');
        SELECT k FROM t;
    """
    rows = '{"customer":"ann","time":1,"k":1}\n{"amount":2,"amuont":1,"l":1}\n'
    message = 'column "custmer" of table "t" is NULL: no row has a field of that name'
    assert warnings_of("run", tmp_path, text, rows) == [("FSQL-W507", message)]
    said = fsql("run", tmp_path / "job.sql")
    assert '  = help: a field with a similar name exists: "customer"\n' in said.err
    assert warnings_of("run", tmp_path, text, rows + '{"custmer":"bob"}\n') == []


def test_the_remedy_for_seconds_gives_an_event_time(tmp_path: Path) -> None:
    rows = '{"userid":1,"at":1767225600}\n'
    assert len(warnings_of("run", tmp_path, table(), rows)) == 1
    said = fsql("run", tmp_path / "job.sql")
    remedy = "  = help: set 'timestamp_unit' = 's'"
    assert [line for line in said.err.splitlines() if "= help" in line] == [remedy]
    (tmp_path / "job.sql").write_text("""
        CREATE TABLE t (at TIMESTAMP, WATERMARK FOR at AS at)
            WITH ('connector' = 'file', 'path' = 't.jsonl', 'timestamp_unit' = 's');
        SELECT at FROM t;
    """)
    said = fsql("run", "--quiet", tmp_path / "job.sql")
    assert (said.out, said.err) == ('{"at":"2026-01-01T00:00:00Z"}\n', "")


def test_the_remedy_for_one_column_of_seconds(tmp_path: Path) -> None:
    rows = '{"at":1767225600,"until":1767225600000}\n'
    script = """
        CREATE TABLE t (COLUMNS) WITH ('connector' = 'file', 'path' = 't.jsonl');
        SELECT * FROM t;
    """
    text = script.replace("COLUMNS", "at TIMESTAMP, until TIMESTAMP")
    assert warnings_of("run", tmp_path, text, rows) == [
        ("FSQL-W504", 'column "at" of table "t" seems to have seconds since 1970')
    ]
    said = fsql("run", tmp_path / "job.sql")
    column = "TIMESTAMP_MILLIS(at * 1000)"
    assert f"  = help: or declare it as BIGINT, and add a column: time AS {column}" in said.err
    (tmp_path / "job.sql").write_text(
        script.replace("COLUMNS", f"at BIGINT, until TIMESTAMP, time AS {column}")
    )
    said = fsql("run", "--quiet", tmp_path / "job.sql")
    assert (json.loads(said.out)["time"], said.err) == ("2026-01-01T00:00:00Z", "")


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


WINDOWS = """
CREATE TABLE t (n BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)
    WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE counts (start TIMESTAMP, n BIGINT)
    WITH ('connector' = 'file', 'path' = 'counts.jsonl'{options});
INSERT INTO counts
SELECT window_start, COUNT(*) FROM TUMBLE(t, at, INTERVAL '1' MINUTE) GROUP BY window_start, window_end;
"""
LATE = "".join(
    f'{{"n":{number},"at":"{time}"}}\n'
    for number, time in enumerate(
        (
            "2026-01-01T00:00:00Z",
            "2099-01-01T00:00:00Z",
            "2026-01-01T00:00:01Z",
            "2026-01-02T00:00:00Z",
        )
    )
)
AHEAD = (
    "FSQL-W506",
    'row 2 of "t.jsonl" in table "t" is dated 2099-01-01T00:00:00Z',
)
DROPPED = (
    "FSQL-W505",
    'rows that are too late for table "counts" are counted and dropped',
)


def test_late_rows_without_a_path(tmp_path: Path) -> None:
    text = WINDOWS.format(options="")
    assert warnings_of("check", tmp_path, text, LATE) == [DROPPED]
    assert warnings_of("run", tmp_path, text, LATE) == [DROPPED, AHEAD]
    said = fsql("run", "--overwrite", tmp_path / "job.sql")
    assert said.err.splitlines()[-2:] == [
        f"  written       2 rows  {(tmp_path / 'counts.jsonl').stat().st_size} B  {tmp_path}/counts.jsonl",
        "  2 late rows were dropped: table \"counts\" has no 'late_path'",
    ]


def test_late_rows_with_a_path(tmp_path: Path) -> None:
    text = WINDOWS.format(options=", 'late_path' = 'late.jsonl'")
    assert warnings_of("check", tmp_path, text, LATE) == []
    assert warnings_of("run", tmp_path, text, LATE) == [AHEAD]
    said = fsql("run", "--overwrite", tmp_path / "job.sql")
    assert [line.split()[:3] for line in said.err.splitlines()[-2:]] == [
        ["written", "2", "rows"],
        ["written", "2", "late"],
    ]


def test_no_row_is_too_late_for_the_order_of_a_whole_result(tmp_path: Path) -> None:
    text = WINDOWS[: WINDOWS.index("INSERT")].format(options="")
    text += "INSERT INTO counts SELECT at, COUNT(*) FROM t GROUP BY at ORDER BY 2 DESC;\n"
    codes = [code for code, _ in warnings_of("check", tmp_path, text, LATE)]
    assert codes == ["FSQL-W301"]


def test_windows_that_print_are_told_of_late_rows_at_the_end(tmp_path: Path) -> None:
    text = WINDOWS[: WINDOWS.index("CREATE TABLE counts")] + WINDOWS[WINDOWS.index("SELECT") :]
    assert warnings_of("check", tmp_path, text, LATE) == []
    said = fsql("run", tmp_path / "job.sql")
    assert said.err.endswith("  2 late rows were dropped: table \"stdout\" has no 'late_path'\n")


@pytest.mark.cluster
@pytest.mark.slow
def test_a_row_far_ahead_is_named_by_processes_too(tmp_path: Path) -> None:
    text = WINDOWS.format(options=", 'late_path' = 'late.jsonl'")
    assert warnings_of("run --workers 2", tmp_path, text, LATE) == [AHEAD]


def test_first_rows_of_a_compressed_file(tmp_path: Path) -> None:
    rows = '{"userid":1,"at":null}\n' * 3 + '{"userid":2,"at":1767225600}\n' * 2
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    text = table().replace("t.jsonl", "t.jsonl.gz")
    assert warnings_of("run", tmp_path, text, None) == [
        ("FSQL-W504", 'column "at" of table "t" seems to have seconds since 1970')
    ]


def test_seconds_in_a_later_row_of_a_later_file(tmp_path: Path) -> None:
    text = WINDOWS.format(options="").replace("t.jsonl", "t*.jsonl")
    times = {"ta": ['"2026-01-01T00:00:00Z"'], "tb": ['"2026-01-01T00:00:01Z"', "1767225602"]}
    for name, values in times.items():
        rows = "".join(f'{{"n":1,"at":{value}}}\n' for value in values)
        (tmp_path / f"{name}.jsonl").write_text(rows)
    (tmp_path / "job.sql").write_text(text)
    said = fsql("run", tmp_path / "job.sql")
    [_, found] = [line for line in said.err.splitlines() if line.startswith("warning[FSQL-W50")]
    assert found == (
        'warning[FSQL-W504]: event times of table "t" seem to be seconds since 1970;'
        ' row 2 of "tb.jsonl" is of 1970-01-21T10:53:45.602Z'
    )


def test_event_times_in_seconds_of_another_format(tmp_path: Path) -> None:
    text = """
    CREATE TABLE t (s BIGINT, at AS TIMESTAMP_MILLIS(s), WATERMARK FOR at AS at)
        WITH ('connector' = 'file', 'path' = 't.csv', 'format' = 'csv');
    SELECT s FROM t;
    """
    (tmp_path / "t.csv").write_text("s\n1767225600\n1767225601\n")
    (tmp_path / "job.sql").write_text(text)
    said = fsql("run", tmp_path / "job.sql")
    assert said.err.splitlines()[0] == (
        'warning[FSQL-W504]: event times of table "t" seem to be seconds since 1970;'
        ' row 1 of "t.csv" is of 1970-01-21T10:53:45.600Z'
    )
    said = fsql("run", "--json", tmp_path / "job.sql")
    assert "multiply seconds by 1000 where milliseconds are read" in said.err
    assert "timestamp_unit" not in said.err


def test_a_file_without_any_declared_column_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "job.sql").write_text(table(columns="b BIGINT, c STRING"))
    (tmp_path / "t.jsonl").write_text('{"a": 1, "x": "y"}\n{"z": 2}\n')
    said = fsql("run", tmp_path / "job.sql")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        'error[FSQL-E543]: input "t.jsonl" has none of the columns of table "t"\n'
        f" --> {tmp_path}/job.sql:1:74\n"
        "  |\n"
        "1 | CREATE TABLE t (b BIGINT, c STRING) WITH ('connector' = 'file', 'path' = 't.jsonl');\n"
        "  |                                                                          ^^^^^^^^^\n"
        '  = note: the fields of its first rows are "a", "x", "z"\n'
        "  = help: declare columns that the file has, or name another file\n"
    )
    (tmp_path / "job.sql").write_text(table(columns="a BIGINT, c STRING"))  # as the help says
    assert (
        fsql("run", "--quiet", tmp_path / "job.sql").out
        == '{"a":1,"c":null}\n{"a":null,"c":null}\n'
    )


UNITS = """
CREATE TABLE t (k INT, at TIMESTAMP, t TIME{key})
    WITH ('connector' = 'file', 'path' = 't.jsonl'{options});
SELECT k FROM t;
"""


@pytest.mark.parametrize("format_", ["json", "debezium-json"])
def test_numbers_that_seem_to_have_another_unit(format_: str, tmp_path: Path) -> None:
    def rows(*values: tuple[int, int]) -> str:
        lines = [json.dumps({"k": 1, "at": at, "t": t}) for at, t in values]
        if format_ == "debezium-json":
            events = [f'{{"after":{line},"op":"c"}}' for line in lines]
            lines = [events[0], *(f'{{"payload":{event}}}' for event in events[1:])]
        return "".join(f"{line}\n" for line in lines)

    key = ", PRIMARY KEY (k) NOT ENFORCED" if format_ == "debezium-json" else ""
    options = f", 'format' = '{format_}'"
    text = UNITS.format(options=options, key=key)
    assert warnings_of("run", tmp_path, text, rows((1_767_268_800_000, 43_200_000_000))) == []
    found = rows((1_767_268_800, 43_200_000), (0, 0), (1_767_268_801, 5))
    assert warnings_of("run", tmp_path, text, found) == [
        ("FSQL-W504", 'column "at" of table "t" seems to have seconds since 1970'),
        ("FSQL-W504", 'column "t" of table "t" seems to have milliseconds of a day'),
    ]
    said = fsql("run", tmp_path / "job.sql").err
    assert "2 of the first 3 rows do: 1,767,268,800 is read as milliseconds" in said
    assert "set 'timestamp_unit' = 's'" in said
    helped = UNITS.format(options=f"{options}, 'timestamp_unit' = 's', 'time_unit' = 'ms'", key=key)
    assert warnings_of("run", tmp_path, helped, found) == []
    micros = UNITS.format(options=f"{options}, 'timestamp_unit' = 'us'", key=key)
    early = rows((1_767_268_800_000, 43_200_000_000))
    assert warnings_of("run", tmp_path, micros, early) == [
        ("FSQL-W504", 'column "at" of table "t" seems to have milliseconds since 1970')
    ]
    late = rows((157_766_400_000_000, 43_200_000_000))
    assert warnings_of("run", tmp_path, text, late) == [
        ("FSQL-W504", 'column "at" of table "t" seems to have microseconds since 1970')
    ]


def test_a_column_that_no_row_has(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n{"id": 2, "x": null}\n')
    options = f"('connector' = 'file', 'path' = '{tmp_path}/a.jsonl')"
    table = f"CREATE TABLE t (id INT, x INT, region STRING) WITH {options};"
    said = [
        line
        for line in fsql("run", "-e", f"{table} SELECT * FROM t").err.splitlines()
        if "W5" in line
    ]
    assert said == [
        'warning[FSQL-W509]: column "region" of table "t" is NULL: no row has a field of that name'
    ]
    assert "W509" not in fsql("run", "-e", f"{table} SELECT id, x FROM t").err


@pytest.mark.parametrize(
    ("last", "missing"),
    [
        ("{}", ["region", "x"]),
        ('{"x": 1}', ["region"]),
        ('{"other": "region"}', ["x"]),
        ('{"o\\u0074her": 1}', []),
    ],
)
def test_a_column_that_no_row_of_a_longer_file_has(
    last: str, missing: list[str], tmp_path: Path
) -> None:
    """What may be the name of a field is none only if its text is nowhere in the file."""
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n' * 9000 + f"{last}\n")
    options = f"('connector' = 'file', 'path' = '{tmp_path}/a.jsonl')"
    table = f"CREATE TABLE t (id INT, region STRING, x INT) WITH {options};"
    error = fsql("run", "-e", f"{table} SELECT MAX(id), MAX(region), MAX(x) FROM t").err
    assert re.findall(r'W509\]: column "(\w+)"', error) == missing
    assert "W509" not in fsql("run", "-e", f"{table} SELECT MAX(id) FROM t").err


@pytest.mark.parametrize(
    ("record", "code", "remedy"),
    [
        ('{"s":"é"}', "E515", "convert the data to UTF-8"),
        ("[1]", "E519", "change the producer to write objects"),
    ],
)
def test_the_remedy_of_a_stream_names_no_option_that_it_lacks(
    tmp_path: Path, record: str, code: str, remedy: str
) -> None:
    (tmp_path / "job.sql").write_text(
        "CREATE TABLE t (s STRING) WITH ('connector' = 'stdin');\nSELECT s FROM t;\n"
    )
    said = subprocess.run(
        [*COMMAND, "run", "--json", tmp_path / "job.sql"],
        input=f"{record}\n".encode("latin-1"),
        capture_output=True,
        check=False,
    )
    [error] = [
        each
        for line in said.stderr.splitlines()
        for each in json.loads(line).get("diagnostics", ())
    ]
    assert (error["code"], error["helps"][0]) == (f"FSQL-{code}", remedy)
