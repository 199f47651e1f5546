"""Files of several years, with more columns and wider types from one to the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsql.tests.cli.commands import fsql, on_workers

if TYPE_CHECKING:
    from pathlib import Path

YEARS: list[dict[str, list[Any]]] = [
    {"id": [1, 2], "n": [1, None], "r": [{"a": 1}, {"a": 2}]},
    {"n": [0.5, 2.5], "id": [3, 4], "fee": ["x", None], "r": [{"b": "y"}, {"b": "z"}]},
]
EXPECTED: list[dict[str, object]] = [
    {"id": 1, "n": 1.0, "fee": None, "r": {"a": 1, "b": None}},
    {"id": 2, "n": None, "fee": None, "r": {"a": 2, "b": None}},
    {"id": 3, "n": 0.5, "fee": "x", "r": {"a": None, "b": "y"}},
    {"id": 4, "n": 2.5, "fee": None, "r": {"a": None, "b": "z"}},
]
QUERY = "SELECT id, n, fee, r FROM"
DECLARED = (
    "CREATE TABLE t (id BIGINT, n DOUBLE, fee STRING, r ROW<a BIGINT, b STRING>)"
    " WITH ('connector' = 'file', 'path' = 'years', 'format' = '{}'); " + QUERY + " t"
)


def write(directory: Path, form: str) -> None:
    (directory / "years").mkdir()
    for year, columns in enumerate(YEARS):
        path = directory / "years" / f"{year}.{form}"
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if form == "parquet":
            pq.write_table(pa.table(columns), path)
        elif form == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif form == "csv":
            lines = [",".join(name for name in columns if name != "r")]
            lines += [
                ",".join("" if value is None else str(value) for value in list(row.values())[:-1])
                for row in rows
            ]
            path.write_text("\n".join(lines))
        else:
            kinds = {"id": "long", "n": "double" if year else "int", "fee": "string"}
            inner = ["long", "string"][year]
            record = {
                "type": "record",
                "name": "r",
                "fields": [{"name": "ab"[year], "type": inner}],
            }
            fields = [
                {"name": name, "type": record if name == "r" else ["null", kinds[name]]}
                for name in columns
            ]
            with path.open("wb") as file:
                fastavro.writer(file, {"type": "record", "name": "row", "fields": fields}, rows)


def rows_of(out: str) -> list[dict[str, object]]:
    return sorted(map(json.loads, out.splitlines()), key=lambda row: row["id"])


@pytest.mark.parametrize("flags", [(), on_workers("--workers", "2")])
@pytest.mark.parametrize("form", ["parquet", "avro", "jsonl", "csv"])
def test_years_are_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, flags: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, form)
    name = {"jsonl": "json"}.get(form, form)
    expected = [row.copy() for row in EXPECTED]
    inferred, declared = f"{QUERY} 'years/*.{form}'", DECLARED.format(name)
    if form == "csv":
        for row in expected:
            del row["r"]
        inferred, declared = (text.replace(", r", "") for text in (inferred, declared))
        declared = declared.replace(" ROW<a BIGINT, b STRING>", "")
    for script in (inferred, declared):
        run = fsql("run", *flags, "-e", script)
        assert run.code == 0, run.err
        assert rows_of(run.out) == expected
        warnings = [line for line in run.err.splitlines() if "W508" in line or "= note" in line]
        if form == "jsonl":
            assert warnings == []
            continue
        table = "t" if script == declared else f"years/*.{form}"
        kinds = {
            "parquet": ["int64", "double"],
            "avro": ["a union of null, int", "a union of null, double"],
        }
        assert warnings[0] == (
            f'warning[FSQL-W508]: the files of table "{table}" have different columns'
        )
        assert f'  = note: "fee" is NULL in "0.{form}", which has no such column' in warnings
        if form in kinds:
            one, other = kinds[form]
            found = [line for line in warnings if '"n" is' in line]
            assert len(found) == 1
            assert found[0].endswith("and is read as DOUBLE"), (one, other)


def test_an_integer_that_double_does_not_have_is_a_malformed_row(tmp_path: Path) -> None:
    (tmp_path / "years").mkdir()
    pq.write_table(pa.table({"n": [2**53, 2**53 + 1]}), tmp_path / "years" / "0.parquet")
    pq.write_table(pa.table({"n": [0.5]}), tmp_path / "years" / "1.parquet")
    run = fsql("run", "-q", "-e", f"SELECT n FROM '{tmp_path}/years/*.parquet'")
    assert run.code == 3
    assert run.err.splitlines()[0] == (
        f'error[FSQL-E514]: malformed row of table "{tmp_path}/years/*.parquet": field "n": an integer in'
        " the column has more digits than DOUBLE keeps"
    )


def test_a_column_without_a_type_is_not_in_the_way_of_others(tmp_path: Path) -> None:
    half = pa.array([1, 2], pa.duration("ns"))
    pq.write_table(pa.table({"n": [1, 2], "x": half}), tmp_path / "a.parquet")
    run = fsql("run", "-q", "-e", f"SELECT n FROM '{tmp_path}/a.parquet'")
    assert run == (0, '{"n":1}\n{"n":2}\n', "")
    run = fsql("run", "-q", "-e", f"SELECT x FROM '{tmp_path}/a.parquet'")
    assert (run.code, run.err.splitlines()[0]) == (
        1,
        (
            f'error[FSQL-E543]: path "{tmp_path}/a.parquet" cannot be read: its column "x" is duration[ns],'
            " which is not read as STRING"
        ),
    )
    assert "  = help: leave the column out of the query: no type has its values" in run.err


@pytest.mark.parametrize("form", ["parquet", "avro", "csv", "jsonl"])
def test_a_column_that_no_file_has_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Files of JSON need not have all columns; they need one."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, form)
    name = {"jsonl": "json"}.get(form, form)
    columns = ("fees STRING" if form == "jsonl" else "id BIGINT, fees STRING",)
    script = (
        f"CREATE TABLE t ({columns[0]}) WITH ('connector' = 'file', 'path' = 'years',"
        f" 'format' = '{name}'); SELECT fees FROM t"
    )
    run = fsql("run", "-q", "-e", script)
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("error[FSQL-E543]: ")


def test_only_columns_that_are_used_are_warned_about(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a": 1, "b": 2}\n{"a": "x", "b": 3}\n')
    run = fsql("run", "-e", f"SELECT b FROM '{tmp_path}/t.jsonl'")
    assert "W210" not in run.err
    run = fsql("run", "-e", f"SELECT b FROM '{tmp_path}/t.jsonl' WHERE a <> ''")
    assert run.err.splitlines()[0].startswith("warning[FSQL-W210]")
