"""Freshness: the age of the oldest chunk that is not fully released, and the age of chunks at release.

Ages are counted in buckets: one of `AGES_PER_OCTAVE` for each power of 2 of microseconds.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import TYPE_CHECKING

from fsql.compiler.statistics import AGES_PER_OCTAVE

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.front import Front


class Freshness:
    """Records the chunks that min time has not passed, and when each was read."""

    def __init__(self) -> None:
        self._chunks: dict[int, deque[tuple[Root, float]]] = {}
        self._tables: dict[int, str] = {}
        self.released: Counter[tuple[str, int]] = Counter()
        """The number of released chunks, by table and bucket of age."""

    def on_chunk(self, front: Front, now: float) -> None:
        """Record that a front has read a chunk; all of it is below the promise of the front."""
        self._tables[front.number] = front.table.name
        self._chunks.setdefault(front.number, deque()).append((front.promised, now))

    def seconds_behind(self, min_time: Root, now: float) -> float:
        """Return the age of the oldest chunk that min time has not passed, 0 if there is none."""
        oldest = now
        for front, chunks in self._chunks.items():
            while chunks and chunks[0][0] <= min_time:
                _, read = chunks.popleft()
                self.released[self._tables[front], bucket_of_age(now - read)] += 1
            if chunks:
                oldest = min(oldest, chunks[0][1])
        return now - oldest


def bucket_of_age(seconds: float) -> int:
    """Return the bucket of an age; bucket 0 is for a microsecond and less."""
    return max(0, math.floor(math.log2(max(seconds, 1e-6) * 1e6) * AGES_PER_OCTAVE))
