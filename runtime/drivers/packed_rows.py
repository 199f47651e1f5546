"""A row encoding that can be decoded, for runs in memory in which workers encode rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from fsql.runtime.arrow_types import from_arrow
from fsql.runtime.dataflow.row_encoding import row_encodings
from fsql.runtime.ports import INSERT, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.dataflow.row_encoding import RowEncoding

    Row = tuple["Value", ...]


class RowPacker:
    """Encodes rows of a schema: the label of the operation, then the values in MessagePack."""

    label_at = 0

    def __init__(self, schema: Schema) -> None:
        self._types = [column.type for column in schema]
        self._encode = msgspec.msgpack.Encoder().encode

    def encode_rows(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> list[pa.LargeBinaryArray]:
        """Return the encoded rows as one array."""
        rows = zip(*map(from_arrow, columns, self._types), strict=True)
        labels = [INSERT] * len(columns[0]) if operations is None else operations.tolist()
        packed = [
            OPERATIONS[label].encode() + self._encode(row)
            for label, row in zip(labels, rows, strict=True)
        ]
        return [pa.array(packed, pa.large_binary())]


def unpack(packed: bytes) -> tuple[str, Row]:
    """Return the label and the values of a row."""
    return packed[:2].decode(), _row(msgspec.msgpack.decode(packed[2:]))


def _row(values: list[Any]) -> Row:
    return tuple(_row(value) if isinstance(value, list) else value for value in values)


def packed_rows(plan: TickPlan) -> Mapping[int, RowEncoding]:
    """Return encodings of all INSERTs of a plan."""
    return row_encodings(plan, lambda port: RowPacker(port.table.columns))
