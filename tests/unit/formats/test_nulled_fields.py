"""`on_error` = `null_field`: a malformed value is NULL and counted, its row stays; the rest is rejected.

The expected rows are written by hand, for each format; how the input is cut into blocks changes nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fsql
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING, TIMESTAMP, array_of
from fsql.connectors.context import ConnectorContext
from fsql.connectors.file.source import FileSplit
from fsql.connectors.opening import open_source
from fsql.runtime.ports import Chunk
from fsql.tests.cli.commands import fsql as command
from fsql.tests.unit.connectors.tables import table

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = (
    Column("id", BIGINT, nullable=False),
    Column("n", BIGINT),
    Column("at", TIMESTAMP),
    Column("tags", array_of(BIGINT)),
)
JSON = [
    '{"id":1,"n":1,"tags":[1]}',
    '{"id":2,"n":"x","at":"never","tags":[1,"x"],"other":1}',
    '{"id":3,"n":99999999999999999999}',
    '{"id":"x","n":"y"}',
    '{"id":5,"n":1,"n":2}',
    '{"n":1}',
    '{"id":7,"n":1.5,"at":"2026-01-01T00:00:00Z"',
    '{"id":8,"n":8,"tags":{}}',
]
CSV = ["1,1,", "2,x,never", "3,99999999999999999999,", "x,y,", "5,1", "8,8,"]


def read_all(
    path: Path, text: str, rows_max: int, block_bytes: int, **options: str
) -> tuple[dict[int, tuple[object, ...]], list[tuple[int, int]], int]:
    """Return the rows, the malformed ones with their codes, and how many values are NULL."""
    columns = COLUMNS if options["format"] == "json" else COLUMNS[:3]
    path.write_text(text)
    declared = table(columns, connector="file", path=str(path), on_error="null_field", **options)
    (split,) = open_source(declared, ConnectorContext(path.parent))
    assert isinstance(split, FileSplit)
    reader = FileSplit(split.name, split.path, split.decoder, block_bytes=block_bytes).open()
    rows: dict[int, tuple[object, ...]] = {}
    malformed, nulled = [], 0
    while isinstance(chunk := reader.read(rows_max), Chunk):
        values = zip(*(column.to_pylist() for column in chunk.columns), strict=True)
        rows |= zip(chunk.rows.tolist(), values, strict=True)
        malformed += [(each.row, each.code) for each in chunk.dead_letters]
        nulled += chunk.nulled_fields
    return rows, malformed, nulled


@pytest.mark.parametrize("rows_max", [1, 3, 100])
@pytest.mark.parametrize("block_bytes", [7, 60, 1 << 20])
def test_values_of_json(tmp_path: Path, rows_max: int, block_bytes: int) -> None:
    text = "".join(f"{line}\n" for line in JSON)
    rows, malformed, nulled = read_all(tmp_path / "a", text, rows_max, block_bytes, format="json")
    assert rows == {
        0: (1, 1, None, [1]),
        1: (2, None, None, None),
        2: (3, None, None, None),
        7: (8, 8, None, None),
    }
    assert malformed == [(3, 513), (4, 512), (5, 521), (6, 511)]
    assert nulled == 3 + 1 + 1


@pytest.mark.parametrize("rows_max", [1, 3, 100])
@pytest.mark.parametrize("block_bytes", [7, 1 << 20])
def test_values_of_csv(tmp_path: Path, rows_max: int, block_bytes: int) -> None:
    text = "".join(f"{line}\n" for line in CSV)
    rows, malformed, nulled = read_all(
        tmp_path / "a", text, rows_max, block_bytes, format="csv", header="false"
    )
    assert rows == {0: (1, 1, None), 1: (2, None, None), 2: (3, None, None), 5: (8, 8, None)}
    assert malformed == [(3, 513), (4, 523)]
    assert nulled == 2 + 1


def test_values_of_parquet(tmp_path: Path) -> None:
    bad = pa.array([b"a", b"\xff", b"c"]).view(pa.string())
    pq.write_table(pa.table({"n": [1, 2, None], "s": bad}), tmp_path / "a")
    columns = (Column("n", BIGINT, nullable=False), Column("s", STRING))
    declared = table(columns, connector="file", path="a", format="parquet", on_error="null_field")
    (split,) = open_source(declared, ConnectorContext(tmp_path))
    chunk = split.open().read(10)
    assert isinstance(chunk, Chunk)
    assert [column.to_pylist() for column in chunk.columns] == [[1, 2], ["a", None]]
    assert ([each.row for each in chunk.dead_letters], chunk.nulled_fields) == ([2], 1)


def test_the_kind_of_a_change_is_never_null(tmp_path: Path) -> None:
    (tmp_path / "u").write_text(
        '{"op":"+U","k":1,"v":"a"}\n{"op":5,"k":1,"v":"b"}\n{"op":"-X","k":1}\n{"k":2,"v":7}\n'
    )
    fsql.Session(base_directory=tmp_path).run(
        "CREATE TABLE u (k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ("
        "'connector' = 'file', 'path' = 'u', 'changes' = 'upsert', 'on_error' = 'null_field',"
        " 'rejects_path' = 'rejects');"
        "CREATE TABLE o (k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED)"
        " WITH ('connector' = 'file', 'path' = 'o', 'changes' = 'upsert');"
        "INSERT INTO o SELECT k, v FROM u;"
    )
    assert (tmp_path / "o").read_text() == (
        '{"op":"+I","k":1,"v":"a"}\n{"op":"+I","k":2,"v":"7"}\n'
    )
    rejects = map(json.loads, (tmp_path / "rejects").read_text().splitlines())
    assert [(each["row"], each["code"], each["field"]) for each in rejects] == [
        (1, "FSQL-E524", "op"),
        (2, "FSQL-E524", "op"),
    ]


@pytest.mark.parametrize("engine", ["columnar", "model"])
def test_the_summary_counts_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    (tmp_path / "t").write_text(
        '{"n":1,"at":"2026-01-01"}\n{"n":"x","at":"2026-01-02"}\n{"at":1.5}\n'
    )
    monkeypatch.chdir(tmp_path)
    script = (
        "CREATE TABLE t (n BIGINT, at TIMESTAMP, WATERMARK FOR at) WITH ('connector' = 'file',"
        " 'path' = 't', 'on_error' = 'null_field'); SELECT n FROM t;"
    )
    _, out, err = command("run", "--engine", engine, "-e", script)
    assert out == '{"n":1}\n{"n":null}\n'
    (line,) = [line for line in err.splitlines() if line.startswith("  nulled ")]
    assert line.split() == ["nulled", "1", "malformed", "values", "that", "are", "NULL"]
    _, _, err = command("run", "--json", "--engine", engine, "-e", script)
    summary = json.loads(err.splitlines()[-1])
    assert (summary["nulled_fields"], summary["rows_rejected"]) == (1, 1)
