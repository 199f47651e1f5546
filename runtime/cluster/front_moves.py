"""A worker's part in moves of fronts: after a tick another worker continues a front from its position on.

Contract.  The old owner reads a front up to the position, drops the later rows of its last chunk, and
promises no more than the position.  Then it reports where the front is to be resumed.  This report goes to
the coordinator, after the acknowledgements of all rows of the front, and only then is the new owner notified.
So when the new owner makes its first promise, the ack table has everything below the position.  The new owner
resumes as after a restart: it reads from the boundary of a chunk on, and drops the rows below the position.

A front that has ended moves as well: snapshots need its resume point from a worker that stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.frames import COORDINATOR, FrontReleased
from fsql.runtime.cluster.worker_events import CloseReader, OpenReader
from fsql.runtime.dataflow.messages import Promise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from fsql.compiler.assignment import FrontTask
    from fsql.runtime.cluster.frames import AdoptFront, Item
    from fsql.runtime.cluster.local_fronts import LocalFront, LocalFronts
    from fsql.runtime.dataflow.worker import Worker


class FrontMoves:
    """The fronts that one worker releases and adopts in one epoch."""

    def __init__(
        self,
        worker: Worker,
        epoch: int,
        fronts: LocalFronts,
        tasks: Iterable[FrontTask],
        put: Callable[[int, Item], None],
    ) -> None:
        """`tasks` are all fronts of the job; `put` sends an item to a node."""
        self._worker = worker
        self._epoch = epoch
        self._fronts = fronts
        self._tasks = {task.number: task for task in tasks}
        self._put = put

    def release(self, tick: int, unfinished: Collection[int]) -> list[CloseReader]:
        """Release the fronts that leave and have reached the position, except those `unfinished`.

        A chunk of those is not fully processed yet, so its acknowledgement has not been sent.
        """
        change = self._worker.change
        if change is None or not change.leaving:
            return []
        effects = []
        for front in list(self._fronts):
            if change.has_left(front) and front.number not in unfinished:
                self._fronts.release(front.number)
                point = front.resume_point(change.position)
                self._put(COORDINATOR, FrontReleased(tick, point, front.ended))
                effects.append(CloseReader(front.number))
        return effects

    def adopt(self, item: AdoptFront) -> tuple[LocalFront, list[OpenReader]]:
        """Continue a front of another worker, and make the promises that the other one could not make."""
        change, point = self._worker.change, item.point
        assert change is not None
        assert change.switched
        task = self._tasks[point.front]
        here = self._fronts.adopt(task, point, change.position, ended=item.ended)
        self._put(COORDINATOR, Promise(point.front, here.front.promised))
        opened = OpenReader(self._epoch, point.front, point.source_offset)
        return here, [] if item.ended else [opened]
