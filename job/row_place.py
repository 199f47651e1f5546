"""Where a row is in its file: line and byte, for errors of rows that are not malformed.

Only malformed rows carry their place.  That of another row is known if it was read last, or its file or log
is read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.ports import Chunk, LocatesRows

if TYPE_CHECKING:
    from fsql.runtime.ports import RowPlace, SourceOffset, Split

READ_AGAIN_ROWS_MAX: Final = 1_000_000
"""More rows are not read again, because that would take seconds."""
_CHUNK_ROWS: Final = 4_096


def place_of(split: Split, row: int, since: SourceOffset | None) -> RowPlace | None:
    """Return where a row of a split begins, None if that is not known.

    `since` is a source offset before the row, if one is known: a log may begin there.
    """
    if isinstance(split, LocatesRows):
        return split.place_of(row)
    if row - (0 if since is None else since.row) >= READ_AGAIN_ROWS_MAX:
        return None
    try:
        reader = split.open(since)
        try:
            while isinstance(reader, LocatesRows) and isinstance(reader.read(_CHUNK_ROWS), Chunk):
                place = reader.place_of(row)
                if place is not None:
                    return place
        finally:
            reader.close()
    except FsqlError:
        return None  # The input has changed since.
    return None
