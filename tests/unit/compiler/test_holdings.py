"""Which bins workers hold of a fold that is replicated, and what moves when owners or replicas change."""

from __future__ import annotations

from fsql.compiler.holdings import Holdings, Moves
from fsql.compiler.owner_map import ALL_BINS, BINS, OwnerMap, bins_without
from fsql.compiler.owners import BinSets, Owners

HALF = BINS // 2


def owners(*ranges: tuple[int, int, int], workers: int = 3) -> Owners:
    return Owners(OwnerMap.of_ranges(ranges, workers))


BY_TWO = owners((0, 0, HALF), (1, HALF, BINS))
BY_THREE = owners((0, 0, HALF), (1, HALF, 3000), (2, 3000, BINS))
REPLICATED = frozenset({"join"})


def test_bins_without_others() -> None:
    assert bins_without(ALL_BINS, ()) == ALL_BINS
    assert bins_without((), ALL_BINS) == ()
    assert bins_without(((0, 10), (20, 30)), ((5, 22), (29, BINS))) == ((0, 5), (22, 29))


def test_owners_of_a_bin_hold_all_of_a_replicated_fold() -> None:
    held = Holdings(BY_TWO, REPLICATED)
    assert held.held_by(0) == BinSets(((0, HALF),), (("join", ALL_BINS),))
    assert held.held_by(2) == BinSets((), (("join", ()),))


def test_a_joining_worker_gets_the_bins_of_each_owner() -> None:
    old, new = Holdings(BY_TWO, REPLICATED), Holdings(BY_THREE, REPLICATED)
    joining = Moves(2, old, new)
    assert joining.incoming == {
        0: BinSets((), (("join", ((0, HALF),)),)),
        1: BinSets(((3000, BINS),), (("join", ((HALF, BINS),)),)),
    }
    assert joining.begun == BinSets(((3000, BINS),), (("join", ALL_BINS),))
    giving = Moves(1, old, new)
    assert giving.outgoing == {2: BinSets(((3000, BINS),), (("join", ((HALF, BINS),)),))}
    # It keeps its replica, but gives bins of other folds away.
    assert giving.dropped == BinSets(((3000, BINS),), (("join", ()),))


def test_bins_of_a_replica_that_change_owner_are_sent_to_be_stored_only() -> None:
    swapped = owners((1, 0, HALF), (0, HALF, BINS))
    moves = Moves(0, Holdings(BY_TWO, REPLICATED), Holdings(swapped, REPLICATED))
    assert moves.incoming == {1: BinSets(((HALF, BINS),), (("join", ((HALF, BINS),)),))}
    assert moves.begun == BinSets(((HALF, BINS),), (("join", ()),))
    assert moves.dropped.of("join") == ()


def test_a_fold_becomes_replicated_and_is_not_any_more() -> None:
    keyed, copied = Holdings(BY_TWO), Holdings(BY_TWO, REPLICATED)
    moves = Moves(0, keyed, copied)
    assert moves.outgoing == {1: BinSets((), (("join", ((0, HALF),)),))}
    assert moves.incoming == {1: BinSets((), (("join", ((HALF, BINS),)),))}
    back = Moves(0, copied, keyed)
    assert (back.outgoing, back.incoming) == ({}, {})
    assert back.dropped == BinSets((), (("join", ((HALF, BINS),)),))


def test_a_leaving_worker_drops_its_replica() -> None:
    one = owners((0, 0, BINS))
    moves = Moves(1, Holdings(BY_TWO, REPLICATED), Holdings(one, REPLICATED))
    assert moves.dropped.of("join") == ALL_BINS
