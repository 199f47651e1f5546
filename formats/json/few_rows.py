"""Encodes a few rows as JSON lines, from Python values: the same bytes as from `pieces`.

Pieces take some 120 calls of NumPy and Arrow even for few rows; this takes one or two calls for each column
and a fraction of a microsecond for each row, which is much cheaper for the few rows of a low-latency job.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Raw

from fsql.compiler.functions.decimals import format_decimal
from fsql.compiler.sqltypes import DECIMALS, FLOATING, STRING, Kind, SqlType
from fsql.formats.json.keys import key_texts
from fsql.formats.json.literals import json_of_double, timestamp_text
from fsql.formats.json.rows import ODD_NAME
from fsql.runtime.arrow_types import (
    base64_texts,
    date_texts,
    from_arrow,
    remembered_values,
    shortest_of_column,
    string_buffers,
    time_texts,
    values_of,
)
from fsql.runtime.order import integers
from fsql.runtime.ports import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_LOOKED_UP_BYTES_MAX: Final = 1 << 26
"""Rows with more data from a dictionary are written by pieces, which bound the length of the text."""
_CONVERTED: Final = (
    *FLOATING,
    *(Kind.BYTES, *DECIMALS, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.INTERVAL, Kind.ROW),
)
"""Kinds that msgspec formats differently."""
_TIME_TEXTS: Final[dict[Kind, Callable[[Any, int | None], pa.StringArray]]] = {
    Kind.DATE: lambda days, _: date_texts(days),
    Kind.TIME: time_texts,
    Kind.TIMESTAMP: timestamp_text,
}


class FewRows:
    """Encodes a few rows of one schema at a time."""

    def __init__(self, names: Sequence[str], types: Sequence[SqlType]) -> None:
        """Prepare for columns of `types`; if there is one more name, the first is that of the operation."""
        self._types = tuple(types)
        fields = [f"c{index}" for index in range(len(names))]
        self._row: Any = None
        inner = [name for sql_type in types for name in _names(sql_type)]
        if not any(map(ODD_NAME.search, [*names, *inner])) and len(set(names)) == len(names):
            rename = dict(zip(fields, names, strict=True))
            self._row = msgspec.defstruct("Row", fields, rename=rename, gc=False)
        self._write = msgspec.json.Encoder().encode_lines

    def encode(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> bytes | None:
        """Return whole lines in order; None if the rows have to be written by pieces."""
        rows = len(columns[0])
        if self._row is None or any(_is_large(c, rows) for c in columns):
            return None
        values: list[Sequence[Any]] = list(map(_values, columns, self._types))
        if operations is not None:
            values.insert(0, [OPERATIONS[operation] for operation in operations.tolist()])
        return self._write(list(map(self._row, *values)))


def _is_large(column: pa.Array, rows: int) -> bool:
    """Return whether a column has a dictionary with which even a few rows become a long text."""
    if not isinstance(column, pa.DictionaryArray):
        return False
    words = column.dictionary
    if rows * words.get_total_buffer_size() <= _LOOKED_UP_BYTES_MAX:
        return False
    if not isinstance(words, pa.StringArray):
        return True
    at = column.indices.fill_null(0).to_numpy()
    ends, _ = string_buffers(words)
    return int((ends[at + 1] - ends[at]).sum(dtype=np.int64)) > _LOOKED_UP_BYTES_MAX


def _values(  # noqa: C901, PLR0911 - one for each kind
    array: pa.Array, sql_type: SqlType
) -> Sequence[Any]:
    """Return the values of a column in the form that msgspec writes correctly."""
    if isinstance(array, pa.DictionaryArray):
        known = remembered_values(array) if sql_type == STRING else None
        return _look_up(array, sql_type) if known is None else known
    match sql_type.kind:
        case Kind.FLOAT | Kind.DOUBLE:
            if sql_type.kind is Kind.FLOAT:
                array = shortest_of_column(array)
            numbers: list[float | None] = array.to_pylist()
            return [None if x is None else Raw(json_of_double(x).encode()) for x in numbers]
        case Kind.BYTES:
            octets: list[str | None] = base64_texts(array).to_pylist()
            return octets
        case Kind.DECIMAL | Kind.UBIGINT:
            digits = from_arrow(array, sql_type)
            return [None if x is None else _decimal(x, sql_type.scale) for x in digits]
        case Kind.TIMESTAMP | Kind.DATE | Kind.TIME:
            numbered, valid = integers(array)
            texts: list[str] = _TIME_TEXTS[sql_type.kind](numbered, sql_type.fraction).to_pylist()
            if valid is None:
                return texts
            return [text if there else None for text, there in zip(texts, valid, strict=True)]
        case Kind.INTERVAL:
            array = array.view(pa.int64())
        case Kind.ROW:
            return _rows(array, sql_type)
        case Kind.MAP:
            return _maps(array, sql_type)
        case Kind.ARRAY if sql_type.contains(*_CONVERTED):
            assert sql_type.element is not None
            return _lists(array, sql_type.element)
        case _:
            pass
    return values_of(array)


def _decimal(digits: Any, scale: int) -> Raw:  # noqa: ANN401 - an integer, as a Value
    return Raw(format_decimal(digits, scale).encode())


def _look_up(array: pa.DictionaryArray, sql_type: SqlType) -> Sequence[Any]:
    words, indices = array.dictionary, array.indices
    if len(words) > len(array):
        return _values(words.take(indices), sql_type)
    values = [*_values(words, sql_type), None]
    if indices.null_count:
        indices = indices.fill_null(len(words))
    return [values[index] for index in indices.to_pylist()]


def _names(sql_type: SqlType) -> list[str]:
    """Return the names of the fields at all depths of a type."""
    names = [name for name, _ in sql_type.fields]
    return names + [name for part in sql_type.parts for name in _names(part)]


def _rows(array: pa.StructArray, sql_type: SqlType) -> list[Any]:
    names = [name for name, _ in sql_type.fields]
    fields = map(_values, array.flatten(), sql_type.field_types)
    rows = [dict(zip(names, values, strict=True)) for values in zip(*fields, strict=True)]
    if not array.null_count:
        return [*rows]
    valid = array.is_valid().to_pylist()
    return [row if there else None for row, there in zip(rows, valid, strict=True)]


def _lists(array: pa.ListArray, element: SqlType) -> list[Any]:
    elements = iter(_values(array.flatten(), element))
    lengths = array.value_lengths().to_pylist()
    return [None if n is None else list(islice(elements, n)) for n in lengths]


def _maps(array: pa.ListArray, sql_type: SqlType) -> list[Any]:
    keys, values = array.flatten().flatten()
    texts = key_texts(keys, sql_type.key).to_pylist()
    entries = zip(texts, _values(values, sql_type.value), strict=True)
    lengths = array.value_lengths().to_pylist()
    return [None if n is None else dict(islice(entries, n)) for n in lengths]
