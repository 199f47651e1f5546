"""Encodes columns as CSV lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.casts import format_double
from fsql.compiler.logical import Changes
from fsql.compiler.sqltypes import DECIMALS, FLOATING, Kind
from fsql.formats.csv.records import Dialect
from fsql.formats.json.literals import timestamp_text
from fsql.runtime.arrow_types import base64_texts, shortest_of_column, time_texts
from fsql.runtime.decimals import integers_of, texts_of
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.ports import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fsql.compiler.logical import SinkTable
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.formats.settings import Settings

_ROWS_MAX: Final = 1 << 15
_OPERATIONS: Final = pa.array(OPERATIONS)
_LINE_END: Final = pa.scalar(b"\n", pa.large_binary())
_NOTHING: Final = pa.scalar(b"", pa.large_binary())


def make_encoder(sink: SinkTable, settings: Settings) -> CsvEncoder:
    """Return the encoder of the rows of a table."""
    operation = None if sink.changes is Changes.APPEND else sink.operation_column
    return CsvEncoder(sink.columns, Dialect.of(settings), operation, header=settings.flag("header"))


class CsvEncoder:
    """Encodes batches of rows of one schema; without an `operation_name` all rows are insertions."""

    label_at = 0

    def __init__(
        self, columns: Schema, dialect: Dialect, operation_name: str | None, *, header: bool
    ) -> None:
        self._columns = columns
        self._dialect = dialect
        self._labelled = operation_name is not None
        names = [column.name for column in columns]
        if operation_name is not None:
            names.insert(0, operation_name)
        self.header = self._header(names) if header else b""

    def encode(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None = None
    ) -> list[pa.Buffer]:
        """Return whole lines in order, without the header."""
        return [
            pa.py_buffer("\n".join((*lines.to_pylist(), "")).encode())
            for lines in self._parts(columns, operations)
        ]

    def encode_rows(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> list[pa.LargeBinaryArray]:
        """Return the line of each row."""
        return [
            pc.binary_join_element_wise(lines.cast(pa.large_binary()), _LINE_END, _NOTHING)
            for lines in self._parts(columns, operations)
        ]

    def _parts(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> Iterator[pa.StringArray]:
        """Yield the lines without their ends, in parts of a limited number of rows."""
        assert (operations is not None) == self._labelled
        for low in range(0, len(columns[0]), _ROWS_MAX):
            part = [column.slice(low, _ROWS_MAX) for column in columns]
            labels = None if operations is None else operations[low : low + _ROWS_MAX]
            yield self._lines(part, labels)

    def _lines(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> pa.StringArray:
        texts = [
            self._texts(decode_dictionary(array), column.type)
            for array, column in zip(columns, self._columns, strict=True)
        ]
        if operations is not None:
            texts.insert(0, _OPERATIONS.take(pa.array(operations)))
        lines, *others = texts
        if others:
            lines = pc.binary_join_element_wise(*texts, self._dialect.delimiter)
        return lines

    def _texts(self, column: pa.Array, sql_type: SqlType) -> pa.StringArray:
        """Return the fields of a column, NULL as its literal."""
        kind = sql_type.kind
        if kind in FLOATING:
            if kind is Kind.FLOAT:
                column = shortest_of_column(column)
            values = column.to_pylist()
            text = pa.array(
                [None if value is None else format_double(value) for value in values], pa.string()
            )
        elif kind in DECIMALS:
            text = texts_of(integers_of(column), column.type.scale)
            text = pc.if_else(column.is_valid(), text, pa.scalar(None, pa.string()))
        elif kind is Kind.TIMESTAMP:
            micros = column.view(pa.int64())
            text = timestamp_text(micros.fill_null(0).to_numpy(), sql_type.fraction)
            text = pc.if_else(column.is_valid(), text, pa.scalar(None, pa.string()))
        elif kind is Kind.BYTES:
            text = base64_texts(column)
        elif kind is Kind.TIME:
            text = time_texts(column.fill_null(0).to_numpy(), sql_type.fraction)
            text = pc.if_else(column.is_valid(), text, pa.scalar(None, pa.string()))
        elif kind is Kind.DATE:
            text = column.view(pa.date32()).cast(pa.string())
        elif kind is Kind.INTERVAL:
            text = column.view(pa.int64()).cast(pa.string())
        else:
            text = column.cast(pa.string())
        if kind is Kind.STRING or self._may_need_quotes(text):
            text = self._quote_fields(text)
        null = self._dialect.null
        return text.fill_null(null)

    def _may_need_quotes(self, text: pa.StringArray) -> bool:
        """Return whether a field of another type than STRING contains the delimiter or equals NULL's text."""
        special = pc.or_(
            pc.match_substring(text, self._dialect.delimiter), pc.equal(text, self._dialect.null)
        )
        return bool(pc.any(special).as_py())

    def _quote_fields(self, text: pa.StringArray) -> pa.StringArray:
        """Return the fields, quoted if necessary."""
        delimiter, quote, escape, null = self._dialect
        needed = pc.equal(text, null)
        for special in dict.fromkeys((delimiter, quote, escape, "\n", "\r")):
            needed = pc.or_(needed, pc.match_substring(text, special))
        if not pc.any(needed).as_py():
            return text
        escaped = text
        if escape != quote:
            escaped = pc.replace_substring(escaped, escape, escape + escape)
        escaped = pc.replace_substring(escaped, quote, escape + quote)
        wrapped = pc.binary_join_element_wise(quote, escaped, quote, "")
        return pc.if_else(needed, wrapped, text)

    def _header(self, names: Sequence[str]) -> bytes:
        fields = self._quote_fields(pa.array(names, pa.string())).to_pylist()
        return f"{self._dialect.delimiter.join(fields)}\n".encode()
