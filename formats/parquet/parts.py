"""Rows as tables of Arrow, and these as the bytes of Parquet files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from fsql.compiler.logical import Changes
from fsql.compiler.sqltypes import Kind, SqlType
from fsql.runtime.arrow_types import arrow_type, decoded
from fsql.runtime.ports import OPERATIONS

if TYPE_CHECKING:
    from fsql.compiler.logical import SinkTable
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Release


def make_parts(sink: SinkTable, settings: Settings) -> ParquetParts:
    """Return what makes the files of a table."""
    return ParquetParts(sink, settings.number("rows_per_file"), settings.text("compression"))


class ParquetParts:
    """Makes files of `rows_per_file` rows of one table; equal rows give equal bytes."""

    suffix = ".parquet"

    def __init__(self, sink: SinkTable, rows_per_file: int, compression: str) -> None:
        self.rows_per_file = rows_per_file
        self._compression = compression
        self._types = [column.type for column in sink.columns]
        fields = [pa.field(each.name, _written_type(each.type)) for each in sink.columns]
        self._labelled = sink.changes is not Changes.APPEND
        if self._labelled:
            fields.insert(0, pa.field(sink.operation_column, pa.string()))
        self.schema = pa.schema(fields)

    def rows(self, release: Release) -> pa.Table:
        """Return released rows as a table."""
        columns = [
            decoded(column).cast(_written_type(type_))
            if type_.kind is not Kind.INTERVAL
            else column.view(pa.int64())
            for column, type_ in zip(release.columns, self._types, strict=True)
        ]
        if release.operations is not None:
            columns.insert(0, pa.array(OPERATIONS).take(pa.array(release.operations)))
        return pa.table(columns, self.schema)

    def file(self, rows: pa.Table) -> bytes:
        """Return the bytes of a file with these rows."""
        data = io.BytesIO()
        whole = rows.combine_chunks()
        pq.write_table(
            whole, data, compression=self._compression, row_group_size=max(whole.num_rows, 1)
        )
        return data.getvalue()


def _written_type(sql_type: SqlType) -> pa.DataType:
    if sql_type.element is not None:
        return pa.list_(_written_type(sql_type.element))
    return pa.int64() if sql_type.kind is Kind.INTERVAL else arrow_type(sql_type)
