"""Files of Avro for tests, as fsql writes them and as other programs do, and what is read of them."""

from __future__ import annotations

import io
from contextlib import closing
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa

from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.sqltypes import BIGINT
from fsql.formats.avro.parts import AvroParts
from fsql.formats.avro.split import AvroSplit
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.ports import Release
from fsql.tests.unit.connectors.reading import read_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.compiler.schema import Schema
    from fsql.runtime.ports import SourceOffset

SYNC = bytes(range(16))
COLOURS = {"type": "enum", "name": "colour", "symbols": ["red", "green"]}


def file_of(columns: Schema, rows: Sequence[tuple[Any, ...]], codec: str = "none") -> bytes:
    """Return a file as the sink writes it."""
    arrays = [
        to_arrow(list(values), column.type)
        for values, column in zip(zip(*rows, strict=True), columns, strict=True)
    ]
    parts = AvroParts(SinkTable("out", columns, (), Changes.APPEND, None), 10**6, codec)
    roots = to_arrow([0] * len(rows), BIGINT).to_numpy()
    table = parts.rows(Release(arrays, None, roots, roots))
    data = parts.file(table)
    assert data == parts.file(pa.concat_tables([table.slice(0, 1), table.slice(1)]))
    return data


def other_file(type_: Any, values: Sequence[Any], codec: str = "null", **more: Any) -> bytes:
    """Return a file of a column `x` as another program writes it, behind a field that is not read."""
    fields = [
        {"name": "other", "type": type_, **more},
        {"name": "x", "type": type_ if isinstance(type_, (str, list)) else renamed(type_)},
    ]
    schema = {"type": "record", "name": "r", "namespace": "of.others", "fields": fields}
    data = io.BytesIO()
    fastavro.writer(data, schema, [{"other": each, "x": each} for each in values], codec)
    return data.getvalue()


def renamed(type_: Any) -> Any:
    """Return a reference to a named type, or the type itself if it has no name."""
    return type_.get("name", type_)


def read(path: Path, columns: Schema, rows_max: int = 9, **more: Any) -> Any:
    return drained(AvroSplit("a", path, columns, **more), columns, rows_max)


def drained(
    split: AvroSplit, columns: Schema, rows_max: int, offset: SourceOffset | None = None
) -> Any:
    with closing(split.open(offset)) as reader:
        return read_all(reader, columns, rows_max)
