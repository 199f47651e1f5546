"""Telling: which worker is told which min time, and when.

Contract.  Min time at a stage is told in the step in which it rises

* to a worker whose fold there holds something below it: rows that wait, or a window to close,
* to a worker that has not given its state as of a snapshot's position that min time has passed,
* to all, where it is the end.

To everybody else it is news, which go with a frame that a worker is sent anyway, though not with each.

Nothing waits for news: a fold that may still send something has a hold, whose entry comes in the
acknowledgement that lets min time rise beyond it, and not later.  To all others min time only says what
may be forgotten; and a worker that has something to forget has sent an acknowledgement of it, which is
acknowledged in turn within `LinkSettings.acknowledge_after`, as is every `Counted`: with the news, if
they are due.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import END
from fsql.runtime.dataflow.messages import Kind, MinTime

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.messages import Acknowledgement, Entry


NEWS_EVERY: Final = 0.1
"""How many seconds lie between two times that a worker gets news: each costs its folds something."""


class Telling:
    """Min time at each stage of which workers are told, and what each has been told."""

    def __init__(self, stages: Sequence[int], workers: int, start: Root) -> None:
        """Begin where everybody knows that min time is `start`."""
        self._min_times = dict.fromkeys(stages, start)
        self._told = [dict(self._min_times) for _ in range(workers)]
        self._holds: dict[int, dict[int, Entry]] = {stage: {} for stage in stages}
        self._changed: set[int] = set()
        self._wanted: Root | None = None
        self._behind = [False] * workers
        self._next_news = [0.0] * workers

    def acknowledged(self, worker: int, acknowledgement: Acknowledgement) -> None:
        """Learn from a worker's acknowledgement how the holds of its folds moved."""
        for entry in acknowledgement.entries:
            if entry.kind is Kind.HOLD:
                holds = self._holds[entry.stage]
                held = holds.get(worker)
                if held is not None and held.id == entry.id:
                    del holds[worker]
                else:
                    holds[worker] = entry
                    self._changed.add(entry.stage)

    def rose(self, stage: int, root: Root) -> None:
        """Learn min time at a stage; what is less than what is known says nothing new."""
        if root > self._min_times[stage]:
            self._min_times[stage] = root
            self._changed.add(stage)
            self._behind = [True] * len(self._behind)

    def want(self, position: Root | None) -> None:
        """Learn which position the snapshot has that workers give their state for; None for none."""
        if position != self._wanted:
            self._wanted = position
            self._changed.update(self._min_times)

    def at_once(self) -> Iterator[tuple[int, MinTime]]:
        """Yield what has to be told now, and to which worker."""
        changed, self._changed = self._changed, set()
        for stage in sorted(changed):
            root = self._min_times[stage]
            holds = self._holds[stage]
            wanted = self._wanted is not None and self._wanted <= root
            for worker in range(len(self._told)) if wanted or root == END else list(holds):
                told, held = self._told[worker][stage], holds.get(worker)
                lacks = root == END or (self._wanted is not None and told < self._wanted <= root)
                if told < root and (lacks or (held is not None and held.root < root)):
                    self._told[worker][stage] = root
                    yield worker, MinTime(stage, root)

    def news(self, worker: int, now: float) -> list[MinTime]:
        """Return what a worker has not been told, for a frame to it; nothing if it just got some."""
        if not self._behind[worker] or now < self._next_news[worker]:
            return []
        return self.all_news(worker, now)

    def all_news(self, worker: int, now: float) -> list[MinTime]:
        """Return what a worker has not been told, which waits for it."""
        self._next_news[worker] = now + NEWS_EVERY
        self._behind[worker] = False
        told = self._told[worker]
        news = [MinTime(s, root) for s, root in self._min_times.items() if told[s] < root]
        told.update(self._min_times)
        return news
