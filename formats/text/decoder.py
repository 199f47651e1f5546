"""Decodes text lines into a column of strings: every line is a row, an empty line the row ''.

No Python code runs per line.  The block itself becomes the data of an Arrow array in which lines and the
terminators between them alternate; every other element of it is a row of the column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.formats.lines import SingleLineDecoder
from fsql.formats.malformed import MalformedError, check_length, dead_letter, decode_utf8

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.schema import Schema
    from fsql.formats.lines import DecodedRows, LineDecoder, Lines
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import DeadLetter


def make_decoder(columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
    """Return a factory of decoders, one for each split; the compiler has checked that there is one column.

    Raises:
        FsqlError: E534, if the maximum length of records exceeds the limit.
    """
    del columns
    record_bytes_max = settings.record_bytes_max()
    return lambda: TextDecoder(record_bytes_max)


class TextDecoder(SingleLineDecoder):
    """Decodes lines into one column of STRING."""

    skips_empty_lines = False
    unknown_fields = nulled_fields = 0

    def __init__(self, record_bytes_max: int) -> None:
        self.record_bytes_max = record_bytes_max

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows of the lines; the first has the number `first_row`."""
        dead_letters = self._dead_letters(lines, first_row)
        offsets = np.empty(2 * len(lines), np.int32)
        offsets[0::2] = lines.starts
        offsets[1::2] = lines.ends
        alternating = pa.StringArray.from_buffers(
            max(len(offsets) - 1, 0), pa.py_buffer(offsets), pa.py_buffer(lines.data)
        )
        kept = np.arange(len(lines))
        if dead_letters:
            kept = np.delete(kept, [each.row - first_row for each in dead_letters])
        column = alternating.take(pa.array(2 * kept))
        return [column], first_row + kept, dead_letters

    def _dead_letters(self, lines: Lines, first_row: int) -> list[DeadLetter]:
        lengths = lines.ends - lines.starts
        suspects = np.flatnonzero(lengths > self.record_bytes_max)
        span = lines.span()
        if not span.isascii():
            try:
                span.decode()
            except UnicodeDecodeError:
                suspects = np.arange(len(lines))
        dead_letters = []
        for line in suspects.tolist():
            record = lines.content(line)
            try:
                check_length(len(record), self.record_bytes_max)
                decode_utf8(record)
            except MalformedError as error:
                dead_letters.append(dead_letter(lines, line, first_row + line, error))
        return dead_letters
