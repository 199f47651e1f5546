"""The columns of released rows as texts that PostgreSQL reads, and rows of them as CSV for COPY."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from fsql.compiler.sqltypes import DECIMALS, FLOATING, STRUCTURED, Kind, SqlType
from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.arrow_types import to_outside
from fsql.runtime.dictionaries import decode_dictionary

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPTIONS: Final = csv.WriteOptions(include_header=False, quoting_style="all_valid")
"""A value is in quotes and NULL is not, so that a text may be empty."""
_FIELD: Final = "v"
_JSON_BEGIN: Final = len(b'{"v":')


def csv_of(columns: Sequence[pa.Array]) -> bytes:
    """Return rows of texts as CSV."""
    names = [str(index) for index in range(len(columns))]
    out = io.BytesIO()
    csv.write_csv(pa.Table.from_arrays(list(columns), names), out, _OPTIONS)
    return out.getvalue()


def column_texts(column: pa.Array, type_: SqlType, *, as_array: bool) -> pa.Array:  # noqa: PLR0911 - a case for each kind
    """Return the values of a column as texts; an ARRAY as one of PostgreSQL or, by default, of JSON."""
    column = decode_dictionary(column)
    kind = type_.kind
    if kind in {Kind.STRING, Kind.NULL}:
        return column.cast(pa.string())
    if kind is Kind.ARRAY and as_array:
        return _array_texts(column, type_)
    if kind in STRUCTURED:
        return _json_texts(column, type_)
    if kind is Kind.BYTES:
        octets = to_outside(column, type_).to_pylist()
        return pa.array(
            [None if each is None else "\\x" + each.hex() for each in octets], pa.string()
        )
    if kind in {Kind.INTERVAL, Kind.MONTHS}:
        unit = " microseconds" if kind is Kind.INTERVAL else " months"
        return pc.binary_join_element_wise(column.cast(pa.int64()).cast(pa.string()), unit, "")
    if kind is Kind.TIMESTAMP:
        return column.cast(pa.timestamp("us")).cast(pa.string())
    if kind in FLOATING or kind in DECIMALS:
        return column.cast(pa.string())
    return to_outside(column, type_).cast(pa.string())


def _json_texts(column: pa.Array, type_: SqlType) -> pa.Array:
    lines = b"".join(JsonEncoder([_FIELD], [type_]).encode([column], None)).split(b"\n")[:-1]
    texts = [line[_JSON_BEGIN:-1].decode() for line in lines]
    null = column.is_null().to_numpy(zero_copy_only=False)
    return pa.array(texts, pa.string(), mask=null if null.any() else None)


def _array_texts(column: pa.Array, type_: SqlType) -> pa.Array:
    """Return arrays as PostgreSQL writes them: `{"a",NULL}`."""
    assert type_.element is not None
    elements = column_texts(column.flatten(), type_.element, as_array=True)
    nested = type_.element.kind is Kind.ARRAY
    texts = [_element_text(text, nested=nested) for text in elements.to_pylist()]
    lengths = column.value_lengths().fill_null(0).to_pylist()
    ends = np.cumsum([0, *lengths]).tolist()
    rows = ["{" + ",".join(texts[ends[i] : ends[i + 1]]) + "}" for i in range(len(lengths))]
    null = column.is_null().to_numpy(zero_copy_only=False)
    return pa.array(rows, pa.string(), mask=null if null.any() else None)


def _element_text(text: str | None, *, nested: bool) -> str:
    if text is None:
        return "NULL"
    return text if nested else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
