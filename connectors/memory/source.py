"""The source of connector `memory`: the columns of an Arrow table, one split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.ports import Chunk, SourceOffset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Split


@dataclass(frozen=True, slots=True)
class MemorySplit:
    """Rows in memory; `rows` has the physical columns of the table, in order."""

    name: str
    rows: pa.Table

    def open(self, source_offset: SourceOffset | None = None) -> MemoryReader:
        """Return a reader that stands at the first row, or at `source_offset`."""
        return MemoryReader(self.rows, 0 if source_offset is None else source_offset.row)


class MemoryReader:
    """Reads rows in memory."""

    def __init__(self, rows: pa.Table, row: int) -> None:
        """Begin at row number `row`."""
        self._rows = rows
        self._row = row

    def read(self, rows_max: int) -> Chunk | None:
        """Return up to `rows_max` rows, None at the end."""
        first = self._row
        piece = self._rows.slice(first, rows_max)
        if not len(piece):
            return None
        self._row += len(piece)
        columns = [_contiguous(column) for column in piece.columns]
        return Chunk(columns, np.arange(first, self._row, dtype=np.int64), (), piece.nbytes)

    def bytes_passed(self) -> int:
        """Return 0: there is no file."""
        return 0

    def source_offset(self) -> SourceOffset:
        """Return where the reader stands."""
        return SourceOffset(self._row, self._row + 1, 0)

    def close(self) -> None:
        """Release the rows."""
        self._rows = self._rows.slice(0, 0)


def _contiguous(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the rows that the program has passed for the table.

    Raises:
        FsqlError: E531, if there are none: the script is not run by the library.
    """
    del settings
    rows = context.memory.get(table.name)
    if rows is None:
        message = f'table "{table.name}" is not in the memory of this program'
        helps = ("hand it to the library: fsql.sql(query, tables={…})",)
        raise FsqlError([Diagnostic("E531", message, helps=helps)])
    return [MemorySplit("memory", rows.select([column.name for column in table.columns]))]
