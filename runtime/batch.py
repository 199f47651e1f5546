"""Batches of weighted rows in columns, and root positions.

A row's position is its root (time, origin) and its path; `docs/internals/semantics.md` defines them.  A
`Batch` holds payload columns (Arrow) and position columns (NumPy) of equal length; `weight` is None where
every row has weight +1.  Batches are immutable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.arrays import Ints


TIME_START: Final = -(2**63) + 1
TIME_END: Final = 2**63 - 1
PUNCTUATION: Final = -1
"""The origin of a punctuation; it sorts before every row of its time."""


class Root(NamedTuple):
    """A root position; roots compare as tuples."""

    time: int
    origin: int


class Span(NamedTuple):
    """The least and the greatest of some root positions."""

    least: Root
    greatest: Root


START: Final = Root(-(2**63), -(2**63))
"""Before every position."""
END: Final = Root(TIME_END, TIME_END)
"""After every position."""
_TAKE: Final = pc.get_function("array_take")
"""`Array.take` creates options and looks up the function by name, half of its time for a few rows."""


def origin(source: int, split: int, row: int) -> int:
    """Return the origin of a row; the numbers are below `TABLES_MAX`, `SPLITS_MAX` and `ROWS_MAX`."""
    return source << 56 | split << 40 | row


def origin_parts(packed: int) -> tuple[int, int, int]:
    """Return (source, split, row) of a row's origin."""
    return packed >> 56, packed >> 40 & 0xFFFF, packed & (1 << 40) - 1


def position_text(root: Root) -> str:
    """Return a position as text for messages.

    >>> position_text(Root(5, origin(1, 2, 3)))
    'row 3 of split 2 of table 1, at time 5'
    """
    if root in (START, END):
        return "the beginning" if root == START else "the end"
    if root.origin < 0:
        return f"time {root.time}"
    source, split, row = origin_parts(root.origin)
    return f"row {row} of split {split} of table {source}, at time {root.time}"


@dataclass(slots=True, eq=False)
class Batch:
    """Weighted rows: payload `columns`, root `(time, origin)`, `path` columns, `weight`.

    `span` is read at every step of the dataflow, so it is computed once, and copied to batches with the
    same roots.  The same holds for the known order: `ascending` means that the position of each
    row is greater than that of the row before; False means that the order is not known.
    """

    columns: Sequence[pa.Array]
    time: Ints
    origin: Ints
    path: tuple[Ints, ...]
    weight: Ints | None = None
    known_span: Span | None = None
    ascending: bool = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.time)

    def take(self, rows: Ints) -> Batch:
        """Return the rows at the given indexes, in that order."""
        if len(rows) == len(self) == 1:
            return self
        indexes = pa.array(rows)
        return Batch(
            [_TAKE.call([column, indexes]) for column in self.columns],
            self.time[rows],
            self.origin[rows],
            tuple(level[rows] for level in self.path),
            None if self.weight is None else self.weight[rows],
            self.known_span if self._has_one_root() and len(rows) else None,
        )

    def _has_one_root(self) -> bool:
        """Return whether it is known that all rows have the same root."""
        span = self.known_span
        return span is not None and span.least == span.greatest

    def with_columns(self, columns: Sequence[pa.Array]) -> Batch:
        """Return the same positions and weights with another payload."""
        return Batch(
            columns,
            self.time,
            self.origin,
            self.path,
            self.weight,
            self.known_span,
            self.ascending,
        )

    def weights(self) -> Ints:
        """Return the weights as a column, also if all are +1."""
        return np.ones(len(self), np.int64) if self.weight is None else self.weight

    def root(self, row: int) -> Root:
        """Return the root position of a row."""
        return Root(int(self.time[row]), int(self.origin[row]))

    def span(self) -> Span:
        """Return the least and the greatest root position; the batch may not be empty."""
        if self.known_span is None:
            self.known_span = _span(self.time, self.origin)
        return self.known_span


def span_of_all(spans: Sequence[Span | None]) -> Span | None:
    """Return the union of spans, None if one of them is not known."""
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return None
    return Span(min(span.least for span in known), max(span.greatest for span in known))


def _span(time: Ints, origin: Ints) -> Span:
    if len(time) == 1:
        root = Root(int(time[0]), int(origin[0]))
        return Span(root, root)
    first, last = int(time.min()), int(time.max())
    if first == last:
        return Span(Root(first, int(origin.min())), Root(last, int(origin.max())))
    return Span(
        Root(first, int(origin[time == first].min())), Root(last, int(origin[time == last].max()))
    )
