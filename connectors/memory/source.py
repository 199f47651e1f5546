"""The source of connector `memory`: the columns of an Arrow table, one split.

`MemorySplit` has all rows from the beginning; rows are added to `GrowingRows` while a query runs.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.runtime.ports import Chunk, SourceOffset, Wait

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
        """Return a reader at the first row, or at `source_offset`."""
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
        """Return the offset of the reader."""
        return SourceOffset(self._row, self._row + 1, 0)

    def close(self) -> None:
        """Release the rows."""
        self._rows = self._rows.slice(0, 0)


_KEPT_ROWS_MAX: Final = 65_536
"""The maximum number of read rows that are kept, so that an error can show what failed in one of them."""


class GrowingRows:
    """Rows that a program adds while a query reads them, and the times that the program announces."""

    def __init__(self) -> None:
        """Begin without rows."""
        self._waiting: deque[pa.Table | int] = deque()
        self._ended = False
        self._passed: deque[tuple[int, pa.Table]] = deque()
        self._rows_read = 0

    def add(self, rows: pa.Table) -> None:
        """Add rows after those that were added before; they have all columns of the table."""
        assert not self._ended
        if len(rows):
            self._waiting.append(rows)

    def advance(self, time_us: int) -> None:
        """Announce that all later rows have at least the time `time_us` (microseconds since 1970)."""
        assert not self._ended
        self._waiting.append(time_us)

    def end(self) -> None:
        """Announce that no more rows come."""
        self._ended = True

    def read(self, rows_max: int) -> pa.Table | int | Wait | None:
        """Return up to `rows_max` rows, an announced time, a Wait if there are none, or None at the end."""
        if not self._waiting:
            return None if self._ended else Wait(0.0)
        first = self._waiting.popleft()
        if isinstance(first, int):
            return first
        if len(first) > rows_max:
            self._waiting.appendleft(first.slice(rows_max))
            first = first.slice(0, rows_max)
        self._passed.append((self._rows_read, first))
        self._rows_read += len(first)
        while self._rows_read - self._passed[0][0] - len(self._passed[0][1]) >= _KEPT_ROWS_MAX:
            self._passed.popleft()
        return first

    def read_again(self, row: int) -> pa.Table | None:
        """Return a row by its number, None if it is not kept."""
        for first, piece in self._passed:
            if first <= row < first + len(piece):
                return piece.slice(row - first, 1)
        return None


@dataclass(frozen=True, slots=True)
class GrowingSplit:
    """Rows that are added while they are read; `columns` are the physical columns of the table."""

    name: str
    rows: GrowingRows
    columns: Sequence[str]

    def open(self, source_offset: SourceOffset | None = None) -> GrowingReader:
        """Return the only reader, which reads from the beginning: rows that were read are not kept."""
        assert source_offset is None, "rows of a session cannot be read again"
        return GrowingReader(self.rows, self.columns)

    def read_again(self, row: int) -> Chunk | None:
        """Return a row by its number, None if it is not kept."""
        found = self.rows.read_again(row)
        if found is None:
            return None
        columns = [_contiguous(column) for column in found.select(self.columns).columns]
        return Chunk(columns, np.array([row], np.int64), (), 0)


class GrowingReader:
    """Reads rows while they are added."""

    def __init__(self, rows: GrowingRows, columns: Sequence[str]) -> None:
        """Begin at the first row."""
        self._rows = rows
        self._columns = columns
        self._row = 0

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return up to `rows_max` rows, a Wait while there are none, None at the end."""
        found = self._rows.read(rows_max)
        if found is None or isinstance(found, Wait):
            return found
        if isinstance(found, int):
            return Chunk((), np.empty(0, np.int64), (), 0, time_at_least=found)
        piece = found.select(self._columns)
        first = self._row
        self._row += len(found)
        columns = [_contiguous(column) for column in piece.columns]
        return Chunk(columns, np.arange(first, self._row, dtype=np.int64), (), piece.nbytes)

    def bytes_passed(self) -> int:
        """Return 0: there is no file."""
        return 0

    def source_offset(self) -> SourceOffset:
        """Return the offset of the reader."""
        return SourceOffset(self._row, self._row + 1, 0)

    def close(self) -> None:
        """End reading."""
        self._rows = GrowingRows()


def _contiguous(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the rows that the program has passed for the table.

    Raises:
        FsqlError: E531, if there are none, because the script is not run by the library.
    """
    del settings
    rows = context.memory.get(table.name)
    if rows is None:
        message = f'table "{table.name}" is not in the memory of this program'
        helps = ("pass it to the library: fsql.sql(query, tables={…})",)
        raise FsqlError([Diagnostic("E531", message, helps=helps)])
    columns = [column.name for column in table.columns]
    if isinstance(rows, GrowingRows):
        return [GrowingSplit("memory", rows, columns)]
    return [MemorySplit("memory", rows.select(columns))]
