"""The network: links that preserve the order of messages, and a random scheduler.

Between two addresses messages arrive in the order in which they were sent; between different pairs any
order is possible.  `next` delivers the first message of a link chosen at random; links differ in speed, as on
real machines.  The seed determines everything.

A sender may remove a message that has not been delivered.
"""

from __future__ import annotations

from collections import OrderedDict
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

SPEEDS: Final = (1.0, 1.0, 0.5, 0.2)
"""Probabilities that a chosen link delivers; each link draws one of them."""


class Link:
    """The messages in flight to `receiver` from one sender, by name, in order."""

    __slots__ = ("messages", "receiver", "speed")

    def __init__(self, receiver: int, speed: float) -> None:
        self.receiver = receiver
        self.speed = speed
        self.messages: OrderedDict[Hashable, object] = OrderedDict()


class Network:
    """All links; addresses are any integers."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - interleavings, not secrets
        self._links: dict[tuple[int, int], Link] = {}
        self._loaded: list[Link] = []
        self._serial = 0

    def send(self, sender: int, receiver: int, message: object, name: Hashable = None) -> None:
        """Put a message on the link between two addresses; names must be unique on a link."""
        link = self._links.get((sender, receiver))
        if link is None:
            link = Link(receiver, self._random.choice(SPEEDS))
            self._links[sender, receiver] = link
        if name is None:
            name = self._serial = self._serial + 1
        assert name not in link.messages, "two messages on a link have one name"
        if not link.messages:
            self._loaded.append(link)
        link.messages[name] = message

    def recall(self, sender: int, receiver: int, name: Hashable) -> object:
        """Remove and return a message that has not been delivered; None if there is none."""
        link = self._links.get((sender, receiver))
        if link is None or name not in link.messages:
            return None
        message = link.messages.pop(name)
        if not link.messages:
            self._loaded.remove(link)
        return message

    def next(self) -> tuple[int, object] | None:
        """Take a message from some link; return its receiver and the message, or None."""
        loaded, random = self._loaded, self._random.random
        if not loaded:
            return None
        while True:
            index = int(random() * len(loaded))
            link = loaded[index]
            if random() < link.speed:
                break
        _, message = link.messages.popitem(last=False)
        if not link.messages:
            loaded[index] = loaded[-1]
            loaded.pop()
        return link.receiver, message
