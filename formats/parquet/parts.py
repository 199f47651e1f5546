"""Encodes rows as Parquet files, by way of Arrow tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fsql.compiler.logical import Changes
from fsql.compiler.sqltypes import Kind, SqlType
from fsql.runtime.arrow_types import decode_dictionary, map_array, outside_type, to_outside
from fsql.runtime.ports import OPERATIONS

if TYPE_CHECKING:
    from fsql.compiler.logical import SinkTable
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Release


def make_parts(sink: SinkTable, settings: Settings) -> ParquetParts:
    """Return the encoder of the files of a table."""
    return ParquetParts(sink, settings.number("rows_per_file"), settings.text("compression"))


class ParquetParts:
    """Encodes files of `rows_per_file` rows of one table; equal rows give equal bytes."""

    suffix = ".parquet"

    def __init__(self, sink: SinkTable, rows_per_file: int, compression: str) -> None:
        self.rows_per_file = rows_per_file
        self._compression = compression
        self._types = [column.type for column in sink.columns]
        fields = [pa.field(each.name, _file_type(each.type)) for each in sink.columns]
        self._labelled = sink.changes is not Changes.APPEND
        if self._labelled:
            fields.insert(0, pa.field(sink.operation_column, pa.string()))
        self.schema = pa.schema(fields)

    def rows(self, release: Release) -> pa.Table:
        """Return released rows as a table."""
        columns = [
            _to_file_type(decode_dictionary(column), type_)
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


def _to_file_type(column: pa.Array, sql_type: SqlType) -> pa.Array:
    """Return a column in its type in the file, in which fields of rows have names."""
    kind = _file_type(sql_type)
    if sql_type.fields:
        children = [*map(_to_file_type, column.flatten(), sql_type.field_types)]
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if sql_type.element is not None and sql_type.contains(Kind.ROW, Kind.BYTES):
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
        mask = column.is_null() if column.null_count else None
        if sql_type.kind is Kind.MAP:
            entries = column.flatten().flatten()
            keys, values = map(_to_file_type, entries, (sql_type.key, sql_type.value))
            return map_array(offsets, keys, values, mask)
        elements = _to_file_type(column.flatten(), sql_type.element)
        return pa.ListArray.from_arrays(offsets, elements, type=kind, mask=mask)
    return (
        column.view(pa.int64()) if sql_type.kind is Kind.INTERVAL else to_outside(column, sql_type)
    )


def _file_type(sql_type: SqlType) -> pa.DataType:
    if sql_type.fields:
        return pa.struct([(name, _file_type(each)) for name, each in sql_type.fields])
    if sql_type.kind is Kind.MAP:
        return pa.map_(_file_type(sql_type.key), _file_type(sql_type.value))
    if sql_type.element is not None:
        return pa.list_(_file_type(sql_type.element))
    return pa.int64() if sql_type.kind is Kind.INTERVAL else outside_type(sql_type)
