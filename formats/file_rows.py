"""Released rows as Arrow tables, with the types that files have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.logical import Changes
from fsql.compiler.sqltypes import Kind, SqlType
from fsql.runtime.arrow_types import map_array, named_type, outside_type, to_outside
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.ports import OPERATIONS

if TYPE_CHECKING:
    from fsql.compiler.logical import SinkTable
    from fsql.runtime.ports import Release


class FileRows:
    """Converts rows of one sink to Arrow tables; the kind of a change, if any, is the first column."""

    def __init__(self, sink: SinkTable) -> None:
        self._types = [column.type for column in sink.columns]
        fields = [pa.field(each.name, _file_type(each.type)) for each in sink.columns]
        if sink.changes is not Changes.APPEND:
            fields.insert(0, pa.field(sink.operation_column, pa.string()))
        self.schema = pa.schema(fields)

    def table(self, release: Release) -> pa.Table:
        """Return released rows as a table."""
        columns = [
            _to_file_type(decode_dictionary(column), type_)
            for column, type_ in zip(release.columns, self._types, strict=True)
        ]
        if release.operations is not None:
            columns.insert(0, pa.array(OPERATIONS).take(pa.array(release.operations)))
        return pa.table(columns, self.schema)


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
    return named_type(sql_type, _leaf_type)


def _leaf_type(sql_type: SqlType) -> pa.DataType:
    return pa.int64() if sql_type.kind is Kind.INTERVAL else outside_type(sql_type)
