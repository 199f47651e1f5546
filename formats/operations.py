"""The kinds of changes in the rows of a table that is read: `+I`, `-U`, `+U`, `-D`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.formats.malformed import UNKNOWN_OPERATION, MalformedError, dead_letter
from fsql.runtime.dictionaries import decode_dictionary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.formats.lines import DecodedRows, LineDecoder, LineJoiner, Lines

OPERATIONS: Final = ("+I", "-U", "+U", "-D")
_KNOWN: Final = pa.array([*OPERATIONS, None], pa.string())


def unknown_operations(column: pa.Array, name: str) -> Iterator[tuple[int, MalformedError]]:
    """Yield the rows with an unknown kind of change, with the reason; NULL is accepted."""
    kinds = decode_dictionary(column)
    known = pc.is_in(kinds, _KNOWN).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(~known).tolist():
        reason = f'the kind of change is "{kinds[row].as_py()[:32]}", not +I, -U, +U or -D'
        yield row, MalformedError(UNKNOWN_OPERATION, reason, name)


class ChangeDecoder:
    """Decodes lines whose first column is the kind of change; unknown kinds are malformed rows."""

    def __init__(self, decoder: LineDecoder, name: str) -> None:
        self._decoder = decoder
        self._name = name
        self.skips_empty_lines = decoder.skips_empty_lines
        self.record_bytes_max = decoder.record_bytes_max
        self.has_header = decoder.has_header

    def make_joiner(self) -> LineJoiner | None:
        """See `LineDecoder`."""
        return self._decoder.make_joiner()

    def take_header(self, header: bytes, source: str, *, ordered: bool) -> None:
        """See `LineDecoder`."""
        self._decoder.take_header(header, source, ordered=ordered)

    @property
    def unknown_fields(self) -> int:
        """See `LineDecoder`."""
        return self._decoder.unknown_fields

    @property
    def nulled_fields(self) -> int:
        """See `LineDecoder`."""
        return self._decoder.nulled_fields

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows whose kind of change is known or NULL."""
        columns, rows, dead_letters = self._decoder.decode(lines, first_row)
        unknown = dict(unknown_operations(columns[0], self._name))
        if not unknown:
            return columns, rows, dead_letters
        for index, error in unknown.items():
            row = int(rows[index])
            dead_letters.append(dead_letter(lines, row - first_row, row, error))
        dead_letters.sort(key=lambda each: each.row)
        kept = np.delete(np.arange(len(rows)), list(unknown))
        return [column.take(pa.array(kept)) for column in columns], rows[kept], dead_letters
