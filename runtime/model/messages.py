"""The messages of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.model.item import Item


class Delivery(NamedTuple):
    """An item on its way to the station of a vertex; `key` is what it was routed by."""

    item: Item
    message_id: int
    key: Hashable


class Arrival(NamedTuple):
    """An item on its way to a port of the barrier."""

    item: Item
    message_id: int
    port: int


class Acknowledgement(NamedTuple):
    """What a station did, for the acker: ids under their roots."""

    entries: Sequence[tuple[Root, int]]


class Promise(NamedTuple):
    """Nothing below `bound` comes from `front` any more."""

    front: int
    bound: Root


class MinTime(NamedTuple):
    """Nothing below `bound` is in flight any more."""

    bound: Root


class ReadOn(NamedTuple):
    """A front's message to itself: hand in the next payload."""
