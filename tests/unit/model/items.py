"""Items for tests of buckets and groupings, and the live set of what these send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.batch import Root
from fsql.runtime.model.item import Item
from fsql.runtime.model.meta import Meta

if TYPE_CHECKING:
    from collections.abc import Iterable


def item(time: int, payload: object = None, child_ids: tuple[int, ...] = ()) -> Item:
    """Return an item of the time; its payload is the time, unless given."""
    return Item(Meta(Root(time, 0), child_ids), time if payload is None else payload)


def tombstone(victim: Item) -> Item:
    return Item(victim.meta.undone(), victim.payload)


class LiveSet:
    """What is left of items when their tombstones have done their work.

    U6: a tombstone must match an item that came before it, in meta and payload.
    """

    def __init__(self) -> None:
        self._items: dict[Meta, object] = {}
        self.undone = 0

    def take(self, items: Iterable[Item]) -> None:
        for meta, payload in items:
            if meta.tombstone:
                assert self._items.pop(meta.victim()) == payload
                self.undone += 1
            else:
                assert meta not in self._items
                self._items[meta] = payload

    @property
    def payloads(self) -> list[object]:
        """Return the live payloads, in the order of their metas."""
        return [payload for _, payload in sorted(self._items.items())]
