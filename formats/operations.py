"""The kinds of changes in the rows of a table that is read: `+I`, `-U`, `+U`, `-D`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.formats.malformed import (
    NULL_NOT_ALLOWED,
    UNKNOWN_OPERATION,
    MalformedError,
    dead_letter,
)
from fsql.runtime.dictionaries import decode_dictionary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from fsql.compiler.schema import Schema
    from fsql.formats.lines import DecodedRows, LineDecoder, LineJoiner, Lines, RecordCutter

OPERATIONS: Final = ("+I", "-U", "+U", "-D")
_KNOWN: Final = pa.array([*OPERATIONS, None], pa.string())
_REMOVING: Final = pa.array(["-U", "-D"], pa.string())


def malformed_changes(
    columns: Sequence[pa.Array], schema: Schema, required: Sequence[int]
) -> Iterator[tuple[int, MalformedError]]:
    """Yield the rows that are no changes, with the reason.

    These have an unknown kind of change, which may be NULL, or lack one of the columns `required` and do not
    remove a row.
    """
    kinds = decode_dictionary(columns[0])
    known = pc.is_in(kinds, _KNOWN).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(~known).tolist():
        reason = f'the kind of change is "{kinds[row].as_py()[:32]}", not +I, -U, +U or -D'
        yield row, MalformedError(UNKNOWN_OPERATION, reason, schema[0].name)
    lacking = [index for index in required if columns[index].null_count]
    if lacking:
        known &= ~pc.is_in(kinds, _REMOVING).to_numpy(zero_copy_only=False)
    for index in lacking:
        null = decode_dictionary(columns[index]).is_null().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(known & null).tolist():
            yield row, MalformedError(NULL_NOT_ALLOWED, "a value is required", schema[index].name)
        known &= ~null


class ChangeDecoder:
    """Decodes lines whose first column is the kind of change; see `malformed_changes`."""

    def __init__(self, decoder: LineDecoder, schema: Schema, required: Sequence[int]) -> None:
        self._decoder = decoder
        self._schema = schema
        self._required = required
        self.record_bytes_max = decoder.record_bytes_max
        self.has_header = decoder.has_header
        self.takes_documents = decoder.takes_documents

    def records(self, lines: Lines) -> Lines:
        """See `LineDecoder`."""
        return self._decoder.records(lines)

    def make_joiner(self) -> LineJoiner | None:
        """See `LineDecoder`."""
        return self._decoder.make_joiner()

    def header_names(self, header: bytes, source: str) -> list[str]:
        """See `LineDecoder`."""
        return self._decoder.header_names(header, source)

    def take_header(
        self, header: bytes, source: str, *, ordered: bool, elsewhere: Collection[str] = ()
    ) -> None:
        """See `LineDecoder`."""
        self._decoder.take_header(header, source, ordered=ordered, elsewhere=elsewhere)

    def document_cutter(self, start: bytes, *, whole: bool) -> RecordCutter | None:
        """See `LineDecoder`."""
        return self._decoder.document_cutter(start, whole=whole)

    @property
    def unknown_fields(self) -> int:
        """See `LineDecoder`."""
        return self._decoder.unknown_fields

    @property
    def nulled_fields(self) -> int:
        """See `LineDecoder`."""
        return self._decoder.nulled_fields

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows that are changes."""
        columns, rows, dead_letters = self._decoder.decode(lines, first_row)
        malformed = dict(malformed_changes(columns, self._schema, self._required))
        if not malformed:
            return columns, rows, dead_letters
        for index, error in malformed.items():
            row = int(rows[index])
            dead_letters.append(dead_letter(lines, row - first_row, row, error))
        dead_letters.sort(key=lambda each: each.row)
        kept = np.delete(np.arange(len(rows)), list(malformed))
        return [column.take(pa.array(kept)) for column in columns], rows[kept], dead_letters
