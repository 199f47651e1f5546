"""The acker computes min time, the bound below which nothing is in flight.

Every message has an id and is in the table under the root of its item.  When an instance has processed a
message, it sends one *combined* acknowledgement, applied atomically: the message's id under its root, and
the ids of all messages that it sent for it, each under its own root, which is never less.  Then

    table[r]  =  XOR of the ids of all messages of root r that were sent and are not processed,
                 as far as acknowledgements have arrived
    min time  =  the least of: the roots whose entry is not zero, and the promises of the fronts

A front sends the promise that it will send nothing below p after the acknowledgements of all its messages.
So:

* Nothing below min time is in flight, or will be.  Let m be in flight.  If its sender's acknowledgement
  has been applied, m's id is in the table at its root.  If not, that of the message for which m was sent is
  still in the table, and so on back to a front, which has not promised past it.  Roots only grow along this
  chain, so min time is at or below m's root.
* Min time never decreases.

Ids have 64 mixed bits, so that different ids do not cancel by accident.  Acknowledgements of different
instances may overtake one another; those of one instance and its promises may not.

`tests/unit/model/test_acker.py` checks both statements under random delivery.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from fsql.runtime.batch import END, START, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Acker:
    """The ack table and the promises of the fronts."""

    def __init__(self, fronts: Iterable[int], start: Root = START) -> None:
        self._table: dict[Root, int] = {}
        self._roots: list[Root] = []  # A heap of the keys of the table, and of some removed keys.
        self._promises = dict.fromkeys(fronts, start)
        self.min_time = min(self._promises.values(), default=END)

    def acknowledge(self, entries: Sequence[tuple[Root, int]]) -> None:
        """Apply a combined acknowledgement: pairs of root and id."""
        for root, message_id in entries:
            assert root >= self.min_time, "something below min time was in flight"
            before = self._table.get(root, 0)
            if before == 0:
                heappush(self._roots, root)
            if before == message_id:
                del self._table[root]
            else:
                self._table[root] = before ^ message_id
        self._advance()

    def promise(self, front: int, bound: Root) -> None:
        """Record that `front` will send nothing with a root below `bound`."""
        assert bound >= self._promises[front], "a front's promise decreased"
        self._promises[front] = bound
        self._advance()

    def _advance(self) -> None:
        while self._roots and self._roots[0] not in self._table:
            heappop(self._roots)
        promised = min(self._promises.values(), default=END)
        self.min_time = min(promised, self._roots[0]) if self._roots else promised
