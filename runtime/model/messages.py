"""The messages of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.model.item import Item


class Delivery(NamedTuple):
    """An item on its way to the instance of a vertex; `key` is the key by which it was routed."""

    item: Item
    message_id: int
    key: Hashable


class Arrival(NamedTuple):
    """An item on its way to a port of the barrier."""

    item: Item
    message_id: int
    port: int


class Acknowledgement(NamedTuple):
    """The combined acknowledgement of an instance: ids under their roots."""

    entries: Sequence[tuple[Root, int]]


class Promise(NamedTuple):
    """`front` will send nothing below `bound`."""

    front: int
    bound: Root


class MinTime(NamedTuple):
    """Nothing below `bound` is in flight."""

    bound: Root


class ReadOn(NamedTuple):
    """A front's message to itself: emit the next payload."""
