"""The acker: tracks what is in flight, and derives min time at every stage from it.

Contract.  An entry (stage, kind, root) holds the XOR of the ids that entered and left it.  Every id
enters once and leaves once; it enters in the same acknowledgement in which the id of its cause leaves.  So
an entry that is zero has nothing in flight, in whatever order acknowledgements of different senders arrive.
Then

    min_time(s) = min of  the promises of the fronts that feed s,
                          the least root of a non-zero entry (u, MESSAGE) for u in s and upstream of s,
                          the least root of a non-zero entry (u, HOLD)    for u upstream of s

is a bound that never decreases: no row below it can arrive at the input of s.  The holds of a stage
do not count for its own input, only for the stages downstream.  (FlameStream (2018), section 3.3;
see docs/bibliography.md.)

Min time is not always the greatest such bound.  Links must neither lose nor repeat acknowledgements;
otherwise an entry would never become zero again.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import END, START, Root
from fsql.runtime.dataflow.invariants import check_not_below
from fsql.runtime.dataflow.messages import Acknowledgement, Kind, MinTime, Promise

if TYPE_CHECKING:
    from collections.abc import Sequence


class Acker:
    """The ack table of a job, and min time at each of its stages and at the barrier."""

    def __init__(
        self,
        upstream: Sequence[frozenset[int]],
        fronts_of: Sequence[frozenset[int]],
        start: Root = START,
    ) -> None:
        """Start with nothing in flight; all fronts promise `start`.

        Args:
            upstream: for each stage, the stages strictly upstream of it; the barrier comes last.
            fronts_of: for each stage, the fronts whose rows can reach it.
            start: the position of the job's state, which is the first min time of all stages.
        """
        self._upstream = upstream
        self._start = start
        self._fronts_of = fronts_of
        self._different_fronts = set(fronts_of)
        fronts = frozenset().union(*fronts_of)
        self._promises = dict.fromkeys(sorted(fronts), start)
        self._messages = [_Table() for _ in upstream]
        self._holds = [_Table() for _ in upstream]
        self._min_times = [start] * len(upstream)
        self._may_rise = False
        self.acknowledgements = 0

    def acknowledge(self, acknowledgement: Acknowledgement) -> None:
        """Apply one combined acknowledgement.

        Raises:
            InvariantError: if a message is sent or consumed below min time of its stage.
        """
        self.acknowledgements += 1
        for stage, kind, root, message_id in acknowledgement.entries:
            if kind is Kind.MESSAGE:
                tables = self._messages
                if root < self._min_times[stage]:
                    check_not_below(root, self._min_times[stage], f"a message to stage {stage}")
            else:
                tables = self._holds
            # Min time can advance only if the least entry became zero.
            self._may_rise |= tables[stage].flip(root, message_id)

    def promise(self, promise: Promise) -> None:
        """Record the promise of a front.

        A front that resumes before the start first promises less than the start.

        Raises:
            InvariantError: if it is less than the front has promised before.
        """
        before = self._promises[promise.front]
        if before != self._start:
            check_not_below(promise.root, before, f"the promise of front {promise.front}")
        self._promises[promise.front] = max(before, promise.root)
        self._may_rise = True

    def take_advanced(self) -> list[MinTime]:
        """Return the min times that have advanced since the last call."""
        if not self._may_rise:
            return []
        self._may_rise = False
        return self._advance_stages()

    @property
    def least_promise(self) -> tuple[int, Root]:
        """Return the front with the least promise, and the promise; -1 and END without fronts."""
        least = min(self._promises.items(), key=lambda item: (item[1], item[0]), default=None)
        return (-1, END) if least is None else least

    @property
    def promises(self) -> dict[int, Root]:
        """Return what each front has promised."""
        return self._promises

    def messages_in_flight(self) -> bool:
        """Return whether a message is in flight or unprocessed; rows that wait in folds do not count."""
        return any(table.xor_of for table in self._messages)

    def min_time(self, stage: int) -> Root:
        """Return min time at the input of `stage`."""
        return self._min_times[stage]

    @property
    def min_times(self) -> Sequence[Root]:
        """Return min time at the input of each stage."""
        return self._min_times

    def min_time_downstream(self, stage: int) -> Root:
        """Return the greatest min time downstream of a stage, below which its folds must have no holds.

        It is END if the stage can have no more output.
        """
        downstream = [
            self._min_times[other]
            for other, upstream in enumerate(self._upstream)
            if stage in upstream
        ]
        return max(downstream, default=END)

    def entries(self) -> int:
        """Return the number of entries of the ack table that are not zero."""
        return sum(len(table.xor_of) for table in (*self._messages, *self._holds))

    def heap_size(self) -> int:
        """Return the number of roots in the heaps of the ack table, those of zero entries included."""
        return sum(table.heap_size() for table in (*self._messages, *self._holds))

    def _advance_stages(self) -> list[MinTime]:
        arriving = [table.least() for table in self._messages]
        leaving = list(map(min, arriving, [table.least() for table in self._holds]))
        promised = {
            fronts: min([self._promises[front] for front in fronts], default=END)
            for fronts in self._different_fronts
        }
        advanced = []
        for stage, upstream in enumerate(self._upstream):
            fronts = self._fronts_of[stage]
            bound = min(arriving[stage], promised[fronts], *[leaving[above] for above in upstream])
            if bound != self._min_times[stage]:
                check_not_below(bound, self._min_times[stage], f"min time of stage {stage}")
                self._min_times[stage] = bound
                advanced.append(MinTime(stage, bound))
        return advanced


_STALE_FREE: Final = 64
"""A heap may hold this many stale roots, and as many as there are entries, before it is rebuilt."""


class _Table:
    """The entries of one stage and kind; its size grows with the number of messages in flight.

    The heap may hold roots whose entries are zero, and the same root more than once.  It is rebuilt when
    most of it is stale, so the cost of a flip is logarithmic on average.
    """

    __slots__ = ("_heap", "xor_of")

    def __init__(self) -> None:
        self.xor_of: dict[Root, int] = {}
        self._heap: list[Root] = []

    def flip(self, root: Root, message_id: int) -> bool:
        """XOR an id into the entry of `root`; return whether the least entry became zero."""
        before = self.xor_of.get(root)
        if before is None:
            heapq.heappush(self._heap, root)
            self.xor_of[root] = message_id
        elif before == message_id:
            del self.xor_of[root]
            # If a lesser root at the top is stale, this was reported when its entry became zero.
            was_least = root == self._heap[0]
            if len(self._heap) > 2 * len(self.xor_of) + _STALE_FREE:
                self._heap = list(self.xor_of)
                heapq.heapify(self._heap)
            return was_least
        else:
            self.xor_of[root] = before ^ message_id
        return False

    def heap_size(self) -> int:
        """Return the number of roots in the heap, stale ones included."""
        return len(self._heap)

    def least(self) -> Root:
        """Return the least root of an entry that is not zero; END if there is none."""
        while self._heap and self._heap[0] not in self.xor_of:
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else END
