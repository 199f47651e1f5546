"""The barrier releases all that is final and nothing else (FlameStream (2018), 3.1 to 3.3).

Catches: an invalid item that is released, groups out of order, rows behind an error.  Does not catch: a min
time that is wrong itself (test_acker).
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.batch import END, Root
from fsql.runtime.model.barrier import Barrier
from fsql.tests.unit.model.items import item, tombstone

if TYPE_CHECKING:
    from fsql.runtime.model.barrier import Group

PORT = 7


class World:
    """Takes what a barrier releases; stops at the payload `error`."""

    def __init__(self) -> None:
        self.groups: list[tuple[int, list[object]]] = []
        self.barrier = Barrier(self.release)

    def release(self, root: Root, group: Group) -> bool:
        payloads = [each.payload for each in sorted(group[PORT], key=lambda each: each.meta)]
        if "error" in payloads:
            return False
        self.groups.append((root.time, payloads))
        return True


def test_figure_9_an_invalidated_item_never_leaves() -> None:
    world = World()
    triangle, rectangle = item(4, "triangle"), item(4, "rectangle", child_ids=(1,))
    world.barrier.accept(PORT, triangle)
    world.barrier.advance(Root(4, 0))
    assert world.groups == []
    world.barrier.accept(PORT, rectangle)
    world.barrier.accept(PORT, tombstone(triangle))
    world.barrier.advance(Root(4, 1))
    assert world.groups == [(4, ["rectangle"])]


def test_what_arrives_in_any_order_is_released_in_the_total_order() -> None:
    items = [
        item(2, "b"),
        item(1, "a1", child_ids=(0,)),
        item(1, "a2", child_ids=(1,)),
        item(3, "c"),
    ]
    for arrivals in permutations(items):
        world = World()
        for each in arrivals:
            world.barrier.accept(PORT, each)
        world.barrier.advance(END)
        assert world.groups == [(1, ["a1", "a2"]), (2, ["b"]), (3, ["c"])]


def test_only_what_is_below_min_time_is_released() -> None:
    world = World()
    for time in (3, 1, 2):
        world.barrier.accept(PORT, item(time))
    world.barrier.advance(Root(2, 0))
    assert world.groups == [(1, [1])]
    world.barrier.advance(Root(1, 0))  # An old bound changes nothing.
    world.barrier.advance(Root(3, 0))
    assert world.groups == [(1, [1]), (2, [2])]
    with pytest.raises(AssertionError, match="after its root had been released"):
        world.barrier.accept(PORT, item(2))


def test_a_root_whose_items_were_all_undone_is_no_group() -> None:
    world = World()
    world.barrier.accept(PORT, item(1))
    world.barrier.accept(PORT, tombstone(item(1)))
    world.barrier.advance(END)
    assert world.groups == []
    assert world.barrier.releases == 0


def test_an_error_lets_all_before_it_out_and_nothing_of_its_root_or_behind() -> None:
    world = World()
    for time, payload in ((3, "c"), (2, "error"), (2, "b"), (1, "a")):
        world.barrier.accept(PORT, item(time, payload, child_ids=(len(payload),)))
    world.barrier.advance(END)
    assert world.groups == [(1, ["a"])]
    assert world.barrier.stopped
    world.barrier.advance(END)
    assert world.groups == [(1, ["a"])]


def test_an_error_that_was_undone_stops_nothing() -> None:
    world = World()
    error = item(1, "error")
    world.barrier.accept(PORT, error)
    world.barrier.accept(PORT, tombstone(error))
    world.barrier.accept(PORT, item(2, "b"))
    world.barrier.advance(END)
    assert world.groups == [(2, ["b"])]
    assert not world.barrier.stopped
