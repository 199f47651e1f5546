"""A bucket of a grouping: the items of one key in order, and the window that ends at each item.

| items come in   | 1   | 3      | 2                    |
|-----------------|-----|--------|----------------------|
| live windows    | (1) | (1, 3) | (1, 2), (2, 3)       |
| sent, window 2  | (1) | (1, 3) | -(1, 3) (1, 2) (2, 3)|

An item that arrives in order is grouped once. An item that arrives out of order is inserted at its position;
tombstones are sent for the windows that it invalidates, followed by the new windows: *replay* (FlameStream
(2018), section 3 and figure 7).  A tombstone removes its victim in the same way.  So at any time the sum of
the sent items is the set of windows over the present items, whatever the order in which they arrived.

A window has the meta of its last item.  Windows at the beginning of a bucket are shorter than the rest.  With
`undo_partial_windows` these are suppressed: while the bucket has fewer items than a window, one group of all
of them is live, and afterwards only full windows are.

The order is global time, then the caller's order of payloads, then meta.  A caller's order may not put an
item before one that it descends from, because then a state could not follow its item; with `check_lineage`
every item is checked.  (The check compares child ids, so it is only correct if all items of the bucket arrive
by one path: versions of an item that arrive by two paths, one of which will be undone, share child ids.)
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from fsql.runtime.model.item import Item

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.batch import Root
    from fsql.runtime.model.value_order import Key

    Place = tuple[Root, Key, tuple[int, ...], int]


def no_order(_payload: object) -> Key:
    """Order by meta only."""
    return ()


class Bucket:
    """The items of one key; `accept` returns the items that the grouping sends for an item."""

    def __init__(
        self,
        window: int,
        order: Callable[[Any], Key] = no_order,
        identity: int = 0,
        *,
        undo_partial_windows: bool = False,
        check_lineage: bool = False,
    ) -> None:
        self._window = window
        self._order = order
        self._identity = identity
        self._undo_partial_windows = undo_partial_windows
        self._check_lineage = check_lineage
        self._items: list[Item] = []
        self._places: list[Place] = []

    def accept(self, item: Item) -> list[Item]:
        """Insert or undo an item; return tombstones of invalid windows, then the new windows."""
        return self._remove(item) if item.meta.tombstone else self._insert(item)

    def _insert(self, item: Item) -> list[Item]:
        place = self._place(item)
        index = bisect_left(self._places, place)
        assert self._places[index : index + 1] != [place], "two live items have one meta"
        if self._check_lineage:
            self._verify_lineage(item, index)
        undone = self._windows(index, self._window - 1, tombstone=True)
        self._items.insert(index, item)
        self._places.insert(index, place)
        return undone + self._windows(index, self._window, tombstone=False)

    def _remove(self, tombstone: Item) -> list[Item]:
        place = self._place(tombstone)
        index = bisect_left(self._places, place)
        assert self._places[index : index + 1] == [place], "a tombstone came without its victim"
        undone = self._windows(index, self._window, tombstone=True)
        del self._items[index], self._places[index]
        return undone + self._windows(index, self._window - 1, tombstone=False)

    def _place(self, item: Item) -> Place:
        meta = item.meta
        return meta.global_time, self._order(item.payload), meta.child_ids, meta.trace

    def _windows(self, first: int, count: int, *, tombstone: bool) -> list[Item]:
        """Return the live windows that end at `first` or at one of the next `count` - 1 items."""
        made = []
        for end in self._live_ends(first, count):
            window = self._items[max(0, end + 1 - self._window) : end + 1]
            meta = window[-1].meta.window(self._identity, tombstone=tombstone)
            made.append(Item(meta, tuple(item.payload for item in window)))
        return made

    def _live_ends(self, first: int, count: int) -> range:
        size = len(self._items)
        least = 0
        if self._undo_partial_windows:
            if size < self._window:
                return range(max(0, size - 1), size)  # The group of all items always changes.
            least = self._window - 1
        return range(max(first, least), min(first + count, size))

    def _verify_lineage(self, item: Item, index: int) -> None:
        """Raise ValueError if the caller's order puts a descendant before its ancestor."""
        for other in self._same_root(item, range(index - 1, -1, -1)):
            if other.meta.descends_from(item.meta):
                raise ValueError("the order puts an item after its descendant")
        for other in self._same_root(item, range(index, len(self._items))):
            if item.meta.descends_from(other.meta):
                raise ValueError("the order puts an item before its ancestor")

    def _same_root(self, item: Item, indexes: range) -> list[Item]:
        """Return the items at `indexes` up to the first one with another root."""
        found = []
        for index in indexes:
            if self._items[index].meta.global_time != item.meta.global_time:
                break
            found.append(self._items[index])
        return found
