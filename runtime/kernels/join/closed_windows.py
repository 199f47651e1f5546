"""The rows of a join of windows that are no longer needed: their windows have closed on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from fsql.runtime.batch import PUNCTUATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import Closing
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Root


class ClosedWindows:
    """The bound up to which windows have closed.  The columns of rows begin with the keys of the join.

    Rows of keys that are about to be adopted are as of a position that may be below the bound, so nothing is
    dropped while such rows exist.
    """

    def __init__(self, closing: Closing) -> None:
        self._closing = closing
        self._bound: int | None = None
        self._staged = False

    def advance(self, horizon: Root) -> None:
        """Set the bound: no row below `horizon` will be applied or undone again."""
        self._bound = horizon.time if horizon.origin > PUNCTUATION else horizon.time - 1

    def keep_all(self, *, staged: bool) -> None:
        """Set whether there are rows of keys that are about to be adopted; nothing is dropped then."""
        self._staged = staged

    def close_times(self, columns: Sequence[pa.Array]) -> Ints:
        """Return the times of the punctuations at which the windows of rows close."""
        end = columns[self._closing.window_end].view(pa.int64()).to_numpy(zero_copy_only=False)
        grain = self._closing.grain_us
        return -(-end // grain) * grain + self._closing.delay_us

    def open(self, columns: Sequence[pa.Array]) -> Bools | None:
        """Return which rows are of windows that have not closed; None if no row can be excluded."""
        if self._bound is None or self._staged:
            return None
        return self.close_times(columns) > self._bound
