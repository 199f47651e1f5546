"""How the fronts of a worker read in one epoch: chunks go to the worker, blocked fronts are reported.

A chunk may be processed in two steps.  After the first one the rows for other workers are sent, which can
begin with them; `read_rest` takes the second step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.frames import COORDINATOR
from fsql.runtime.dataflow.read_ahead import BYTES_FEW
from fsql.runtime.ports import Wait

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.frames import Blocked
    from fsql.runtime.cluster.local_fronts import LocalFront, LocalFronts
    from fsql.runtime.cluster.worker_events import ChunkRead
    from fsql.runtime.cluster.worker_links import WorkerLinks
    from fsql.runtime.cluster.worker_metrics import WorkerMetrics
    from fsql.runtime.dataflow.worker import Worker


class FrontReading:
    """The reading of the fronts of one worker."""

    def __init__(
        self, worker: Worker, fronts: LocalFronts, links: WorkerLinks, metrics: WorkerMetrics
    ) -> None:
        """Begin without chunks."""
        self._worker, self._fronts = worker, fronts
        self._links, self._metrics = links, metrics
        self._half_read: list[LocalFront] = []
        """The fronts with a chunk that is not fully processed."""

    def readable(self, now: float) -> list[int]:
        """Return the numbers of the fronts that may read now, the one with the least promise first."""
        readable = self._fronts.readable(now, behind=self._worker.is_behind)
        return [front.number for front in readable if not self._worker.waits(front)]

    def next_timer(self) -> float:
        """Return when the next front that waits for its source may read, infinity for never."""
        return self._fronts.next_timer(behind=self._worker.is_behind)

    @property
    def unfinished(self) -> set[int]:
        """Return the numbers of the fronts with a chunk that is not fully processed."""
        return {here.front.number for here in self._half_read}

    def on_chunk(self, read: ChunkRead, now: float) -> bool:
        """Process the chunk that a front has read; return whether its rest has to wait for `read_rest`."""
        here = self._fronts.get(read.front)
        if here is None:
            return False
        self.read_rest()
        here.credit = None
        here.front.bytes_passed = read.bytes_passed
        self._metrics.on_read(read)
        if read.chunk is None:
            self._links.put_effects(self._worker.end(here.front, read.source_offset))
            self._links.put(COORDINATOR, self._metrics.report(self._worker, now))
        elif isinstance(read.chunk, Wait):
            here.waits_until = now + read.chunk.seconds
            here.front.on_wait(read.source_offset)
        else:
            first = self._worker.read_first(
                here.front, here.ordinal, read.chunk, read.source_offset
            )
            self._metrics.on_chunk(here.front, now)
            here.read_ahead.on_chunk(here.front, now)
            linger = 0.0
            if read.chunk.bytes_read <= BYTES_FEW:
                linger = self._worker.pipelines.linger_of(here.ordinal)
            pause = here.read_ahead.pause(len(read.chunk.rows), now, linger)
            here.waits_until = now + pause if pause else 0.0
            self._half_read.append(here)
            self._links.put_effects(first)
            if first and self._worker.has_more:
                return True
            self.read_rest()
        self.report_if_blocked(here)
        return False

    def read_rest(self) -> None:
        """Process the rest of the chunks that were read."""
        half_read, self._half_read = self._half_read, []
        for here in half_read:
            self._links.put_effects(self._worker.read_rest(here.front))
            self.report_if_blocked(here)

    def on_released(self, position: Root, now: float) -> None:
        """Record that everything below a position is released and stored."""
        self._report(self._fronts.on_released(position, now, behind=self._worker.is_behind))

    def report_again(self) -> None:
        """Report blocked fronts with their current promises, which a change of owners had held back."""
        self._report(self._fronts.report_again(behind=self._worker.is_behind))

    def report_if_blocked(self, here: LocalFront) -> None:
        """Report a front once for each promise at which it may not read."""
        self._report(self._fronts.report_if_blocked(here, behind=self._worker.is_behind))

    def _report(self, blocked: Iterable[Blocked]) -> None:
        for each in blocked:
            self._links.put(COORDINATOR, each)
