"""The rows that a fold has not applied yet; a fold that is behind takes them in parts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import END, START
from fsql.runtime.dataflow.waiting_rows import WaitingRows
from fsql.runtime.order import are_large

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.kernels.keyed.kernel import KeyedRows

PART_ROWS_MIN: Final = 64
"""The approximate minimum of waiting rows of each side that a fold that is behind takes at once."""


class Backlog:
    """Waiting rows by side.

    The fold `is_behind` if rows wait because the results of earlier rows filled a step.
    """

    def __init__(self, sides: int) -> None:
        self.is_behind = False
        self._sides = [WaitingRows() for _ in range(sides)]
        self._part_rows = PART_ROWS_MIN
        self._part_start = START
        """Waiting rows below this position were given to the kernel before, or arrived later."""

    @property
    def rows(self) -> int:
        """Return the number of waiting rows."""
        return sum(side.rows for side in self._sides)

    def least(self) -> Root | None:
        """Return the least root of the waiting rows, or None."""
        roots = [side.least() for side in self._sides]
        return min([root for root in roots if root is not None], default=None)

    def from_root(self, least: Root) -> list[tuple[Batch, int]]:
        """Return the batches with rows at or above `least`, each with its first waiting row."""
        return [found for side in self._sides for found in side.from_root(least)]

    def append(self, side: int, batch: Batch) -> None:
        """Add rows, at least one."""
        self._sides[side].append(batch)

    def append_all(self, batches: Sequence[Sequence[Batch]]) -> None:
        """Add rows of each side."""
        for side, of_side in enumerate(batches):
            for batch in of_side:
                self.append(side, batch)

    def put_back(self, parts: Sequence[Sequence[KeyedRows | None]]) -> None:
        """Add rows that are left for a later step; if there are any, the fold is behind."""
        for sides in parts:
            for side, rows in enumerate(sides):
                if rows is not None:
                    self._sides[side].append(rows.batch)
                    self._part_start = min(self._part_start, rows.batch.span().least)
                    self.is_behind = True

    def pass_on(self, side: int, batch: Batch) -> list[list[Batch]]:
        """Do `append` and `take_below(END)` at once, and return the latter's result; no row may wait."""
        batches: list[list[Batch]] = [[] for _ in self._sides]
        batches[side].append(batch)
        self._part_start = END
        return batches

    def take_below(self, bound: Root) -> list[list[Batch]]:
        """Remove and return the rows below `bound`; if the fold is behind, only the next part of them."""
        part = self._next_part(bound)
        batches = [side.take_below(part) for side in self._sides]
        left = self.least()
        self.is_behind = left is not None and left < bound
        self._part_start = part
        return batches

    def _next_part(self, bound: Root) -> Root:
        """Return the end of the next part, at most `bound`."""
        if not self.is_behind:
            return bound
        count, start = self._part_rows, self._part_start
        return min(bound, *[side.position_after(count, start) for side in self._sides])

    def resize_part(self, applied: int) -> None:
        """Set the size of the next part to twice the number of rows that were applied of the last one.

        So a long backlog is not sorted and put back for each part.
        """
        self._part_rows = max(PART_ROWS_MIN, 2 * applied)


def in_turn(batches: list[list[Batch]]) -> list[list[list[Batch]]]:
    """Return batches of sides in parts that can be applied one after the other, in the order of roots.

    Large batches with separate ranges of roots are parts of their own.  So they keep their dictionaries, of
    whose values the slots are known; batches of several senders have different ones.
    """
    filled = [(side, of_side) for side, of_side in enumerate(batches) if of_side]
    if len(filled) != 1 or not are_large(filled[0][1]):
        return [batches]
    [(side, of_side)] = filled
    ascending = sorted(of_side, key=lambda batch: batch.span().least)
    if any(one.span().greatest >= other.span().least for one, other in pairwise(ascending)):
        return [batches]
    return [
        [[batch] if number == side else [] for number, _ in enumerate(batches)]
        for batch in ascending
    ]
