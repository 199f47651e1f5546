"""The owners of the bins of all exchanges of a job: one owner map for each exchange.

An exchange leads into a fold, and has the operator id of that fold as its name.  Both sides of a join are
exchanged by one map.  Exchanges that are not named share a map, which an exchange of a later plan has too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler.owner_map import (
    ALL_BINS,
    BINS,
    BinRanges,
    OwnerMap,
    all_of,
    are_owner_ranges,
    common_bins,
)
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

OwnerRanges: TypeAlias = tuple[tuple[int, int, int], ...]
"""An owner map: worker, first bin and end (exclusive) of each range."""

ExchangeRanges: TypeAlias = tuple[tuple[str, OwnerRanges], ...]
"""The owner maps of some exchanges, by name."""


@dataclass(frozen=True)
class BinSets:
    """A set of bins of each exchange: `every` of those that `exchanges` does not name."""

    every: BinRanges = ()
    exchanges: tuple[tuple[str, BinRanges], ...] = ()

    def of(self, exchange: str) -> BinRanges:
        """Return the bins of an exchange."""
        return dict(self.exchanges).get(exchange, self.every)

    def __bool__(self) -> bool:
        """Return whether an exchange can have any bins."""
        return bool(self.every) or any(bins for _, bins in self.exchanges)


ALL_BINS_OF_ALL: Final = BinSets(ALL_BINS)
"""All bins of all exchanges."""

NO_BINS: Final = BinSets()


def all_of_sets(sets: Iterable[BinSets]) -> BinSets:
    """Return the bins that are in any of some sets."""
    given = list(sets)
    names = sorted({name for each in given for name, _ in each.exchanges})
    return BinSets(
        all_of(each.every for each in given),
        tuple((name, all_of(each.of(name) for each in given)) for name in names),
    )


@dataclass(frozen=True)
class Owners:
    """The owner map of each exchange: `every` of those that `exchanges` does not name.

    `exchanges` is ascending by name, and has only maps that differ from `every`; see `of_maps`.  All maps are
    of the same number of workers.
    """

    every: OwnerMap
    exchanges: tuple[tuple[str, OwnerMap], ...] = ()

    def __post_init__(self) -> None:
        """Check that equal owners are equal values."""
        names = [name for name, _ in self.exchanges]
        assert names == sorted(set(names))
        assert all(each != self.every for _, each in self.exchanges)
        assert all(each.workers == self.every.workers for _, each in self.exchanges)

    @classmethod
    def of_equal_ranges(cls, workers: int) -> Owners:
        """Return the owners if each worker owns one range of each exchange, all of about the same width."""
        return cls(OwnerMap.of_equal_ranges(workers))

    @classmethod
    def of_maps(cls, every: OwnerMap, maps: Mapping[str, OwnerMap]) -> Owners:
        """Return the owners if some exchanges have maps of their own, by name."""
        return cls(every, tuple((name, of) for name, of in sorted(maps.items()) if of != every))

    @classmethod
    def of_ranges(
        cls, ranges: OwnerRanges, exchanges: ExchangeRanges = (), workers: int | None = None
    ) -> Owners:
        """Return the owners that have these ranges, which `fault_of_ranges` accepts.

        Without `workers`, the greatest owner is the last worker.
        """
        if workers is None:
            every = (ranges, *(of for _, of in exchanges))
            workers = max(owner for of in every for owner, _, _ in of) + 1
        maps = {name: OwnerMap.of_ranges(of, workers) for name, of in exchanges}
        return cls.of_maps(OwnerMap.of_ranges(ranges, workers), maps)

    @property
    def workers(self) -> int:
        """Return how many workers there are."""
        return self.every.workers

    @property
    def ranges(self) -> OwnerRanges:
        """Return the ranges of the map of the exchanges that are not named."""
        return self.every.ranges

    @property
    def exchange_ranges(self) -> ExchangeRanges:
        """Return the ranges of the maps of the exchanges that are named."""
        return tuple((name, of.ranges) for name, of in self.exchanges)

    def of(self, exchange: str) -> OwnerMap:
        """Return the owner map of an exchange."""
        return dict(self.exchanges).get(exchange, self.every)

    def change(self, ranges: OwnerRanges, exchanges: ExchangeRanges, workers: int) -> Owners:
        """Return the owners after a proposal; without `ranges`, the exchanges that it does not name stay."""
        if ranges:
            return Owners.of_ranges(ranges, exchanges, workers)
        maps = {name: OwnerMap.of_ranges(of, workers) for name, of in exchanges}
        return Owners.of_maps(self.every, {**dict(self.exchanges), **maps})

    def of_plan(self, exchanges: Collection[str]) -> Owners:
        """Return the owners without the maps of exchanges that a plan does not have."""
        kept = tuple(each for each in self.exchanges if each[0] in exchanges)
        return Owners(self.every, kept)

    def renumber(self, numbers: Sequence[int]) -> Owners:
        """Return the owners if worker `k` has the number `numbers[k]`; these are ascending."""
        maps = tuple((name, of.renumber(numbers)) for name, of in self.exchanges)
        return Owners(self.every.renumber(numbers), maps)

    def bins_of(self, worker: int) -> BinSets:
        """Return the bins that a worker owns."""
        maps = tuple((name, of.bins_of(worker)) for name, of in self.exchanges)
        return BinSets(self.every.bins_of(worker), maps)

    def moved_bins(self, after: Owners, exchanges: Iterable[str]) -> int:
        """Return how many bins have other owners in `after`, in at least one of some exchanges."""
        maps = {(self.of(exchange), after.of(exchange)) for exchange in exchanges}
        moved = {
            number
            for one, other in maps
            for number in range(BINS)
            if one.owners[number] != other.owners[number]
        }
        return len(moved)


def moves_of(worker: int, old: Owners, new: Owners) -> dict[int, BinSets]:
    """Return the bins that a worker owns only in `old`, by their owners in `new`."""
    return dict(_split_by_owner(worker, old, new))


def moves_to(worker: int, old: Owners, new: Owners) -> dict[int, BinSets]:
    """Return the bins that a worker owns only in `new`, by their owners in `old`."""
    return dict(_split_by_owner(worker, new, old))


def _split_by_owner(worker: int, owning: Owners, other: Owners) -> Iterator[tuple[int, BinSets]]:
    """Yield the bins of a worker by their owners in `other`, without those of the worker itself."""
    names = sorted({name for name, _ in (*owning.exchanges, *other.exchanges)})
    maps = [other.every, *(of for _, of in other.exchanges)]
    for peer in sorted({owner for of in maps for owner, _, _ in of.ranges}):
        bins = BinSets(
            _owned_by_both(owning.every, worker, other.every, peer),
            tuple(
                (name, _owned_by_both(owning.of(name), worker, other.of(name), peer))
                for name in names
            ),
        )
        if bins and peer != worker:
            yield peer, bins


def _owned_by_both(one: OwnerMap, worker: int, other: OwnerMap, peer: int) -> BinRanges:
    return common_bins(one.bins_of(worker), other.bins_of(peer))


def fault_of_ranges(
    ranges: OwnerRanges, named: ExchangeRanges, workers: int, exchanges: Collection[str]
) -> str:
    """Return why a plan with these `exchanges` cannot have these owners, "" if it can.

    Without `ranges`, only the named exchanges have an owner map.
    """
    names = [name for name, _ in named]
    for name in names:
        if name not in exchanges:
            return f"the plan has no exchange {name}"
    if len(set(names)) < len(names):
        return "an exchange has two owner maps"
    maps = [*([ranges] if ranges else []), *(of for _, of in named)]
    if not all(are_owner_ranges(of, workers) for of in maps):
        return "its owner map does not give each bin to a worker"
    return ""
