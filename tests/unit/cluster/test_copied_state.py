"""What an old owner sends ahead of a tick, and when little enough is left."""

from __future__ import annotations

import pyarrow as pa

from fsql.compiler.owners import ALL_BINS_OF_ALL, BinSets
from fsql.runtime.batch import START
from fsql.runtime.cluster.ticks.copied_state import (
    HAND_OVER_ROWS_MAX,
    ROWS_OF_PART,
    SNAPSHOTS_OF_COMPARISON,
    CopiedState,
)
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    NEVER,
    IncrementalSnapshot,
    incremental_snapshot,
    merge_snapshots,
)

ALL = {1: ALL_BINS_OF_ALL}
HALVES = {1: BinSets(((0, 2048),)), 2: BinSets(((2048, 4096),))}


def rows(count: int) -> IncrementalSnapshot:
    """Return the state of some keys."""
    state = pa.RecordBatch.from_pydict({"expires": pa.array([NEVER] * count, pa.int64())})
    keys = [pa.array(range(count), pa.int64())]
    return merge_snapshots([incremental_snapshot(keys, state, appends=False)], START)


def sent(copies: CopiedState) -> list[tuple[int, int]]:
    """Send everything; return receiver and number of rows of each part."""
    parts = []
    while copies.has_more:
        peer, state = copies.take()
        parts.append((peer, sum(len(part) for _, part in state)))
    return parts


def test_each_exchange_has_receivers_of_its_own() -> None:
    outgoing = {
        1: BinSets(exchanges=(("join", ((0, 4096),)),)),
        2: BinSets(((0, 4096),), (("join", ()),)),
    }
    copies = CopiedState(outgoing, follows_snapshots=False)
    copies.on_stored_state((("fold", rows(9)), ("join", rows(5))))
    assert sent(copies) == [(1, 5), (2, 9)]


def test_state_goes_in_parts_the_stored_state_first() -> None:
    copies = CopiedState(ALL, follows_snapshots=True)
    copies.on_snapshot((("fold", rows(9)),))  # will be part of what was stored
    assert (copies.has_more, copies.is_small) == (False, False)
    copies.on_stored_state((("fold", rows(ROWS_OF_PART + 1)),))
    copies.on_snapshot((("fold", rows(7)),))
    assert sent(copies) == [(1, ROWS_OF_PART), (1, 1), (1, 7)]


def test_each_new_owner_gets_its_bins() -> None:
    copies = CopiedState(HALVES, follows_snapshots=False)
    copies.on_stored_state((("fold", rows(100)),))
    assert not copies.is_small
    counts = dict(sent(copies))
    assert sorted(counts) == [1, 2]
    assert sum(counts.values()) == 100
    assert copies.is_small


def test_a_worker_that_hands_nothing_over_is_prepared_at_once() -> None:
    assert CopiedState({}, follows_snapshots=True).is_small


def test_a_small_snapshot_after_the_copy_is_needed() -> None:
    copies = CopiedState(ALL, follows_snapshots=True)
    copies.on_stored_state((("fold", rows(10)),))
    copies.on_snapshot((("fold", rows(10)),))
    sent(copies)
    # It was taken before the copy had been sent: how much comes between two snapshots is not known.
    assert not copies.is_small
    copies.on_snapshot((("fold", rows(HAND_OVER_ROWS_MAX)),))
    assert not copies.is_small
    sent(copies)
    assert copies.is_small


def test_snapshots_that_do_not_get_smaller_are_small_enough() -> None:
    copies = CopiedState(ALL, follows_snapshots=True)
    copies.on_stored_state(())
    small = []
    for count in (9 * HAND_OVER_ROWS_MAX, 5 * HAND_OVER_ROWS_MAX, 4 * HAND_OVER_ROWS_MAX):
        copies.on_snapshot((("fold", rows(count)),))
        sent(copies)
        small.append(copies.is_small)
    assert small == [False, False, True]


def test_state_that_changes_faster_than_it_is_sent_is_handed_over_as_it_is() -> None:
    copies = CopiedState(ALL, follows_snapshots=True)
    copies.on_stored_state((("fold", rows(ROWS_OF_PART)),))
    small = []
    for _ in range(2 * SNAPSHOTS_OF_COMPARISON):
        copies.on_snapshot((("fold", rows(2 * ROWS_OF_PART)),))
        copies.take()
        small.append(copies.is_small)
    assert small == [False] * (2 * SNAPSHOTS_OF_COMPARISON - 1) + [True]


def test_state_that_is_sent_faster_than_it_changes_is_sent() -> None:
    copies = CopiedState(ALL, follows_snapshots=True)
    copies.on_stored_state((("fold", rows(8 * SNAPSHOTS_OF_COMPARISON * ROWS_OF_PART)),))
    small = []
    for _ in range(4 * SNAPSHOTS_OF_COMPARISON):
        copies.on_snapshot((("fold", rows(ROWS_OF_PART)),))
        copies.take()
        copies.take()
        small.append(copies.is_small)
    assert not any(small)


def test_state_that_is_sent_again_after_a_peak_of_the_load_is_sent() -> None:
    copies = CopiedState(ALL, follows_snapshots=True)
    copies.on_stored_state((("fold", rows(ROWS_OF_PART)),))
    small = []
    for step in range(5 * SNAPSHOTS_OF_COMPARISON):
        in_peak = step < SNAPSHOTS_OF_COMPARISON - 1
        copies.on_snapshot((("fold", rows((20 if in_peak else 1) * ROWS_OF_PART)),))
        for _ in range(2):
            copies.take()
        small.append(copies.is_small)
    assert copies.has_more
    assert not any(small)


def test_what_is_left_is_taken_at_once() -> None:
    copies = CopiedState(HALVES, follows_snapshots=True)
    copies.on_stored_state((("fold", rows(3 * ROWS_OF_PART)),))
    left = [sum(len(part) for _, part in copies.take_all(peer)) for peer in (1, 2)]
    assert sum(left) == 3 * ROWS_OF_PART
    assert min(left) > 0
    assert not copies.has_more
