"""Freshness: the age of the oldest chunk that is not fully released."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.front import Front


class Freshness:
    """The chunks that min time has not passed, and when each was read."""

    def __init__(self) -> None:
        self._chunks: dict[int, deque[tuple[Root, float]]] = {}

    def on_chunk(self, front: Front, now: float) -> None:
        """Record that a front has read a chunk; all of it is below the promise of the front."""
        self._chunks.setdefault(front.number, deque()).append((front.promised, now))

    def seconds_behind(self, min_time: Root, now: float) -> float:
        """Return the age of the oldest chunk that min time has not passed, 0 if there is none."""
        oldest = now
        for chunks in self._chunks.values():
            while chunks and chunks[0][0] <= min_time:
                chunks.popleft()
            if chunks:
                oldest = min(oldest, chunks[0][1])
        return now - oldest
