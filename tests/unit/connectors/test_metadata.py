"""Metadata columns of files: every format has them, from any place on, also behind malformed rows."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT
from fsql.compiler.text.source import SourceText
from fsql.connectors.context import ConnectorContext
from fsql.connectors.declared import DECLARED
from fsql.connectors.opening import open_source
from fsql.runtime.ports import Chunk
from fsql.tests.unit.formats.avro_files import file_of

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
CREATE TABLE t (file STRING METADATA, a BIGINT, place BIGINT METADATA FROM 'row')
    WITH ('connector' = 'file', 'path' = '{}', 'format' = '{}', 'on_error' = 'reject');
SELECT a, place, file FROM t;
"""


def write(directory: Path, form: str) -> str:
    """Write a file with the values 10, 20 and 30, and a malformed row if it can have one; return its name."""
    path = directory / f"rows.{form}"
    if form == "parquet":
        pq.write_table(pa.table({"a": pa.array([10, 20, 30], pa.int64())}), path, row_group_size=2)
    elif form == "avro":
        columns = (Column("a", BIGINT),)
        path.write_bytes(file_of(columns, [(10,), (20,), (30,)]))
    elif form == "csv":
        path.write_text("a\n10\nbad\n20\n30\n")
    else:
        path.write_text('{"a": 10}\nbad\n{"a": 20}\n{"a": 30}\n')
    return path.name


@pytest.mark.parametrize("form", ["json", "csv", "parquet", "avro"])
def test_rows_have_the_name_of_their_file_and_their_number(form: str, tmp_path: Path) -> None:
    name = write(tmp_path, form)
    script = parse_script(SourceText("metadata.sql", SCRIPT.format(name, form)))
    (table,) = bind(script, DECLARED).job.tables
    (split,) = open_source(table, ConnectorContext(tmp_path))
    numbers = [0, 1, 2] if form in {"parquet", "avro"} else [0, 2, 3]
    rows = [(10 * (i + 1), name, number) for i, number in enumerate(numbers)]
    reader = split.open()
    found = []
    while True:
        offset = reader.source_offset()
        chunk = reader.read(1)
        if chunk is None:
            break
        assert isinstance(chunk, Chunk)
        with closing(split.open(offset)) as other:
            again = other.read(1)
        assert isinstance(again, Chunk)
        assert [column.to_pylist() for column in again.columns] == [
            column.to_pylist() for column in chunk.columns
        ]
        found += list(zip(*(column.to_pylist() for column in chunk.columns), strict=True))
    assert found == rows
    reader.close()
