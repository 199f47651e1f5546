"""Tables without declared columns, and files in FROM."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsql.tests.cli.commands import fsql, on_workers

if TYPE_CHECKING:
    from pathlib import Path

ROWS = "".join(json.dumps({"k": f"k{number % 3}", "n": number}) + "\n" for number in range(60))
TABLE = "CREATE TABLE t WITH ('connector' = 'file', 'path' = 'rows.jsonl'"
SEVENTHS = "".join(f'{{"k":"k{n % 3}","half":{n / 2}}}\n' for n in range(0, 60, 7))


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(ROWS)
    return tmp_path


@pytest.mark.parametrize("flags", [(), on_workers("--workers", "2"), ("--engine", "model")])
@pytest.mark.usefixtures("directory")
def test_a_file_in_from(flags: tuple[str, ...]) -> None:
    query = "SELECT k, rows.n * 0.5E0 AS half FROM 'rows.jsonl' WHERE n % 7 = 0"
    said = fsql("run", "--quiet", *flags, "-e", query)
    assert (said.code, said.out, said.err) == (0, SEVENTHS, "")


def test_a_file_twice_and_others(directory: Path) -> None:
    (directory / "names.csv").write_text("\ufeffk,name\nk0,zero\nk1,one\n")
    pq.write_table(pa.table({"name": ["one"], "n": pa.array([58], pa.int32())}), "more.parquet")
    query = """
        SELECT a.n, c.name FROM 'rows.jsonl' AS a
        JOIN 'rows.jsonl' AS b ON a.n = b.n JOIN 'names.csv' AS c ON a.k = c.k
        JOIN 'more.parquet' AS d ON a.n = d.n AND c.name = d.name"""
    said = fsql("run", "--quiet", "-e", query)
    assert (said.code, said.out) == (0, '{"n":58,"name":"one"}\n')


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (
            "SELECT * FROM 'rows.dat'",
            "error[FSQL-E225]: the format of 'rows.dat' cannot be inferred from its name",
        ),
        ("SELECT * FROM 'none.jsonl'", 'error[FSQL-E531]: path "{0}/none.jsonl" cannot be read'),
        (
            "SELECT * FROM 'empty.csv'",
            'error[FSQL-E225]: the columns of "{0}/empty.csv" cannot be inferred: it has no record',
        ),
        (
            "SELECT * FROM 'odd.parquet'",
            'error[FSQL-E543]: path "{0}/odd.parquet" cannot be read: its column "u" is',
        ),
        (
            "SELECT * FROM 'no.parquet'",
            'error[FSQL-E225]: the columns of "{0}/no.parquet" cannot be inferred: ',
        ),
        (
            "SELECT * FROM 'no.avro'",
            'error[FSQL-E225]: the columns of "{0}/no.avro" cannot be inferred: its header ends early',
        ),
        (
            "SELECT * FROM 'twice.csv'",
            'error[FSQL-E225]: the columns of "{0}/twice.csv" cannot be inferred: it has a column twice',
        ),
        (
            "SELECT * FROM 'utf16.csv'",
            'error[FSQL-E225]: the columns of "{0}/utf16.csv" cannot be inferred: it is UTF-16, not UTF-8',
        ),
        (
            "SELECT * FROM 'case.jsonl'",
            (
                'error[FSQL-E225]: the columns of "{0}/case.jsonl" cannot be inferred: columns "a" and "A"'
                " differ in case only"
            ),
        ),
        (
            "SELECT * FROM 'unnamed.jsonl'",
            'error[FSQL-E225]: the columns of "unnamed.jsonl" cannot be inferred: a name must have at least',
        ),
        (
            "SELECT * FROM 'wide.jsonl'",
            'error[FSQL-E225]: the columns of "wide.jsonl" cannot be inferred: the list has 10,001 items',
        ),
        (
            f"{TABLE}, 'changes' = 'retract'); SELECT * FROM t",
            'error[FSQL-E225]: the columns of "{0}/rows.jsonl" cannot be inferred: its records are changes',
        ),
        (
            f"{TABLE}); INSERT INTO t SELECT * FROM t",
            'error[FSQL-E225]: table "t" is written, and its columns cannot be inferred',
        ),
        (
            "CREATE TABLE t WITH ('connector' = 'stdin'); SELECT * FROM t",
            'error[FSQL-E322]: table "t" has no columns to read or write',
        ),
        (
            "SELECT rows.m FROM 'rows.jsonl'",
            'error[FSQL-E203]: column "m" does not exist',
        ),
    ],
)
def test_what_is_refused(directory: Path, script: str, error: str) -> None:
    (directory / "empty.csv").touch()
    (directory / "twice.csv").write_text("a,a\n1,2\n")
    (directory / "utf16.csv").write_text("a\n1\n", encoding="utf-16")
    (directory / "case.jsonl").write_text('{"a": 1, "A": 2}\n')
    (directory / "unnamed.jsonl").write_text('{"": 1}\n')
    (directory / "wide.jsonl").write_text(json.dumps({f"f{n}": n for n in range(10_001)}))
    (directory / "no.avro").write_bytes(b"Obj\x01")
    (directory / "no.parquet").write_bytes(b"PAR1 or not")
    pq.write_table(pa.table({"u": pa.array([[1]], pa.list_(pa.decimal256(50)))}), "odd.parquet")
    said = fsql("run", "-e", script)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(error.format(directory)), said.err


def test_a_first_line_of_values(directory: Path) -> None:
    (directory / "rows.csv").write_text("1,2026-01-01,vase\n2,2026-01-02,lamp\n")
    (directory / "years.csv").write_text("land,2020,2021\nA,1,2\n")
    (directory / "words.csv").write_text("1,vase\nx,lamp\n")
    said = fsql("check", "-e", "SELECT vase FROM 'rows.csv'")
    table = (
        "CREATE TABLE t WITH ('connector' = 'file', 'path' = 'rows.csv', 'format' = 'csv',"
        " 'header' = '{}')"
    )
    assert said.err.startswith(
        f"""\
warning[FSQL-W207]: header has values
 --> <command line>:1:18
  |
1 | SELECT vase FROM 'rows.csv'
  |                  ^^^^^^^^^^ its first line has "1", a value like those of the column
  = help: if the first line is a row, declare it: {table.format("false")}
"""
    )
    for path in ("years", "words"):
        assert fsql("run", "-e", f"SELECT * FROM '{path}.csv'").err.count("W207") == 0
    true, false = (
        fsql("run", "--format", "json", "-e", f"{table.format(value)}; SELECT * FROM t")
        for value in ("true", "false")
    )
    assert (true.code, true.out) == (0, '{"1":2,"2026-01-01":"2026-01-02","vase":"lamp"}\n')
    assert "W207" not in true.err
    assert false.out == (
        '{"column1":1,"column2":"2026-01-01","column3":"vase"}\n'
        '{"column1":2,"column2":"2026-01-02","column3":"lamp"}\n'
    )


@pytest.mark.parametrize("delimiter", [";", "\t", "|"], ids=["semicolon", "tab", "bar"])
@pytest.mark.parametrize("flags", [(), on_workers("--workers", "2"), ("--engine", "model")])
def test_another_delimiter(directory: Path, delimiter: str, flags: tuple[str, ...]) -> None:
    lines = ["kind,price", '"pen, blue",1', "ink,2"]
    text = "".join(f"{line}\n" for line in lines).replace(",", delimiter)
    (directory / "rows.csv").write_text(text)
    table = "CREATE TABLE t WITH ('connector' = 'file', 'path' = 'rows.csv', 'format' = 'csv');"
    written = delimiter.replace("\t", "\\t")
    hint = f"/*+ OPTIONS('csv.field-delimiter' = '{written}') */"
    for script in (
        f"SELECT price FROM 'rows.csv' WHERE kind = 'pen{delimiter} blue' OR price > 1",
        f"{table} SELECT price FROM t",
        f"SELECT price FROM 'rows.csv' {hint}",
        f"SELECT x.price FROM 'rows.csv' {hint} AS x",
        f"{table} SELECT price FROM t {hint}",
    ):
        said = fsql("run", "-q", *flags, "-e", script)
        assert (said.code, said.out, said.err) == (0, '{"price":1}\n{"price":2}\n', "")


def test_a_delimiter_that_was_inferred_is_kept(directory: Path) -> None:
    """The plan has it: of the file as it is later, the same columns are read."""
    rows = directory / "rows.csv"
    rows.write_text("a;b\n1;2\n")
    (directory / "rows.sql").write_text("SELECT b FROM 'rows.csv'")
    fsql("compile", "rows.sql", "-o", "rows.plan")
    rows.write_text("a;b\n1;2\n3;4;5\n6;7\n")
    said = fsql("run", "-q", "rows.plan")
    assert (said.code, said.out) == (3, '{"b":2}\n')
    assert "record has 3 fields, and 2 are expected" in said.err


def test_a_file_whose_name_does_not_say_its_format(directory: Path) -> None:
    (directory / "rows.dat").write_text("a;b\n1;2\n")
    said = fsql("run", "-q", "-e", "SELECT b FROM 'rows.dat' /*+ OPTIONS('format' = 'csv') */")
    assert (said.code, said.out, said.err) == (0, '{"b":2}\n', "")
    said = fsql("check", "-e", "SELECT * FROM 'rows.dat' /*+ OPTIONS('delimiter' = ';') */")
    assert (said.code, said.err) == (
        1,
        """\
error[FSQL-E225]: the format of 'rows.dat' cannot be inferred from its name
 --> <command line>:1:15
  |
1 | SELECT * FROM 'rows.dat' /*+ OPTIONS('delimiter' = ';') */
  |               ^^^^^^^^^^
  = help: write it after the path: 'rows.dat' /*+ OPTIONS('format' = 'json') */
  = help: or declare a table: CREATE TABLE t WITH\
 ('connector' = 'file', 'path' = 'rows.dat', 'format' = 'json')
""",
    )


def test_records_of_one_field(directory: Path) -> None:
    rows = directory / "rows.csv"
    rows.write_text("a;b\n1;2\n")
    table = "CREATE TABLE t WITH ('connector' = 'file', 'path' = 'rows.csv', 'format' = 'csv',"
    said = fsql("run", "-q", "-e", f"{table} 'delimiter' = ','); SELECT * FROM t")
    assert (said.code, said.out) == (0, '{"a;b":"1;2"}\n')
    rows.write_text("note\none; two\nthree; four\n")
    said = fsql("run", "-q", "-e", "SELECT * FROM 'rows.csv'")
    assert (said.code, said.out) == (0, '{"note":"one; two"}\n{"note":"three; four"}\n')


@pytest.mark.parametrize("name", ["t.jsonl", "t.gz", "t.jsonl.zst"])
def test_compressed_files_are_known_by_their_first_bytes(tmp_path: Path, name: str) -> None:
    line = b'{"a": 1}\n'
    forms = {
        "plain": line,
        "gzip": gzip.compress(line),
        "bz2": bz2.compress(line),
        "xz": lzma.compress(line),
        "zstd": pa.compress(line, "zstd", asbytes=True),
        "lz4": pa.compress(line, "lz4", asbytes=True),
        "none": b"",
    }
    declared = f"CREATE TABLE t (a STRING) WITH ('connector' = 'file', 'path' = '{tmp_path}/{name}'"
    for form, data in forms.items():
        (tmp_path / name).write_bytes(data)
        run = fsql("run", "-q", "-e", f"{declared}, 'format' = 'json'); SELECT a FROM t;")
        assert run == (0, '{"a":"1"}\n' if data else "", ""), form
    if name == "t.jsonl":
        (tmp_path / name).write_bytes(forms["xz"])
        assert fsql("run", "-q", "-e", f"SELECT * FROM '{tmp_path}/{name}'").out == '{"a":1}\n'


def test_a_field_without_a_common_type_is_a_string_and_warns(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        '{"id": 9007199254740993, "x": 0.5, "p": []}\n{"id": 0.1, "x": "a", "p": {"k": true}}\n'
    )
    (tmp_path / "q.sql").write_text("SELECT id, x, p, p->>'k' AS k FROM 't.jsonl'")
    run = fsql("run", f"{tmp_path}/q.sql")
    assert (run.code, run.out) == (
        0,
        (
            '{"id":9007199254740993.0,"x":"0.5","p":"[]","k":null}\n'
            '{"id":0.1,"x":"a","p":"{\\"k\\":true}","k":"true"}\n'
        ),
    )
    assert run.err.splitlines()[0] == ('warning[FSQL-W210]: columns of "t.jsonl" take any value')
    assert '  = note: "x" is STRING: its values are DOUBLE and STRING' in run.err.splitlines()
    assert '  = note: "p" is STRING: its values are ARRAY<NULL> and ROW<k BOOLEAN>' in run.err


def test_a_declared_table_says_that_its_file_is_of_another_form(tmp_path: Path) -> None:
    """Each file has one line, which begins with the bytes by which the form is known."""
    line = '{"a": 1}\n'
    files = {
        "utf16.jsonl": line.encode("utf-16"),
        "utf16.csv": "a\n1\n".encode("utf-16"),
    }
    said = {}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        form = {"jsonl": "json", "txt": "text", "csv": "csv"}[name.partition(".")[2]]
        header = ", 'header' = 'true'" if form == "csv" else ""
        run = fsql(
            "run",
            "-q",
            "-e",
            f"CREATE TABLE t (a STRING) WITH ('connector' = 'file', 'path' = '{tmp_path}/{name}',"
            f" 'format' = '{form}'{header}); SELECT a FROM t;",
        )
        lines = run.err.splitlines()
        said[name] = lines[0].replace(f"{tmp_path}/", "")
        assert "  = help: add 'encoding' = 'utf-16', in which it can be read" in lines
    assert said == {
        "utf16.jsonl": 'error[FSQL-E515]: malformed row of table "t": byte 0 of the record, 0xff, is not'
        " UTF-8; the file is UTF-16, not UTF-8",
        "utf16.csv": 'error[FSQL-E543]: path "utf16.csv" cannot be read: it is UTF-16, not UTF-8',
    }


@pytest.mark.slow
def test_a_job_goes_on_with_the_columns_that_it_began_with(directory: Path) -> None:
    (directory / "logs").mkdir()
    (directory / "logs" / "b.jsonl").write_text(ROWS)
    (directory / "job.sql").write_text(
        "CREATE TABLE copies (k STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'copies.jsonl');"
        " INSERT INTO copies SELECT * FROM 'logs/*.jsonl';"
    )
    command = ("run", "--quiet", "job.sql", "--state", "state")
    assert fsql(*command) == (0, "", "")
    written = (directory / "copies.jsonl").read_text()
    assert [*map(json.loads, written.splitlines())] == [*map(json.loads, ROWS.splitlines())]
    # Files that are there later are not part of the job.
    (directory / "logs" / "a.jsonl").write_text('{"k": 1, "n": "x", "more": true}\n')
    assert fsql(*command) == (0, "", "")
    assert (directory / "copies.jsonl").read_text() == written


def test_a_compiled_plan_has_the_columns(directory: Path) -> None:
    (directory / "job.sql").write_text("SELECT * FROM 'rows.jsonl';")
    assert fsql("compile", "job.sql", "-o", "job.plan").code == 0
    (directory / "rows.jsonl").write_text('{"k": "new", "n": 60, "more": true}\n')
    said = fsql("run", "--quiet", "job.plan")
    assert (said.code, said.out) == (0, '{"k":"new","n":60}\n')
