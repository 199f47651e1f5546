"""The fronts of one worker in one epoch: which of them may read, and which are blocked.

A front may read while it is within its read-ahead, and one chunk more if it has a credit.  A front that
may not read is reported as blocked to the coordinator once for each promise.  Ticks move fronts from one
worker to another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.frames import Blocked, Credit
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.read_ahead import ReadAhead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.logical import Table
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.snapshots.manifest import Manifest, SkippedRange
    from fsql.runtime.dataflow.resume_point import ResumePoint


@dataclass(slots=True)
class LocalFront:
    """A front of this worker, and what keeps it from reading."""

    front: Front
    ordinal: int
    """The number of its table."""
    read_ahead: ReadAhead
    waits_until: float = 0.0
    """The time to wait for until the source is read again; 0 for immediately."""
    credit: Root | None = None
    """The promise at which it may read a chunk beyond its read-ahead."""
    reported_at: Root | None = None
    """The promise at which it was last reported as blocked."""
    blocked_since: float | None = None
    """The time up to which the front counts how long it was blocked; None while it is not."""


class LocalFronts:
    """The fronts of one worker, by number."""

    def __init__(self, settings: Settings) -> None:
        """Start without fronts; `settings` limit the read-ahead."""
        self._settings = settings
        self._fronts: dict[int, LocalFront] = {}
        self._released: dict[int, Front] = {}
        """Fronts that other workers continue: their counts remain."""
        self._tables: Mapping[int, Table] = {}
        self._skipped: tuple[SkippedRange, ...] = ()
        self.released = START
        """The position below which everything is released and stored by the sinks."""

    def add(self, front: Front, ordinal: int) -> None:
        """Add a front of table number `ordinal`."""
        read_ahead = ReadAhead(
            self._settings.read_ahead_seconds, self._settings.read_ahead_bytes_least
        )
        read_ahead.begin(front)
        self._fronts[front.number] = LocalFront(front, ordinal, read_ahead)

    def begin(
        self, tasks: Iterable[FrontTask], tables: Mapping[int, Table], manifest: Manifest | None
    ) -> None:
        """Create the fronts of some tasks as of a manifest; `tables` are those that are read, by ordinal."""
        self._tables = tables
        self._skipped = () if manifest is None else manifest.skipped
        points = {} if manifest is None else {point.front: point for point in manifest.fronts}
        for task in tasks:
            front = self._new_front(task)
            if manifest is not None and task.number in points:
                front.resume(points[task.number], manifest.root)
            self.add(front, task.ordinal)

    def _new_front(self, task: FrontTask) -> Front:
        front = Front(task.number, self._tables[task.ordinal], task.split)
        for passed in self._skipped:
            if passed.front == task.number:
                front.skip(Root(*passed.first), Root(*passed.end))
        return front

    def adopt(
        self, task: FrontTask, point: ResumePoint, position: Root, *, ended: bool
    ) -> LocalFront:
        """Continue a front of another worker, which has read it up to `position`."""
        front = self._new_front(task)
        front.resume(point, position)
        if ended:
            front.end()
        before = self._released.pop(task.number, None)
        if before is not None:
            front.continue_counts(before)
        self.add(front, task.ordinal)
        return self._fronts[task.number]

    def release(self, number: int) -> None:
        """Remove a front that another worker continues."""
        front = self._fronts.pop(number).front
        front.bytes_passed = 0
        self._released[number] = front

    def fronts_to_report(self) -> list[Front]:
        """Return the fronts whose counts this worker reports."""
        return [*self, *self._released.values()]

    def get(self, number: int) -> LocalFront | None:
        """Return the front of that number, None if this worker does not have it."""
        return self._fronts.get(number)

    def clear(self) -> None:
        """Remove all fronts."""
        self._fronts.clear()
        self._released.clear()

    def __iter__(self) -> Iterator[Front]:
        """Iterate over the fronts in the order in which they were added."""
        return (local.front for local in self._fronts.values())

    def readable(self, now: float, *, behind: bool) -> list[Front]:
        """Return the fronts that may read now, the one with the least promise first.

        `behind` says whether a fold of the worker is behind: then no front may read.  Fronts that may not
        read, and do not wait for their source, count for how long.
        """
        may = []
        for local in self._fronts.values():
            waits = now < local.waits_until or local.front.ended
            may_read = not waits and self._may_read(local, behind=behind)
            _count_blocked(local, now, is_blocked=not waits and not may_read)
            if may_read:
                may.append(local)
        may.sort(key=lambda local: local.front.promised)
        return [local.front for local in may]

    def next_timer(self, *, behind: bool) -> float:
        """Return when the next front that waits for its source may read, infinity for never."""
        waiting = [
            local.waits_until
            for local in self._fronts.values()
            if local.waits_until > 0 and self._may_read(local, behind=behind)
        ]
        return min(waiting, default=float("inf"))

    def end_waits(self, now: float) -> None:
        """Discard the waits that have ended, so that they set no timer until the front has read."""
        for local in self._fronts.values():
            if now >= local.waits_until:
                local.waits_until = 0.0

    def on_credit(self, credit: Credit) -> None:
        """Let a front read one chunk, if its promise is still that at which it was blocked."""
        local = self._fronts.get(credit.front)
        if local is not None and local.front.promised == credit.promise:
            local.credit = credit.promise

    def on_released(self, root: Root, now: float, *, behind: bool) -> list[Blocked]:
        """Record that everything below `root` is released; return the fronts that are still blocked."""
        self.released = root
        blocked = []
        for local in self._fronts.values():
            local.read_ahead.on_released(root, now)
            blocked += self.report_if_blocked(local, behind=behind)
        return blocked

    def report_again(self, *, behind: bool) -> list[Blocked]:
        """Return the reports of all blocked fronts, including those reported before."""
        blocked = []
        for local in self._fronts.values():
            local.reported_at = None
            blocked += self.report_if_blocked(local, behind=behind)
        return blocked

    def report_if_blocked(self, local: LocalFront, *, behind: bool) -> list[Blocked]:
        """Return the report that a front is blocked; nothing if it is not, or was reported before."""
        front = local.front
        if front.ended or local.reported_at == front.promised:
            return []
        if self._may_read(local, behind=behind):
            return []
        local.reported_at = front.promised
        return [Blocked(front.number, front.promised)]

    def _may_read(self, local: LocalFront, *, behind: bool) -> bool:
        front = local.front
        if front.ended or behind:
            return False
        rows = front.rows_above(self.released)
        if local.read_ahead.is_open and rows < self._settings.read_ahead_rows:
            return True
        return local.credit == front.promised


def _count_blocked(local: LocalFront, now: float, *, is_blocked: bool) -> None:
    """Add the time since the last call, if the front was blocked then."""
    if local.blocked_since is not None:
        local.front.blocked_seconds += now - local.blocked_since
    local.blocked_since = now if is_blocked else None
