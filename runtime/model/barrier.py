"""The barrier only releases final items.

It buffers the items of each port by their roots; a tombstone removes its victim (FlameStream (2018), 3.1,
algorithm 2).  When min time has passed a root, no further item of it can arrive: its items are final and are
released as one group, roots in ascending order.  All ports of a job are released up to one bound, so they
have the same progress.

The name is that of FlameStream; it is not a checkpoint barrier of Flink.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from fsql.runtime.batch import START, Root

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.model.item import Item
    from fsql.runtime.model.meta import Meta

    Group = dict[int, list[Item]]
    """The items of one root, by port."""


class Barrier:
    """Buffers items; calls `release(root, group)` for each final group, which returns whether to continue."""

    def __init__(self, release: Callable[[Root, Group], bool]) -> None:
        self._release = release
        self._live: dict[Root, dict[tuple[int, Meta], Item]] = {}
        self._roots: list[Root] = []
        self._min_time = START
        self.stopped = False
        self.releases = 0

    def accept(self, port: int, item: Item) -> None:
        """Buffer an item, or remove the victim of a tombstone."""
        root = item.meta.global_time
        assert root >= self._min_time, "an item came after its root had been released"
        if root not in self._live:
            self._live[root] = {}
            heappush(self._roots, root)
        live = self._live[root]
        identity = port, item.meta.victim()
        if item.meta.tombstone:
            assert identity in live, "a tombstone came without its victim"
            del live[identity]
        else:
            assert identity not in live, "two live items have one meta"
            live[identity] = item

    def advance(self, min_time: Root) -> None:
        """Release the groups of all roots below `min_time`, until one of them stops the run."""
        self._min_time = max(self._min_time, min_time)
        while not self.stopped and self._roots and self._roots[0] < self._min_time:
            root = heappop(self._roots)
            group: Group = {}
            for (port, _), item in self._live.pop(root).items():
                group.setdefault(port, []).append(item)
            if group:
                self.stopped = not self._release(root, group)
                self.releases += not self.stopped
