"""The owners of all exchanges: an exchange that is not named has the map of the others."""

from __future__ import annotations

from random import Random

import pytest

from fsql.compiler.owner_map import ALL_BINS, BINS, OwnerMap
from fsql.compiler.owners import (
    BinSets,
    ExchangeRanges,
    OwnerRanges,
    Owners,
    all_of_sets,
    fault_of_ranges,
    moves_of,
    moves_to,
)

ZERO, ONE = OwnerMap((0,) * BINS, 2), OwnerMap((1,) * BINS, 2)
HALVES = OwnerMap.of_equal_ranges(2)
TO_ONE: OwnerRanges = ((1, 0, BINS),)
NAMES = ("a", "b", "c")


def drawn(random: Random, workers: int = 3) -> Owners:
    def of() -> OwnerMap:
        cuts = sorted(random.randrange(BINS) for _ in range(3))
        of_range = [random.randrange(workers) for _ in range(4)]
        bins = (of_range[sum(cut <= number for cut in cuts)] for number in range(BINS))
        return OwnerMap(tuple(bins), workers)

    return Owners.of_maps(of(), {name: of() for name in NAMES if random.random() < 0.6})


def test_equal_owners_are_equal_values() -> None:
    assert Owners.of_maps(ZERO, {"b": ZERO}) == Owners(ZERO)
    two = Owners.of_maps(ZERO, {"b": ONE, "a": HALVES})
    assert two == Owners(ZERO, (("a", HALVES), ("b", ONE)))
    assert (two.of("a"), two.of("b"), two.of("c")) == (HALVES, ONE, ZERO)
    assert Owners.of_ranges(two.ranges, two.exchange_ranges, 2) == two
    assert two.of_plan({"b", "c"}) == Owners(ZERO, (("b", ONE),))
    assert two.renumber((3, 5)).of("b") == OwnerMap((5,) * BINS, 6)


def test_a_proposal_is_for_all_exchanges_or_for_those_that_it_names() -> None:
    now = Owners(ZERO, (("a", ONE),))
    assert now.change(TO_ONE, (), 2) == Owners(ONE)
    assert now.change(TO_ONE, (("b", ZERO.ranges),), 2) == Owners(ONE, (("b", ZERO),))
    assert now.change((), (("b", TO_ONE),), 2) == Owners(ZERO, (("a", ONE), ("b", ONE)))
    assert now.change((), (("a", ZERO.ranges),), 2) == Owners(ZERO)
    assert now.change((), (), 2) == now


@pytest.mark.parametrize("seed", range(4))
def test_each_bin_of_each_exchange_moves_from_one_worker_to_another(seed: int) -> None:
    random = Random(seed)
    old, new = drawn(random), drawn(random)
    for name in (*NAMES, "another"):
        before, after = old.of(name).owners, new.of(name).owners
        expected = {
            (number, was, now)
            for number, (was, now) in enumerate(zip(before, after, strict=True))
            if was != now
        }
        for found in (
            {
                (number, worker, peer)
                for worker in range(3)
                for peer, bins in moves_of(worker, old, new).items()
                for first, end in bins.of(name)
                for number in range(first, end)
            },
            {
                (number, peer, worker)
                for worker in range(3)
                for peer, bins in moves_to(worker, old, new).items()
                for first, end in bins.of(name)
                for number in range(first, end)
            },
        ):
            assert found == expected
        assert old.moved_bins(new, [name]) == len(expected)


def test_a_move_of_one_exchange_leaves_the_others() -> None:
    old, new = Owners(ZERO), Owners(ZERO, (("a", ONE),))
    moved = BinSets((), (("a", ALL_BINS),))
    assert moves_of(0, old, new) == {1: moved}
    assert moves_to(1, old, new) == {0: moved}
    assert moves_of(1, old, new) == moves_to(0, old, new) == {}
    assert old.moved_bins(new, ["b"]) == 0
    assert old.moved_bins(new, NAMES) == BINS


def test_sets_of_bins() -> None:
    one = BinSets(((0, 7),), (("a", ()),))
    other = BinSets((), (("b", ((7, 9),)),))
    both = all_of_sets([one, other])
    assert [both.of(name) for name in NAMES] == [(), ((0, 9),), ((0, 7),)]
    assert both
    assert not BinSets((), (("a", ()),))


@pytest.mark.parametrize(
    ("ranges", "named", "fault"),
    [
        (TO_ONE, (), ""),
        ((), (("a", TO_ONE),), ""),
        ((), (("z", TO_ONE),), "the plan has no exchange z"),
        (TO_ONE, (("a", TO_ONE), ("a", TO_ONE)), "an exchange has two owner maps"),
        ((), (("a", ((2, 0, BINS),)),), "its owner map does not give each bin to a worker"),
        (((1, 0, 9),), (), "its owner map does not give each bin to a worker"),
    ],
)
def test_owners_that_a_plan_cannot_have(
    ranges: OwnerRanges, named: ExchangeRanges, fault: str
) -> None:
    assert fault_of_ranges(ranges, named, 2, NAMES) == fault
