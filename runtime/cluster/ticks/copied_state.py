"""The state that an old owner sends ahead of a tick: the stored state, then the changes of each snapshot.

State is sent in parts, so that neither the sender nor the receiver is busy with it for long.  The rest that
is handed over at the position of the tick is about as large as the changes of the last snapshot.  So a worker
is prepared when these are small, or when they no longer decrease.  If state changes faster than it is sent,
the number of waiting parts only grows: then the worker is prepared as well, and hands over the waiting parts
at the position.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot, rows_of_bins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.owners import BinSets

    State = tuple[tuple[str, IncrementalSnapshot], ...]

ROWS_OF_PART: Final = 500
"""The number of rows of state in one part, which takes about 2 ms to load."""
BYTES_OF_PART: Final = 1 << 18
"""The maximum number of bytes of state in one part, unless a single row has more."""
NEARLY_SENT: Final = 100
"""The number of parts that are sent in about half a second."""
HAND_OVER_ROWS_MAX: Final = 1000
"""The number of rows of state that can be handed over at the position, in about 10 ms."""
_LESS: Final = 0.75
"""If a snapshot changes more than this fraction of what the one before changed, they no longer decrease."""
SNAPSHOTS_OF_COMPARISON: Final = 10
"""The number of snapshots between two comparisons of the waiting parts: half a second or more."""


class CopiedState:
    """The parts to be sent, by receiver."""

    def __init__(self, outgoing: Mapping[int, BinSets], *, follows_snapshots: bool) -> None:
        """Wait for the stored state of the bins that move away, if any do.

        With `follows_snapshots`, more snapshots are taken before the position is announced.
        """
        self._outgoing = outgoing
        self._parts: deque[tuple[int, tuple[str, IncrementalSnapshot]]] = deque()
        self._has_stored_state = not outgoing
        self._added: int | None = None
        """The number of rows that the last snapshot has added, counting from when all parts were sent."""
        self._is_small = not outgoing or not follows_snapshots
        self._left_before = 0
        """How many parts waited at the last comparison."""
        self._fell_behind = False
        """Whether more parts waited than at the comparison before."""
        self._snapshots = 0
        """The number of snapshots since then."""
        self._keeps_up = True

    @property
    def has_more(self) -> bool:
        """Return whether there are parts to send."""
        return bool(self._parts)

    @property
    def is_nearly_sent(self) -> bool:
        """Return whether the stored state will have been sent in about half a second."""
        return self._has_stored_state and len(self._parts) <= NEARLY_SENT

    @property
    def is_small(self) -> bool:
        """Return whether to hand over the rest: all else was sent and it is small, or waiting is useless."""
        is_sent = self._has_stored_state and not self._parts and self._is_small
        return is_sent or not self._keeps_up

    @property
    def next_peer(self) -> int:
        """Return the worker that receives the next part."""
        return self._parts[0][0]

    def on_stored_state(self, state: State) -> None:
        """Add the stored state, by operator, oldest first."""
        self._has_stored_state = True
        self._add(state)
        self._left_before = len(self._parts)

    def on_snapshot(self, state: State) -> None:
        """Add the changes of a snapshot, unless they are part of the stored state that will be read."""
        if not self._has_stored_state:
            return
        left = len(self._parts)
        self._compare(left)
        was_sent = not left
        added = self._add(state)
        if was_sent:
            before, self._added = self._added, added
            as_small_as_it_gets = before is not None and added > _LESS * before
            self._is_small |= added <= HAND_OVER_ROWS_MAX or as_small_as_it_gets

    def _compare(self, left: int) -> None:
        """Compare the number of waiting parts at intervals; it may rise once, in a peak of load."""
        self._snapshots += 1
        if self._snapshots == SNAPSHOTS_OF_COMPARISON:
            falls_behind = left >= self._left_before and left > 0
            self._keeps_up = not (falls_behind and self._fell_behind)
            self._left_before, self._fell_behind = left, falls_behind
            self._snapshots = 0

    def _add(self, state: State) -> int:
        """Add parts; return the number of rows."""
        count = 0
        for peer, bins in self._outgoing.items():
            for operator, snapshot in state:
                rows = rows_of_bins(snapshot, bins.of(operator))
                count += len(rows)
                self._parts.extend((peer, (operator, part)) for part in _parts_of(rows))
        return count

    def take(self) -> tuple[int, State]:
        """Return the next part, and the worker that receives it."""
        peer, part = self._parts.popleft()
        return peer, (part,)

    def take_all(self, peer: int) -> State:
        """Remove and return all remaining parts for a receiver."""
        taken = tuple(part for receiver, part in self._parts if receiver == peer)
        self._parts = deque(part for part in self._parts if part[0] != peer)
        return taken


def _parts_of(snapshot: IncrementalSnapshot) -> Sequence[IncrementalSnapshot]:
    """Return the rows of a snapshot, cut into parts."""
    if not len(snapshot):
        return ()
    bytes_of_row = max(1, snapshot.rows.nbytes // len(snapshot))
    size = max(1, min(ROWS_OF_PART, BYTES_OF_PART // bytes_of_row))
    return [
        IncrementalSnapshot(snapshot.rows.slice(start, size), snapshot.keys, snapshot.appends)
        for start in range(0, len(snapshot), size)
    ]
