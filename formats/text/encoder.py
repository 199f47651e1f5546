"""Encodes a column of strings as text lines: each value is a line; NULL is an empty line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import Changes
from fsql.formats.json.pieces import row_too_long, write_pieces
from fsql.formats.lines import line_array
from fsql.runtime.dictionaries import decode_dictionary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.logical import SinkTable
    from fsql.formats.json.pieces import WrittenPieces
    from fsql.formats.settings import Settings


def make_encoder(sink: SinkTable, settings: Settings) -> TextEncoder:
    """Return the encoder of the rows of a table; the compiler has checked that they are only added."""
    del settings
    assert sink.changes is Changes.APPEND, "text has no place for changes"
    return TextEncoder()


class TextEncoder:
    """Encodes a column of STRING."""

    header = b""
    label_at = 0

    def encode(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> list[pa.Buffer]:
        """Return the lines; text has no place for operations, so there may be none.

        Raises:
            FsqlError: E535, if a row is longer than 1 GiB.
        """
        return [written.text for written in self._encode(columns, operations)]

    def encode_rows(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> list[pa.LargeBinaryArray]:
        """Return the line of each row.

        Raises:
            FsqlError: E535, if a row is longer than 1 GiB.
        """
        encoded = self._encode(columns, operations)
        return [line_array(written.text, written.offsets[::2]) for written in encoded]

    def _encode(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> list[WrittenPieces]:
        """Return lines of two pieces each: the value and the end of the line."""
        assert operations is None
        (column,) = columns
        rows = len(column)
        if rows == 0:
            return []
        pieces = pa.concat_arrays([decode_dictionary(column).fill_null(""), pa.array(["\n"])])
        indexes = np.full(2 * rows, rows, np.int32)
        indexes[0::2] = np.arange(rows)
        written = write_pieces(pieces, indexes, pieces.nbytes + rows)
        if written is not None:
            return [written]
        if rows == 1:
            raise row_too_long()
        halves = (column.slice(0, rows // 2), column.slice(rows // 2))
        return [written for half in halves for written in self._encode([half], None)]
