"""Batches as buffers: the columns, then time, origin, the levels of the path, and the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from fsql.runtime.batch import Batch
from fsql.runtime.wire.columns import as_sent, put_column, take_column, type_code
from fsql.runtime.wire.errors import MalformedError

if TYPE_CHECKING:
    from fsql.runtime.arrays import Ints
    from fsql.runtime.wire.parts import PartsReader, PartsWriter


_WIDTH: Final = 8
_LEVELS_MAX: Final = 256


class BatchShape(msgspec.Struct, frozen=True, array_like=True):
    """Describes the buffers of a batch; see `columns` for the numbers."""

    rows: int
    levels: int
    weighted: bool
    types: tuple[str, ...]
    numbers: list[int]


def put_batch(batch: Batch, writer: PartsWriter) -> BatchShape:
    """Write the buffers of a batch, and return its shape."""
    numbers: list[int] = []
    columns = [as_sent(column) for column in batch.columns]
    types = tuple([type_code(column.type) for column in columns])
    for column, code in zip(columns, types, strict=True):
        put_column(column, code, writer, numbers)
    for positions in (batch.time, batch.origin, *batch.path):
        _put_integers(positions, writer)
    if batch.weight is not None:
        _put_integers(batch.weight, writer)
    return BatchShape(len(batch), len(batch.path), batch.weight is not None, types, numbers)


def take_batch(shape: BatchShape, reader: PartsReader) -> Batch:
    """Read the next batch, which has this shape.

    Raises:
        MalformedError: if the buffers are not those of such a batch.
    """
    numbers = iter(shape.numbers)
    rows = shape.rows
    columns = [take_column(code, rows, reader, numbers) for code in shape.types]
    if next(numbers, None) is not None:
        raise MalformedError("a batch has too many numbers")
    if not 0 <= shape.levels <= _LEVELS_MAX:
        raise MalformedError(f"a path has {shape.levels} levels")
    size = rows * _WIDTH
    time = np.frombuffer(reader.take(size), np.int64)
    origin = np.frombuffer(reader.take(size), np.int64)
    path = tuple([np.frombuffer(reader.take(size), np.int64) for _ in range(shape.levels)])
    weight = np.frombuffer(reader.take(size), np.int64) if shape.weighted else None
    return Batch(columns, time, origin, path, weight)


def _put_integers(values: Ints, writer: PartsWriter) -> None:
    assert values.dtype == np.int64
    if size := values.nbytes:
        writer.put(np.ascontiguousarray(values).data, size)
