"""Encodes columns as JSON lines, as `docs/internals/semantics.md`, "JSON out", defines them to the byte.

A few rows are written one by one, from Python values (`few_rows`).  For many rows, each column is converted
to indexes of text pieces (`columns`), and one `take` writes all of them (`pieces`).  Between the columns is
the *frame*: keys, colons and commas, with the quotes and brackets of the columns.  The end of a row and the
beginning of the next are one piece of the frame; the part before the first row is cut off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import Changes
from fsql.compiler.sqltypes import DECIMALS, FLOATING, STRING, Kind, SqlType
from fsql.formats.json.columns import Formatted, format_column, format_dictionary, json_key
from fsql.formats.json.dictionary import DictionaryMemory, Use
from fsql.formats.json.few_rows import FewRows
from fsql.formats.json.options import RECORDS
from fsql.formats.json.pieces import (
    OPERATIONS,
    OUTPUT_BYTES_MAX,
    STANDARD,
    STANDARD_LENGTH_MAX,
    Part,
    PiecesOfBatch,
    row_too_long,
    sequence,
    write_pieces,
)
from fsql.formats.lines import line_array
from fsql.runtime.few_rows import FEW_ROWS_IN_C

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.logical import SinkTable
    from fsql.formats.json.pieces import Counts, Indexes, WrittenPieces
    from fsql.formats.settings import Settings

    Operations = NDArray[np.int8]


_NEWLINE: Final = 0x0A
_ROWS_MAX: Final = 1 << 15
"""The maximum number of rows written at a time, so that intermediate data stays in the cache."""


def encode(
    columns: Sequence[pa.Array],
    names: Sequence[str],
    types: Sequence[SqlType],
    operations: Operations | None = None,
    operation_name: str = "op",
) -> bytes:
    """Return the rows as JSON lines; for several batches use a `JsonEncoder`."""
    encoder = JsonEncoder(names, types, None if operations is None else operation_name)
    return b"".join(encoder.encode(columns, operations))


class _FramePieces(NamedTuple):
    """The standard pieces followed by those of a frame, and the maximum length of a piece."""

    pieces: pa.StringArray
    length_max: int


class _Lines(NamedTuple):
    """The lines of some rows; `offsets` are the starts of pieces, `counts` the numbers of pieces of each row.

    The first piece of a row begins with the end of the row before.
    """

    text: pa.Buffer
    offsets: NDArray[np.int32]
    counts: Counts

    def bounds(self) -> NDArray[np.int32]:
        """Return the start of each line, and the end of the last.

        The offset of the first piece of a row compensates for the text that was cut off.
        """
        return self.offsets[np.append(0, np.cumsum(self.counts))]


def make_encoder(sink: SinkTable, settings: Settings) -> JsonEncoder:
    """Return the encoder of the rows of a table.

    Raises:
        FsqlError: E534, if the option for documents is given, which are only read.
    """
    if settings.connector.option(RECORDS) is not None and settings.gives(RECORDS):
        message = f"documents with '{RECORDS}' are read, and not written"
        raise FsqlError([Diagnostic("E534", message, helps=("remove the option",))])
    return JsonEncoder(
        [column.name for column in sink.columns],
        [column.type for column in sink.columns],
        None if sink.changes is Changes.APPEND else sink.operation_column,
    )


class JsonEncoder:
    """Encodes batches of rows of one schema; without an `operation_name` all rows are insertions."""

    header = b""

    def __init__(
        self,
        names: Sequence[str],
        types: Sequence[SqlType],
        operation_name: str | None = None,
        few_max: int = FEW_ROWS_IN_C,
    ) -> None:
        """Take the columns; at most `few_max` rows count as few, which does not affect the output."""
        self._labelled = operation_name is not None
        self.label_at = 0
        names = names if operation_name is None else (operation_name, *names)
        self._keys = [json_key(name) for name in names]
        if self._labelled:
            self.label_at = len(f'{{{self._keys[0]}"'.encode())
        self._types = tuple(types)
        self._few = FewRows(names, types)
        self._few_max = few_max
        self._memories = [DictionaryMemory() for _ in types]
        self._frame_pieces: dict[tuple[str, ...], _FramePieces] = {}
        self._last = STANDARD
        self._last_source: object = None

    def encode(
        self, columns: Sequence[pa.Array], operations: Operations | None = None
    ) -> list[pa.Buffer]:
        """Return whole lines in order, in buffers of less than 1 GiB.

        `operations` are indexes into `fsql.runtime.ports.OPERATIONS`, one for each row; they are given
        if and only if the encoder has a name for them.

        Raises:
            FsqlError: E535, if a row is longer than 1 GiB.
        """
        text = self._encode_few(columns, operations)
        if text is not None:
            return [pa.py_buffer(text)] if text else []
        return [lines.text for lines in self._encode_parts(columns, operations, _ROWS_MAX)]

    def encode_rows(
        self, columns: Sequence[pa.Array], operations: Operations | None
    ) -> list[pa.LargeBinaryArray]:
        """Return the line of each row, in arrays of less than 1 GiB; arguments are those of `encode`.

        Raises:
            FsqlError: E535, if a row is longer than 1 GiB.
        """
        text = self._encode_few(columns, operations)
        if text is None:
            parts = self._encode_parts(columns, operations, _ROWS_MAX)
            return [line_array(lines.text, lines.bounds()) for lines in parts]
        if not text:
            return []
        # Within a line of JSON there is no newline.
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE) + 1
        return [line_array(pa.py_buffer(text), np.append(0, ends))]

    def _encode_few(
        self, columns: Sequence[pa.Array], operations: Operations | None
    ) -> bytes | None:
        """Return the lines if there are few rows; None if they have to be written by pieces."""
        assert (operations is not None) == self._labelled
        rows = len(columns[0])
        if rows == 0:
            return b""
        if rows > self._few_max:
            return None
        text = self._few.encode(columns, operations)
        return None if text is None or len(text) > OUTPUT_BYTES_MAX else text

    def _encode_parts(
        self, columns: Sequence[pa.Array], operations: Operations | None, part_rows: int
    ) -> list[_Lines]:
        rows = len(columns[0])
        if rows <= part_rows:
            return self._encode_within(columns, operations)
        encoded = []
        for low in range(0, rows, part_rows):
            part = [column.slice(low, part_rows) for column in columns]
            labels = None if operations is None else operations[low : low + part_rows]
            encoded += self._encode_within(part, labels)
        return encoded

    def _encode_within(
        self, columns: Sequence[pa.Array], operations: Operations | None
    ) -> list[_Lines]:
        """Return the lines of a part of a batch, cut further where they would be too long."""
        lines = self._encode(columns, operations)
        if lines is not None:
            return [lines]
        rows = len(columns[0])
        if rows == 1:
            raise row_too_long()
        return self._encode_parts(columns, operations, -(-rows // 2))

    def _encode(self, columns: Sequence[pa.Array], operations: Operations | None) -> _Lines | None:
        """Return the lines in one buffer, None if it would be too long."""
        rows = len(columns[0])
        pieces = PiecesOfBatch(len(STANDARD) + len(self._keys) + 1, rows)
        formatted = [] if operations is None else [_labels(operations)]
        alone = not any(map(_needs_own_pieces, columns, self._types))
        for column, sql_type, memory in zip(columns, self._types, self._memories, strict=True):
            use = Use.LOOK_UP
            if sql_type == STRING and isinstance(column, pa.DictionaryArray):
                use = memory.use(column.dictionary, rows, alone=alone)
            if use is not Use.LOOK_UP:
                formatted.append(format_dictionary(column, memory, use, pieces))
            elif pieces.bytes + _decoded_bytes_max(column) > OUTPUT_BYTES_MAX:
                return None
            else:
                formatted.append(format_column(column, sql_type, pieces))
        frame = self._frame(formatted)
        indexes, counts = sequence(_row_parts(formatted, frame, pieces), rows, spare=1)
        indexes[-1] = len(STANDARD) + len(formatted)
        written = self._write_text(frame, pieces, indexes)
        if written is None:
            return None
        # The first row begins with the end of a preceding row, which is cut off.
        return _Lines(written.text.slice(len(frame[-1])), written.offsets, counts)

    def _frame(self, formatted: Sequence[Formatted]) -> tuple[str, ...]:
        """Return the text before each column, and the end of a row, with which the first begins."""
        row_end = f"{formatted[-1].closing}}}\n"
        between = f"{row_end}{{"
        frame = []
        for key, column in zip(self._keys, formatted, strict=True):
            frame.append(f"{between}{key}{column.opening}")
            between = f"{column.closing},"
        return (*frame, row_end)

    def _write_text(
        self, frame: tuple[str, ...], pieces: PiecesOfBatch, indexes: Indexes
    ) -> WrittenPieces | None:
        """Return the text of the pieces at `indexes`, None if it would be too long."""
        if pieces.bytes > OUTPUT_BYTES_MAX:
            return None
        if frame not in self._frame_pieces:
            pieces_of_frame = pa.concat_arrays([STANDARD, pa.array(frame, pa.string())])
            length_max = max(STANDARD_LENGTH_MAX, *(len(text.encode()) for text in frame))
            self._frame_pieces[frame] = _FramePieces(pieces_of_frame, length_max)
        standard, length_max = self._frame_pieces[frame]
        text = standard
        if pieces.arrays:
            source = None if pieces.sources is None else (frame, *pieces.sources)
            if source is None or source != self._last_source:
                self._last = pa.concat_arrays([standard, *pieces.arrays])
                self._last_source = source
            text = self._last
        return write_pieces(text, indexes, len(indexes) * length_max + pieces.bytes_max)


def _labels(operations: Operations) -> Formatted:
    return Formatted('"', [operations.astype(np.int32) + OPERATIONS], '"')


def _row_parts(
    formatted: Sequence[Formatted], frame: Sequence[str], pieces: PiecesOfBatch
) -> list[Part]:
    """Return the parts of a row, including the frame.

    The pieces of a column with a formatted dictionary include the text of the frame on both sides.
    """
    parts: list[Part] = []
    taken_over = False
    for index, column in enumerate(formatted):
        if column.memory is None:
            if not taken_over:
                parts.append(len(STANDARD) + index)
            parts += column.parts
            taken_over = False
            continue
        before = "" if taken_over else frame[index]
        after = frame[index + 1] if index + 1 < len(formatted) else ""
        first = pieces.add_dictionary(column.memory.format(before, after))
        parts += [cast("Indexes", part) + np.int32(first) for part in column.parts]
        taken_over = True
    return parts


def _decoded_bytes_max(column: pa.Array) -> int:
    """Return a bound on the size of a column after decoding its dictionary, 0 if it has none."""
    if not isinstance(column, pa.DictionaryArray) or not len(column.dictionary):
        return 0
    offsets = column.dictionary.buffers()[1]
    lengths = np.diff(np.frombuffer(offsets, np.int32))
    return len(column) * int(lengths.max())


def _needs_own_pieces(column: pa.Array, sql_type: SqlType) -> bool:
    """Return whether the values of a column become pieces of this batch only."""
    if sql_type.fields:
        return True
    if sql_type.element is not None:
        return _needs_own_pieces(column, sql_type.element)
    if sql_type.kind is Kind.STRING:
        return not isinstance(column, pa.DictionaryArray)
    return sql_type.kind in (
        *FLOATING,
        *(Kind.BYTES, *DECIMALS, Kind.DATE, Kind.TIME, Kind.TIMESTAMP),
    )
