"""Generated rows: columns that are functions of the numbers of the rows.

Any row can be generated without those before it, so a reader can resume at any row; neither the size of the
chunks nor a restart changes a row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.compiler.records import dataclass
from fsql.runtime.ports import Chunk, SourceOffset, Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from fsql.connectors.generated.pace import Pace

    Columns = Callable[[NDArray[np.int64]], Sequence[pa.Array]]

_CHUNK_ROWS: Final = 16_384


@dataclass(frozen=True, slots=True)
class RowSplit:
    """The only split of a generator: `columns` returns the rows with the given numbers.

    There are `rows` of them, or an endless stream if that is None.  `pace` says when rows fall due, if not
    immediately, and `start` when row 0 does, in seconds of the clock; None makes the first row of a reader
    due at its first read.  The first `rows_replayed` are due immediately in any case.
    """

    name: str
    columns: Columns
    rows: int | None
    pace: Pace | None
    start: float | None
    clock: Callable[[], float]
    rows_replayed: int = 0

    def open(self, source_offset: SourceOffset | None = None) -> RowReader:
        """Return a reader at row 0, or at `source_offset`."""
        return RowReader(self, 0 if source_offset is None else source_offset.row)

    def without_pace(self) -> RowSplit:
        """Return the same rows, all of them due immediately."""
        return replace(self, pace=None)

    def replayed(self, rows: int) -> RowSplit:
        """Return the same rows, of which the first `rows` are due immediately."""
        return replace(self, rows_replayed=rows)


class RowReader:
    """Generates the rows in order."""

    def __init__(self, split: RowSplit, first: int) -> None:
        self._split = split
        self._start = split.start
        self._row = first

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return up to `rows_max` further rows, a Wait for the rate, or None at the end."""
        split = self._split
        rows = min(rows_max, _CHUNK_ROWS)
        if split.rows is not None:
            rows = min(rows, split.rows - self._row)
        if rows <= 0:
            return None
        if self._row < split.rows_replayed:
            rows = min(rows, split.rows_replayed - self._row)
        elif (pace := split.pace) is not None:
            if self._start is None:
                self._start = split.clock() - pace.due(self._row)
            available = pace.rows_due(split.clock() - self._start) - self._row
            if available <= 0:
                return Wait(max(0.0, self._start + pace.due(self._row) - split.clock()))
            rows = min(rows, available)
        numbers = np.arange(self._row, self._row + rows)
        columns = list(split.columns(numbers))
        self._row += rows
        return Chunk(columns, numbers, (), sum(column.nbytes for column in columns))

    def bytes_passed(self) -> int:
        """Return 0: there is no file."""
        return 0

    def source_offset(self) -> SourceOffset:
        """Return the offset of the reader; a generator has neither lines nor bytes."""
        return SourceOffset(self._row, 0, 0)

    def close(self) -> None:
        """Do nothing; a generator holds no resources."""
