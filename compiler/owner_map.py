"""Owner maps: which worker owns which keys.

The hashes of keys fall into `BINS` bins of equal width, and each bin has one owner.  Sets of bins are written
as ranges: half-open intervals of bin numbers, ascending, that neither overlap nor touch.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BINS: Final = 4096
BIN_SHIFT: Final = 20
"""The bin of a hash, which has 32 bits, is `hash >> BIN_SHIFT`."""

BinRanges: TypeAlias = tuple[tuple[int, int], ...]
"""A set of bins: `(first, end)` for each range."""

ALL_BINS: Final[BinRanges] = ((0, BINS),)


def bin_ranges(bins: Iterable[int]) -> BinRanges:
    """Return a set of bins, given ascending, as ranges."""
    found: list[tuple[int, int]] = []
    for number in bins:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return tuple(found)


def all_of(sets: Iterable[BinRanges]) -> BinRanges:
    """Return the bins that are in any of some sets."""
    return bin_ranges(
        sorted({number for bins in sets for first, end in bins for number in range(first, end)})
    )


def common_bins(one: BinRanges, other: BinRanges) -> BinRanges:
    """Return the bins that are in both sets."""
    found, i, k = [], 0, 0
    while i < len(one) and k < len(other):
        first, end = max(one[i][0], other[k][0]), min(one[i][1], other[k][1])
        if first < end:
            found.append((first, end))
        if one[i][1] == end:
            i += 1
        else:
            k += 1
    return tuple(found)


def bins_without(one: BinRanges, other: BinRanges) -> BinRanges:
    """Return the bins of one set that are not in another."""
    cuts = [0, *(bound for each in other for bound in each), BINS]
    gaps = tuple(
        (first, end) for first, end in zip(cuts[::2], cuts[1::2], strict=True) if first < end
    )
    return common_bins(one, gaps)


def are_bin_ranges(ranges: BinRanges) -> bool:
    """Return whether these are ranges of bins, as required."""
    bounds = [bound for each in ranges for bound in each]
    ascending = all(one < other for one, other in pairwise(bounds))
    return ascending and all(0 <= bound <= BINS for bound in bounds)


def are_owner_ranges(ranges: Iterable[tuple[int, int, int]], workers: int) -> bool:
    """Return whether `(owner, first, end)` ranges cover all bins in order, with owners that exist."""
    bins = 0
    for owner, first, end in ranges:
        if not 0 <= owner < workers or first != bins or end <= first:
            return False
        bins = end
    return bins == BINS


@dataclass(frozen=True)
class OwnerMap:
    """The owner of each bin.

    `owners` has `BINS` worker numbers, which are below `workers`.  A worker may own nothing.
    """

    owners: tuple[int, ...]
    workers: int

    def __post_init__(self) -> None:
        """Check that each bin has an owner that exists."""
        assert len(self.owners) == BINS
        assert 0 <= min(self.owners) <= max(self.owners) < self.workers

    @classmethod
    @cache
    def of_equal_ranges(cls, workers: int) -> OwnerMap:
        """Return the map in which each worker owns one range, all of about the same width."""
        return cls(tuple(number * workers // BINS for number in range(BINS)), workers)

    @classmethod
    def of_ranges(
        cls, ranges: Iterable[tuple[int, int, int]], workers: int | None = None
    ) -> OwnerMap:
        """Return the map that has these `ranges`, which cover all bins in order.

        Without `workers`, the greatest owner is the last worker.
        """
        owners = [owner for owner, first, end in ranges for _ in range(first, end)]
        return cls(tuple(owners), max(owners) + 1 if workers is None else workers)

    def renumber(self, numbers: Sequence[int]) -> OwnerMap:
        """Return the map in which worker `k` has the number `numbers[k]`; these are ascending."""
        return OwnerMap(tuple(numbers[owner] for owner in self.owners), numbers[-1] + 1)

    @cached_property
    def ranges(self) -> tuple[tuple[int, int, int], ...]:
        """Return `(owner, first, end)` for each range of neighbouring bins of one owner."""
        found, first = [], 0
        for owner, bins in groupby(self.owners):
            end = first + sum(1 for _ in bins)
            found.append((owner, first, end))
            first = end
        return tuple(found)

    def bins_of(self, worker: int) -> BinRanges:
        """Return the bins that a worker owns."""
        return tuple((first, end) for owner, first, end in self.ranges if owner == worker)
