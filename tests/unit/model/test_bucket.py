"""Buckets: windows, replay, tombstones (FlameStream (2018) and FlameStream data flow).

`LiveSet` applies what a bucket sends, and so checks U6 everywhere: a tombstone without its victim fails.

Catches: a window that is missing, stale, or sent twice, for any order of arrival; a replay that sends more
than it must.  Does not catch: tombstones that lose their way between stations (see test_machine).
"""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.model.bucket import Bucket
from fsql.tests.unit.model.items import LiveSet, item, tombstone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.model.item import Item

ALL = 10**9
"""A window that is never full: one group of all items."""


def windows_of(
    items: Sequence[Item], window: int, *, undo_partial_windows: bool = False
) -> list[object]:
    """Let items arrive in the order given; return the live windows, in their order."""
    bucket = Bucket(window, undo_partial_windows=undo_partial_windows)
    live = LiveSet()
    for each in items:
        live.take(bucket.accept(each))
    return live.payloads


def sliding(values: Sequence[object], window: int) -> list[object]:
    """Return the window that ends at each of the values."""
    return [tuple(values[max(0, end - window) : end]) for end in range(1, len(values) + 1)]


def test_u2_in_order_each_item_is_grouped_once() -> None:
    bucket = Bucket(2)
    sent = [bucket.accept(item(time)) for time in (1, 2, 3)]
    assert [[each.payload for each in items] for items in sent] == [[(1,)], [(1, 2)], [(2, 3)]]
    assert not any(each.meta.tombstone for items in sent for each in items)


@pytest.mark.parametrize("arrivals", [(2, 1, 3), (1, 3, 2), (3, 2, 1)])
def test_u3_u4_u5_head_tail_and_full_reordering(arrivals: Sequence[int]) -> None:
    assert windows_of([item(time) for time in arrivals], 2) == [(1,), (1, 2), (2, 3)]


def test_figure_7_replay_reproduces_the_windows_that_the_late_item_is_in() -> None:
    bucket = Bucket(2)
    live = LiveSet()
    for time in (1, 3, 4):
        live.take(bucket.accept(item(time)))
    sent = bucket.accept(item(2))
    assert [(each.meta.tombstone, each.payload) for each in sent] == [
        (True, (1, 3)),
        (False, (1, 2)),
        (False, (2, 3)),
    ]
    live.take(sent)
    assert live.payloads == [(1,), (1, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize("window", [1, 2, 3, 4, ALL])
def test_every_order_of_arrival_gives_the_same_windows(window: int) -> None:
    for arrivals in permutations(range(5)):
        live = windows_of([item(time) for time in arrivals], window)
        assert live == sliding(range(5), window)


def test_u7_a_state_goes_between_its_item_and_the_next() -> None:
    x1, x2 = item(1, "x1"), item(2, "x2")
    state = item(1, "s", child_ids=(0, 0))
    assert windows_of([x1, x2, state], 2) == [("x1",), ("x1", "s"), ("s", "x2")]


def test_u8_two_chains_out_of_order() -> None:
    chains = [
        item(5, "x5"),
        item(5, "x5s", child_ids=(0, 0)),
        item(0, "x0"),
        item(0, "x0s", child_ids=(0, 0)),
        item(5, "the state", child_ids=(0, 0, 0, 0)),
    ]
    expected = [("x0",), ("x0", "x0s"), ("x0s", "x5"), ("x5", "x5s"), ("x5s", "the state")]
    for arrivals in permutations(chains):
        assert windows_of(arrivals, 2) == expected


@pytest.mark.parametrize("undo_partial_windows", [False, True])
@pytest.mark.parametrize("window", [1, 2, 3, ALL])
def test_u9_an_item_and_its_tombstone_leave_no_mark(
    window: int, *, undo_partial_windows: bool
) -> None:
    others = [item(time) for time in (0, 2, 4, 6)]
    expected = windows_of(others, window, undo_partial_windows=undo_partial_windows)
    for time in (-1, 1, 3, 5, 7):
        victim = item(time)
        for when in range(5):
            arrivals = [*others[:when], victim, *others[when:], tombstone(victim)]
            assert (
                windows_of(arrivals, window, undo_partial_windows=undo_partial_windows) == expected
            )


def test_u10_a_thousand_items_in_random_order() -> None:
    times = list(range(1000))
    arrivals = times.copy()
    Random(2).shuffle(arrivals)
    assert windows_of([item(time) for time in arrivals], 6) == sliding(times, 6)


def test_random_items_and_tombstones_leave_the_windows_of_what_is_present() -> None:
    for seed in range(60):
        random = Random(seed)
        window = random.choice([1, 2, 3, 5, ALL])
        partial = random.random() < 0.5
        bucket, live = Bucket(window, undo_partial_windows=partial), LiveSet()
        present: dict[int, Item] = {}
        for _ in range(60):
            time = random.randrange(12)
            if time in present:
                live.take(bucket.accept(tombstone(present.pop(time))))
            else:
                present[time] = item(time)
                live.take(bucket.accept(present[time]))
            times = sorted(present)
            expected = sliding(times, window)
            if partial:
                expected = expected[window - 1 :] or expected[-1:]
            assert live.payloads == expected


@pytest.mark.parametrize("arrivals", [range(5), (4, 3, 2, 1, 0), (3, 0, 4, 1, 2)])
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (ALL, [(0, 1, 2, 3, 4)]),
        (2, [(0, 1), (1, 2), (2, 3), (3, 4)]),
        (3, [(0, 1, 2), (1, 2, 3), (2, 3, 4)]),
    ],
)
def test_u11_to_u16_partial_windows_are_undone(
    window: int, expected: list[object], arrivals: Sequence[int]
) -> None:
    items = [item(time) for time in arrivals]
    assert windows_of(items, window, undo_partial_windows=True) == expected


def test_with_partial_windows_undone_one_group_of_all_is_live_until_a_window_is_full() -> None:
    bucket, live = Bucket(3, undo_partial_windows=True), LiveSet()
    seen = []
    for time in (2, 1, 4, 3):
        live.take(bucket.accept(item(time)))
        seen.append(live.payloads)
    assert seen == [[(2,)], [(1, 2)], [(1, 2, 4)], [(1, 2, 3), (2, 3, 4)]]


def test_u17_an_order_that_puts_a_child_before_its_parent_is_rejected() -> None:
    parent, child = item(1, "z"), item(1, "a", child_ids=(0,))
    for arrivals in ((parent, child), (child, parent)):
        bucket = Bucket(2, lambda payload: (payload,), check_lineage=True)
        bucket.accept(arrivals[0])
        with pytest.raises(ValueError, match="the order puts an item"):
            bucket.accept(arrivals[1])


def test_u18_a_valid_order_stands_between_global_time_and_meta() -> None:
    items = [
        item(1, ("a", 1), child_ids=(1,)),
        item(1, ("a", 2), child_ids=(2,)),
        item(1, ("b", 3), child_ids=(0,)),
        item(1, ("b", 4), child_ids=(0, 0)),
        item(2, ("a", 5), child_ids=(0,)),
    ]
    for arrivals in permutations(items):
        bucket = Bucket(ALL, lambda payload: (payload[0],), check_lineage=True)
        live = LiveSet()
        for each in arrivals:
            live.take(bucket.accept(each))
        assert max(live.payloads, key=len) == tuple(each.payload for each in items)  # type: ignore[arg-type]


def test_a_late_item_undoes_no_more_than_the_windows_across_its_place() -> None:
    for window in (1, 2, 3, 4):
        for place in range(6):
            bucket = Bucket(window)
            for time in range(6):
                bucket.accept(item(2 * time))
            sent = bucket.accept(item(2 * place - 1))
            undone = sum(each.meta.tombstone for each in sent)
            assert undone == min(window - 1, 6 - place)
            assert len(sent) - undone == min(window, 7 - place)


def test_a_tombstone_without_its_victim_is_a_bug() -> None:
    bucket = Bucket(2)
    bucket.accept(item(1))
    with pytest.raises(AssertionError, match="without its victim"):
        bucket.accept(tombstone(item(2)))
