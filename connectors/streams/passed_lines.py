"""Where the rows begin that a reader has returned last."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from fsql.runtime.ports import RowPlace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fsql.formats.lines import Lines


class _Passed(NamedTuple):
    """The lines of consecutive rows, from row number `row` on; `starts` count from offset `byte`."""

    row: int
    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]
    byte: int


class PassedLines:
    """The lines of the last chunk, and of at least `rows_kept` rows before it, without their contents."""

    def __init__(self, rows_kept: int) -> None:
        """Begin without lines."""
        self._rows_kept = rows_kept
        self._chunks: deque[_Passed] = deque()

    def add(self, row: int, lines: Lines) -> None:
        """Add the lines of a chunk, which is not empty; the first is row number `row`."""
        self._chunks.append(_Passed(row, lines.numbers, lines.starts, lines.byte))
        while row - self._end_of_first() >= self._rows_kept:
            self._chunks.popleft()

    @property
    def first_byte(self) -> int:
        """Return the offset of the first line that is kept."""
        first = self._chunks[0]
        return first.byte + int(first.starts[0])

    def place_of(self, row: int) -> RowPlace | None:
        """Return where a row begins, None if its line is not kept."""
        for first, numbers, starts, byte in self._chunks:
            if first <= row < first + len(numbers):
                return RowPlace(int(numbers[row - first]), byte + int(starts[row - first]))
        return None

    def _end_of_first(self) -> int:
        first = self._chunks[0]
        return first.row + len(first.numbers)
