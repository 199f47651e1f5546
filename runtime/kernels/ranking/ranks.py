"""Which rows of a partition are visible, and with which ranks.

The rows are in their order: `keys` has for each row its sort key, and the values that order rows with equal
sort keys. The key of a row that exists several times is repeated.

    keys         (10, a) (20, b) (20, c) (30, d)
    ROW_NUMBER      1       2       3       4
    RANK            1       2       2       4
    DENSE_RANK      1       2       2       3
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

from fsql.compiler.logical import RankFunction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Key = tuple[bytes, bytes]

UNRANKED: Final = 0
"""The rank of rows that are returned without their rank."""


class Ranks:
    """The ranks `skipped < rank <= limit` of a ranking function."""

    def __init__(
        self, function: RankFunction, *, ranked: bool, skipped: int, limit: int | None
    ) -> None:
        self._function = function
        self._ranked = ranked
        self._skipped = skipped
        self._limit = limit
        self.shows_by_index = not ranked and function is RankFunction.ROW_NUMBER
        """Whether the visibility of a row only depends on its index, and no rank is returned."""

    def visible_rows(
        self, keys: Sequence[Key], start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[Key, int]]:
        """Yield the visible rows among `keys[start:stop]`, with their ranks."""
        stop = len(keys) if stop is None else stop
        if self._function is RankFunction.ROW_NUMBER:
            limit = stop if self._limit is None else min(stop, self._limit)
            for index in range(max(start, self._skipped), limit):
                yield keys[index], index + 1 if self._ranked else UNRANKED
            return
        rank, last = self._rank_before(keys, start)
        dense = self._function is RankFunction.DENSE_RANK
        for index in range(start, stop):
            key = keys[index]
            if key[0] != last:
                last, rank = key[0], rank + 1 if dense else index + 1
            if self._limit is not None and rank > self._limit:
                return
            if rank > self._skipped:
                yield key, rank if self._ranked else UNRANKED

    def _rank_before(self, keys: Sequence[Key], start: int) -> tuple[int, bytes | None]:
        """Return the rank of the row before `start`, and its sort key."""
        if start == 0:
            return 0, None
        order = keys[start - 1][0]
        if self._function is RankFunction.DENSE_RANK:
            return len({key[0] for key in keys[:start]}), order
        return bisect_left(keys, (order, b""), 0, start) + 1, order

    def tail_moves(self, *, grown: bool) -> bool:
        """Return whether the ranks of rows after all changes may change; `grown` if their number did."""
        return grown or self._function is RankFunction.DENSE_RANK

    def near_bounds(self, keys: Sequence[Key], moved: int) -> list[Key]:
        """Return the rows that may become visible or hidden when others move them by up to `moved`."""
        return [
            key
            for bound in (self._skipped, self._limit)
            if bound
            for key in keys[max(0, bound - moved) : bound + moved]
        ]

    def times_shown(self, keys: Sequence[Key], key: Key) -> int:
        """Return how often a row is visible, if that only depends on its index."""
        first, end = bisect_left(keys, key), bisect_right(keys, key)
        if self._limit is not None:
            end = min(end, self._limit)
        return max(0, end - max(first, self._skipped))

    def end_of_shown(self, keys: Sequence[Key]) -> int:
        """Return the index from which on no row is visible."""
        limit = self._limit
        if limit is None or len(keys) <= limit:
            return len(keys)
        match self._function:
            case RankFunction.ROW_NUMBER:
                return limit
            case RankFunction.RANK:
                return end_of_equal(keys, keys[limit - 1])
            case RankFunction.DENSE_RANK:
                rank, last = 0, None
                for index, key in enumerate(keys):
                    if key[0] != last:
                        last, rank = key[0], rank + 1
                    if rank > limit:
                        return index
                return len(keys)

    def never_shows(self, keys: Sequence[Key], key: Key) -> bool:
        """Return whether a new row is after all visible rows; False if this is expensive to decide."""
        limit = self._limit
        if limit is None or len(keys) < limit or self._function is RankFunction.DENSE_RANK:
            return False
        last = keys[limit - 1]
        return key > last if self._function is RankFunction.ROW_NUMBER else key[0] > last[0]

    def select_first(self, rows: list[int], keys: Sequence[Key]) -> list[int]:
        """Return those of some new rows of a partition that the others do not hide.

        `rows` are ascending indexes into `keys`, which has the sort key of each row; so are the returned
        ones.  All are returned if this is expensive to decide.
        """
        limit = self._limit
        if limit is None or len(rows) <= limit or self._function is RankFunction.DENSE_RANK:
            return rows
        first = nsmallest(limit, rows, keys.__getitem__)
        if self._function is RankFunction.ROW_NUMBER:
            return sorted(first)
        last = keys[first[-1]][0]
        return [row for row in rows if keys[row][0] <= last]


def end_of_equal(keys: Sequence[Key], key: Key) -> int:
    """Return the index after the rows with the same sort key as `key`."""
    return bisect_left(keys, (key[0] + b"\0", b""))
